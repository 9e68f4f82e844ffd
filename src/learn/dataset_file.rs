//! Threads in files: JSON lines that people can read and any model can be trained on.
//!
//! A line holds the role, what the thread was asked, and its text in spans: written by the thread itself, or
//! put into its context. How a prompt is worded and cut into tokens is the business of the model that learns:
//!
//! ```json
//! {"role":"organizer","workers":3,"query":"countdown 12 9 6 4 = 18","text":[{"own":"<FORK-1>A 12 9 : 6 4 -> 18</FORK-1><JOIN-1>"},{"given":"none</JOIN-1>"},{"own":" have 0<ANSWER>none</ANSWER>"}]}
//! ```

use super::dataset::{Example, Role};
use super::teacher::judge::{Fault, judge};
use super::words::{self, Vocabulary};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};

/// A thread as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Whose thread it is.
    pub role: Role,
    /// Workers that the organizer was told of; 0 for other roles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub workers: u32,
    /// The query or sub-query.
    pub query: String,
    /// What follows the prompt.
    pub text: Vec<Span>,
}

/// A stretch of a thread's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Written by the thread.
    Own(String),
    /// Put into its context by the system or a person.
    Given(String),
}

/// Why a file of threads is no good.
#[derive(Debug, thiserror::Error)]
pub enum BadDataset {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A line is damaged.
    #[error(
        "line {line}: {message}; expected {{\"role\": …, \"query\": …, \"text\": [{{\"own\": …}}, {{\"given\": …}}]}}"
    )]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// What a file of threads holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// Threads that the protocol accepts.
    pub kept: Vec<Trace>,
    /// The others: line and fault.
    pub dropped: Vec<(usize, Fault)>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Longest line that is read, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

impl Trace {
    /// From an example of the tiny model; `None` where it has no such prompt.
    #[must_use]
    pub fn from_example(example: &Example) -> Option<Self> {
        let vocabulary = Vocabulary::get();
        let think = example.tokens.iter().position(|t| *t == words::THINK)?;
        let (workers, query) = match example.tokens.get(..think)? {
            [words::ORGANIZER, workers, words::QUERY, query @ ..] => {
                (words::as_number(*workers)?, query)
            }
            [_, query @ ..] => (0, query),
            [] => return None,
        };
        let rest = example
            .tokens
            .iter()
            .zip(&example.loss_mask)
            .skip(think + 1)
            .filter(|(t, _)| **t != words::END);
        let mut parts: Vec<(bool, Vec<u32>)> = Vec::new();
        for (token, own) in rest {
            match parts.last_mut() {
                Some((last, tokens)) if last == own => tokens.push(*token),
                _ => parts.push((*own, vec![*token])),
            }
        }
        let span = |(own, tokens): (bool, Vec<u32>)| {
            let text = vocabulary.decode(&tokens);
            if own {
                Span::Own(text)
            } else {
                Span::Given(text)
            }
        };
        Some(Self {
            role: example.role,
            workers,
            query: vocabulary.decode(query),
            text: parts.into_iter().map(span).collect(),
        })
    }

    /// The thread in the tiny model's tokens.
    #[must_use]
    pub fn example(&self) -> Example {
        let vocabulary = Vocabulary::get();
        let mut tokens = match self.role {
            Role::Organizer => {
                let workers = self
                    .workers
                    .min(super::teacher::organizer::MAX_WORKERS as u32);
                vec![
                    words::ORGANIZER,
                    words::number(workers).unwrap_or(words::NONE),
                    words::QUERY,
                ]
            }
            Role::Worker => vec![words::WORKER],
            Role::Sequential => vec![words::SEQUENTIAL],
        };
        tokens.extend(vocabulary.encode(self.query.trim()));
        tokens.push(words::THINK);
        let mut loss_mask = vec![false; tokens.len()];
        for span in &self.text {
            let (own, text) = match span {
                Span::Own(text) => (true, text),
                Span::Given(text) => (false, text),
            };
            tokens.extend(vocabulary.encode(text));
            loss_mask.resize(tokens.len(), own);
        }
        tokens.push(words::END);
        loss_mask.push(true);
        Example {
            tokens,
            loss_mask,
            role: self.role,
        }
    }

