//! Examples, and the pen that writes them.

use super::expression::{Expression, word};
use super::organizer::Opened;
use super::region::{MAX_HITS, Problem, Region, Search, search};
use crate::learn::words;
use serde::{Deserialize, Serialize};

/// Who writes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Forks, joins, answers.
    Organizer,
    /// Searches what it is given and returns.
    Worker,
    /// Searches everything alone and answers.
    Sequential,
}

/// One thread to learn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Prompt and text.
    pub tokens: Vec<u32>,
    /// Beside each token, whether the model has to learn to write it.
    pub loss_mask: Vec<bool>,
    /// Whose thread it is.
    pub role: Role,
}

/// A query of the small kind: a problem, how many solutions are wanted, and in which order the numbers are
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// What is asked.
    pub problem: Problem,
    /// Its numbers as written.
    pub written: [u32; 4],
    /// Solutions wanted, 1..=4.
    pub wanted: usize,
}

impl Query {
    /// A query as tasks write it: numbers from large to small, four solutions.
    #[must_use]
    pub fn plain(problem: Problem) -> Self {
        Self {
            problem,
            written: problem.numbers,
            wanted: MAX_HITS,
        }
    }

    /// `countdown 12 9 6 4 = 30`, then ` find 2` where not four are wanted.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let mut out = vec![words::COUNTDOWN];
        out.extend(self.written.iter().map(|n| word(*n)));
        out.extend([words::EQUALS, word(self.problem.target)]);
        if self.wanted != MAX_HITS {
            out.extend([words::FIND, word(self.wanted as u32)]);
        }
        out
    }
}

/// A solution with the label it is quoted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled {
    /// Region that found it.
    pub region: Region,
    /// Its number within the region, from 1.
    pub n: usize,
    /// The solution.
    pub expression: Expression,
}

/// What comes back from a worker: the text, and what an organizer should see in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// As spliced in, without the closing tag.
    pub text: Vec<u32>,
    /// Solutions in it.
    pub found: Vec<Labelled>,
}

impl Returned {
    /// A list of solutions as workers write it.
    #[must_use]
    pub fn list(region: Region, expressions: &[Expression]) -> Self {
        let found: Vec<Labelled> = (1..=MAX_HITS)
            .zip(expressions)
            .map(|(n, expression)| Labelled {
                region,
                n,
                expression: *expression,
            })
            .collect();
        Self {
            text: list(&found),
            found,
        }
    }
}

/// Labels and expressions as they stand between tags; `none` for none.
fn list(found: &[Labelled]) -> Vec<u32> {
    if found.is_empty() {
        return vec![words::BARE_NONE];
    }
    let mut out = Vec::new();
    for (i, one) in found.iter().enumerate() {
        out.push(words::label(one.region.index(), one.n, i == 0));
        out.extend_from_slice(one.expression.words());
    }
    out
}

/// Writes an example.
pub(super) struct Writer {
    tokens: Vec<u32>,
    loss_mask: Vec<bool>,
}

impl Writer {
    pub(super) fn prompt(begin: &[u32], text: &[u32]) -> Self {
        let mut writer = Self {
            tokens: Vec::with_capacity(384),
            loss_mask: Vec::with_capacity(384),
        };
        writer.given(begin);
        writer.given(text);
        writer.given(&[words::THINK]);
        writer
    }

    pub(super) fn given(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
        self.loss_mask.resize(self.tokens.len(), false);
    }

    pub(super) fn own(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
        self.loss_mask.resize(self.tokens.len(), true);
    }

    /// Thinks a region through in place; what it found.
    pub(super) fn explore(
        &mut self,
        problem: &Problem,
        region: Region,
        limit: usize,
    ) -> Vec<Labelled> {
        self.own(&[words::letter(region.index())]);
        self.own(&region.query(problem));
        let Search { words, hits, .. } = search(problem, region, limit.min(MAX_HITS));
        self.own(&words);
        Returned::list(region, &hits).found
    }

    pub(super) fn have(&mut self, n: usize) {
        self.own(&[words::HAVE, word(n as u32)]);
    }

    /// As own text, or as text that a person put in.
    pub(super) fn write(&mut self, tokens: &[u32], by: Opened) {
        match by {
            Opened::ByModel => self.own(tokens),
            Opened::ByPerson => self.given(tokens),
        }
    }

    pub(super) fn answer(&mut self, found: &[Labelled], opened: Opened) {
        self.write(&[words::ANSWER_OPEN], opened);
        self.own(&list(found));
        self.own(&[words::ANSWER_CLOSE, words::END]);
    }

    pub(super) fn returns(&mut self, found: &[Labelled], opened: Opened) {
        self.write(&[words::RETURN_OPEN], opened);
        self.own(&list(found));
        self.own(&[words::RETURN_CLOSE, words::END]);
    }

    pub(super) fn example(self, role: Role) -> Example {
        Example {
            tokens: self.tokens,
            loss_mask: self.loss_mask,
            role,
        }
    }
}
