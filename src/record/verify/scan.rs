//! The text of a thread, scanned again: what stands in it, and what of that is recorded.

use crate::org::{ActionKind, ErrorKind, Role, Seq, ThreadId};
use crate::record::header::Header;
use crate::record::text::TextPiece;

/// Scans text for actions.
pub trait Rescan {
    /// A scanner for the text of one thread.
    fn thread(&self, header: &Header, id: ThreadId, role: Role) -> Box<dyn ThreadRescan>;
}

/// Scans the text of one thread, piece by piece.
pub trait ThreadRescan {
    /// The actions that are complete with `piece`, splices included in the pieces but not in what is
    /// scanned.
    fn piece(&mut self, piece: &TextPiece) -> Vec<Found>;
}

/// An action as it stands in the text, whether or not it could take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Bytes `[from, to)` of the thread's text, tag to tag.
    pub span: (u64, u64),
    /// Which.
    pub action: ActionKind,
}
/// Something found in the text, with the record that completed it.
pub(super) struct Scanned {
    pub(super) found: Found,
    pub(super) line: u64,
    pub(super) seq: Seq,
    recorded: bool,
}

/// The scan of one thread so far.
pub(super) struct ThreadScan {
    scan: Box<dyn ThreadRescan>,
    bytes: u64,
    found: Vec<Scanned>,
}

impl ThreadScan {
    pub(super) fn new(scan: Box<dyn ThreadRescan>) -> Self {
        Self {
            scan,
            bytes: 0,
            found: Vec::new(),
        }
    }

    /// Bytes scanned so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Scans what the record `seq` on `line` adds to the text.
    pub(super) fn piece(&mut self, piece: &TextPiece, line: u64, seq: Seq) {
        self.bytes += piece.bytes.len() as u64;
        let found = self.scan.piece(piece);
        self.found.extend(found.into_iter().map(|found| Scanned {
            found,
            line,
            seq,
            recorded: false,
        }));
    }

    /// Takes the first `n` as recorded.
    pub(super) fn mark_first(&mut self, n: usize) {
        for scanned in self.found.iter_mut().take(n) {
            scanned.recorded = true;
        }
    }

    /// Marks what fits as recorded; whether there is any.
    pub(super) fn mark(&mut self, fits: impl Fn(&Found) -> bool) -> bool {
        let mut known = false;
        for scanned in self.found.iter_mut().filter(|s| fits(&s.found)) {
            scanned.recorded = true;
            known = true;
        }
        known
    }

    /// Forgets what it ends with and is not recorded.
    pub(super) fn forget_last(&mut self) {
        while self.found.last().is_some_and(|last| !last.recorded) {
            self.found.pop();
        }
    }

    /// What was found and is not recorded.
    pub(super) fn unrecorded(self) -> impl Iterator<Item = Scanned> {
        self.found.into_iter().filter(|s| !s.recorded)
    }
}

/// Whether such an error is about one whole action in the text.
pub(super) fn names_an_action(error: ErrorKind) -> bool {
    match error {
        ErrorKind::DuplicateIndex
        | ErrorKind::PoolOverflow
        | ErrorKind::JoinUnknown
        | ErrorKind::JoinTwice
        | ErrorKind::EmptyQuery => true,
        ErrorKind::UnclosedFork
        | ErrorKind::NoAnswer
        | ErrorKind::TokenLimit
        | ErrorKind::Engine
        | ErrorKind::Tool
        | ErrorKind::NoSuchSeat => false,
    }
}
