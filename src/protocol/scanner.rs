//! From a thread's bytes to its actions, one byte at a time.
//!
//! The scanner reads what the thread decoded or a person wrote, as one stream, whatever the split over
//! tokens; splices are transparent to it. It says what was written, not whether it is allowed: that is
//! for [`crate::org::rules`].

use super::tag::{LONGEST_TAG, Match, Tag, classify};

/// Which tags mean something in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// FORK, JOIN and ANSWER.
    Organizer,
    /// RETURN; everything else is text.
    Worker,
    /// FORK, JOIN and RETURN: a worker that may organize workers of its own.
    SubOrganizer,
}

/// Something a thread wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A closed FORK.
    Fork {
        /// Sub-query index.
        index: u16,
        /// Trimmed; may be empty.
        query: String,
    },
    /// A JOIN tag.
    Join {
        /// Sub-query index.
        index: u16,
    },
    /// A closed ANSWER.
    Answer {
        /// Trimmed.
        text: String,
    },
    /// A closed RETURN.
    Return {
        /// Trimmed.
        text: String,
    },
}

/// [`Found`] with its place: bytes `[from, to)` of the thread's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub found: Found,
    /// First byte of the opening tag.
    pub from: u64,
    /// Byte after the last `>`.
    pub to: u64,
}

/// Where in the grammar a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Thinking.
    Free,
    /// Inside `<FORK-i>`.
    InFork(u16),
    /// Inside ANSWER.
    InAnswer,
    /// Inside RETURN.
    InReturn,
    /// After ANSWER or RETURN closed: the rest is text.
    Done,
}

/// Incremental scanner of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanner {
    grammar: Grammar,
    position: Position,
    /// Bytes that may become a tag, from its `<`.
    candidate: Vec<u8>,
    candidate_from: u64,
    /// Text inside the open tag.
    content: Vec<u8>,
    opened_at: u64,
}

