//! Whole threads in words: organizer, worker, sequential.
//!
//! A thread comes as an [`Example`]: its tokens, and which of them the model has to learn. Prompts and
//! results spliced in by the system are context; the organizer's own `<JOIN-i>` is not.

use super::region::{Expression, MAX_HITS, Problem, REGIONS, Region, Search, search};
use crate::learn::words;
use crate::task::rng::Rng;

/// Who writes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// How the organizer takes results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joins {
    /// The oldest, then it forks again.
    Each,
    /// All that run, then it forks again.
    All,
}

/// A sampled way to organize.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Topology {
    /// Workers that the prompt speaks of.
    pub workers: usize,
    /// Workers in use at a time; fewer or as many.
    pub used: usize,
    /// How results are taken in.
    pub joins: Joins,
    /// The order in which regions are given out.
    pub order: [Region; REGIONS],
    /// Probability that the organizer searches a region itself while all its workers are busy.
    pub explores: f64,
}

/// Workers that a prompt may speak of: more than regions are of no use.
pub const MAX_WORKERS: usize = REGIONS;

impl Topology {
    /// Draws one. Half of them give the regions out in order, most use every worker they have.
    #[must_use]
    pub fn sample(rng: &mut Rng) -> Self {
        let workers = rng.weighted(&[0.03, 0.08, 0.12, 0.6, 0.08, 0.05, 0.04]);
        let used = if workers > 1 && rng.chance(0.2) {
            1 + rng.below(workers)
        } else {
            workers
        };
        let joins = if rng.chance(0.7) {
            Joins::Each
        } else {
            Joins::All
        };
        let mut order = Region::ALL;
        if rng.chance(0.5) {
            rng.shuffle(&mut order);
        }
        let explores = if rng.chance(0.2) { 0.6 } else { 0.0 };
        Self {
            workers,
            used,
            joins,
            order,
            explores,
        }
    }
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
        out.extend(self.written.iter().map(|n| number(*n)));
        out.extend([words::EQUALS, number(self.problem.target)]);
        if self.wanted != MAX_HITS {
            out.extend([words::FIND, number(self.wanted as u32)]);
        }
        out
    }
}

fn number(n: u32) -> u32 {
    words::number(n.min(words::MAX_NUMBER)).unwrap_or(words::NONE)
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
struct Writer {
    tokens: Vec<u32>,
    loss_mask: Vec<bool>,
}

impl Writer {
    fn prompt(begin: &[u32], text: &[u32]) -> Self {
        let mut writer = Self {
            tokens: Vec::with_capacity(384),
            loss_mask: Vec::with_capacity(384),
        };
        writer.given(begin);
        writer.given(text);
        writer.given(&[words::THINK]);
        writer
    }

    fn given(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
        self.loss_mask.resize(self.tokens.len(), false);
    }

    fn own(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
        self.loss_mask.resize(self.tokens.len(), true);
    }

    /// Thinks a region through in place; what it found.
    fn explore(&mut self, problem: &Problem, region: Region, limit: usize) -> Vec<Labelled> {
        self.own(&[words::letter(region.index())]);
        self.own(&region.query(problem));
        let Search { words, hits } = search(problem, region, limit.min(MAX_HITS));
        self.own(&words);
        Returned::list(region, &hits).found
    }

    fn have(&mut self, n: usize) {
        self.own(&[words::HAVE, number(n as u32)]);
    }

    fn answer(&mut self, found: &[Labelled]) {
        self.own(&[words::ANSWER_OPEN]);
        self.own(&list(found));
        self.own(&[words::ANSWER_CLOSE, words::END]);
    }

    fn returns(&mut self, text: &[u32]) {
        self.own(&[words::RETURN_OPEN]);
        self.own(text);
        self.own(&[words::RETURN_CLOSE, words::END]);
    }

    fn example(self, role: Role) -> Example {
        Example {
            tokens: self.tokens,
            loss_mask: self.loss_mask,
            role,
        }
    }
}

/// A worker's thread on a sub-query as written by `text`.
#[must_use]
pub fn worker(problem: &Problem, region: Region, text: &[u32]) -> Example {
    let mut writer = Writer::prompt(&[words::WORKER], text);
    let Search { words, hits } = search(problem, region, MAX_HITS);
    writer.own(&words);
    writer.returns(&Returned::list(region, &hits).text);
    writer.example(Role::Worker)
}

/// A worker's thread on a text that is no sub-query it knows.
#[must_use]
pub fn at_a_loss(text: &[u32]) -> Example {
    let mut writer = Writer::prompt(&[words::WORKER], text);
    writer.returns(&[words::BARE_NONE]);
    writer.example(Role::Worker)
}

/// How a thread that works alone hands its list over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// As the answer of a sequential run.
    Answer,
    /// As the result of one of several workers on the same query.
    Return,
}

