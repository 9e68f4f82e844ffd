//! Tasks: make an instance, state it as a query, verify an answer, solve.
//!
//! Pure but for reading the files of math problems: no engine, no clock, no thread. Answers are untrusted
//! text.

mod checked;
pub mod countdown;
pub mod math;
mod merge;
pub mod rational;
pub mod rng;
pub mod sets;
pub mod sudoku;
#[allow(clippy::module_inception, reason = "the task itself")]
mod task;
mod written;

pub use checked::{Checked, DEFAULT_LAMBDA, FORMAT_PENALTY, Format, Found, Reward, Wrong};
pub use countdown::Countdown;
pub use countdown::preset::Split;
pub use math::Math;
pub use merge::{merge, merged};
pub use sudoku::Sudoku;
pub use task::{BadTask, Kind, Report, Task};
pub use written::{Key, Written};
