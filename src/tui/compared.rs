//! Two lines of history as the comparison shows them: lanes on one axis, and the text around the place where
//! they part.
//!
//! Reads session files, so it is made outside of the update.

use super::widget::timeline::tracks::Tracks;
use crate::org::{BranchId, ThreadId, critical_path, slack};
use crate::record::{Comparison, LineOf, LineOfError, SessionFile};
use std::path::PathBuf;

/// Bytes of text before the place where the lines part, and after it.
const AROUND: usize = 160;

/// Which line is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineRef {
    /// Another session's file; the one on screen if `None`.
    pub file: Option<PathBuf>,
    /// Its branch; the last one if `None`.
    pub branch: Option<BranchId>,
}

/// One of two lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Its lanes.
    pub tracks: Tracks,
    /// How many workers can be active at once.
    pub slots: u32,
    /// The text of the thread in which they part: before that place, and after it.
    pub text: Option<(String, String)>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The first line.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// What differs.
    pub comparison: Comparison,
}

impl Compared {
    /// Compares two lines; `open` gives the session on screen.
    ///
    /// # Errors
    /// In words: a file does not open, or has no such branch.
    pub fn read(
        a: &LineRef,
        b: &LineRef,
        open: impl Fn() -> Result<SessionFile, String>,
    ) -> Result<Self, String> {
        let line = |wanted: &LineRef| -> Result<LineOf, String> {
            let file = match &wanted.file {
                Some(path) => SessionFile::open(path).map_err(|e| e.to_string())?,
                None => open()?,
            };
            LineOf::read(&file, wanted.branch).map_err(|e: LineOfError| e.to_string())
        };
        let (left, right) = (line(a)?, line(b)?);
        let comparison = Comparison::new(&left, &right);
        let parts = comparison.divergence.as_ref().map(|d| (d.thread, d.token));
        Ok(Self {
            a: side(a, &left, parts),
            b: side(b, &right, parts),
            comparison,
        })
    }
}

fn side(wanted: &LineRef, line: &LineOf, parts: Option<(ThreadId, u64)>) -> Side {
    let org = &line.organization;
    let traces = org.traces();
    let schedule = org.schedule();
    let path = critical_path(&schedule);
    let slack = slack(&traces, org.capacity, &schedule);
    let file = wanted.file.as_ref().and_then(|path| path.file_name());
    let name = match file {
        Some(file) => format!("{} #{}", file.to_string_lossy(), line.end.branch),
        None => format!("branch {}", line.end.branch),
    };
    Side {
        name,
        tracks: Tracks::ideal(org, &schedule, &path, &slack),
        slots: org.capacity.saturating_sub(1),
        text: parts.and_then(|(thread, token)| around(line, thread, token)),
    }
}

/// The text of `thread` before and after its first `token` own tokens.
fn around(line: &LineOf, thread: ThreadId, token: u64) -> Option<(String, String)> {
    let pieces = &line.threads.get(&thread)?.pieces;
    let mut left = usize::try_from(token).unwrap_or(usize::MAX);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for piece in pieces {
        let own: usize = piece.lens.iter().take(left).map(|len| *len as usize).sum();
        let spliced_before = piece.lens.is_empty() && left > 0;
        let cut = if spliced_before {
            piece.bytes.len()
        } else {
            own.min(piece.bytes.len())
        };
        left = left.saturating_sub(piece.lens.len());
        before.extend_from_slice(&piece.bytes[..cut]);
        after.extend_from_slice(&piece.bytes[cut..]);
    }
    let start = before.len().saturating_sub(AROUND);
    after.truncate(AROUND);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&before[start..]), text(&after)))
}
