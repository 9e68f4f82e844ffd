//! Where frames are written: one write and one synchronized update per flush.
//!
//! The sixteen named colours leave here in their short form (`32`). The library writes them as indexed ones
//! (`38;5;2`), which terminals with sixteen colours read as "blink, dim".

use super::modes;
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use std::io::{self, Write};

/// Collects a frame. What is flushed after the terminal was given back is dropped: it would end up on
/// the person's shell.
#[derive(Debug, Default)]
pub(super) struct Output {
    frame: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.frame.is_empty() {
            queue!(self.frame, BeginSynchronizedUpdate)?;
        }
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        queue!(self.frame, EndSynchronizedUpdate)?;
        let written = modes::write_if_on(&short_colours(&self.frame));
        self.frame.clear();
        written.map(|_| ())
    }
}

/// `frame` with the sixteen named colours in their short form. Escape sequences in a frame are the library's
/// own: cells never hold any.
fn short_colours(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.len());
    let mut rest = frame;
    while let Some(at) = memchr::memmem::find(rest, b"\x1b[") {
        let (before, sequence) = rest.split_at(at + 2);
        out.extend_from_slice(before);
        let length = sequence
            .iter()
            .position(|b| !matches!(b, b'0'..=b'9' | b';'))
            .unwrap_or(sequence.len());
        let (parameters, after) = sequence.split_at(length);
        if after.first() == Some(&b'm') {
            shorten(parameters, &mut out);
        } else {
            out.extend_from_slice(parameters);
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

fn shorten(parameters: &[u8], out: &mut Vec<u8>) {
    let mut fields = parameters.split(|b| *b == b';').peekable();
    let mut first = true;
    let mut put = |field: &[u8]| {
        if !std::mem::take(&mut first) {
            out.push(b';');
        }
        out.extend_from_slice(field);
    };
    while let Some(field) = fields.next() {
        let ground = match field {
            b"38" => 30,
            b"48" => 40,
            _ => {
                put(field);
                continue;
            }
        };
        match fields.next() {
            Some(b"5") => {
                let index = fields.next().unwrap_or_default();
                match std::str::from_utf8(index).ok().and_then(|n| n.parse().ok()) {
                    Some(n @ 0..8_u8) => put((ground + n).to_string().as_bytes()),
                    Some(n @ 8..16) => put((ground + 60 + n - 8).to_string().as_bytes()),
                    _ => [field, b"5", index].into_iter().for_each(&mut put),
                }
            }
            kind => {
                // A direct colour: its three numbers are no codes of their own.
                put(field);
                kind.into_iter()
                    .chain(fields.by_ref().take(3))
                    .for_each(&mut put);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_colours_are_short_and_everything_else_stays() {
        for (given, expected) in [
            ("\x1b[38;5;2;49mgo", "\x1b[32;49mgo"),
            ("\x1b[38;5;9;48;5;15m", "\x1b[91;107m"),
            ("\x1b[48;5;0m\x1b[1m", "\x1b[40m\x1b[1m"),
            ("\x1b[38;5;208;48;5;3mx", "\x1b[38;5;208;43mx"),
            ("\x1b[38;2;5;2;38;48;5;1m", "\x1b[38;2;5;2;38;41m"),
            ("\x1b[39;49m\x1b[m\x1b[0m", "\x1b[39;49m\x1b[m\x1b[0m"),
            ("\x1b[38;5H38;5;2m\x1b[?25l", "\x1b[38;5H38;5;2m\x1b[?25l"),
            ("\x1b[38;5", "\x1b[38;5"),
        ] {
            let shown = String::from_utf8(short_colours(given.as_bytes())).unwrap();
            assert_eq!(shown, expected, "{given:?}");
        }
    }
}
