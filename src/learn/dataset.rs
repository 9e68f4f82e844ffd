//! Datasets: endless streams of examples, addressed by index.
//!
//! Example `i` depends on the seed and on `i` alone, so that training stopped anywhere goes on exactly where
//! it was, and workers may make examples in any order.

use super::teacher::judge::judge;
use super::teacher::region::{Expression, MAX_HITS, Problem, Region, search};
use super::teacher::trace::{self, Closing, MAX_WORKERS, Query, Returned, Topology};
use crate::learn::words;
use crate::task::countdown::preset::{Split, small_sets};
use crate::task::rng::Rng;

pub use super::teacher::trace::{Example, Role};

/// What threads are in a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Organizers and workers.
    Organization,
    /// One thread that searches everything: the baselines' traces.
    Alone,
}

/// What a dataset is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// Which threads.
    pub threads: Threads,
    /// Whose number sets.
    pub split: Split,
    /// Share of organizer threads.
    pub organizers: f64,
    /// Share of organizer threads in which the results are invented, so that counting and copying are
    /// learnt apart from searching.
    pub invented: f64,
    /// Share of worker threads whose region is drawn among those with a hit.
    pub hits: f64,
}

impl Spec {
    /// The organization's dataset.
    #[must_use]
    pub fn organization(split: Split) -> Self {
        Self {
            threads: Threads::Organization,
            split,
            organizers: 0.2,
            invented: 0.5,
            hits: 0.55,
        }
    }

    /// The baselines' dataset.
    #[must_use]
    pub fn alone(split: Split) -> Self {
        Self {
            threads: Threads::Alone,
            ..Self::organization(split)
        }
    }
}

/// Targets to learn from: wider than those asked, so that the edges are no edges.
const TARGETS: std::ops::RangeInclusive<u32> = 5..=55;

/// A stream of examples.
#[derive(Debug, Clone)]
pub struct Dataset {
    spec: Spec,
    seed: u64,
    position: u64,
    /// All problems; those with at least four solutions first.
    problems: Vec<Problem>,
    rich: usize,
}

impl Dataset {
    /// The stream of a seed, at its beginning.
    #[must_use]
    pub fn new(spec: Spec, seed: u64) -> Self {
        let mut rich = Vec::new();
        let mut poor = Vec::new();
        for numbers in small_sets(spec.split) {
            for target in TARGETS {
                let problem = Problem { numbers, target };
                let found: usize = Region::ALL
                    .iter()
                    .map(|r| search(&problem, *r, MAX_HITS).hits.len())
                    .sum();
                if found >= MAX_HITS {
                    rich.push(problem)
                } else {
                    poor.push(problem)
                }
            }
        }
        let count = rich.len();
        rich.append(&mut poor);
        Self {
            spec,
            seed,
            position: 0,
            problems: rich,
            rich: count,
        }
    }

    /// Index of the example that comes next.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on with this index.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Example `index`.
    #[must_use]
    pub fn example(&self, index: u64) -> Example {
        let mut rng = Rng::new(&[self.seed, index]);
        loop {
            let (example, workers) = self.draw(&mut rng);
            if judge(&example, workers).is_ok() {
                return example;
            }
        }
    }

    fn problem(&self, rng: &mut Rng, rich: f64) -> Problem {
        let range = if rng.chance(rich) {
            0..self.rich
        } else {
            self.rich..self.problems.len()
        };
        let at = range.start + rng.below(range.len());
        self.problems[at]
    }

    fn draw(&self, rng: &mut Rng) -> (Example, u32) {
        match self.spec.threads {
            Threads::Alone => {
                let query = Query::plain(self.problem(rng, 0.7));
                let mut order = Region::ALL;
                if rng.chance(0.5) {
                    rng.shuffle(&mut order);
                }
                let closing = if rng.chance(0.5) {
                    Closing::Answer
                } else {
                    Closing::Return
                };
                (trace::alone(&query, &order, closing), 0)
            }
            Threads::Organization if rng.chance(self.spec.organizers) => {
                let query = Query::plain(self.problem(rng, 0.75));
                let topology = Topology::sample(rng);
                let invented = rng.chance(self.spec.invented);
                let example = trace::organizer(&query, &topology, rng, |region, rng| {
                    if invented {
                        invent(&query.problem, region, rng)
                    } else {
                        Returned::list(region, &search(&query.problem, region, MAX_HITS).hits)
                    }
                });
                (example, topology.workers as u32)
            }
            Threads::Organization => {
                let with_hit = rng.chance(self.spec.hits);
                loop {
                    let problem = self.problem(rng, 0.3);
                    let region = Region::ALL[rng.below(Region::ALL.len())];
                    if !with_hit || !search(&problem, region, 1).hits.is_empty() {
                        let mut text = vec![words::bare_letter(region.index())];
                        text.extend(region.query(&problem));
                        return (trace::worker(&problem, region, &text), MAX_WORKERS as u32);
                    }
                }
            }
        }
    }
}

/// A list of expressions that have nothing to do with the target.
fn invent(problem: &Problem, region: Region, rng: &mut Rng) -> Returned {
    let count = rng.weighted(&[0.4, 0.3, 0.17, 0.08, 0.05]);
    let expressions: Vec<Expression> = (0..count).map(|_| any_expression(problem, rng)).collect();
    Returned::list(region, &expressions)
}

/// All four numbers, joined in any way.
fn any_expression(problem: &Problem, rng: &mut Rng) -> Expression {
    const SIGNS: [u32; 4] = [words::PLUS, words::MINUS, words::TIMES, words::OVER];
    let mut parts: Vec<Expression> = problem
        .numbers
        .iter()
        .map(|n| Expression::leaf(*n))
        .collect();
    while parts.len() > 1 {
        let left = parts.swap_remove(rng.below(parts.len()));
        let right = parts.swap_remove(rng.below(parts.len()));
        parts.push(Expression::joined(&left, SIGNS[rng.below(4)], &right));
    }
    parts[0]
}

impl Iterator for Dataset {
    type Item = Example;

    fn next(&mut self) -> Option<Example> {
        let example = self.example(self.position);
        self.position += 1;
        Some(example)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_addressed_by_index() {
        let mut stream = Dataset::new(Spec::organization(Split::Dev), 5);
        let first: Vec<Example> = stream.by_ref().take(6).collect();
        stream.seek(4);
        assert_eq!(stream.next().as_ref(), Some(&first[4]));
        assert_eq!(stream.example(0), first[0]);
    }
}
