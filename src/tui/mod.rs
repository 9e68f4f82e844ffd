//! The screen: a model folded from events, drawn on demand.
//!
//! ```text
//!  terminal ─ keys ──▶ ┌────────┐ Input ┌────────┐ changes ┌───────┐ ┌──────┐
//!  session ─ events ─▶ │  app   │──────▶│ update │────────▶│ model │▶│ view │▶ frame
//!  recording, signals ▶└────────┘◀──────└────────┘         └───────┘ └──────┘
//!                         │      Effect
//!                         └──▶ commands to the session, seeks, clipboard, pager, leaving
//! ```
//!
//! * [`app`] waits for everything and decides when to draw ([`pace`]); [`surface`] is what it draws on;
//!   `escape` puts keys together that arrived in pieces.
//! * [`source`] is a running session or a [`replay`]; both fill the same [`model`].
//! * [`update`] is pure: what a key means comes from [`keymap`], made of the one table in [`action`].
//! * [`ideal`], [`layout`], [`rate`], [`habit`] derive what is shown; [`view`] draws it, one panel a file.
//! * [`demo`] plays a script of keys, commands and captions.
//!   `recital` plays it as lines.
//! * [`plain`] is the line log for where there is no screen; [`run`] opens the one or the other.
//!
//! The screen never calls an engine: it sends commands and folds events.

pub mod action;
pub mod app;
pub mod compared;
pub mod demo;
mod escape;
pub mod given;
pub mod habit;
pub mod ideal;
pub mod keymap;
pub mod layout;
pub mod letter;
pub mod look;
pub mod model;
pub mod pace;
pub mod picker;
pub mod plain;
pub mod popup;
pub mod rate;
mod recital;
pub mod replay;
pub mod rewrite;
pub mod run;
pub mod sign;
pub mod source;
pub mod surface;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod thread_view;
pub mod training;
pub mod update;
pub mod view;
pub mod widget;

pub use app::{Exit, Options};
pub use picker::{Item, pick};
pub use run::{run_live, run_plain, run_replay};
pub use source::LiveSource;
