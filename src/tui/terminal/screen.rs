//! The terminal while orgtop has it.
//!
//! Entering switches modes on; leaving happens exactly once, whichever comes first: the screen goes
//! out of scope, any thread panics, or a signal ends the process. A frame that cannot be written is an
//! error of [`Screen::draw`], and the caller ends.

use super::clipboard::{self, CopyError};
use super::modes::{self, Modes};
use super::output::Output;
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Rect, Size};
use std::io;

/// Owner of the terminal and its modes.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Output>>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal cannot be put into raw mode or written to; it is given back as it was.
    pub fn enter(modes: Modes) -> io::Result<Self> {
        modes::restore_on_panic();
        modes::enter(modes)?;
        match Terminal::new(CrosstermBackend::new(Output::default())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(e) => {
                modes::leave();
                Err(e)
            }
        }
    }

    /// Draws one frame; only cells that changed are written.
    ///
    /// # Errors
    /// The terminal is gone, or was given back because another thread panicked.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render)?;
        match modes::current() {
            Some(_) => Ok(()),
            None => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the terminal was given back because a part of orgtop failed",
            )),
        }
    }

    /// Its size now.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// The next frame is drawn from nothing, and modes that a shell may have changed are set again:
    /// for when the process was stopped and continued from outside.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn repaint(&mut self) -> io::Result<()> {
        modes::assert_again()?;
        self.forget()
    }

    /// Takes the terminal's contents for unknown. (`Terminal::clear` would ask for the cursor's place
    /// and wait two seconds where nobody answers.)
    fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from(size))
    }

    /// Stops the process as Ctrl-Z does elsewhere, with the terminal given back, and returns when it
    /// is continued. The next frame is drawn from nothing.
    ///
    /// Where no shell could continue it (an orphaned process group) the system ignores the stop.
    ///
    /// # Errors
    /// The terminal could not be taken again.
    #[cfg(unix)]
    pub fn suspend(&mut self) -> io::Result<()> {
        self.outside(|| signal_hook::low_level::raise(signal_hook::consts::SIGTSTP))?
    }

    /// Gives the terminal back while `work` runs (a pager), then takes it again.
    ///
    /// # Errors
    /// The terminal could not be taken again.
    pub fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        let modes = modes::current().unwrap_or_default();
        modes::leave();
        let result = work();
        modes::enter(modes)?;
        self.forget()?;
        Ok(result)
    }

    /// Switches reports of the mouse on or off.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn set_mouse(&mut self, mouse: bool) -> io::Result<()> {
        modes::set_mouse(mouse)
    }

    /// Puts `text` into the clipboard of the person's terminal, also over ssh.
    ///
    /// # Errors
    /// It is too long for a terminal to take, or the terminal is gone.
    pub fn copy(&mut self, text: &str) -> Result<(), CopyError> {
        modes::write_if_on(&clipboard::sequence(text)?)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        modes::leave();
    }
}
