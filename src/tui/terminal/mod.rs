//! The terminal: what it can do, its modes from entering to giving back, signals, the clipboard.
//!
//! [`Screen`] is the only owner of the terminal's modes while it lives. Nothing here knows what is
//! drawn.

pub mod caps;
pub mod clipboard;
mod modes;
mod output;
mod screen;
#[cfg(unix)]
pub mod signals;

pub use caps::{Caps, Presentation, WhyPlain};
pub use clipboard::CopyError;
pub use modes::Modes;
pub use screen::Screen;
