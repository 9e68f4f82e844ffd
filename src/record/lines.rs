//! Lines of a file from any place on, forwards and backwards, in bounded memory.

use super::source::Source;
use std::io;
use std::sync::Arc;

/// Longest line that is looked at as a whole.
const MAX_LINE: usize = 64 << 20;

/// Bytes read ahead.
const CHUNK: usize = 64 << 10;

/// Bytes read ahead where only one line is wanted.
const FEW: usize = 2 << 10;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// As it should.
    Newline,
    /// The file ends first.
    EndOfFile,
    /// It is too long to be looked at; its bytes are not given.
    TooLong,
}

/// One line, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawLine<'a> {
    /// Byte offset of its first byte.
    pub(super) offset: u64,
    /// What it holds.
    pub(super) bytes: &'a [u8],
    /// How it ends.
    pub(super) end: LineEnd,
}

/// Reads lines forwards.
pub(super) struct Lines {
    source: Arc<Source>,
    buf: Vec<u8>,
    /// Where in `buf` the next line begins.
    start: usize,
    /// Byte offset of `buf[0]`.
    base: u64,
    chunk: usize,
}

impl Lines {
    /// Lines from byte `offset` on, which should be the beginning of one.
    pub(super) fn new(source: Arc<Source>, offset: u64) -> Self {
        Self {
            source,
            buf: Vec::new(),
            start: 0,
            base: offset,
            chunk: CHUNK,
        }
    }

    /// Like [`Self::new`], for one line or two: reads little ahead.
    pub(super) fn few(source: Arc<Source>, offset: u64) -> Self {
        Self {
            chunk: FEW,
            ..Self::new(source, offset)
        }
    }

    /// The lines that begin at or after byte `offset`, which may lie inside one; reads little ahead.
    pub(super) fn after(source: Arc<Source>, offset: u64) -> io::Result<Self> {
        let Some(before) = offset.checked_sub(1) else {
            return Ok(Self::new(source, 0));
        };
        let mut lines = Self::few(source, before);
        lines.next()?;
        Ok(lines)
    }

    /// Byte offset of the next line.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Reads on from byte `offset`, the beginning of the line that was given last.
    pub(super) fn back_to(&mut self, offset: u64) {
        match offset.checked_sub(self.base).map(usize::try_from) {
            Some(Ok(start)) if start <= self.buf.len() => self.start = start,
            _ => *self = Self::new(Arc::clone(&self.source), offset),
        }
    }

    /// The next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut scanned = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buf[self.start + scanned..]) {
                let (from, to) = (self.start, self.start + scanned + at);
                self.start = to + 1;
                return Ok(Some(RawLine {
                    offset: self.base + from as u64,
                    bytes: &self.buf[from..to],
                    end: LineEnd::Newline,
                }));
            }
            scanned = self.buf.len() - self.start;
            if scanned >= MAX_LINE {
                return self.skip_long_line().map(Some);
            }
            if self.fill()? == 0 {
                if scanned == 0 {
                    return Ok(None);
                }
                let from = self.start;
                self.start = self.buf.len();
                return Ok(Some(RawLine {
                    offset: self.base + from as u64,
                    bytes: &self.buf[from..],
                    end: LineEnd::EndOfFile,
                }));
            }
        }
    }

    /// Reads on; lines that were given out make room.
    fn fill(&mut self) -> io::Result<usize> {
        self.buf.drain(..self.start);
        self.base += self.start as u64;
        self.start = 0;
        let old = self.buf.len();
        let more = self.chunk.max(old);
        self.buf.resize(old + more, 0);
        let read = self
            .source
            .read_at(self.base + old as u64, &mut self.buf[old..]);
        self.buf.truncate(old + *read.as_ref().unwrap_or(&0));
        read
    }

    fn skip_long_line(&mut self) -> io::Result<RawLine<'_>> {
        let offset = self.offset();
        loop {
            self.base += self.buf.len() as u64;
            self.buf.clear();
            self.start = 0;
            if self.fill()? == 0 {
                break;
            }
            if let Some(at) = memchr::memchr(b'\n', &self.buf) {
                self.start = at + 1;
                break;
            }
        }
        Ok(RawLine {
            offset,
            bytes: &[],
            end: LineEnd::TooLong,
        })
    }
}

