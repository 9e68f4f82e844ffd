//! A screen that nobody sees: everything is drawn and encoded for a terminal, and thrown away.

use crate::tui::surface::Surface;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures_util::Stream;
use futures_util::stream::poll_fn;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::io::{self, Sink};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Keys = Arc<Mutex<UnboundedReceiver<Event>>>;

/// The screen.
pub struct Paper {
    terminal: Terminal<CrosstermBackend<Sink>>,
    keys: Keys,
    size: (u16, u16),
}

/// Leaves the screen.
pub struct Leave(UnboundedSender<Event>);

impl Leave {
    /// Presses a key.
    pub fn press(&self, code: KeyCode) {
        // gone already: then there is nothing to leave
        let _ = self
            .0
            .send(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

impl Paper {
    /// A screen of a fixed size.
    ///
    /// # Panics
    /// Never: nothing can go wrong without a terminal.
    #[must_use]
    pub fn new(columns: u16, rows: u16) -> (Self, Leave) {
        let (send, keys) = unbounded_channel();
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, columns, rows)),
        };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::sink()), options)
            .expect("a fixed size is not asked of a terminal");
        let paper = Self {
            terminal,
            keys: Arc::new(Mutex::new(keys)),
            size: (columns, rows),
        };
        (paper, Leave(send))
    }
}

impl Surface for Paper {
    type Events = Pin<Box<dyn Stream<Item = io::Result<Event>>>>;

    fn events(&mut self) -> Self::Events {
        let keys = Arc::clone(&self.keys);
        Box::pin(poll_fn(move |context| {
            let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
            match keys.poll_recv(context) {
                Poll::Ready(event) => Poll::Ready(event.map(Ok)),
                Poll::Pending => Poll::Pending,
            }
        }))
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        Ok(self.size)
    }

    fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map(drop)
    }

    fn repaint(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        Ok(work())
    }

    fn set_mouse(&mut self, _mouse: bool) -> io::Result<()> {
        Ok(())
    }

    fn copy(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}
