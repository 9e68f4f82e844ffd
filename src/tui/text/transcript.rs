//! One thread's text for the screen.
//!
//! It keeps the bytes as they came, and beside them what they show: sanitised, with tags as chips.
//! Offsets in its interface are bytes of the thread's text (those of the session file); offsets of the
//! shown text stay inside this room. Everything is append-only but a tail of at most one tag.

use super::sanitize::{Decoded, Shower, Shown, decode, safe_text};
use super::tag::{Inside, Match, TagKind, closing_join, match_tag};
use super::tokens::{TokenRef, Tokens};
use super::wrap::{CHUNK, cut_point};
use crate::org::{Author, SpliceKind};
use regex::Regex;
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

/// Where a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    Forward,
    /// Towards the beginning.
    Backward,
}

/// From here on, `source` bytes show as `shown` bytes each.
#[derive(Debug, Clone, Copy)]
struct Run {
    shown: usize,
    source: usize,
    source_step: u8,
    shown_step: u8,
}

#[derive(Debug, Clone)]
struct Span {
    source: usize,
    tokens: usize,
    origin: Origin,
}

/// A tag in the shown text.
#[derive(Debug, Clone)]
pub(super) struct Chip {
    pub(super) shown: Range<usize>,
    pub(super) kind: TagKind,
}

