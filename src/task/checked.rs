//! What a verifier says about an answer.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why something found in an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// It is not well-formed.
    Unreadable,
    /// It does not use exactly the given numbers.
    OtherNumbers,
    /// It divides by zero.
    DivisionByZero,
    /// A value on the way does not fit.
    TooLarge,
    /// It is worth something else.
    Value(String),
    /// It changes a given cell.
    Given,
    /// A row, column or box holds something twice.
    Repeats,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("cannot be read"),
            Self::OtherNumbers => f.write_str("does not use each given number once"),
            Self::DivisionByZero => f.write_str("divides by zero"),
            Self::TooLarge => f.write_str("is too large"),
            Self::Value(value) => write!(f, "makes {value}"),
            Self::Given => f.write_str("changes a given cell"),
            Self::Repeats => f.write_str("repeats a digit"),
        }
    }
}

/// One solution found in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// As written.
    pub text: String,
    /// It solves the instance.
    pub correct: bool,
    /// It is correct and no earlier one is the same.
    pub distinct: bool,
    /// Why not, where it is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Wrong>,
}

/// A verified answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// In the order written.
    pub found: Vec<Found>,
    /// Correct and distinct ones.
    pub n_correct: usize,
    /// How many are wanted.
    pub required: usize,
}

impl Checked {
    /// Counts what was found.
    #[must_use]
    pub fn new(found: Vec<Found>, required: usize) -> Self {
        let n_correct = found.iter().filter(|f| f.distinct).count();
        Self {
            found,
            n_correct,
            required,
        }
    }

    /// Whether as many as wanted were found.
    #[must_use]
    pub fn solved(&self) -> bool {
        self.n_correct >= self.required
    }

    /// `R_A` of the paper: `min(n_c, n_s) / n_s`; 0 or 1 where one solution is wanted.
    #[must_use]
    pub fn accuracy_reward(&self) -> f64 {
        self.n_correct.min(self.required) as f64 / self.required.max(1) as f64
    }
}

/// What a format error costs instead of everything else (`R_FE`).
pub const FORMAT_PENALTY: f64 = -1.0;
/// Weight of the concurrency reward.
pub const DEFAULT_LAMBDA: f64 = 0.1;

/// The reward of a run and its parts (paper, section on reinforcement learning).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// Accuracy.
    pub r_a: f64,
    /// Format: 0, or the penalty.
    pub r_fe: f64,
    /// Concurrency, in 0..=1.
    pub r_eta: f64,
    /// `r_fe` where there is a format error, else `r_a + lambda * r_eta`.
    pub total: f64,
}

/// Whether a run kept the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// It did.
    Valid,
    /// It did not.
    Broken,
}

impl Reward {
    /// Puts the parts together.
    #[must_use]
    pub fn new(checked: &Checked, format: Format, r_eta: f64, lambda: f64) -> Self {
        let r_a = checked.accuracy_reward();
        let (r_fe, total) = match format {
            Format::Valid => (0.0, r_a + lambda * r_eta),
            Format::Broken => (FORMAT_PENALTY, FORMAT_PENALTY),
        };
        Self {
            r_a,
            r_fe,
            r_eta,
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(correct: bool, distinct: bool) -> Found {
        Found {
            text: String::new(),
            correct,
            distinct,
            why: None,
        }
    }

    #[test]
    fn only_distinct_solutions_count_and_no_more_than_wanted() {
        let checked = Checked::new(
            vec![found(true, true), found(true, false), found(false, false)],
            4,
        );
        assert!((checked.accuracy_reward() - 0.25).abs() < 1e-12);
        let many = Checked::new(vec![found(true, true); 9], 4);
        assert!(many.solved() && (many.accuracy_reward() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_format_error_takes_everything() {
        let checked = Checked::new(vec![found(true, true)], 1);
        let total = |format| Reward::new(&checked, format, 0.5, DEFAULT_LAMBDA).total;
        assert!((total(Format::Valid) - 1.05).abs() < 1e-12);
        assert!((total(Format::Broken) - FORMAT_PENALTY).abs() < 1e-12);
    }
}
