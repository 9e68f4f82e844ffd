//! A task of any kind: from a spec, to a query, with a verifier.

use super::checked::{Checked, Found, Reward};
use super::countdown::preset::{Split, large, small};
use super::countdown::{BadCountdown, Countdown};
use super::math::{BadMath, Math};
use super::rng::Rng;
use super::sudoku::{BadSudoku, Sudoku};
use super::written::{Key, Written};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numbers, a target, several solutions.
    Countdown,
    /// A 4×4 grid.
    Sudoku,
    /// A problem from a file.
    Math,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Countdown => "countdown",
            Self::Sudoku => "sudoku",
            Self::Math => "math",
        })
    }
}

/// One instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Task {
    /// Multi-solution countdown.
    Countdown(Countdown),
    /// Sudoku 4×4.
    Sudoku(Sudoku),
    /// A math problem.
    Math(Math),
}

/// Why a spec names no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTask {
    /// Not one of the kinds.
    #[error("unknown task {0:?}: expected `countdown …`, `sudoku …` or `math FILE#n`")]
    Kind(String),
    /// See there.
    #[error("countdown: {0}")]
    Countdown(#[from] BadCountdown),
    /// See there.
    #[error("sudoku: {0}")]
    Sudoku(#[from] BadSudoku),
    /// See there.
    #[error("math: {0}")]
    Math(#[from] BadMath),
}

/// Clues of a random sudoku where nothing else is said.
const DEFAULT_CLUES: usize = 6;

impl Task {
    /// From a spec:
    ///
    /// | spec | task |
    /// |---|---|
    /// | `countdown 10 6 5 3 = 30`, `… find 2` | this one |
    /// | `countdown`, `countdown small` | one of the small preset's test instances, by seed |
    /// | `countdown large` | one of the large preset, by seed |
    /// | `sudoku 1... ..2. .3.. ...4` | this one |
    /// | `sudoku`, `sudoku 8` | one by seed, with that many clues |
    /// | `math FILE#n` | the n-th problem of a file |
    ///
    /// # Errors
    /// [`BadTask`] that says what is wrong and what to write.
    pub fn parse(spec: &str, seed: u64) -> Result<Self, BadTask> {
        let spec = spec.trim();
        let (kind, rest) = spec.split_once(char::is_whitespace).unwrap_or((spec, ""));
        let rest = rest.trim();
        let mut rng = Rng::new(&[seed]);
        match kind {
            "countdown" => Ok(Self::Countdown(match rest {
                "" | "small" => small(Split::Test, &mut rng),
                "large" => large(&mut rng),
                rest => Countdown::parse(rest)?,
            })),
            "sudoku" => Ok(Self::Sudoku(match rest {
                "" => Sudoku::random(DEFAULT_CLUES, &mut rng)?,
                rest if rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_digit()) => {
                    Sudoku::random(rest.parse().unwrap_or(0), &mut rng)?
                }
                rest => Sudoku::parse(rest)?,
            })),
            "math" => Ok(Self::Math(Math::parse(rest)?)),
            other => Err(BadTask::Kind(other.chars().take(40).collect())),
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Countdown(_) => Kind::Countdown,
            Self::Sudoku(_) => Kind::Sudoku,
            Self::Math(_) => Kind::Math,
        }
    }

    /// What a model is asked. The first line of a countdown or sudoku query is its spec.
    #[must_use]
    pub fn query(&self) -> String {
        match self {
            Self::Countdown(task) => task.query(),
            Self::Sudoku(task) => task.query(),
            Self::Math(task) => task.query(),
        }
    }

    /// Distinct solutions wanted.
    #[must_use]
    pub fn required(&self) -> usize {
        match self {
            Self::Countdown(task) => task.required(),
            Self::Sudoku(_) | Self::Math(_) => 1,
        }
    }

    /// Verifies an answer. Any text is fine; nothing in it is ever run.
    #[must_use]
    pub fn check(&self, answer: &str) -> Checked {
        match self {
            Self::Countdown(task) => task.check(answer),
            Self::Sudoku(task) => task.check(answer),
            Self::Math(task) => task.check(answer),
        }
    }

    /// What an answer holds, in the order written. Solutions that mean the same have the same key, right or wrong.
    #[must_use]
    pub fn written(&self, answer: &str) -> Vec<Written> {
        let by = |checked: Checked, key: fn(&str) -> Key| {
            let named = checked.found.into_iter().map(|found| Written {
                key: key(&found.text),
                found,
            });
            named.collect()
        };
        match self {
            Self::Countdown(task) => task.written(answer),
            Self::Sudoku(task) => by(task.check(answer), Key::digits),
            Self::Math(task) => by(task.check(answer), super::math::key),
        }
    }

    /// Distinct solutions as text, at most `most`; none where nobody knows one.
    #[must_use]
    pub fn solutions(&self, most: usize) -> Vec<String> {
        match self {
            Self::Countdown(task) => task.solutions(most),
            Self::Sudoku(task) => task.solution().into_iter().take(most).collect(),
            Self::Math(task) => [task.answer.clone()].into_iter().take(most).collect(),
        }
    }

    /// The object that scripts get.
    #[must_use]
    pub fn report(&self, checked: Checked, reward: Reward) -> Report {
        Report {
            kind: self.kind(),
            instance: self.to_string(),
            required: checked.required,
            found: checked.found,
            n_correct: checked.n_correct,
            reward,
        }
    }
}

/// The spec that gives this instance again.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Countdown(task) => task.fmt(f),
            Self::Sudoku(task) => task.fmt(f),
            Self::Math(task) => write!(f, "math {}", task.source),
        }
    }
}

