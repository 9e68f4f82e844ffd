//! What the run loop needs of a terminal, so that it can also run without one.

use super::terminal::Screen;
use crossterm::event::{Event, EventStream};
use futures_util::Stream;
use ratatui::Frame;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// A place to draw on, with input.
pub trait Surface {
    /// Its input.
    type Events: Stream<Item = io::Result<Event>> + Unpin;

    /// Begins to read its input (anew).
    fn events(&mut self) -> Self::Events;

    /// Columns and rows.
    ///
    /// # Errors
    /// It is gone.
    fn size(&self) -> io::Result<(u16, u16)>;

    /// Draws one frame.
    ///
    /// # Errors
    /// It is gone.
    fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()>;

    /// The next frame is drawn from nothing.
    ///
    /// # Errors
    /// It is gone.
    fn repaint(&mut self) -> io::Result<()>;

    /// Stops the process until it is continued.
    ///
    /// # Errors
    /// It could not be taken again.
    fn suspend(&mut self) -> io::Result<()>;

    /// Gives it back while `work` runs.
    ///
    /// # Errors
    /// It could not be taken again.
    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T>;

    /// Gives the mouse to the screen or back.
    ///
    /// # Errors
    /// It is gone.
    fn set_mouse(&mut self, mouse: bool) -> io::Result<()>;

    /// Puts text into the clipboard.
    ///
    /// # Errors
    /// Why not, in words.
    fn copy(&mut self, text: &str) -> Result<(), String>;
}

impl Surface for Screen {
    type Events = EventStream;

    fn events(&mut self) -> EventStream {
        EventStream::new()
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        let size = Self::size(self)?;
        Ok((size.width, size.height))
    }

    fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        Self::draw(self, render)
    }

    fn repaint(&mut self) -> io::Result<()> {
        Self::repaint(self)
    }

    fn suspend(&mut self) -> io::Result<()> {
        Self::suspend(self)
    }

    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        Self::outside(self, work)
    }

    fn set_mouse(&mut self, mouse: bool) -> io::Result<()> {
        Self::set_mouse(self, mouse)
    }

    fn copy(&mut self, text: &str) -> Result<(), String> {
        Self::copy(self, text).map_err(|e| e.to_string())
    }
}

/// Shows `text` in `$PAGER`, else in `less`.
///
/// # Errors
/// The pager does not start or fails.
pub fn page(text: &str) -> io::Result<()> {
    let pager = std::env::var("PAGER").unwrap_or_default();
    let pager = if pager.trim().is_empty() {
        "less"
    } else {
        &pager
    };
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(pager)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that is closed early takes no more; that is no failure.
        let _ = stdin.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("`{pager}` ended with {status}")))
    }
}
