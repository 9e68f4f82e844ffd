//! One thread's text for the screen.
//!
//! It keeps the bytes as they came, and beside them what they show: sanitised, with tags as chips.
//! Offsets in its interface are bytes of the thread's text (those of the session file); offsets of the
//! shown text stay inside this room. Everything is append-only but a tail of at most one tag.

use super::cluster::ceil_boundary;
use super::display::Display;
use super::sanitize::{safe_line, safe_text};
use super::tag::Inside;
use super::tokens::{TokenRef, Tokens};
use crate::org::{Author, SpliceKind};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Text that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Tokens decoded (or written) in the thread's own stream.
    Decoded {
        /// Token ids.
        ids: &'a [u32],
        /// Byte length per token.
        lens: &'a [u32],
    },
    /// Text put into the context.
    Spliced(SpliceKind),
}

/// How a stretch of text came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// Decoded or written in the thread's own stream.
    Decoded,
    /// Put into the context.
    Spliced(SpliceKind),
}

/// Who wrote a stretch of text, and how it came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Who.
    pub author: Author,
    /// How.
    pub kind: PieceKind,
}

#[derive(Debug, Clone)]
struct Span {
    source: usize,
    tokens: usize,
    origin: Origin,
}

/// One thread's text.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Changes whenever offsets of the shown text lose their meaning.
    revision: u64,
    /// Bytes of the thread's text before the first one here.
    base: u64,
    raw: Vec<u8>,
    display: Display,
    spans: Vec<Span>,
    tokens: Tokens,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

