//! The text of a thread, read backwards from where a player stands.

use super::Player;
use super::base::Tail;
use crate::org::{Body, ThreadId};
use crate::record::line::{self, Line};
use crate::record::lines::{Lines, LinesBack};
use crate::record::text::{TextPiece, split_tokens, text_in};
use std::io;
use std::sync::Arc;

/// Where text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFrom {
    /// Where the player stands.
    Here,
    /// Before what was given earlier: its [`Text::older`].
    Older(Older),
}

/// Remembers where older text goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Older {
    tail: Tail,
    bytes: u64,
}

/// Most that is read at a time; one record is always read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimit {
    /// Bytes of text.
    pub bytes: usize,
    /// Records.
    pub records: usize,
}

impl Default for TextLimit {
    fn default() -> Self {
        Self {
            bytes: 256 << 10,
            records: 2000,
        }
    }
}

/// Some text of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Its pieces, oldest first.
    pub pieces: Vec<TextPiece>,
    /// Where older text is to be had; `None` at the beginning of the thread.
    pub older: Option<Older>,
}

impl Player {
    /// The text of `thread` that ends at `from`, as much as `limit` allows.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn text(&self, thread: ThreadId, from: TextFrom, limit: TextLimit) -> io::Result<Text> {
        let mut next = match from {
            TextFrom::Here => self.here.tails.get(&thread).map(|tail| Older {
                tail: *tail,
                bytes: self.here.state.thread(thread).map_or(0, |t| t.text_bytes),
            }),
            TextFrom::Older(older) => Some(older),
        };
        let mut pieces: Vec<TextPiece> = Vec::new();
        let mut bytes = 0;
        while let Some(older) = next {
            if pieces.len() >= limit.records || bytes >= limit.bytes {
                break;
            }
            let Some((offset, mut line)) = self.text_record(thread, older.tail.offset)? else {
                next = None;
                break;
            };
            if let Body::Branch { from, .. } = line.event.body {
                // The branch stands for the text before it, which lies where it came from.
                next = self.base_at(from)?.tails.get(&thread).map(|tail| Older {
                    tail: *tail,
                    bytes: older.bytes,
                });
                continue;
            }
            if offset == older.tail.offset
                && let Some(tokens) = older.tail.tokens
            {
                // What is cut off has not happened yet.
                let _ = split_tokens(&mut line.event, tokens);
            }
            let len = text_in(&line.event).map_or(0, <[u8]>::len);
            let at = older.bytes.saturating_sub(len as u64);
            bytes += len;
            pieces.extend(TextPiece::of(line.event, at));
            // Always downwards, whatever a damaged file says.
            next = line.prev.filter(|prev| *prev < offset).map(|prev| Older {
                tail: Tail {
                    offset: prev,
                    tokens: None,
                },
                bytes: at,
            });
        }
        pieces.reverse();
        Ok(Text {
            pieces,
            older: next,
        })
    }

    /// The text record of `thread` at `offset`, or, where that is damaged, the last one before it.
    fn text_record(&self, thread: ThreadId, offset: u64) -> io::Result<Option<(u64, Line)>> {
        let source = self.file.source();
        let floor = self.file.events_at();
        if offset < floor {
            return Ok(None);
        }
        let belongs = |line: &Line| match &line.event.body {
            Body::Branch { texts, .. } => texts.contains_key(&thread),
            _ => line.event.thread == Some(thread) && text_in(&line.event).is_some(),
        };
        let mut lines = Lines::few(Arc::clone(source), offset);
        if let Some(raw) = lines.next()?
            && let Ok(line) = line::parse(raw.bytes)
            && belongs(&line)
        {
            return Ok(Some((offset, line)));
        }
        let name = format!("\"thread\":\"{thread}\"");
        let mut before = Lines::after(Arc::clone(source), offset)?.offset();
        before = before.min(source.len());
        let mut lines = LinesBack::new(Arc::clone(source), before, floor);
        while let Some(raw) = lines.next()? {
            let (at, bytes) = (raw.offset, raw.bytes);
            if at >= offset || memchr::memmem::find(bytes, name.as_bytes()).is_none() {
                continue;
            }
            match line::parse(bytes) {
                Ok(line) if belongs(&line) => return Ok(Some((at, line))),
                Ok(line)
                    if line.event.thread == Some(thread)
                        && matches!(line.event.body, Body::Thread { .. }) =>
                {
                    return Ok(None);
                }
                _ => {}
            }
        }
        Ok(None)
    }
}
