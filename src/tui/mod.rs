//! The screen: a model folded from events, drawn on demand.

pub mod action;
pub mod app;
pub mod ideal;
pub mod keymap;
pub mod layout;
pub mod look;
pub mod model;
pub mod pace;
pub mod picker;
pub mod plain;
pub mod popup;
pub mod rate;
pub mod replay;
pub mod run;
pub mod sign;
pub mod source;
pub mod surface;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod thread_view;
pub mod update;
pub mod view;
pub mod widget;

pub use app::{Exit, Options};
pub use picker::{Item, pick};
pub use run::{run_live, run_plain, run_replay};
pub use source::LiveSource;