    /// Whether the protocol accepts it.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn judge(&self) -> Result<(), Fault> {
        judge(&self.example(), self.workers)
    }
}

/// Writes threads, one a line.
///
/// # Errors
/// What the writer says.
pub fn write(
    traces: impl IntoIterator<Item = Trace>,
    mut to: impl Write,
) -> Result<(), BadDataset> {
    for trace in traces {
        serde_json::to_writer(&mut to, &trace).map_err(std::io::Error::from)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads threads and drops those that the protocol would refuse.
///
/// # Errors
/// [`BadDataset`] for the first line that is no thread at all.
pub fn read(mut from: impl BufRead) -> Result<Contents, BadDataset> {
    let mut contents = Contents::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let fail = |message: String| BadDataset::Line { line, message };
        let read = std::io::Read::take(&mut from, LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            break;
        }
        if read as u64 == LONGEST_LINE {
            return Err(fail(format!("longer than {LONGEST_LINE} bytes")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let trace: Trace = serde_json::from_slice(&bytes).map_err(|e| fail(e.to_string()))?;
        match trace.judge() {
            Ok(()) => contents.kept.push(trace),
            Err(fault) => contents.dropped.push((line, fault)),
        }
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::dataset::{Dataset, Spec};
    use crate::task::Split;

    fn traces(count: usize) -> Vec<Trace> {
        let data = Dataset::new(
            Spec {
                noise: 0.5,
                ..Spec::organization(Split::Dev)
            },
            9,
        );
        data.take(count)
            .filter_map(|e| Trace::from_example(&e))
            .collect()
    }

    #[test]
    fn examples_come_back_from_a_file() {
        let spec = Spec {
            noise: 0.0,
            ..Spec::organization(Split::Dev)
        };
        for spec in [
            spec,
            Spec {
                threads: super::super::dataset::Threads::Alone,
                ..spec
            },
        ] {
            let examples: Vec<Example> = Dataset::new(spec, 2).take(100).collect();
            let mut file = Vec::new();
            write(examples.iter().filter_map(Trace::from_example), &mut file).expect("written");
            let contents = read(file.as_slice()).expect("it reads");
            assert!(contents.dropped.is_empty());
            assert_eq!(
                contents.kept.iter().map(Trace::example).collect::<Vec<_>>(),
                examples
            );
        }
    }

    #[test]
    fn what_the_protocol_refuses_is_dropped_and_told() {
        let mut all = traces(50);
        for trace in &mut all[..5] {
            trace.text.pop();
            trace.text.insert(0, Span::Own("<JOIN-7>".into()));
        }
        let mut file = Vec::new();
        write(all, &mut file).expect("written");
        let contents = read(file.as_slice()).expect("it reads");
        assert_eq!((contents.kept.len(), contents.dropped.len()), (45, 5));
        assert_eq!(contents.dropped[0].0, 1);
    }

    #[test]
    fn damaged_lines_are_named() {
        let mut file = Vec::new();
        write(traces(2), &mut file).expect("written");
        for bad in [
            "{",
            "[]",
            "null",
            r#"{"role":"chief","query":"","text":[]}"#,
            "\u{0}",
            r#"{"role":"worker"}"#,
        ] {
            let text = [file.as_slice(), b"\n\n", bad.as_bytes()].concat();
            let error = read(text.as_slice()).expect_err(bad).to_string();
            assert!(error.starts_with("line 5: "), "{error}");
        }
        let cut = &file[..file.len() - 4];
        assert!(
            read(cut)
                .expect_err("cut")
                .to_string()
                .starts_with("line 2: ")
        );
    }
}
