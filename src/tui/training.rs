//! A training while it goes on: how far it is, and its curves as they grow.
//!
//! It knows no stages: whoever trains says which charts there are and sends points.

mod board;
mod draw;

pub use board::{Board, Chart, Note, Series};

use super::look::Look;
use super::surface::Surface;
use super::terminal::signals::{Ending, Notice, watch};
use board::Pressed;
use crossterm::event::Event;
use futures_util::StreamExt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(33);

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The training is over, or was asked to stop and did.
    Over,
    /// By a signal; hand it to [`super::terminal::signals::end_by`] once the training has stopped.
    Signal(Ending),
}

/// Shows a training until its notes end. Asking to leave sets `stop`; the screen stays until the training has
/// saved itself.
///
/// # Errors
/// The terminal is gone.
pub fn show(
    mut board: Board,
    mut notes: UnboundedReceiver<Note>,
    stop: &AtomicBool,
    look: &Look,
    surface: &mut impl Surface,
) -> io::Result<Left> {
    let (send, mut signals) = unbounded_channel();
    let watch = watch(move |notice| {
        // Only fails when the screen is gone, and then nobody needs it.
        let _ = send.send(notice);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let left = runtime.block_on(async {
        let mut events = surface.events();
        let mut ending = None;
        let mut drawn = Instant::now();
        surface.draw(|frame| draw::draw(&board, look, frame))?;
        loop {
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(Event::Key(key))) => match board.key(key) {
                        Pressed::Nothing => {}
                        Pressed::Stop => stop.store(true, Ordering::Relaxed),
                        Pressed::Leave => return Ok(Left::Over),
                        Pressed::Suspend => {
                            surface.suspend()?;
                            events = surface.events();
                        }
                    },
                    Some(Ok(_)) => {}
                    Some(Err(e)) => return Err(e),
                    None => return Ok(Left::Over),
                },
                Some(notice) = signals.recv() => match notice {
                    Notice::End(signal) => {
                        ending = Some(signal);
                        board.stop();
                        stop.store(true, Ordering::Relaxed);
                    }
                    Notice::Continued => surface.repaint()?,
                },
                note = notes.recv(), if !board.over() => match note {
                    Some(note) => {
                        board.take(note);
                        while let Ok(note) = notes.try_recv() {
                            board.take(note);
                        }
                        // notes may come by the thousand a second
                        tokio::time::sleep_until((drawn + FRAME).into()).await;
                    }
                    None => {
                        board.end();
                        if let Some(signal) = ending {
                            return Ok(Left::Signal(signal));
                        }
                        if board.stopping() {
                            return Ok(Left::Over);
                        }
                    }
                },
            }
            surface.draw(|frame| draw::draw(&board, look, frame))?;
            drawn = Instant::now();
        }
    });
    drop(watch);
    left
}
