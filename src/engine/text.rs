//! From bytes that arrive in pieces to text that can be shown.
//!
//! Tokens may begin or end inside a character. This holds back an unfinished character (three bytes at most)
//! and nothing else; bytes that can never become a character turn into U+FFFD at once. The original bytes
//! are the caller's to keep.

/// An incremental UTF-8 reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextStream {
    held: Vec<u8>,
}

impl TextStream {
    /// A reader at the beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Take in bytes; get all the text that is certain by now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        let mut done = 0;
        for chunk in self.held.utf8_chunks() {
            text.push_str(chunk.valid());
            done += chunk.valid().len();
            let invalid = chunk.invalid();
            let at_end = done + invalid.len() == self.held.len();
            if invalid.is_empty() || (at_end && can_go_on(invalid)) {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            done += invalid.len();
        }
        self.held.drain(..done);
        text
    }

    /// Bytes held back, at most 3.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// The text ended: what is held back can become no character any more.
    pub fn finish(&mut self) -> String {
        if self.held.is_empty() {
            return String::new();
        }
        self.held.clear();
        char::REPLACEMENT_CHARACTER.to_string()
    }
}

/// Whether these bytes begin a character and only lack its end.
fn can_go_on(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_character_is_shown_whole_however_it_is_split() {
        let brain = "🧠".as_bytes();
        for cut in 1..4 {
            let mut stream = TextStream::new();
            assert_eq!(stream.push(&brain[..cut]), "");
            assert_eq!(stream.held().len(), cut);
            assert_eq!(stream.push(&brain[cut..]), "🧠");
            assert!(stream.held().is_empty());
        }
    }

    #[test]
    fn a_lone_continuation_byte_does_not_stall() {
        let mut stream = TextStream::new();
        assert_eq!(stream.push(b"a\x9f"), "a\u{fffd}");
        assert_eq!(stream.push(b"b"), "b");
    }

    #[test]
    fn a_character_that_breaks_off_is_replaced_once_and_the_rest_goes_on() {
        let mut stream = TextStream::new();
        assert_eq!(stream.push(b"\xf0\x9f"), "");
        assert_eq!(stream.push(b"ok"), "\u{fffd}ok");
        assert_eq!(stream.push(b"\xe2\x82"), "");
        assert_eq!(stream.finish(), "\u{fffd}");
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn invalid_bytes_for_ever_hold_nothing_back() {
        let mut stream = TextStream::new();
        for _ in 0..1000 {
            assert_eq!(stream.push(&[0xff]), "\u{fffd}");
            assert!(stream.held().is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_split_of_any_bytes_reads_like_the_whole(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            text in ".{0,20}",
            cuts in prop::collection::vec(1usize..5, 1..90),
        ) {
            let mut bytes = bytes;
            bytes.extend_from_slice(text.as_bytes());
            let mut stream = TextStream::new();
            let (mut out, mut rest) = (String::new(), bytes.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                out += &stream.push(now);
                prop_assert!(stream.held().len() <= 3);
                rest = later;
            }
            out += &stream.finish();
            prop_assert_eq!(out, String::from_utf8_lossy(&bytes));
        }
    }
}
