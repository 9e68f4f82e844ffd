//! The screen: a model folded from events, drawn on demand.

pub mod terminal;
pub mod text;
pub mod theme;