/// A task and what became of it, for scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its kind.
    pub kind: Kind,
    /// Its spec.
    pub instance: String,
    /// Distinct solutions wanted.
    pub required: usize,
    /// What the answer holds, in order.
    pub found: Vec<Found>,
    /// Correct and distinct ones.
    pub n_correct: usize,
    /// What it is worth.
    pub reward: Reward,
}

#[cfg(test)]
mod tests {
    use super::super::checked::{DEFAULT_LAMBDA, Format};
    use super::*;

    #[test]
    fn a_spec_names_the_same_task_again() {
        for spec in [
            "countdown 10 6 5 3 = 30",
            "countdown small",
            "countdown large",
            "sudoku",
            "sudoku 9",
        ] {
            let task = Task::parse(spec, 3).expect(spec);
            assert_eq!(Task::parse(spec, 3).as_ref(), Ok(&task));
            assert_eq!(Task::parse(&task.to_string(), 4).as_ref(), Ok(&task));
            assert_eq!(task.query().lines().next(), Some(task.to_string().as_str()));
        }
        assert_ne!(Task::parse("countdown", 1), Task::parse("countdown", 2));
    }

    #[test]
    fn solutions_of_every_kind_pass() {
        for spec in ["countdown", "countdown large", "sudoku"] {
            let task = Task::parse(spec, 11).expect(spec);
            let answer = task.solutions(task.required()).join("\n");
            assert!(task.check(&answer).solved(), "{task}: {answer}");
        }
    }

    #[test]
    fn what_means_the_same_has_the_same_key() {
        let keys = |spec: &str, answer: &str| -> Vec<Key> {
            let task = Task::parse(spec, 1).expect(spec);
            let written = task.written(answer).into_iter();
            written.map(|w| w.key).collect()
        };
        let spec = "countdown 12 9 6 4 = 18 find 2";
        // the second is the first in another order; the third is wrong, and so is the fourth, its twin
        let all = keys(
            spec,
            "( 12 - 9 ) * 4 + 6\n6 + 4 * ( 12 - 9 )\n12 + 9 + 6 + 4\n4 + 6 + 9 + 12\n12 / ( 6 - 6 )",
        );
        assert_eq!((&all[0], &all[2]), (&all[1], &all[3]));
        assert!(all[0] != all[2] && all[2] != all[4]);
        let sudoku = "sudoku 1... ..2. .3.. ...4";
        let grid = "1423\n3124\n4312\n2341";
        assert_eq!(keys(sudoku, grid), keys(sudoku, &grid.replace('\n', " | ")));
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), r#"{"question": "q", "answer": "2"}"#).expect("written");
        let math = format!("math {}", file.path().display());
        assert_eq!(keys(&math, "\\boxed{1/2}"), keys(&math, "so it is 0.5"));
        assert_ne!(keys(&math, "\\boxed{1/2}"), keys(&math, "\\boxed{x}"));
        assert_eq!(keys(&math, ""), []);
    }

    #[test]
    fn bad_specs_are_explained() {
        let error = |spec: &str| Task::parse(spec, 1).expect_err(spec).to_string();
        assert!(error("chess").contains("unknown task \"chess\""));
        assert!(error("").contains("unknown task \"\""));
        assert!(error("countdown 1").starts_with("countdown: expected `countdown"));
        assert!(error("sudoku 3").starts_with("sudoku: cannot make"));
        assert!(error("sudoku 12341234").starts_with("sudoku: 8 cells"));
        assert!(error("math").starts_with("math: expected `math FILE#n`"));
    }

    #[test]
    fn scripts_get_one_object() {
        let task = Task::parse("countdown 3 2 = 6 find 1", 0).expect("an instance");
        let checked = task.check("2 * 3");
        let reward = Reward::new(&checked, Format::Valid, 0.5, DEFAULT_LAMBDA);
        let json = serde_json::to_value(task.report(checked, reward)).expect("it serialises");
        assert_eq!(
            json,
            serde_json::json!({
                "kind": "countdown", "instance": "countdown 3 2 = 6 find 1", "required": 1,
                "found": [{"text": "2 * 3", "correct": true, "distinct": true}], "n_correct": 1,
                "reward": {"r_a": 1.0, "r_fe": 0.0, "r_eta": 0.5, "total": 1.05},
            })
        );
    }
}
