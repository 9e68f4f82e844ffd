//! Text to actions and back: tags, scanner, prompts.
//!
//! Pure: bytes in, findings out. What a finding may do is decided by [`crate::org::rules`].

mod guard;
pub mod prompt;
mod scanner;
mod tag;

pub use guard::{Guard, Open};
pub use scanner::{Finding, Found, Grammar, Position, Scanner};
pub use tag::{LONGEST_TAG, Match, Tag, classify};
