//! What a run needs to go on where its file ends.

use super::damage::Report;
use super::error::OpenError;
use super::header::Header;
use super::history::History;
use super::reader::SessionFile;
use super::text::{Origin, TextPiece};
use crate::org::{Organization, Seq, ThreadId};
use std::collections::BTreeMap;
use std::path::Path;

/// The context of one thread: its prompt, then its pieces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RestoredThread {
    /// Token ids of its prompt.
    pub prompt: Vec<u32>,
    /// Everything decoded or spliced after it, in order.
    pub pieces: Vec<TextPiece>,
}

impl RestoredThread {
    /// All token ids of its context in order, the prompt's first.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let texts = self.pieces.iter().flat_map(|piece| &piece.ids);
        self.prompt.iter().chain(texts).copied()
    }

    /// What its decoded tokens stand for.
    #[must_use]
    pub fn tokens(&self) -> Vec<(u32, Vec<u8>)> {
        let mut tokens = Vec::new();
        for piece in self.pieces.iter().filter(|p| p.origin == Origin::Decoded) {
            let mut rest = piece.bytes.as_slice();
            for (id, len) in piece.ids.iter().zip(&piece.lens) {
                let (token, more) = rest.split_at((*len as usize).min(rest.len()));
                tokens.push((*id, token.to_vec()));
                rest = more;
            }
        }
        tokens
    }
}

/// A session as its file leaves it.
#[derive(Debug, Clone)]
pub struct Restored {
    /// What session it is.
    pub header: Header,
    /// The fold of everything.
    pub organization: Organization,
    /// The contexts of all threads.
    pub threads: BTreeMap<ThreadId, RestoredThread>,
    /// The place of the next event.
    pub next_seq: Seq,
    /// Everything that led here, on all branches.
    pub history: History,
    /// What is wrong with the file. A damaged file may lack tokens: contexts are as far as readable.
    pub report: Report,
}

/// Reads a whole session back.
///
/// # Errors
/// [`OpenError`] when the file does not open or cannot be read any more.
pub fn restore(path: &Path) -> Result<Restored, OpenError> {
    let file = SessionFile::open(path)?;
    let header = file.header().clone();
    let mut organization = Organization::new(header.capacity, header.tau);
    let mut history = History::default();
    let mut events = file.events();
    for recorded in &mut events {
        let event = recorded
            .map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?
            .event;
        organization.apply(&event);
        history.push(event);
    }
    let threads = history
        .tip(history.present())
        .map(|tip| history.contexts(tip))
        .unwrap_or_default();
    Ok(Restored {
        next_seq: organization.next_seq,
        header,
        organization,
        threads,
        history,
        report: events.report().clone(),
    })
}