fn next_revision() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Transcript {
    /// An empty text, from the thread's beginning.
    #[must_use]
    pub fn new() -> Self {
        Self::begin(0, 0, Inside::Nothing)
    }

    /// A text that begins midway: `byte` bytes and `token` own tokens of the thread came before.
    #[must_use]
    pub fn starting_at(byte: u64, token: u64) -> Self {
        let inside = if byte == 0 {
            Inside::Nothing
        } else {
            Inside::Unknown
        };
        Self::begin(byte, token, inside)
    }

    fn begin(base: u64, token: u64, inside: Inside) -> Self {
        Self {
            revision: next_revision(),
            base,
            raw: Vec::new(),
            display: Display::new(inside),
            spans: Vec::new(),
            tokens: Tokens::starting_at(token),
        }
    }

    /// Appends text.
    pub fn push(&mut self, bytes: &[u8], author: &Author, piece: Piece<'_>) {
        let at = self.raw.len();
        let kind = match piece {
            Piece::Decoded { ids, lens } => {
                self.mark_origin(at, author, PieceKind::Decoded);
                let byte = self.byte_of(at);
                self.tokens.push(byte, bytes.len() as u64, ids, lens);
                PieceKind::Decoded
            }
            Piece::Spliced(kind) => {
                self.display.settle(&self.raw);
                self.mark_origin(at, author, PieceKind::Spliced(kind));
                PieceKind::Spliced(kind)
            }
        };
        self.raw.extend_from_slice(bytes);
        match kind {
            PieceKind::Spliced(SpliceKind::Result) => self.display.result(&self.raw),
            PieceKind::Spliced(_) => {
                self.display.stream(&self.raw);
                self.display.settle(&self.raw);
            }
            PieceKind::Decoded => self.display.stream(&self.raw),
        }
        self.display.cut_chunks();
    }

    /// The thread has ended: bytes held back as the beginning of a character are shown as bad.
    pub fn finish(&mut self) {
        self.display.settle(&self.raw);
        self.display.cut_chunks();
    }

    /// Puts `older` before this text; it must reach exactly up to where this one begins, else nothing
    /// happens and `false` is returned.
    pub fn prepend(&mut self, older: Self) -> bool {
        let older_tokens = older
            .tokens
            .before()
            .saturating_add(older.tokens.len() as u64);
        if older.end() != self.base || older_tokens != self.tokens.before() {
            return false;
        }
        let newer = std::mem::replace(self, older);
        self.revision = next_revision();
        self.push_again(&newer, newer.raw.len());
        true
    }

    /// Forgets everything from byte `byte` of the thread's text on (an earlier moment, another branch).
    pub fn truncate(&mut self, byte: u64) {
        let keep = self.index_of(byte);
        if keep == self.raw.len() {
            return;
        }
        let inside = match self.base {
            0 => Inside::Nothing,
            _ => Inside::Unknown,
        };
        let fresh = Self::begin(self.base, self.tokens.before(), inside);
        let old = std::mem::replace(self, fresh);
        self.push_again(&old, keep);
    }

    /// Pushes the first `len` bytes of `other` as they came there; a token that is cut is shortened.
    fn push_again(&mut self, other: &Self, len: usize) {
        let ends = other
            .spans
            .iter()
            .skip(1)
            .map(|s| (s.source, s.tokens))
            .chain([(other.raw.len(), other.tokens.len())]);
        for (span, (end, tokens)) in other.spans.iter().zip(ends) {
            if span.source >= len {
                break;
            }
            let bytes = &other.raw[span.source..end.min(len)];
            let (ids, lens) = other.tokens.slice(span.tokens, tokens, bytes.len());
            let piece = match span.origin.kind {
                PieceKind::Decoded => Piece::Decoded { ids, lens: &lens },
                PieceKind::Spliced(kind) => Piece::Spliced(kind),
            };
            self.push(bytes, &span.origin.author, piece);
        }
    }

    fn mark_origin(&mut self, source: usize, author: &Author, kind: PieceKind) {
        let same = self.spans.last().is_some_and(|last| {
            // Every splice keeps its own span: a result ends with its own closing tag.
            last.origin.kind == PieceKind::Decoded
                && kind == PieceKind::Decoded
                && last.origin.author == *author
        });
        if !same {
            self.spans.push(Span {
                source,
                tokens: self.tokens.len(),
                origin: Origin {
                    author: author.clone(),
                    kind,
                },
            });
        }
    }

    /// Bytes of the thread's text before the first one here.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.base
    }

    /// Bytes of the thread's text up to the last one here.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base.saturating_add(self.raw.len() as u64)
    }

    /// Own tokens of the thread before the first one here.
    #[must_use]
    pub fn tokens_before(&self) -> u64 {
        self.tokens.before()
    }

    /// Bytes held here.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The bytes as they came.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.raw
    }

    /// The text for copying and paging: tags as written, line breaks as written, nothing that could
    /// drive a terminal.
    #[must_use]
    pub fn logical_text(&self) -> String {
        self.logical_slice(self.start()..self.end())
    }

    /// Part of [`Self::logical_text`].
    #[must_use]
    pub fn logical_slice(&self, span: Range<u64>) -> String {
        let from = self.index_of(span.start);
        let to = self.index_of(span.end).max(from);
        safe_text(&String::from_utf8_lossy(&self.raw[from..to])).into_owned()
    }

    /// The last `max` bytes or so of the shown text, in one line: for rows of a list.
    #[must_use]
    pub fn last_words(&self, max: usize) -> Cow<'_, str> {
        let shown = self.shown();
        let from = ceil_boundary(shown, shown.len().saturating_sub(max));
        safe_line(&shown[from..])
    }

    /// Who wrote byte `byte` of the thread's text.
    #[must_use]
    pub fn origin_at(&self, byte: u64) -> Option<&Origin> {
        if byte < self.base || byte >= self.end() {
            return None;
        }
        let at = self.index_of(byte);
        let span = self.spans.partition_point(|s| s.source <= at);
        self.spans.get(span.checked_sub(1)?).map(|s| &s.origin)
    }

    /// Origins that touch the bytes `[from, to)` of the thread's text.
    pub fn origins(&self, span: Range<u64>) -> impl Iterator<Item = &Origin> {
        let from = self.index_of(span.start);
        let to = self.index_of(span.end);
        let first = self
            .spans
            .partition_point(|s| s.source <= from)
            .saturating_sub(1);
        self.spans[first..]
            .iter()
            .take_while(move |s| s.source < to)
            .map(|s| &s.origin)
    }

    /// The decoded token that holds byte `byte`; none for spliced text.
    #[must_use]
    pub fn token_at(&self, byte: u64) -> Option<TokenRef> {
        self.tokens.at(byte)
    }

    /// The token with that many own tokens of the thread before it.
    #[must_use]
    pub fn token(&self, index: u64) -> Option<TokenRef> {
        self.tokens.get(index)
    }

    // --- for the other rooms of `text` ---

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn display(&self) -> &Display {
        &self.display
    }

    /// The shown text.
    pub(super) fn shown(&self) -> &str {
        self.display.text()
    }

    /// Where byte `byte` of the thread's text is shown: the beginning of whatever shows it.
    pub(super) fn shown_of(&self, byte: u64) -> usize {
        self.display.shown_of(self.index_of(byte))
    }

    /// Which byte of the thread's text is shown at `shown`.
    pub(super) fn source_of(&self, shown: usize) -> u64 {
        if shown >= self.shown().len() {
            return self.end();
        }
        self.byte_of(self.display.unit_at(shown).0)
    }

    /// The bytes of the thread's text that are shown at `shown`, replacements whole.
    pub(super) fn source_span(&self, shown: Range<usize>) -> Range<u64> {
        let from = self.source_of(shown.start);
        match shown.end.checked_sub(1) {
            Some(last) if last >= shown.start => {
                let (source, len) = self.display.unit_at(last);
                from..self.byte_of(source + len)
            }
            _ => from..from,
        }
    }

    fn byte_of(&self, source: usize) -> u64 {
        self.base.saturating_add(source.min(self.raw.len()) as u64)
    }

    fn index_of(&self, byte: u64) -> usize {
        usize::try_from(byte.saturating_sub(self.base))
            .unwrap_or(usize::MAX)
            .min(self.raw.len())
    }
}

#[cfg(test)]
mod tests;