/// Reads lines backwards.
pub(super) struct LinesBack {
    source: Arc<Source>,
    buf: Vec<u8>,
    /// What of `buf` is still to be given out; its last byte ends the next line.
    end: usize,
    /// Byte offset of `buf[0]`.
    base: u64,
    /// Nothing before this byte is read.
    floor: u64,
}

impl LinesBack {
    /// Lines that end before byte `offset` (the beginning of a line), last one first, down to the line
    /// that begins at `floor`.
    pub(super) fn new(source: Arc<Source>, offset: u64, floor: u64) -> Self {
        Self {
            source,
            buf: Vec::new(),
            end: 0,
            base: offset,
            floor,
        }
    }

    /// The line before; `None` at the floor, or before a line that is too long to be looked at.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        loop {
            let newline = memchr::memrchr(b'\n', &self.buf[..self.end.saturating_sub(1)]);
            let from = match newline {
                Some(at) => Some(at + 1),
                None if self.base <= self.floor && self.end > 0 => Some(0),
                None => None,
            };
            if let Some(from) = from {
                let line = &self.buf[from..self.end];
                self.end = from;
                return Ok(Some(RawLine {
                    offset: self.base + from as u64,
                    bytes: line.strip_suffix(b"\n").unwrap_or(line),
                    end: LineEnd::Newline,
                }));
            }
            if self.base <= self.floor || self.end > MAX_LINE {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Puts the bytes before into the buffer, more at a time for longer lines.
    fn fill(&mut self) -> io::Result<()> {
        let want = (CHUNK.max(self.end) as u64).min(self.base - self.floor);
        let from = self.base - want;
        // At most a few times CHUNK or MAX_LINE.
        let want = usize::try_from(want).unwrap_or(CHUNK);
        let mut buf = vec![0; want];
        let read = self.source.read_at(from, &mut buf)?;
        if read < want {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf.extend_from_slice(&self.buf[..self.end]);
        self.end = buf.len();
        self.buf = buf;
        self.base = from;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn memory(bytes: &[u8]) -> Arc<Source> {
        Arc::new(Source::Memory(bytes.to_vec()))
    }

    fn forwards(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Lines::new(memory(bytes), 0);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.offset, line.bytes.to_vec()));
        }
        all
    }

    fn backwards(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = LinesBack::new(memory(bytes), bytes.len() as u64, 0);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.offset, line.bytes.to_vec()));
        }
        all.reverse();
        all
    }

    proptest! {
        #[test]
        fn both_ways_give_the_same_lines(
            lengths in prop::collection::vec(prop_oneof![0usize..20, 60_000usize..140_000], 0..8),
        ) {
            let mut bytes = Vec::new();
            for (i, length) in lengths.iter().enumerate() {
                bytes.extend(std::iter::repeat_n(b'a' + i as u8, *length));
                bytes.push(b'\n');
            }
            let lines = forwards(&bytes);
            prop_assert_eq!(lines.len(), lengths.len());
            for ((_, line), length) in lines.iter().zip(&lengths) {
                prop_assert_eq!(line.len(), *length);
            }
            prop_assert!(backwards(&bytes) == lines);
        }
    }

    #[test]
    fn lines_after_a_place_begin_at_or_after_it() {
        let bytes = b"ab\ncd\nef";
        let first = |offset| {
            let mut lines = Lines::after(memory(bytes), offset).unwrap();
            lines.next().unwrap().map(|l| l.offset)
        };
        assert_eq!(first(0), Some(0));
        assert_eq!(first(1), Some(3));
        assert_eq!(first(3), Some(3));
        assert_eq!(first(4), Some(6));
        assert_eq!(first(7), None);
    }

    #[test]
    fn a_line_without_newline_is_told_apart() {
        let mut lines = Lines::new(memory(b"a\nb"), 0);
        assert_eq!(lines.next().unwrap().unwrap().end, LineEnd::Newline);
        assert_eq!(lines.next().unwrap().unwrap().end, LineEnd::EndOfFile);
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn a_line_too_long_to_look_at_is_passed_over() {
        let mut bytes = vec![b'x'; MAX_LINE + 2 * CHUNK];
        bytes.extend_from_slice(b"\nafter\n");
        let mut lines = Lines::new(memory(&bytes), 0);
        assert_eq!(lines.next().unwrap().unwrap().end, LineEnd::TooLong);
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"after");
    }
}
