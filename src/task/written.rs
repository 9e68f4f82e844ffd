//! What an answer holds, named so that repetitions are known without knowing what is right.

use super::checked::Found;
use super::countdown::normal::Normal;
use super::rational::Rational;

/// What a solution is called. Two that mean the same are called the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// An expression, after normalisation.
    Expression(Normal),
    /// A number.
    Value(Rational),
    /// Anything else, as text without spaces.
    Text(String),
}

impl Key {
    /// A text that has no better name.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.split_whitespace().collect())
    }

    /// The digits of a grid.
    #[must_use]
    pub fn digits(text: &str) -> Self {
        Self::Text(text.chars().filter(char::is_ascii_digit).collect())
    }
}

/// A solution as written, with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// What it is called.
    pub key: Key,
    /// The verdict; `distinct` is not judged here and equals `correct`.
    pub found: Found,
}
