//! What a thread's bytes show: sanitised text with tags as chips, and the way back to the bytes.
//!
//! It reads the bytes that its owner keeps and is told which of them are a stream and which a spliced
//! result. Offsets of bytes are counted from the owner's first one. Everything but a tail of at most
//! one tag is settled and never changes.

use super::cluster::floor_boundary;
use super::sanitize::{Decoded, Shower, Shown, decode};
use super::tag::{Inside, Match, TagKind, closing_join, match_tag};
use super::wrap::{CHUNK, cut_point};
use std::ops::Range;

/// From here on, `source` bytes show as `shown` bytes each.
#[derive(Debug, Clone, Copy)]
struct Run {
    shown: usize,
    source: usize,
    source_step: u8,
    shown_step: u8,
}

/// A tag in the shown text.
#[derive(Debug, Clone)]
pub(super) struct Chip {
    pub(super) shown: Range<usize>,
    pub(super) kind: TagKind,
}

/// The shown text of one thread.
#[derive(Debug, Clone)]
pub(super) struct Display {
    text: String,
    /// Bytes of `text` that will not change.
    settled: usize,
    /// Raw bytes whose showing is settled.
    settled_raw: usize,
    runs: Vec<Run>,
    /// Where each chunk begins: every line, and long lines in pieces.
    chunks: Vec<usize>,
    chips: Vec<Chip>,
    shower: Shower,
    inside: Inside,
}