impl Scanner {
    /// A scanner at the start of a thread.
    #[must_use]
    pub fn new(grammar: Grammar) -> Self {
        Self {
            grammar,
            position: Position::Free,
            candidate: Vec::with_capacity(LONGEST_TAG),
            candidate_from: 0,
            content: Vec::new(),
            opened_at: 0,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Which tags mean something to it.
    #[must_use]
    pub fn grammar(&self) -> Grammar {
        self.grammar
    }

    /// Bytes read last that may become a tag, from its `<`.
    #[must_use]
    pub fn candidate(&self) -> &[u8] {
        &self.candidate
    }

    /// A scanner that finds the same from here on, but for places and the wording of the tag that is open: of
    /// its text only as much is kept as tells whether it is blank.
    #[must_use]
    pub fn outline(&self) -> Self {
        let blank = self
            .content
            .utf8_chunks()
            .all(|chunk| chunk.valid().trim().is_empty());
        Self {
            candidate_from: 0,
            opened_at: 0,
            content: if blank {
                self.content.clone()
            } else {
                b"x".to_vec()
            },
            grammar: self.grammar,
            position: self.position,
            candidate: self.candidate.clone(),
        }
    }

    /// The text inside the tag that is open, so far and trimmed; `None` outside of tags.
    #[must_use]
    pub fn open_text(&self) -> Option<String> {
        match self.position {
            Position::Free | Position::Done => None,
            _ => {
                let mut text = self.content.clone();
                text.extend_from_slice(&self.candidate);
                Some(trimmed(&text))
            }
        }
    }

    /// Sets the position as if the matching tag had just been written, at byte `at`: for tags that a
    /// command splices.
    pub fn enter(&mut self, position: Position, at: u64) {
        self.position = position;
        self.candidate.clear();
        self.content.clear();
        self.opened_at = at;
    }

    /// Reads bytes that stand at byte `offset` of the thread's text; appends what they complete.
    pub fn push(&mut self, bytes: &[u8], offset: u64, findings: &mut Vec<Finding>) {
        for (i, &byte) in bytes.iter().enumerate() {
            if self.position == Position::Done {
                return;
            }
            self.push_byte(byte, offset + i as u64, findings);
        }
    }

    fn push_byte(&mut self, byte: u8, at: u64, findings: &mut Vec<Finding>) {
        if byte == b'<' {
            self.give_up_candidate();
            self.candidate_from = at;
            self.candidate.push(byte);
            return;
        }
        if self.candidate.is_empty() {
            self.text(byte);
            return;
        }
        self.candidate.push(byte);
        match classify(&self.candidate) {
            Match::Partial => {}
            Match::No => self.give_up_candidate(),
            Match::Complete(tag) => {
                if !self.take(tag, at + 1, findings) {
                    self.give_up_candidate();
                }
            }
        }
    }

    fn text(&mut self, byte: u8) {
        if self.position != Position::Free {
            self.content.push(byte);
        }
    }

    fn give_up_candidate(&mut self) {
        if self.position != Position::Free {
            self.content.extend_from_slice(&self.candidate);
        }
        self.candidate.clear();
    }

    /// Acts on a complete tag; false if it means nothing here.
    fn take(&mut self, tag: Tag, end: u64, findings: &mut Vec<Finding>) -> bool {
        let organizes = self.grammar != Grammar::Worker;
        let answers = self.grammar == Grammar::Organizer;
        let (next, found) = match (self.position, tag) {
            (Position::Free, Tag::ForkOpen(i)) if organizes => (Position::InFork(i), None),
            (Position::Free, Tag::Join(index)) if organizes => {
                (Position::Free, Some(Found::Join { index }))
            }
            (Position::Free, Tag::AnswerOpen) if answers => (Position::InAnswer, None),
            (Position::Free, Tag::ReturnOpen) if !answers => (Position::InReturn, None),
            (Position::InFork(index), Tag::ForkClose(i)) if i == index => {
                let query = trimmed(&self.content);
                (Position::Free, Some(Found::Fork { index, query }))
            }
            (Position::InAnswer, Tag::AnswerClose) => {
                let text = trimmed(&self.content);
                (Position::Done, Some(Found::Answer { text }))
            }
            (Position::InReturn, Tag::ReturnClose) => {
                let text = trimmed(&self.content);
                (Position::Done, Some(Found::Return { text }))
            }
            _ => return false,
        };
        if self.position == Position::Free {
            self.opened_at = self.candidate_from;
        }
        self.position = next;
        self.candidate.clear();
        self.content.clear();
        if let Some(found) = found {
            findings.push(Finding {
                found,
                from: self.opened_at,
                to: end,
            });
        }
        true
    }
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(grammar: Grammar, pieces: &[&[u8]]) -> (Vec<Finding>, Position) {
        let mut scanner = Scanner::new(grammar);
        let mut findings = Vec::new();
        let mut offset = 0;
        for piece in pieces {
            scanner.push(piece, offset, &mut findings);
            offset += piece.len() as u64;
        }
        (findings, scanner.position())
    }

    fn whole(grammar: Grammar, text: &str) -> Vec<Found> {
        scan(grammar, &[text.as_bytes()])
            .0
            .into_iter()
            .map(|f| f.found)
            .collect()
    }

    fn fork(index: u16, query: &str) -> Found {
        Found::Fork {
            index,
            query: query.into(),
        }
    }

    #[test]
    fn every_split_of_a_tag_gives_the_one_action_with_its_exact_span() {
        let text = b"ab<FORK-12> q </FORK-12><JOIN-1>x<ANSWER> 7 </ANSWER>zz";
        let (expected, _) = scan(Grammar::Organizer, &[text]);
        assert_eq!(
            expected.iter().map(|f| (f.from, f.to)).collect::<Vec<_>>(),
            [(2, 24), (24, 32), (33, 53)]
        );
        for a in 0..text.len() {
            for b in a..text.len() {
                let split = scan(Grammar::Organizer, &[&text[..a], &text[a..b], &text[b..]]);
                assert_eq!(split.0, expected, "{a} {b}");
            }
        }
    }

    #[test]
    fn an_index_grows_until_the_bracket_closes() {
        let (findings, _) = scan(Grammar::Organizer, &[b"<JOIN-1", b"2>"]);
        assert_eq!(findings[0].found, Found::Join { index: 12 });
    }

    #[test]
    fn inside_a_fork_only_its_own_closing_tag_is_a_tag() {
        let text = "<FORK-1> a <FORK-2> b </FORK-2> <JOIN-1> <ANSWER> < </FORK-1>";
        assert_eq!(
            whole(Grammar::Organizer, text),
            [fork(1, "a <FORK-2> b </FORK-2> <JOIN-1> <ANSWER> <")]
        );
    }

    #[test]
    fn a_worker_only_returns() {
        let text =
            "<FORK-1>q</FORK-1><JOIN-1><ANSWER>a</ANSWER></RETURN><RETURN>r<RETURN></RETURN>";
        assert_eq!(
            whole(Grammar::Worker, text),
            [Found::Return {
                text: "r<RETURN>".into()
            }]
        );
    }

    #[test]
    fn nothing_after_the_answer_is_an_action() {
        let text = "<ANSWER></ANSWER><FORK-1>q</FORK-1><ANSWER>b</ANSWER>";
        assert_eq!(
            whole(Grammar::Organizer, text),
            [Found::Answer {
                text: String::new()
            }]
        );
    }

    #[test]
    fn a_second_bracket_starts_over() {
        assert_eq!(
            whole(Grammar::Organizer, "<<JOIN-3> <FO<JOIN-4> <JOIN-<JOIN-5>"),
            [3, 4, 5].map(|index| Found::Join { index })
        );
    }

    #[test]
    fn a_command_can_open_a_tag() {
        let mut scanner = Scanner::new(Grammar::Worker);
        let mut findings = Vec::new();
        scanner.push(b"thinking <RET", 0, &mut findings);
        scanner.enter(Position::InReturn, 13);
        scanner.push(b" done </RETURN>", 21, &mut findings);
        assert_eq!(
            findings,
            [Finding {
                found: Found::Return {
                    text: "done".into()
                },
                from: 13,
                to: 36
            }]
        );
    }

    #[test]
    fn an_open_tag_gives_its_text_so_far() {
        let mut scanner = Scanner::new(Grammar::Worker);
        scanner.push(b"a<RETURN> half </RET", 0, &mut Vec::new());
        assert_eq!(scanner.open_text().as_deref(), Some("half </RET"));
    }

    fn soup() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just("<FORK-1>".to_owned()),
            Just("</FORK-1>".to_owned()),
            Just("<FORK-23>".to_owned()),
            Just("</FORK-23>".to_owned()),
            Just("<JOIN-1>".to_owned()),
            Just("</JOIN-1>".to_owned()),
            Just("<ANSWER>".to_owned()),
            Just("</ANSWER>".to_owned()),
            Just("<RETURN>".to_owned()),
            Just("</RETURN>".to_owned()),
            "[<>/FORKJOIN\\-0-9 a]{0,6}",
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn any_token_split_gives_the_same_actions(
            text in soup(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
            grammar in prop_oneof![
                Just(Grammar::Organizer), Just(Grammar::Worker), Just(Grammar::SubOrganizer)
            ],
        ) {
            let expected = scan(grammar, &[&text]);
            let mut places: Vec<usize> = cuts.iter().map(|c| c.index(text.len() + 1)).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|w| &text[w[0]..w[1]]).collect();
            prop_assert_eq!(scan(grammar, &pieces), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = scan(Grammar::SubOrganizer, &[&text]);
        }
    }
}
