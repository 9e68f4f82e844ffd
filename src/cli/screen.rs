//! Opening the screen (or the line log) with what flags, config and terminal say.

use super::settings::{ScreenOptions, config_folder};
use super::{Exit, outcome, output};
use crate::live::{Finished, Handle, LiveError, Phase};
use crate::org::Command;
use crate::tui::app::{self, Next, Options};
use crate::tui::keymap::Keymap;
use crate::tui::look::Look;
use crate::tui::run::{run_live, run_plain};
use crate::tui::source::LiveSource;
use crate::tui::terminal::signals::end_by;
use crate::tui::terminal::{Caps, Modes, Presentation};
use crate::tui::text::Glyphs;
use crate::tui::theme::{Theme, ThemeWatch};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The theme where none is named.
const THEME: &str = "terminal";

/// Whether a person at a keyboard can answer: there is a screen, and it is wanted.
#[must_use]
pub fn has_keys(screen: &ScreenOptions) -> bool {
    screen.plain != Some(true) && Caps::read().presentation == Presentation::Screen
}

/// What flags, config, key map and terminal make of the screen. Wrong themes and key maps are found here,
/// before anything is started.
///
/// # Errors
/// A theme or key map that does not load, with file and line.
pub fn options(screen: &ScreenOptions, loading: String) -> anyhow::Result<Options> {
    let caps = Caps::read();
    let folder = config_folder();
    let themes: Vec<PathBuf> = folder.iter().map(|f| f.join("themes")).collect();
    let name = screen.theme.as_deref().unwrap_or(THEME);
    let theme = Theme::load(name, &themes, caps.depth)?;
    let keymap = match &folder {
        Some(folder) => Keymap::load(&folder.join("keymap.toml"))?,
        None => Keymap::default(),
    };
    let ascii = screen.ascii.unwrap_or(caps.glyphs == Glyphs::Ascii);
    Ok(Options {
        look: Look::new(theme, ascii, screen.no_animation != Some(true)),
        keymap,
        modes: Modes {
            mouse: screen.mouse.unwrap_or(true),
            keyboard: caps.keyboard,
        },
        loading,
        accepts: Box::new(|_| Ok(())),
        themes: ThemeWatch::new(name, &themes, caps.depth, Instant::now()),
        demo: None,
    })
}

/// How a session that was shown left off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The person is done.
    Left(Exit),
    /// The session is saved, and another run is to follow.
    Again(Next),
}

/// Shows a running session until the person leaves, on a screen or as lines.
///
/// # Errors
/// The terminal is gone; whatever kept the session from starting.
pub fn live(
    handle: Handle,
    file: Option<PathBuf>,
    screen: &ScreenOptions,
    mut options: Options,
) -> anyhow::Result<Shown> {
    let source = LiveSource {
        commands: handle.commands.clone(),
        mailbox: Arc::clone(&handle.mailbox),
    };
    let exit = if has_keys(screen) {
        run_live(source, options)?
    } else {
        match run_plain(&source, options.demo.take(), &mut std::io::stdout().lock()) {
            // Whoever read the lines has read enough; the session is saved as interrupted.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => app::Exit::Done,
            other => other?,
        }
    };
    if exit == app::Exit::Forced {
        handle.leave_behind();
        output::say("orgtop: the session did not answer and was left behind");
        return Ok(Shown::Left(Exit::Failed));
    }
    // If the session is over already nobody takes this, and nobody needs to.
    let _ = handle.commands.send(Command::Interrupt);
    if handle.mailbox.take().report.phase == Phase::Loading {
        // A model can take minutes to load, and there is nothing to save yet.
        handle.leave_behind();
        if let app::Exit::Signal(ending) = exit {
            end_by(ending);
        }
        if let app::Exit::Again(next) = exit {
            return Ok(Shown::Again(next));
        }
        output::say("left before the model was loaded; nothing was recorded");
        return Ok(Shown::Left(Exit::Done));
    }
    let finished = handle.wait();
    if let app::Exit::Signal(ending) = exit {
        end_by(ending);
    }
    let left = leave(finished, file)?;
    Ok(match exit {
        app::Exit::Again(next) => Shown::Again(next),
        _ => Shown::Left(left),
    })
}

fn leave(finished: Result<Finished, LiveError>, file: Option<PathBuf>) -> anyhow::Result<Exit> {
    let finished = finished?;
    if let Some(error) = &finished.record_error {
        output::say(&format!("orgtop: the recording is incomplete: {error}"));
    }
    if let Some(file) = file {
        output::say(&format!("recorded in {}", file.display()));
    }
    Ok(outcome::orderly(&finished))
}
