//! One line of history of a session, whole: its state, and everything each thread read and wrote.
//!
//! For comparing and for going on from a recording; a screen that only shows reads through the
//! [`super::Player`] instead.

use super::header::Header;
use super::history::History;
use super::reader::SessionFile;
use super::restore::RestoredThread;
use crate::org::{BranchId, Organization, Place, ThreadId};
use std::collections::BTreeMap;
use std::io;

/// See the module.
#[derive(Debug, Clone)]
pub struct LineOf {
    /// What session it is.
    pub header: Header,
    /// Where it ends.
    pub end: Place,
    /// The fold there.
    pub organization: Organization,
    /// The contexts there.
    pub threads: BTreeMap<ThreadId, RestoredThread>,
}

/// Why there is no such line.
#[derive(Debug, thiserror::Error)]
pub enum LineOfError {
    /// The session has no branch of this number.
    #[error("there is no branch {branch}; the last one is {last}")]
    NoBranch {
        /// What was asked for.
        branch: BranchId,
        /// The highest number there is.
        last: BranchId,
    },
    /// The file cannot be read any more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads everything that happened in `file`.
///
/// # Errors
/// When it cannot be read any more.
pub fn history(file: &SessionFile) -> io::Result<History> {
    let mut history = History::default();
    for recorded in file.events() {
        history.push(recorded?.event);
    }
    Ok(history)
}

impl LineOf {
    /// The line of `branch`, of the last one if `None`.
    ///
    /// # Errors
    /// [`LineOfError`].
    pub fn read(file: &SessionFile, branch: Option<BranchId>) -> Result<Self, LineOfError> {
        let history = history(file)?;
        let branch = branch.unwrap_or(history.present());
        let end = history.tip(branch).ok_or(LineOfError::NoBranch {
            branch,
            last: history.present(),
        })?;
        Ok(Self::at(file.header(), &history, end))
    }

    /// The line that ends at `end`.
    #[must_use]
    pub fn at(header: &Header, history: &History, end: Place) -> Self {
        Self {
            header: header.clone(),
            end,
            organization: history.state(end, header),
            threads: history.contexts(end),
        }
    }
}