impl Display {
    /// A text whose beginning stands `inside` a tag, or not.
    pub(super) fn new(inside: Inside) -> Self {
        Self {
            text: String::new(),
            settled: 0,
            settled_raw: 0,
            runs: Vec::new(),
            chunks: vec![0],
            chips: Vec::new(),
            shower: Shower::default(),
            inside,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn settled(&self) -> usize {
        self.settled
    }

    /// Shows what follows in the scanned stream; a possible tag at the end is shown as plain text
    /// until it is one.
    pub(super) fn stream(&mut self, raw: &[u8]) {
        self.drop_unsettled();
        while self.settled_raw < raw.len() {
            let rest = &raw[self.settled_raw..];
            if rest[0] != b'<' {
                let end = memchr::memchr(b'<', rest);
                let whole = end.is_some();
                if self.show_plain(raw, end.unwrap_or(rest.len()), whole) > 0 {
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
                        self.show_plain(raw, len, true);
                    }
                },
                Match::No => {
                    self.show_plain(raw, 1, true);
                }
                Match::Partial => {
                    let tail = String::from_utf8_lossy(rest).into_owned();
                    self.add_run(self.settled_raw, 1, 1);
                    self.text.push_str(&tail);
                    break;
                }
            }
        }
    }

    /// Shows a spliced result: nothing in it is a tag but its own closing.
    pub(super) fn result(&mut self, raw: &[u8]) {
        self.drop_unsettled();
        let rest = &raw[self.settled_raw..];
        let closing = closing_join(rest);
        let body = rest.len() - closing.map_or(0, |(_, len)| len);
        self.show_plain(raw, body, true);
        if let Some((tag, len)) = closing {
            self.show_chip(tag, len);
        }
    }

    /// Nothing that follows can complete what is held back or unsettled.
    pub(super) fn settle(&mut self, raw: &[u8]) {
        self.drop_unsettled();
        self.show_plain(raw, raw.len() - self.settled_raw, true);
    }

    fn drop_unsettled(&mut self) {
        self.text.truncate(self.settled);
        while self.runs.last().is_some_and(|r| r.shown >= self.settled) {
            self.runs.pop();
        }
    }

    /// Shows the next `len` raw bytes as text and returns how many of them are held back; none if the
    /// stretch is `whole`.
    fn show_plain(&mut self, raw: &[u8], len: usize, whole: bool) -> usize {
        let from = self.settled_raw;
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
        if whole && held > 0 {
            self.show_bad(at, held);
            at += held;
        }
        self.settled_raw = at;
        self.settled = self.text.len();
        if whole { 0 } else { held }
    }

    fn show_text(&mut self, source: usize, text: &str) {
        for (at, c) in text.char_indices() {
            match self.shower.show(c) {
                Shown::Same => {
                    self.add_run(source + at, 1, 1);
                    self.text.push(c);
                }
                Shown::Other(label) => {
                    self.add_run(source + at, c.len_utf8(), label.len());
                    self.text.push_str(&label);
                }
            }
        }
    }

    fn show_bad(&mut self, source: usize, len: usize) {
        self.add_run(source, len, char::REPLACEMENT_CHARACTER.len_utf8());
        self.text.push(char::REPLACEMENT_CHARACTER);
        self.shower.reset();
    }

    fn show_chip(&mut self, kind: TagKind, len: usize) {
        let chip = kind.chip();
        self.add_run(self.settled_raw, len, chip.len());
        let from = self.text.len();
        self.text.push_str(&chip);
        self.chips.push(Chip {
            shown: from..self.text.len(),
            kind,
        });
        self.settled_raw += len;
        self.settled = self.text.len();
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
                shown: self.text.len(),
                source,
                source_step,
                shown_step,
            });
        }
    }

    /// Begins a chunk after every line break, and inside lines that grow too long. Looks at settled
    /// text only, so the cuts do not depend on how the text arrived.
    pub(super) fn cut_chunks(&mut self) {
        loop {
            let start = self.chunks.last().copied().unwrap_or(0);
            let text = &self.text.as_bytes()[start..self.settled];
            let window = &text[..text.len().min(CHUNK)];
            let len = match memchr::memchr(b'\n', window) {
                Some(at) => at + 1,
                None if window.len() == CHUNK => cut_point(&self.text[start..self.settled]),
                None => return,
            };
            self.chunks.push(start + len);
        }
    }

    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// The shown bytes of a chunk, its line break included.
    pub(super) fn chunk(&self, chunk: usize) -> Range<usize> {
        let start = self.chunks.get(chunk).copied().unwrap_or(self.text.len());
        let end = self.chunks.get(chunk + 1).copied();
        start..end.unwrap_or(self.text.len())
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
            if start == 0 || self.text.as_bytes()[start - 1] == b'\n' {
                return start;
            }
            chunk -= 1;
        }
    }

    /// Where the line that holds `shown` ends, before its line break.
    pub(super) fn line_end(&self, shown: usize) -> usize {
        memchr::memchr(b'\n', &self.text.as_bytes()[shown..]).map_or(self.text.len(), |n| shown + n)
    }

    /// Chips that touch `span` of the shown text.
    pub(super) fn chips(&self, span: &Range<usize>) -> &[Chip] {
        let from = self.chips.partition_point(|c| c.shown.end <= span.start);
        let to = self.chips.partition_point(|c| c.shown.start < span.end);
        &self.chips[from..to.max(from)]
    }

    /// Where raw byte `source` is shown: the beginning of whatever shows it.
    pub(super) fn shown_of(&self, source: usize) -> usize {
        let run = self.runs.partition_point(|r| r.source <= source);
        let Some(run) = run.checked_sub(1) else {
            return 0;
        };
        let r = self.runs[run];
        let steps = (source - r.source) / usize::from(r.source_step).max(1);
        let shown = r.shown + steps * usize::from(r.shown_step);
        let end = self.runs.get(run + 1).map_or(self.text.len(), |r| r.shown);
        floor_boundary(&self.text, shown.min(end))
    }

    /// The first raw byte and the length of what is shown at `shown`: one byte of plain text, or
    /// whatever was replaced there.
    pub(super) fn unit_at(&self, shown: usize) -> (usize, usize) {
        let run = self.runs.partition_point(|r| r.shown <= shown);
        let Some(r) = run.checked_sub(1).map(|run| self.runs[run]) else {
            return (0, 0);
        };
        let steps = (shown - r.shown) / usize::from(r.shown_step).max(1);
        let source = r.source + steps * usize::from(r.source_step);
        (source, usize::from(r.source_step))
    }
}
