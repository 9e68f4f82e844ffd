//! The tags, byte by byte.

use crate::org::MAX_INDEX;

/// A complete tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `<FORK-i>`
    ForkOpen(u16),
    /// `</FORK-i>`
    ForkClose(u16),
    /// `<JOIN-i>`
    Join(u16),
    /// `</JOIN-i>`: only ever written by the system.
    JoinClose(u16),
    /// `<ANSWER>`
    AnswerOpen,
    /// `</ANSWER>`
    AnswerClose,
    /// `<RETURN>`
    ReturnOpen,
    /// `</RETURN>`
    ReturnClose,
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ForkOpen(i) => write!(f, "<FORK-{i}>"),
            Self::ForkClose(i) => write!(f, "</FORK-{i}>"),
            Self::Join(i) => write!(f, "<JOIN-{i}>"),
            Self::JoinClose(i) => write!(f, "</JOIN-{i}>"),
            Self::AnswerOpen => f.write_str("<ANSWER>"),
            Self::AnswerClose => f.write_str("</ANSWER>"),
            Self::ReturnOpen => f.write_str("<RETURN>"),
            Self::ReturnClose => f.write_str("</RETURN>"),
        }
    }
}

/// What some bytes, beginning with `<`, are on the way to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// Cannot become a tag.
    No,
    /// A proper prefix of at least one tag.
    Partial,
    /// Exactly this tag.
    Complete(Tag),
}

/// How a tag with an index begins, and the tag of an index.
type Numbered = (&'static [u8], fn(u16) -> Tag);

const NUMBERED: [Numbered; 4] = [
    (b"<FORK-", Tag::ForkOpen),
    (b"</FORK-", Tag::ForkClose),
    (b"<JOIN-", Tag::Join),
    (b"</JOIN-", Tag::JoinClose),
];

const PLAIN: [(&[u8], Tag); 4] = [
    (b"<ANSWER>", Tag::AnswerOpen),
    (b"</ANSWER>", Tag::AnswerClose),
    (b"<RETURN>", Tag::ReturnOpen),
    (b"</RETURN>", Tag::ReturnClose),
];

/// The longest tag, `</FORK-9999>`, in bytes.
pub const LONGEST_TAG: usize = 12;

/// Classifies bytes that begin with `<`.
#[must_use]
pub fn classify(bytes: &[u8]) -> Match {
    for (word, tag) in PLAIN {
        if bytes == word {
            return Match::Complete(tag);
        }
        if word.starts_with(bytes) {
            return Match::Partial;
        }
    }
    for (word, tag) in NUMBERED {
        if word.starts_with(bytes) {
            return Match::Partial;
        }
        if let Some(number) = bytes.strip_prefix(word) {
            return match number {
                [digits @ .., b'>'] => index(digits).map_or(Match::No, |i| Match::Complete(tag(i))),
                digits => index(digits).map_or(Match::No, |_| Match::Partial),
            };
        }
    }
    Match::No
}

/// A decimal 1..=9999 without sign or leading zero.
fn index(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 4 || digits[0] == b'0' {
        return None;
    }
    digits
        .iter()
        .try_fold(0u16, |n, d| {
            d.is_ascii_digit().then(|| n * 10 + u16::from(d - b'0'))
        })
        .filter(|n| *n <= MAX_INDEX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_partial_until_its_last_byte() {
        for tag in [
            Tag::ForkOpen(1),
            Tag::ForkClose(9999),
            Tag::Join(12),
            Tag::JoinClose(7),
            Tag::AnswerOpen,
            Tag::AnswerClose,
            Tag::ReturnOpen,
            Tag::ReturnClose,
        ] {
            let text = tag.to_string();
            assert!(text.len() <= LONGEST_TAG);
            for n in 1..text.len() {
                assert_eq!(
                    classify(&text.as_bytes()[..n]),
                    Match::Partial,
                    "{text} {n}"
                );
            }
            assert_eq!(classify(text.as_bytes()), Match::Complete(tag));
        }
    }

    #[test]
    fn what_merely_looks_similar_is_text() {
        for text in [
            "<FORK>",
            "<FORK->",
            "<FORK-x>",
            "<FORK-01>",
            "<FORK-0>",
            "<FORK-10000>",
            "<FORK-99999999999>",
            "<fork-1>",
            "<FORK-1 >",
            "< FORK-1>",
            "<FORK-1/>",
            "<ANSWER >",
            "<Answer>",
            "a<b",
            "<b>",
            "</ RETURN>",
        ] {
            assert_eq!(classify(text.as_bytes()), Match::No, "{text}");
        }
    }
}
