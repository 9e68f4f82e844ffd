//! What a run needs to go on where its file ends.

use super::damage::Report;
use super::error::OpenError;
use super::header::Header;
use super::reader::SessionFile;
use super::text::TextPiece;
use crate::org::{Body, Organization, Seq, ThreadId};
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
    let mut threads: BTreeMap<ThreadId, RestoredThread> = BTreeMap::new();
    let mut events = file.events();
    for recorded in &mut events {
        let event = recorded
            .map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?
            .event;
        organization.apply(&event);
        let Some(id) = event.thread else { continue };
        if let Body::Thread { prompt, .. } = event.body {
            let thread = RestoredThread {
                prompt,
                pieces: Vec::new(),
            };
            threads.insert(id, thread);
        } else {
            let at = threads
                .get(&id)
                .and_then(|t| t.pieces.last())
                .map_or(0, |last| last.at + last.bytes.len() as u64);
            if let Some(piece) = TextPiece::of(event, at) {
                threads.entry(id).or_default().pieces.push(piece);
            }
        }
    }
    Ok(Restored {
        next_seq: organization.next_seq,
        header,
        organization,
        threads,
        report: events.report().clone(),
    })
}
