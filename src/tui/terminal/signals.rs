//! Signals that end, interrupt or continue the process.
//!
//! The first signal that asks for an end only tells the program, which saves and leaves by itself. A
//! second one, or [`GRACE`] without an end, gives the terminal back and ends the process by that
//! signal, however stuck the rest of it is.

use super::modes;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::thread;
use std::time::Duration;

/// How long the program may take to end by itself.
pub const GRACE: Duration = Duration::from_secs(3);

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Save and end; hand it to [`end_by`] in the end.
    End(Ending),
    /// The process was continued: the screen may hold anything.
    Continued,
}

/// A signal that ends the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending(i32);

impl Ending {
    /// Its name, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        signal_hook::low_level::signal_name(self.0).unwrap_or("a signal")
    }
}

/// Signals that end the process.
const ENDS: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// Nobody watches: these signals do what they do elsewhere. (Handlers stay installed for good, so without this
/// they would do nothing once the first watch is over.)
static UNWATCHED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Signals are watched as long as this lives.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        UNWATCHED.store(true, Ordering::SeqCst);
    }
}

/// Watches for signals on a thread of its own, which calls `notify` for each.
///
/// # Errors
/// The system refuses handlers or a thread.
pub fn watch(notify: impl Fn(Notice) + Send + 'static) -> io::Result<Watch> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGCONT])?;
    UNWATCHED.store(false, Ordering::SeqCst);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in ENDS {
            let flag = Arc::clone(&UNWATCHED);
            // Fails only for signals that cannot be handled; these were just handled.
            let _ = signal_hook::flag::register_conditional_default(signal, flag);
        }
    });
    let handle = signals.handle();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let mut asked = false;
            for signal in signals.forever() {
                if signal == SIGCONT {
                    notify(Notice::Continued);
                    continue;
                }
                let ending = Ending(signal);
                if asked {
                    end_by(ending);
                }
                asked = true;
                let _ = thread::Builder::new()
                    .name("grace".to_owned())
                    .spawn(move || {
                        thread::sleep(GRACE);
                        end_by(ending);
                    });
                notify(Notice::End(ending));
            }
        })?;
    Ok(Watch { handle })
}

/// Gives the terminal back and ends the process as the signal would have.
pub fn end_by(ending: Ending) {
    modes::leave();
    // Fails only for signals it does not know; these it knows.
    let _ = signal_hook::low_level::emulate_default_handler(ending.0);
}
