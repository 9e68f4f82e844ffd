//! Demos: a script that steers, presses keys and shows captions, with pauses for whoever speaks.
//!
//! Pure: [`Script`] is read from text; [`Demo`] is told the time, events and the person's keys, and says what is
//! to be done next. It presses nothing by itself and draws nothing: [`super::update`] does the one,
//! [`super::view`] the other, [`super::run`] plays it where there is no screen.

mod condition;
mod player;
mod script;

pub use condition::Condition;
pub use player::{Deed, Demo, Manner, Pressed};
pub use script::{Line, Script, ScriptError};
