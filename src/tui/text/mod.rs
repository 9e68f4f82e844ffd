//! Text of threads on the screen: hostile bytes in, aligned cells out.
//!
//! [`sanitize`] makes any bytes safe to show, [`Transcript`] keeps one thread's text with its authors,
//! tags and tokens, [`wrap`] cuts it into rows, and [`TextPane`] draws the visible ones with code in
//! colour. Nothing here knows events, the model or keys; the panels call it.

mod cluster;
mod display;
mod find;
mod highlight;
mod paint;
pub mod pane;
pub mod sanitize;
mod style;
mod tag;
mod tokens;
pub mod transcript;
mod widget;
pub mod wrap;

pub use cluster::{Glyphs, text_width};
pub use find::Direction;
pub use highlight::start_highlighting;
pub use paint::cover;
pub use pane::PaneState;
pub use sanitize::{Sanitizer, safe_line, safe_text};
pub use style::TextStyles;
pub use tag::TagKind;
pub use tokens::TokenRef;
pub use transcript::{Origin, Piece, PieceKind, Transcript};
pub use widget::TextPane;