/// One thread's text.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Changes whenever offsets of the shown text lose their meaning.
    revision: u64,
    /// Bytes of the thread's text before the first one here.
    base: u64,
    raw: Vec<u8>,
    /// Bytes of `raw` whose showing is settled.
    settled_raw: usize,
    shown: String,
    /// Bytes of `shown` that will not change.
    settled: usize,
    runs: Vec<Run>,
    /// Where each chunk begins: every line, and long lines in pieces.
    chunks: Vec<usize>,
    chips: Vec<Chip>,
    spans: Vec<Span>,
    tokens: Tokens,
    shower: Shower,
    inside: Inside,
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
            settled_raw: 0,
            shown: String::new(),
            settled: 0,
            runs: Vec::new(),
            chunks: vec![0],
            chips: Vec::new(),
            spans: Vec::new(),
            tokens: Tokens::starting_at(token),
            shower: Shower::default(),
            inside,
        }
    }

    /// Appends text.
    pub fn push(&mut self, bytes: &[u8], author: &Author, piece: Piece<'_>) {
        let at = self.raw.len();
        let kind = match piece {
            Piece::Decoded { ids, lens } => {
                self.mark_origin(at, author, PieceKind::Decoded);
                let byte = self.base.saturating_add(at as u64);
                self.tokens.push(byte, bytes.len() as u64, ids, lens);
                PieceKind::Decoded
            }
            Piece::Spliced(kind) => {
                self.settle_rest();
                self.mark_origin(at, author, PieceKind::Spliced(kind));
                PieceKind::Spliced(kind)
            }
        };
        self.raw.extend_from_slice(bytes);
        match kind {
            PieceKind::Spliced(SpliceKind::Result) => self.show_result(),
            PieceKind::Spliced(_) => {
                self.show_stream();
                self.settle_rest();
            }
            PieceKind::Decoded => self.show_stream(),
        }
        self.cut_chunks();
    }

    /// The thread has ended: bytes held back as the beginning of a character are shown as bad.
    pub fn finish(&mut self) {
        self.settle_rest();
        self.cut_chunks();
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

    /// Shows what follows in the scanned stream; a possible tag at the end is shown as plain text
    /// until it is one.
    fn show_stream(&mut self) {
        self.drop_unsettled();
        while self.settled_raw < self.raw.len() {
            let rest = &self.raw[self.settled_raw..];
            if rest[0] != b'<' {
                let end = memchr::memchr(b'<', rest);
                let whole = end.is_some();
                if self.show_plain(end.unwrap_or(rest.len()), whole) > 0 {
                    break;
                }
                continue;
            }
            match match_tag(rest) {
                Match::Tag(tag, len) => match self.inside.step(tag) {
                    Some(inside) => {
                        self.inside = inside;
                        self.show_chip(tag, len);
                    }
                    None => {
                        self.show_plain(len, true);
                    }
                },
                Match::No => {
                    self.show_plain(1, true);
                }
                Match::Partial => {
                    let tail = String::from_utf8_lossy(rest).into_owned();
                    self.add_run(self.settled_raw, 1, 1);
                    self.shown.push_str(&tail);
                    break;
                }
            }
        }
    }

    /// Shows a spliced result: nothing in it is a tag but its own closing.
    fn show_result(&mut self) {
        self.drop_unsettled();
        let rest = &self.raw[self.settled_raw..];
        let closing = closing_join(rest);
        let body = rest.len() - closing.map_or(0, |(_, len)| len);
        self.show_plain(body, true);
        if let Some((tag, len)) = closing {
            self.show_chip(tag, len);
        }
    }

    fn settle_rest(&mut self) {
        self.drop_unsettled();
        self.show_plain(self.raw.len() - self.settled_raw, true);
    }

    fn drop_unsettled(&mut self) {
        self.shown.truncate(self.settled);
        while self.runs.last().is_some_and(|r| r.shown >= self.settled) {
            self.runs.pop();
        }
    }

    /// Shows the next `len` raw bytes as text and returns how many of them are held back; none if the
    /// stretch is `whole`.
    fn show_plain(&mut self, len: usize, whole: bool) -> usize {
        let from = self.settled_raw;
        // Taken out so that it can be read while the showing grows.
        let raw = std::mem::take(&mut self.raw);
        let mut at = from;
        let held = decode(&raw[from..from + len], |piece| match piece {
            Decoded::Text(text) => {
                self.show_text(at, text);
                at += text.len();
            }
            Decoded::Bad(bad) => {
                self.show_bad(at, bad);
                at += bad;
            }
        });
        self.raw = raw;
        if whole && held > 0 {
            self.show_bad(at, held);
            at += held;
        }
        self.settled_raw = at;
        self.settled = self.shown.len();
        if whole { 0 } else { held }
    }

    fn show_text(&mut self, source: usize, text: &str) {
        for (at, c) in text.char_indices() {
            match self.shower.show(c) {
                Shown::Same => {
                    self.add_run(source + at, 1, 1);
                    self.shown.push(c);
                }
                Shown::Other(label) => {
                    self.add_run(source + at, c.len_utf8(), label.len());
                    self.shown.push_str(&label);
                }
            }
        }
    }

    fn show_bad(&mut self, source: usize, len: usize) {
        self.add_run(source, len, char::REPLACEMENT_CHARACTER.len_utf8());
        self.shown.push(char::REPLACEMENT_CHARACTER);
        self.shower.reset();
    }

    fn show_chip(&mut self, kind: TagKind, len: usize) {
        let chip = kind.chip();
        self.add_run(self.settled_raw, len, chip.len());
        let from = self.shown.len();
        self.shown.push_str(&chip);
        self.chips.push(Chip {
            shown: from..self.shown.len(),
            kind,
        });
        self.settled_raw += len;
        self.settled = self.shown.len();
        self.shower.reset();
    }

    fn add_run(&mut self, source: usize, source_step: usize, shown_step: usize) {
        // Steps are lengths of one character, tag or label.
        let source_step = u8::try_from(source_step).unwrap_or(u8::MAX);
        let shown_step = u8::try_from(shown_step).unwrap_or(u8::MAX);
        if self
            .runs
            .last()
            .is_none_or(|r| (r.source_step, r.shown_step) != (source_step, shown_step))
        {
            self.runs.push(Run {
                shown: self.shown.len(),
                source,
                source_step,
                shown_step,
            });
        }
    }

    /// Begins a chunk after every line break, and inside lines that grow too long. Looks at settled
    /// text only, so the cuts do not depend on how the text arrived.
    fn cut_chunks(&mut self) {
        loop {
            let start = self.chunks.last().copied().unwrap_or(0);
            let text = &self.shown.as_bytes()[start..self.settled];
            let window = &text[..text.len().min(CHUNK)];
            let len = match memchr::memchr(b'\n', window) {
                Some(at) => at + 1,
                None if window.len() == CHUNK => cut_point(&self.shown[start..self.settled]),
                None => return,
            };
            self.chunks.push(start + len);
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
        let from = super::cluster::ceil_boundary(&self.shown, self.shown.len().saturating_sub(max));
        super::safe_line(&self.shown[from..])
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
        let mut line = self.line_start(at);
        while line <= self.shown.len() {
            let end = self.line_end(line);
            let from = at.max(line);
            let found = pattern
                .find_iter(&self.shown[line..end])
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
        let mut line = self.line_start(at);
        loop {
            let end = self.line_end(line);
            let found = pattern
                .find_iter(&self.shown[line..end])
                .map(|m| m.start() + line..m.end() + line)
                .filter(|m| m.start < at && !m.is_empty())
                .last();
            if found.is_some() {
                return found;
            }
            line = self.line_start(line.checked_sub(1)?);
        }
    }

    fn index_of(&self, byte: u64) -> usize {
        usize::try_from(byte.saturating_sub(self.base))
            .unwrap_or(usize::MAX)
            .min(self.raw.len())
    }

    // --- the shown text, for the other rooms of `text` ---

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn settled(&self) -> usize {
        self.settled
    }

    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// The shown bytes of a chunk, its line break included.
    pub(super) fn chunk(&self, chunk: usize) -> Range<usize> {
        let start = self.chunks.get(chunk).copied().unwrap_or(self.shown.len());
        let end = self.chunks.get(chunk + 1).copied();
        start..end.unwrap_or(self.shown.len())
    }

    pub(super) fn chunk_of(&self, shown: usize) -> usize {
        self.chunks
            .partition_point(|c| *c <= shown)
            .saturating_sub(1)
    }

    /// Where the line that holds `shown` begins.
    pub(super) fn line_start(&self, shown: usize) -> usize {
        let mut chunk = self.chunk_of(shown);
        loop {
            let start = self.chunks[chunk];
            if start == 0 || self.shown.as_bytes()[start - 1] == b'\n' {
                return start;
            }
            chunk -= 1;
        }
    }

    /// Where the line that holds `shown` ends, before its line break.
    pub(super) fn line_end(&self, shown: usize) -> usize {
        memchr::memchr(b'\n', &self.shown.as_bytes()[shown..])
            .map_or(self.shown.len(), |n| shown + n)
    }

    /// Chips that touch `span` of the shown text.
    pub(super) fn chips(&self, span: &Range<usize>) -> &[Chip] {
        let from = self.chips.partition_point(|c| c.shown.end <= span.start);
        let to = self.chips.partition_point(|c| c.shown.start < span.end);
        &self.chips[from..to.max(from)]
    }

    /// Where byte `byte` of the thread's text is shown: the beginning of whatever shows it.
    pub(super) fn shown_of(&self, byte: u64) -> usize {
        let source = self.index_of(byte);
        let run = self.runs.partition_point(|r| r.source <= source);
        let Some(run) = run.checked_sub(1) else {
            return 0;
        };
        let r = self.runs[run];
        let steps = (source - r.source) / usize::from(r.source_step).max(1);
        let shown = r.shown + steps * usize::from(r.shown_step);
        let end = self.runs.get(run + 1).map_or(self.shown.len(), |r| r.shown);
        super::cluster::floor_boundary(&self.shown, shown.min(end))
    }

    /// Which byte of the thread's text is shown at `shown`.
    pub(super) fn source_of(&self, shown: usize) -> u64 {
        if shown >= self.shown.len() {
            return self.end();
        }
        self.unit_at(shown).0
    }

    /// The bytes of the thread's text that are shown at `shown`, replacements whole.
    fn source_span(&self, shown: Range<usize>) -> Range<u64> {
        let from = self.source_of(shown.start);
        let Some(last) = shown.end.checked_sub(1).filter(|last| *last >= shown.start) else {
            return from..from;
        };
        let (byte, len) = self.unit_at(last);
        from..byte.saturating_add(len)
    }

    /// The first byte and the length of what is shown at `shown`: one byte of plain text, or whatever
    /// was replaced there.
    fn unit_at(&self, shown: usize) -> (u64, u64) {
        let run = self.runs.partition_point(|r| r.shown <= shown);
        let Some(r) = run.checked_sub(1).map(|run| self.runs[run]) else {
            return (self.base, 0);
        };
        let steps = (shown - r.shown) / usize::from(r.shown_step).max(1);
        let source = r.source + steps * usize::from(r.source_step);
        let byte = self.base.saturating_add(source.min(self.raw.len()) as u64);
        (byte, u64::from(r.source_step))
    }
}

#[cfg(test)]
mod tests;
