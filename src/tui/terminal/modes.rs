//! Modes of the terminal: switched on once, switched off exactly once.
//!
//! Whoever comes first, the screen going out of scope, a panic in any thread or a signal, takes the
//! note of what is on and switches it off; the others find nothing left to do.

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, queue, style};
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Optional modes of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// Report the mouse.
    pub mouse: bool,
    /// Tell keys apart that old terminals cannot ([`super::Caps::keyboard`]).
    pub keyboard: bool,
}

/// What is on at the moment.
static ON: Mutex<Option<Modes>> = Mutex::new(None);

/// Longest wait for a writer that holds the terminal.
const PATIENCE: Duration = Duration::from_millis(500);

fn on() -> MutexGuard<'static, Option<Modes>> {
    ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Switches everything on.
pub(super) fn enter(modes: Modes) -> io::Result<()> {
    let mut on = on();
    enable_raw_mode()?;
    // From here on there is something to give back, even if a write fails.
    *on = Some(modes);
    let written = switch_on(modes);
    drop(on);
    if written.is_err() {
        leave();
    }
    written
}

fn switch_on(modes: Modes) -> io::Result<()> {
    let mut out = Vec::new();
    queue!(
        out,
        EnterAlternateScreen,
        // Not every terminal has one, or clears it.
        Clear(ClearType::All),
        cursor::Hide,
        EnableBracketedPaste,
        EnableFocusChange
    )?;
    if modes.mouse {
        queue!(out, EnableMouseCapture)?;
    }
    if modes.keyboard {
        queue!(
            out,
            PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
        )?;
    }
    write(&out)
}

/// Gives the terminal back as it was, if that has not been done yet. Write errors are ignored: a
/// terminal that is gone needs nothing.
pub(super) fn leave() {
    // A writer that hangs on a stopped terminal must not keep a dying program alive.
    let deadline = Instant::now() + PATIENCE;
    let taken = loop {
        match ON.try_lock() {
            Ok(mut on) => break on.take(),
            Err(TryLockError::Poisoned(on)) => break on.into_inner().take(),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let _ = disable_raw_mode();
                return;
            }
        }
    };
    if let Some(modes) = taken {
        let _ = switch_off(modes);
        let _ = disable_raw_mode();
    }
}

fn switch_off(modes: Modes) -> io::Result<()> {
    let mut out = Vec::new();
    queue!(out, EndSynchronizedUpdate)?;
    if modes.keyboard {
        queue!(out, PopKeyboardEnhancementFlags)?;
    }
    if modes.mouse {
        queue!(out, DisableMouseCapture)?;
    }
    queue!(
        out,
        DisableFocusChange,
        DisableBracketedPaste,
        style::ResetColor,
        LeaveAlternateScreen,
        cursor::Show
    )?;
    write(&out)
}

/// Switches the mouse on or off.
pub(super) fn set_mouse(mouse: bool) -> io::Result<()> {
    let mut on = on();
    let Some(modes) = on.as_mut().filter(|modes| modes.mouse != mouse) else {
        return Ok(());
    };
    modes.mouse = mouse;
    let mut out = Vec::new();
    if mouse {
        queue!(out, EnableMouseCapture)?;
    } else {
        queue!(out, DisableMouseCapture)?;
    }
    write(&out)
}

/// Asserts every mode again after the process was stopped from outside. The keyboard flags are a
/// stack in the terminal and stay as they are.
pub(super) fn assert_again() -> io::Result<()> {
    let on = on();
    let Some(modes) = *on else {
        return Ok(());
    };
    // The library thinks raw mode is on; the shell may have switched it off.
    disable_raw_mode()?;
    enable_raw_mode()?;
    switch_on(Modes {
        keyboard: false,
        ..modes
    })
}

/// What is on, if the terminal has not been given back.
pub(super) fn current() -> Option<Modes> {
    *on()
}

/// Writes `bytes` as long as the terminal has not been given back, and says whether.
pub(super) fn write_if_on(bytes: &[u8]) -> io::Result<bool> {
    let on = on();
    match *on {
        Some(_) => write(bytes).map(|()| true),
        None => Ok(false),
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut rest = bytes;
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => rest = &rest[n..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // Somebody made the terminal non-blocking.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) => return Err(e),
        }
    }
    out.flush()
}

/// From now on a panic in any thread gives the terminal back before its message is printed.
pub(super) fn restore_on_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            print(panic);
        }));
    });
}