/// A thread that searches region after region alone.
#[must_use]
pub fn alone(query: &Query, order: &[Region], closing: Closing) -> Example {
    let (begin, role) = match closing {
        Closing::Answer => (words::SEQUENTIAL, Role::Sequential),
        Closing::Return => (words::WORKER, Role::Worker),
    };
    let mut writer = Writer::prompt(&[begin], &query.words());
    let mut found = Vec::new();
    for region in order {
        found.extend(writer.explore(&query.problem, *region, query.wanted - found.len()));
        writer.have(found.len());
        if found.len() >= query.wanted {
            break;
        }
    }
    match closing {
        Closing::Answer => writer.answer(&found),
        Closing::Return => writer.returns(&list(&found)),
    }
    writer.example(role)
}

/// An organizer's thread. `results` says what the worker on a region returns.
#[must_use]
pub fn organizer(
    query: &Query,
    topology: &Topology,
    rng: &mut Rng,
    mut results: impl FnMut(Region, &mut Rng) -> Returned,
) -> Example {
    let begin = [
        words::ORGANIZER,
        number(topology.workers as u32),
        words::QUERY,
    ];
    let mut writer = Writer::prompt(&begin, &query.words());
    let mut left = topology.order.iter().copied();
    let mut next = left.next();
    let mut busy: std::collections::VecDeque<(u16, Region)> = std::collections::VecDeque::new();
    let mut forked = 0;
    let mut found: Vec<Labelled> = Vec::new();
    loop {
        while let Some(region) = next.filter(|_| busy.len() < topology.used) {
            forked += 1;
            if let (Some(open), Some(close)) = (words::fork_open(forked), words::fork_close(forked))
            {
                writer.own(&[open, words::bare_letter(region.index())]);
                writer.own(&region.query(&query.problem));
                writer.own(&[close]);
            }
            busy.push_back((forked, region));
            next = left.next();
        }
        if let Some(region) = next.filter(|_| busy.is_empty() || rng.chance(topology.explores)) {
            next = left.next();
            found.extend(writer.explore(&query.problem, region, query.wanted - found.len()));
            writer.have(found.len().min(query.wanted));
        }
        let mut joins = match topology.joins {
            Joins::Each if next.is_some() => 1,
            _ => busy.len(),
        };
        while joins > 0 && found.len() < query.wanted {
            joins -= 1;
            let Some((index, region)) = busy.pop_front() else {
                break;
            };
            let returned = results(region, rng);
            if let (Some(join), Some(close)) = (words::join(index), words::join_close(index)) {
                writer.own(&[join]);
                writer.given(&returned.text);
                writer.given(&[close]);
            }
            found.extend(returned.found);
            writer.have(found.len().min(query.wanted));
        }
        if found.len() >= query.wanted || (next.is_none() && busy.is_empty()) {
            break;
        }
    }
    found.truncate(query.wanted);
    writer.answer(&found);
    writer.example(Role::Organizer)
}
