//! Instances as text: `countdown 10 6 5 3 = 30 find 2`.

use super::{Countdown, DEFAULT_REQUIRED, LARGEST, MOST_NUMBERS, MOST_REQUIRED};
use std::fmt;

/// Why a spec is no instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCountdown {
    /// The text has another shape.
    #[error("expected `countdown 10 6 5 3 = 30`, optionally followed by `find 2`; {0}")]
    Syntax(String),
    /// A number out of range.
    #[error("{0} is no number to play with: expected a whole number from 1 to {LARGEST}")]
    Number(String),
    /// Too few or too many numbers.
    #[error("{0} numbers: expected 2 to {MOST_NUMBERS}")]
    Count(usize),
    /// A number of solutions out of range.
    #[error("cannot ask for {0} solutions: expected 1 to {MOST_REQUIRED}")]
    Required(String),
    /// No solution at all.
    #[error("{0} cannot be made of {1}; try another target")]
    Unsolvable(u64, String),
    /// Fewer solutions than wanted.
    #[error(
        "only {0} distinct solution(s) exist, {1} are wanted; write `find {0}` behind the target"
    )]
    TooFew(usize, usize),
}

impl fmt::Display for Countdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "countdown {} = {}",
            listed(&self.numbers, " "),
            self.target
        )?;
        match self.required {
            DEFAULT_REQUIRED => Ok(()),
            n => write!(f, " find {n}"),
        }
    }
}

pub(super) fn listed(numbers: &[u64], between: &str) -> String {
    numbers
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(between)
}

fn number(word: &str) -> Result<u64, BadCountdown> {
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let value = word
        .parse()
        .ok()
        .filter(|n| digits && (1..=LARGEST).contains(n));
    value.ok_or_else(|| BadCountdown::Number(shortened(word)))
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(24) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_owned(),
    }
}

impl Countdown {
    /// From what follows the word `countdown`.
    ///
    /// # Errors
    /// As [`Self::new`], and for another syntax.
    pub fn parse(text: &str) -> Result<Self, BadCountdown> {
        let Self {
            numbers,
            target,
            required,
        } = Self::parse_known(text)?;
        Self::new(numbers, target, required)
    }

    /// As [`Self::parse`], for an instance that is known to have as many solutions as it asks for.
    ///
    /// # Errors
    /// [`BadCountdown`] for another syntax and for numbers out of range.
    pub(in crate::task) fn parse_known(text: &str) -> Result<Self, BadCountdown> {
        let syntax = |why: &str| BadCountdown::Syntax(why.to_owned());
        let spaced = text
            .replace("->", " = ")
            .replace('=', " = ")
            .replace([',', ';'], " ");
        let mut words = spaced.split_whitespace();
        let mut numbers = Vec::new();
        loop {
            match words.next() {
                Some("=") => break,
                Some(word) => numbers.push(number(word)?),
                None => return Err(syntax("there is no `=`")),
            }
        }
        let target = number(
            words
                .next()
                .ok_or_else(|| syntax("there is no target behind `=`"))?,
        )?;
        let required = match (words.next(), words.next()) {
            (None, _) => DEFAULT_REQUIRED,
            (Some("find"), Some(count)) => count
                .parse()
                .map_err(|_| BadCountdown::Required(shortened(count)))?,
            (Some(other), _) => {
                return Err(syntax(&format!("{:?} is not understood", shortened(other))));
            }
        };
        match words.next() {
            Some(more) => Err(syntax(&format!("{:?} is too much", shortened(more)))),
            None => Self::in_range(numbers, target, required),
        }
    }
}
