//! Where frames are written: one write and one synchronized update per flush.

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
        let written = modes::write_if_on(&self.frame);
        self.frame.clear();
        written.map(|_| ())
    }
}
