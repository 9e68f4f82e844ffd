//! The guard: forbids illegal actions before they are written, with any tokenizer.
//!
//! Pure: it is told where a thread stands and which actions are open to it, and says of any next token
//! whether it would make a format error certain. Tags may be split over tokens in any way; an ordinary `<`
//! survives, and an index is constrained only once `<FORK-` or `<JOIN-` is certain. What a person writes is
//! not looked at. The two errors it leaves are those of stopping: no answer, and no tokens left.

use super::scanner::{Found, Grammar, Position, Scanner};
use crate::org::MAX_INDEX;
use std::collections::BTreeSet;

/// How every Fork and every Join begins.
const FORK: &[u8] = b"<FORK-";
const JOIN: &[u8] = b"<JOIN-";

/// Which actions are open to a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Open {
    /// Indices that were forked.
    pub used: BTreeSet<u16>,
    /// Indices whose results can still be asked for.
    pub joinable: BTreeSet<u16>,
    /// Forks that find a slot, or wait for one: `None` for any number.
    pub forks: Option<usize>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    scanner: Scanner,
    open: Open,
}

impl Guard {
    /// The guard of a thread whose text stands where `scanner` does. `None` for workers: nothing that they
    /// can write is an error.
    #[must_use]
    pub fn new(scanner: &Scanner, open: Open) -> Option<Self> {
        if scanner.grammar() == Grammar::Worker {
            return None;
        }
        Some(Self {
            scanner: scanner.outline(),
            open,
        })
    }

    /// Whether a token of these bytes, or one that ends the turn, makes an error certain.
    #[must_use]
    pub fn forbids(&self, bytes: &[u8], eos: bool) -> bool {
        let position = self.scanner.position();
        let idle = self.scanner.candidate().is_empty() && !bytes.contains(&b'<');
        let inside = matches!(position, Position::InFork(_));
        if idle {
            return eos && inside;
        }
        let mut walk = self.clone();
        for &byte in bytes {
            if walk.takes(byte).is_err() {
                return true;
            }
        }
        eos && matches!(walk.scanner.position(), Position::InFork(_))
    }

    /// Reads one more byte.
    fn takes(&mut self, byte: u8) -> Result<(), ()> {
        let mut findings = Vec::new();
        self.scanner.push(&[byte], 0, &mut findings);
        for finding in findings {
            match finding.found {
                Found::Fork { index, query } if !query.is_empty() => self.fork(index)?,
                Found::Fork { .. } => return Err(()),
                Found::Join { index } if self.open.joinable.remove(&index) => {}
                Found::Join { .. } => return Err(()),
                Found::Answer { .. } | Found::Return { .. } => {}
            }
        }
        match self.scanner.position() {
            Position::Free => self.can_become_legal(),
            Position::InFork(index) if self.open.used.contains(&index) => Err(()),
            _ => Ok(()),
        }
    }

    fn fork(&mut self, index: u16) -> Result<(), ()> {
        if self.open.forks == Some(0) || !self.open.used.insert(index) {
            return Err(());
        }
        self.open.joinable.insert(index);
        if let Some(forks) = &mut self.open.forks {
            *forks -= 1;
        }
        Ok(())
    }

    /// Whether some index makes what may become a tag a legal one.
    fn can_become_legal(&self) -> Result<(), ()> {
        let candidate = self.scanner.candidate();
        let legal = if let Some(digits) = candidate.strip_prefix(FORK) {
            self.open.forks != Some(0) && begins_some(digits, |i| !self.open.used.contains(&i))
        } else if let Some(digits) = candidate.strip_prefix(JOIN) {
            begins_some(digits, |i| self.open.joinable.contains(&i))
        } else {
            true
        };
        if legal { Ok(()) } else { Err(()) }
    }
}

