//! Reading recorded text again: for a session that goes on, and for `verify`.

use crate::org::{ActionKind, Role, SpliceKind, ThreadId};
use crate::protocol::{Finding, Found, Grammar, Position, Scanner};
use crate::record::{Found as Recorded, Header, Origin, Rescan, TextPiece, ThreadRescan};

/// Feeds a recorded piece to a scanner as it was fed when it was new: decoded text is read, and what
/// a person wrote; other spliced text is not, tags that a command opened set the position, and a denied
/// answer leaves the thread thinking.
pub(super) fn feed(scanner: &mut Scanner, piece: &TextPiece, findings: &mut Vec<Finding>) {
    match &piece.origin {
        Origin::Decoded => scanner.push(&piece.bytes, piece.at, findings),
        Origin::Spliced { kind, .. } => match kind {
            SpliceKind::Answer => scanner.enter(Position::InAnswer, piece.at),
            SpliceKind::WrapUp => scanner.enter(Position::InReturn, piece.at),
            SpliceKind::Edit | SpliceKind::Text => {
                scanner.push(&piece.bytes, piece.at, findings);
            }
            SpliceKind::Note if scanner.position() == Position::Done => {
                scanner.enter(Position::Free, piece.at);
            }
            SpliceKind::Result | SpliceKind::Fork | SpliceKind::Join | SpliceKind::Note => {}
        },
    }
}

/// The grammar of thread `id` in a session with this header.
pub(super) fn grammar(header: &Header, id: ThreadId, role: Role) -> Grammar {
    match role {
        Role::Organizer => Grammar::Organizer,
        Role::Worker if header.organizes(id) => Grammar::SubOrganizer,
        Role::Worker => Grammar::Worker,
    }
}

/// The protocol's scanner, for [`crate::record::verify`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ProtocolRescan;

impl Rescan for ProtocolRescan {
    fn thread(&self, header: &Header, id: ThreadId, role: Role) -> Box<dyn ThreadRescan> {
        Box::new(Thread(Scanner::new(grammar(header, id, role))))
    }
}

struct Thread(Scanner);

impl ThreadRescan for Thread {
    fn piece(&mut self, piece: &TextPiece) -> Vec<Recorded> {
        let mut findings = Vec::new();
        feed(&mut self.0, piece, &mut findings);
        findings
            .into_iter()
            .map(|finding| Recorded {
                span: (finding.from, finding.to),
                action: match finding.found {
                    Found::Fork { .. } => ActionKind::Fork,
                    Found::Join { .. } => ActionKind::Join,
                    Found::Answer { .. } => ActionKind::Answer,
                    Found::Return { .. } => ActionKind::Return,
                },
            })
            .collect()
    }
}
