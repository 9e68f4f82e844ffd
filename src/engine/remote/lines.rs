//! Bytes to lines, however they were cut on the way, with a bound on what is held.

/// Longest line, and longest run of lines without an empty one (one event).
const LONGEST: usize = 1 << 20;

/// Collects bytes into lines. What is not UTF-8 becomes replacement characters.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    /// Bytes of full lines since the last empty one.
    since_empty: usize,
}

/// More came without an end than any answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    /// Takes in bytes; the lines that they complete, each with its newline.
    ///
    /// # Errors
    /// [`TooLong`] where a line or an event grows beyond every measure.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            if self.held.len() + piece.len() > LONGEST {
                return Err(TooLong);
            }
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.held).into_owned();
                self.held.clear();
                if line.trim_end().is_empty() {
                    self.since_empty = 0;
                } else {
                    self.since_empty += line.len();
                }
                if self.since_empty > LONGEST {
                    return Err(TooLong);
                }
                lines.push(line);
            }
        }
        Ok(lines)
    }

    /// Lines that stand alone are events by themselves.
    pub fn alone(&mut self) {
        self.since_empty = 0;
    }

    /// What is left without a newline at the end.
    pub fn rest(&mut self) -> Option<String> {
        (!self.held.is_empty())
            .then(|| String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cuts_do_not_matter(text in "[a-zé🧠\n]{0,40}", cuts in prop::collection::vec(0usize..200, 0..8)) {
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let mut lines = Lines::default();
            let mut got = Vec::new();
            for pair in at.windows(2) {
                got.extend(lines.push(&bytes[pair[0]..pair[1]]).unwrap());
            }
            got.extend(lines.rest());
            prop_assert_eq!(got.concat(), text);
        }
    }

    #[test]
    fn a_line_and_an_event_have_a_longest_length() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&vec![b'x'; LONGEST + 1]), Err(TooLong));
        let mut lines = Lines::default();
        let line = [vec![b'x'; LONGEST / 2], vec![b'\n']].concat();
        assert!(lines.push(&line).is_ok());
        assert_eq!(lines.push(&[line.clone(), line].concat()), Err(TooLong));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(Lines::default().push(b"a\xff\n").unwrap(), ["a\u{fffd}\n"]);
    }
}
