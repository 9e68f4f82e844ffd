//! Tags of the protocol, recognised for display only.
//!
//! The exact grammar, and the rule that inside FORK, ANSWER and RETURN only the own closing tag is
//! one. Nothing acts on what is found here; actions come from events.

/// Longest tag: `</FORK-9999>`.
const LONGEST: usize = 12;

/// A tag drawn as a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// `<FORK-i>`
    Fork(u16),
    /// `</FORK-i>`
    ForkEnd(u16),
    /// `<JOIN-i>`
    Join(u16),
    /// `</JOIN-i>`
    JoinEnd(u16),
    /// `<ANSWER>`
    Answer,
    /// `</ANSWER>`
    AnswerEnd,
    /// `<RETURN>`
    Return,
    /// `</RETURN>`
    ReturnEnd,
}

impl TagKind {
    /// The chip; the brackets have ASCII stand-ins of the same width.
    pub(super) fn chip(self) -> String {
        match self {
            Self::Fork(i) => format!("⟨FORK {i}⟩"),
            Self::Join(i) => format!("⟨JOIN {i}⟩"),
            Self::Answer => "⟨ANSWER⟩".to_owned(),
            Self::Return => "⟨RETURN⟩".to_owned(),
            Self::ForkEnd(_) | Self::JoinEnd(_) | Self::AnswerEnd | Self::ReturnEnd => {
                "⟨/⟩".to_owned()
            }
        }
    }
}

/// What begins at a `<`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// A tag of that many bytes.
    Tag(TagKind, usize),
    /// Nothing yet, but more text could make it a tag.
    Partial,
    /// No tag.
    No,
}

/// Matches a tag at the beginning of `bytes`.
pub(super) fn match_tag(bytes: &[u8]) -> Match {
    let window = &bytes[..bytes.len().min(LONGEST)];
    let (closing, name) = match window {
        [b'<', b'/', rest @ ..] => (true, rest),
        [b'<', rest @ ..] => (false, rest),
        _ => return Match::No,
    };
    let head = 1 + usize::from(closing);
    if name.is_empty() {
        return Match::Partial;
    }
    let mut partial = false;
    for word in ["ANSWER>", "RETURN>", "FORK-", "JOIN-"] {
        let word_bytes = word.as_bytes();
        if name.len() < word_bytes.len() {
            partial |= word_bytes.starts_with(name);
            continue;
        }
        if !name.starts_with(word_bytes) {
            continue;
        }
        let end = head + word.len();
        return match (word, closing) {
            ("ANSWER>", false) => Match::Tag(TagKind::Answer, end),
            ("ANSWER>", true) => Match::Tag(TagKind::AnswerEnd, end),
            ("RETURN>", false) => Match::Tag(TagKind::Return, end),
            ("RETURN>", true) => Match::Tag(TagKind::ReturnEnd, end),
            ("FORK-", _) => indexed(&name[word.len()..], end, |i| match closing {
                true => TagKind::ForkEnd(i),
                false => TagKind::Fork(i),
            }),
            _ => indexed(&name[word.len()..], end, |i| match closing {
                true => TagKind::JoinEnd(i),
                false => TagKind::Join(i),
            }),
        };
    }
    if partial { Match::Partial } else { Match::No }
}

/// Matches `i>` with i in 1..=9999 and without a leading zero.
fn indexed(bytes: &[u8], at: usize, kind: impl Fn(u16) -> TagKind) -> Match {
    let mut index = 0;
    for (n, byte) in bytes.iter().enumerate() {
        match byte {
            b'>' if n > 0 => return Match::Tag(kind(index), at + n + 1),
            b'0' if n == 0 => return Match::No,
            b'0'..=b'9' if n < 4 => index = index * 10 + u16::from(byte - b'0'),
            _ => return Match::No,
        }
    }
    Match::Partial
}

/// The closing `</JOIN-i>` at the end of a spliced result.
pub(super) fn closing_join(bytes: &[u8]) -> Option<(TagKind, usize)> {
    let from = bytes.len().saturating_sub(LONGEST);
    let at = from + memchr::memrchr(b'<', &bytes[from..])?;
    match match_tag(&bytes[at..]) {
        Match::Tag(kind @ TagKind::JoinEnd(_), len) if at + len == bytes.len() => Some((kind, len)),
        _ => None,
    }
}

/// Inside which tag the text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Inside {
    /// None.
    #[default]
    Nothing,
    /// The beginning was not seen, so any closing tag may be the right one.
    Unknown,
    /// A sub-query.
    Fork(u16),
    /// An answer.
    Answer,
    /// A result.
    Return,
}

impl Inside {
    /// Whether `tag` counts as a tag here; if so, where the text stands after it.
    pub(super) fn step(self, tag: TagKind) -> Option<Self> {
        match (self, tag) {
            (Self::Nothing | Self::Unknown, TagKind::Fork(i)) => Some(Self::Fork(i)),
            (Self::Nothing | Self::Unknown, TagKind::Answer) => Some(Self::Answer),
            (Self::Nothing | Self::Unknown, TagKind::Return) => Some(Self::Return),
            (Self::Nothing | Self::Unknown, TagKind::Join(_)) => Some(Self::Nothing),
            (Self::Fork(open), TagKind::ForkEnd(i)) if open == i => Some(Self::Nothing),
            (Self::Unknown, TagKind::ForkEnd(_) | TagKind::AnswerEnd | TagKind::ReturnEnd)
            | (Self::Answer, TagKind::AnswerEnd)
            | (Self::Return, TagKind::ReturnEnd) => Some(Self::Nothing),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_grammar_is_a_tag() {
        for (text, kind) in [
            ("<FORK-1>", TagKind::Fork(1)),
            ("</FORK-12>", TagKind::ForkEnd(12)),
            ("<JOIN-9999>", TagKind::Join(9999)),
            ("</FORK-9999>", TagKind::ForkEnd(9999)),
            ("</JOIN-7>", TagKind::JoinEnd(7)),
            ("<ANSWER>", TagKind::Answer),
            ("</ANSWER>", TagKind::AnswerEnd),
            ("<RETURN>", TagKind::Return),
            ("</RETURN>", TagKind::ReturnEnd),
        ] {
            assert_eq!(match_tag(text.as_bytes()), Match::Tag(kind, text.len()));
            for cut in 1..text.len() {
                assert_eq!(match_tag(&text.as_bytes()[..cut]), Match::Partial, "{text}");
            }
        }
        for text in [
            "<FORK>",
            "<FORK->",
            "<FORK-0>",
            "<FORK-01>",
            "<FORK-10000",
            "<FORK-x>",
            "<fork-1>",
            "<FORK-1 >",
            "<FORK-+1>",
            "< FORK-1>",
            "<ANSWER >",
            "</>",
            "<a",
            "<FORK-99999999999>",
        ] {
            assert_eq!(match_tag(text.as_bytes()), Match::No, "{text}");
        }
    }

    #[test]
    fn a_result_has_only_its_closing_tag() {
        assert_eq!(
            closing_join(b"see <FORK-1></JOIN-3>"),
            Some((TagKind::JoinEnd(3), 9))
        );
        assert_eq!(closing_join(b"</JOIN-3> more"), None);
        assert_eq!(closing_join(b""), None);
    }
}
