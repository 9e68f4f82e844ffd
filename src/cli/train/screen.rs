//! A training with its screen: the training on a thread of its own, its notes on the screen.

use crate::cli::screen::options;
use crate::cli::settings::ScreenOptions;
use crate::tui::terminal::Screen;
use crate::tui::terminal::signals::end_by;
use crate::tui::training::{Board, Left, Note, show};
use std::sync::atomic::AtomicBool;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Where a training's notes go; nowhere if nobody watches.
#[derive(Debug, Clone, Default)]
pub struct Notes(Option<UnboundedSender<Note>>);

impl Notes {
    /// Sends one.
    pub fn send(&self, note: Note) {
        if let Some(to) = &self.0 {
            // a screen that is gone needs none
            let _ = to.send(note);
        }
    }
}

/// Trains behind a screen that draws `board`.
///
/// # Errors
/// The terminal's or the training's.
pub fn behind_a_screen<T: Send>(
    board: Board,
    stop: &AtomicBool,
    screen: &ScreenOptions,
    train: impl FnOnce(Notes) -> T + Send,
) -> anyhow::Result<T> {
    let mut options = options(screen, String::new())?;
    options.modes.mouse = false;
    let (to, notes) = unbounded_channel();
    let (left, result) = std::thread::scope(|scope| {
        let training = scope.spawn(move || train(Notes(Some(to))));
        let left = {
            Screen::enter(options.modes)
                .and_then(|mut screen| show(board, notes, stop, &options.look, &mut screen))
        };
        if left.is_err() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        let result = training
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (left, result)
    });
    if let Left::Signal(ending) = left? {
        end_by(ending);
    }
    Ok(result)
}
