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
mod tests;
