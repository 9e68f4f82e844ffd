//! Math problems from files: JSON lines of `{"question": …, "answer": …}`.
//!
//! Answers are compared by value where both have one (whole numbers, decimals, fractions, LaTeX), else as
//! text without its decoration.

mod answer;

pub(super) use answer::key;
pub use answer::same;

use super::checked::{Checked, Found, Wrong};
use crate::small_file::{self, Pipes};
use answer::{final_answer, final_box};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Math {
    /// Where it comes from: `FILE#n`.
    pub source: String,
    /// The problem.
    pub question: String,
    /// Its answer.
    pub answer: String,
}

/// Why a file gives no problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMath {
    /// The spec has another shape.
    #[error("expected `math FILE#n`, the n-th problem of a file of JSON lines")]
    Syntax,
    /// The file cannot be read.
    #[error("{0}: {1}")]
    File(String, String),
    /// A line is damaged.
    #[error("{file}, line {line}: {message}; expected {{\"question\": …, \"answer\": …}}")]
    Line {
        /// Which file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// There is no such problem.
    #[error("{file} holds {count} problem(s); there is no number {n}")]
    Number {
        /// Which file.
        file: String,
        /// How many there are.
        count: usize,
        /// What was asked for.
        n: usize,
    },
}

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;

impl Math {
    /// From `FILE#n`; the first problem where `#n` is missing.
    ///
    /// # Errors
    /// [`BadMath`] that names file and line.
    pub fn parse(spec: &str) -> Result<Self, BadMath> {
        let spec = spec.trim();
        let (file, n) = match spec.rsplit_once('#') {
            Some((file, n)) => (file, n.parse().map_err(|_| BadMath::Syntax)?),
            None => (spec, 1),
        };
        if file.is_empty() {
            return Err(BadMath::Syntax);
        }
        let all = Self::read(Path::new(file))?;
        let count = all.len();
        let missing = BadMath::Number {
            file: file.to_owned(),
            count,
            n,
        };
        n.checked_sub(1)
            .and_then(|at| all.into_iter().nth(at))
            .ok_or(missing)
    }

    /// All problems of a file.
    ///
    /// # Errors
    /// [`BadMath`] that names the first damaged line.
    pub fn read(path: &Path) -> Result<Vec<Self>, BadMath> {
        let file = path.display().to_string();
        let fail = |message: String| BadMath::File(file.clone(), message);
        let text = small_file::read_bytes(path, Pipes::Refused, MOST_BYTES)
            .map_err(|e| fail(e.to_string()))?;
        Self::read_text(&file, &String::from_utf8_lossy(&text))
    }

    /// All problems of a text; `file` is its name.
    ///
    /// # Errors
    /// [`BadMath::Line`] for the first damaged line.
    pub fn read_text(file: &str, text: &str) -> Result<Vec<Self>, BadMath> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        lines
            .enumerate()
            .map(|(n, (line, text))| {
                let (question, answer) = problem(text).map_err(|message| BadMath::Line {
                    file: file.to_owned(),
                    line: line + 1,
                    message,
                })?;
                Ok(Self {
                    source: format!("{file}#{}", n + 1),
                    question,
                    answer,
                })
            })
            .collect()
    }

    /// The task for a model.
    #[must_use]
    pub fn query(&self) -> String {
        format!(
            "{}\n\nPut the final answer inside \\boxed{{}}.",
            self.question.trim()
        )
    }

    /// Verifies an answer: the last `\boxed{}`, else what follows the last "answer is", else the last number,
    /// else all of it.
    #[must_use]
    pub fn check(&self, answer: &str) -> Checked {
        let text = final_answer(answer);
        if text.is_empty() {
            return Checked::new(Vec::new(), 1);
        }
        let correct = same(text, &self.answer);
        let why = (!correct).then(|| Wrong::Value(shortened(text)));
        Checked::new(
            vec![Found {
                text: text.to_owned(),
                correct,
                distinct: correct,
                why,
            }],
            1,
        )
    }
}

fn problem(line: &str) -> Result<(String, String), String> {
    let value: Value = serde_json::from_str(line).map_err(|e| format!("not JSON ({e})"))?;
    let field = |names: &[&str]| {
        names.iter().find_map(|name| match &value[*name] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let question = field(&["question", "problem", "Problem"]).ok_or("there is no `question`")?;
    let answer = field(&["answer", "Answer"]).ok_or("there is no `answer`")?;
    // a whole solution may stand there, its result in a box
    let answer = final_box(&answer).map_or(answer.clone(), str::to_owned);
    match (question.trim().is_empty(), answer.trim().is_empty()) {
        (true, _) => Err("`question` is empty".into()),
        (_, true) => Err("`answer` is empty".into()),
        _ => Ok((question, answer)),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