/// Whether these digits are, or begin, an index that will do.
fn begins_some(digits: &[u8], will_do: impl Fn(u16) -> bool) -> bool {
    let head = digits
        .iter()
        .fold(0u32, |n, d| n * 10 + u32::from(d.saturating_sub(b'0')));
    if digits.is_empty() {
        return (1..=MAX_INDEX).any(will_do);
    }
    // `12` stands for 12, 120..=129 and 1200..=1299.
    let mut width = 1;
    while head * width <= u32::from(MAX_INDEX) {
        let range = head * width..=(head * width + width - 1).min(u32::from(MAX_INDEX));
        if range.filter_map(|i| u16::try_from(i).ok()).any(&will_do) {
            return true;
        }
        width *= 10;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(used: &[u16], joinable: &[u16], forks: Option<usize>) -> Open {
        Open {
            used: used.iter().copied().collect(),
            joinable: joinable.iter().copied().collect(),
            forks,
        }
    }

    /// Whether the last piece is forbidden after the others.
    fn forbidden(pieces: &[&str], open: Open) -> bool {
        let (last, before) = pieces.split_last().unwrap();
        let mut scanner = Scanner::new(Grammar::Organizer);
        for piece in before {
            scanner.push(piece.as_bytes(), 0, &mut Vec::new());
        }
        Guard::new(&scanner, open)
            .unwrap()
            .forbids(last.as_bytes(), false)
    }

    #[test]
    fn a_tag_is_forbidden_where_it_becomes_certain() {
        let some = || open(&[1, 2], &[2], Some(1));
        for (pieces, expected) in [
            (&["a < b <JO", "IN"][..], false),
            (&["<JOIN", "-"], false),
            (&["<JOIN-", "1"], true),
            (&["<JOIN-", "2"], false),
            (&["<JOIN-2", ">"], false),
            (&["<JOIN-2", "2"], true),
            (&["<JOIN-", "x"], false),
            (&["<FORK-", "1"], false),
            (&["<FORK-1", ">"], true),
            (&["<FORK-1", "2>"], false),
            (&["<FORK-3>", " </FORK-3>"], true),
            (&["<FORK-3>", " q </FORK-3>"], false),
            (&["<FORK-3>q</FORK-3><FORK-", "3"], false),
        ] {
            assert_eq!(forbidden(pieces, some()), expected, "{pieces:?}");
        }
        assert!(forbidden(&["<JOIN", "-"], open(&[1], &[], None)));
        assert!(forbidden(&["<FORK", "-"], open(&[], &[], Some(0))));
        assert!(forbidden(
            &["", "<FORK-1>q</FORK-1><FORK-1>"],
            open(&[], &[], None)
        ));
        assert!(!forbidden(
            &["", "<FORK-1>q</FORK-1><JOIN-1><ANSWER>x</ANSWER><JOIN-1>"],
            open(&[], &[], Some(1))
        ));
    }

    #[test]
    fn nobody_stops_inside_a_fork() {
        let mut scanner = Scanner::new(Grammar::Organizer);
        let guard = |scanner: &Scanner| Guard::new(scanner, Open::default()).unwrap();
        assert!(!guard(&scanner).forbids(b"", true));
        scanner.push(b"<FORK-1> q", 0, &mut Vec::new());
        assert!(guard(&scanner).forbids(b"", true));
        scanner.push(b" </FORK-1", 0, &mut Vec::new());
        assert!(guard(&scanner).forbids(b"", true));
        assert!(!guard(&scanner).forbids(b">", true));
    }

    #[test]
    fn workers_are_free() {
        assert_eq!(
            Guard::new(&Scanner::new(Grammar::Worker), Open::default()),
            None
        );
    }

    /// The actions of a thread that writes these tokens and is judged by the rules; true at the first error.
    struct Run {
        scanner: Scanner,
        open: Open,
        slots: usize,
    }

    impl Run {
        fn new(slots: usize) -> Self {
            Self {
                scanner: Scanner::new(Grammar::Organizer),
                open: open(&[], &[], Some(slots)),
                slots,
            }
        }

        fn guard(&self) -> Guard {
            Guard::new(&self.scanner, self.open.clone()).unwrap()
        }

        fn take(&mut self, bytes: &[u8]) -> Result<(), Found> {
            let mut findings = Vec::new();
            self.scanner.push(bytes, 0, &mut findings);
            for finding in findings {
                let fine = match &finding.found {
                    Found::Fork { index, query } => {
                        let left = self.open.forks.unwrap_or(usize::MAX);
                        self.open.forks = Some(left.saturating_sub(1));
                        self.open.joinable.insert(*index);
                        left > 0 && !query.is_empty() && self.open.used.insert(*index)
                    }
                    Found::Join { index } => {
                        // Whoever was joined has ended.
                        self.open.forks = self.open.forks.map(|f| (f + 1).min(self.slots));
                        self.open.joinable.remove(index)
                    }
                    _ => true,
                };
                if !fine {
                    return Err(finding.found);
                }
            }
            Ok(())
        }
    }

    fn token() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "<",
                "</",
                "FORK",
                "JOIN",
                "-",
                "1",
                "2",
                "12",
                ">",
                "<FORK-",
                "</FORK-",
                "<JOIN-",
                "<FORK-1>",
                "</FORK-1>",
                "</FORK-2>",
                "<JOIN-1>",
                "<JOIN-2>",
                "1>",
                "2>",
                "<FORK-2> q",
                " q ",
                " ",
                "\u{3000}",
                "<FORK-1>q</FORK-1><JOIN-1>",
                "<FO",
                "RK-",
                "<JO",
                "IN-",
            ])
            .prop_map(str::to_owned),
            "[<>/FORKJIN0-9 q-]{1,4}",
        ]
    }

    proptest! {
        #[test]
        fn random_tokens_that_are_not_forbidden_never_make_an_error(
            tokens in prop::collection::vec((token(), any::<bool>()), 0..200),
            slots in 0..4_usize,
        ) {
            let mut run = Run::new(slots);
            for (token, eos) in tokens {
                let guard = run.guard();
                if eos && !guard.forbids(b"", true) {
                    prop_assert!(!matches!(run.scanner.position(), Position::InFork(_)));
                }
                if guard.forbids(token.as_bytes(), false) {
                    continue;
                }
                prop_assert_eq!(run.take(token.as_bytes()), Ok(()), "{}", token);
            }
        }

        #[test]
        fn legal_text_is_never_forbidden_however_it_is_split(
            parts in prop::collection::vec((any::<bool>(), "[a-z< ]{0,5}"), 0..12),
            cuts in prop::collection::vec(1..9_usize, 1..60),
        ) {
            let (mut text, mut next, mut waiting) = (String::new(), 1, Vec::new());
            for (fork, words) in parts {
                text.push_str(&words);
                if fork || waiting.is_empty() {
                    text.push_str(&format!("<FORK-{next}>{words}q</FORK-{next}>"));
                    waiting.push(next);
                    next += 1;
                } else {
                    let index = waiting.remove(0);
                    text.push_str(&format!("<JOIN-{index}>"));
                }
            }
            text.push_str("<ANSWER>x</ANSWER>");
            let mut run = Run::new(usize::MAX);
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (token, after) = rest.split_at((*cut).min(rest.len()));
                prop_assert!(!run.guard().forbids(token, false), "{text}");
                prop_assert_eq!(run.take(token), Ok(()));
                rest = after;
            }
        }
    }
}
