//! Search in a thread's text, line by line.

use super::transcript::Transcript;
use regex::Regex;
use std::ops::Range;

/// Where a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    Forward,
    /// Towards the beginning.
    Backward,
}

impl Transcript {
    /// The next match from byte `from` on, or the last one before it, as bytes of the thread's text.
    /// Searches what is shown, line by line; does not wrap around.
    #[must_use]
    pub fn find(&self, pattern: &Regex, from: u64, direction: Direction) -> Option<Range<u64>> {
        let at = self.shown_of(from);
        let found = match direction {
            Direction::Forward => self.find_forward(pattern, at),
            Direction::Backward => self.find_backward(pattern, at),
        }?;
        Some(self.source_span(found))
    }

    fn find_forward(&self, pattern: &Regex, at: usize) -> Option<Range<usize>> {
        let mut line = self.display().line_start(at);
        while line <= self.shown().len() {
            let end = self.display().line_end(line);
            let from = at.max(line);
            let found = pattern
                .find_iter(&self.shown()[line..end])
                .map(|m| m.start() + line..m.end() + line)
                .find(|m| m.start >= from && !m.is_empty());
            if found.is_some() {
                return found;
            }
            line = end + 1;
        }
        None
    }

    fn find_backward(&self, pattern: &Regex, at: usize) -> Option<Range<usize>> {
        let mut line = self.display().line_start(at);
        loop {
            let end = self.display().line_end(line);
            let found = pattern
                .find_iter(&self.shown()[line..end])
                .map(|m| m.start() + line..m.end() + line)
                .filter(|m| m.start < at && !m.is_empty())
                .last();
            if found.is_some() {
                return found;
            }
            line = self.display().line_start(line.checked_sub(1)?);
        }
    }
}
