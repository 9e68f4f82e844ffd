//! Datasets: endless streams of examples, addressed by index.
//!
//! Example `i` depends on the seed and on `i` alone, so that training stopped anywhere goes on exactly where
//! it was, and any number of threads can make examples in any order. What the protocol would refuse is drawn
//! again ([`judge`]); [`Dataset::audit`] says how much that is.

mod problems;

pub use problems::TARGETS;

use super::teacher::judge::judge;
use super::teacher::noise;
use super::teacher::organizer::{MAX_WORKERS, Topology, organizer, organizer_at_a_loss};
use super::teacher::region::{MAX_HITS, Problem, REGIONS, Region, search};
use super::teacher::trace::{self, Closing};
use crate::learn::words;
use crate::task::countdown::preset::Split;
use crate::task::rng::Rng;
use problems::Problems;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use super::teacher::example::{Example, Query, Returned, Role};

/// What threads are in a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threads {
    /// Organizers and workers.
    Organization,
    /// One thread that searches everything: the baselines' traces.
    Alone,
}

/// What a dataset is made of. Shares are probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Which threads.
    pub threads: Threads,
    /// Whose number sets.
    pub split: Split,
    /// Organizer threads among all.
    pub organizers: f64,
    /// Organizer threads in which the results are invented, so that counting and copying are learnt apart
    /// from searching.
    pub invented: f64,
    /// Worker threads whose region is drawn among those with a hit.
    pub hits: f64,
    /// Threads that meet something odd: another text than they expect, a stop halfway, a person's hand.
    pub noise: f64,
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
            hits: 0.3,
            noise: 0.08,
        }
    }

    /// The baselines' dataset: the same habits of search.
    #[must_use]
    pub fn alone(split: Split) -> Self {
        Self {
            threads: Threads::Alone,
            ..Self::organization(split)
        }
    }
}

/// A stream of examples. Clones share the problems.
#[derive(Debug, Clone)]
pub struct Dataset {
    spec: Spec,
    seed: u64,
    position: u64,
    problems: Arc<Problems>,
}

/// What a stretch of a dataset holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Audit {
    /// Examples of organizers, workers, lone threads.
    pub examples: [u64; 3],
    /// Their tokens.
    pub tokens: [u64; 3],
    /// Tokens that the model learns to write.
    pub learnt: u64,
    /// Longest example.
    pub longest: usize,
    /// Threads drawn for them, malformed ones too.
    pub drawn: u64,
}

impl Audit {
    /// Share of the threads drawn that the protocol accepts.
    #[must_use]
    pub fn kept(&self) -> f64 {
        if self.drawn == 0 {
            1.0
        } else {
            self.examples.iter().sum::<u64>() as f64 / self.drawn as f64
        }
    }
}

impl Dataset {
    /// The stream of a seed, at its beginning.
    #[must_use]
    pub fn new(spec: Spec, seed: u64) -> Self {
        Self {
            spec,
            seed,
            position: 0,
            problems: Arc::new(Problems::of(spec.split)),
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
        self.accepted(index).0
    }

    /// Looks at the examples of a range of indices.
    #[must_use]
    pub fn audit(&self, indices: std::ops::Range<u64>) -> Audit {
        let mut audit = Audit::default();
        for index in indices {
            let (example, drawn) = self.accepted(index);
            audit.examples[example.role as usize] += 1;
            audit.tokens[example.role as usize] += example.tokens.len() as u64;
            audit.learnt += example.loss_mask.iter().filter(|own| **own).count() as u64;
            audit.longest = audit.longest.max(example.tokens.len());
            audit.drawn += drawn;
        }
        audit
    }

    /// The first accepted thread of an index, and how many were drawn for it.
    fn accepted(&self, index: u64) -> (Example, u64) {
        let mut rng = Rng::new(&[self.seed, index]);
        for drawn in 1..=MOST_DRAWN {
            let (example, workers) = self.draw(&mut rng);
            if judge(&example, workers as u32).is_ok() {
                return (example, drawn);
            }
        }
        // plain threads are sound by construction
        let (problem, region) = self.problems.hits[rng.below(self.problems.hits.len())];
        (
            trace::worker(&problem, region, &sub_query(&problem, region)),
            MOST_DRAWN,
        )
    }

    /// A thread and the number of workers it may use.
    fn draw(&self, rng: &mut Rng) -> (Example, usize) {
        match self.spec.threads {
            Threads::Alone => (self.draw_alone(rng), 0),
            Threads::Organization if rng.chance(self.spec.organizers) => self.draw_organizer(rng),
            Threads::Organization => (self.draw_worker(rng), 0),
        }
    }

    fn query(&self, rich: f64, rng: &mut Rng) -> Query {
        let mut query = Query::plain(self.problems.draw(rich, rng));
        if rng.chance(self.spec.noise) {
            query.wanted = 1 + rng.below(MAX_HITS - 1);
        }
        if rng.chance(self.spec.noise / 2.0) {
            rng.shuffle(&mut query.written);
        }
        query
    }

    fn draw_alone(&self, rng: &mut Rng) -> Example {
        let query = self.query(0.7, rng);
        let closing = if rng.chance(0.5) {
            Closing::Answer
        } else {
            Closing::Return
        };
        trace::alone(&query, &order(rng), closing)
    }

    fn draw_worker(&self, rng: &mut Rng) -> Example {
        let (problem, region) = if rng.chance(self.spec.hits) {
            self.problems.hits[rng.below(self.problems.hits.len())]
        } else {
            (
                self.problems.draw(0.3, rng),
                Region::ALL[rng.below(REGIONS)],
            )
        };
        let text = sub_query(&problem, region);
        if !rng.chance(self.spec.noise) {
            return trace::worker(&problem, region, &text);
        }
        match rng.below(8) {
            0 | 1 => trace::worker_at_a_loss(&noise::odd_text(rng)),
            2 => trace::alone(&self.query(0.7, rng), &order(rng), Closing::Return),
            3..=5 => trace::worker_cut_short(&problem, region, &text, rng.unit()),
            _ => trace::worker(&problem, region, &noise::odd_query(&problem, region, rng)),
        }
    }

    fn draw_organizer(&self, rng: &mut Rng) -> (Example, usize) {
        if rng.chance(self.spec.noise / 8.0) {
            let workers = rng.below(MAX_WORKERS + 1);
            return (organizer_at_a_loss(&noise::odd_text(rng), workers), workers);
        }
        let query = self.query(0.75, rng);
        let mut topology = Topology::sample(rng);
        if rng.chance(self.spec.noise) {
            topology.steering = 0.2;
        }
        let invented = rng.chance(self.spec.invented);
        let loses = rng.chance(0.15);
        let odd = if rng.chance(self.spec.noise) {
            0.3
        } else {
            0.0
        };
        let problem = query.problem;
        let example = organizer(&query, &topology, rng, |region, rng| {
            let Some(known) = region.filter(|_| !rng.chance(odd)) else {
                return noise::odd_result(&problem, region, rng);
            };
            if invented {
                return noise::invented(&problem, known, rng);
            }
            let mut hits = search(&problem, known, MAX_HITS).hits;
            // a worker that overlooks one, so that the first round does not always do
            if loses && rng.chance(0.3) {
                hits.pop();
            }
            Returned::list(known, &hits)
        });
        (example, topology.workers)
    }
}

/// Threads drawn for one example before a plain one takes its place.
const MOST_DRAWN: u64 = 100;

fn sub_query(problem: &Problem, region: Region) -> Vec<u32> {
    let mut text = vec![words::bare_letter(region.index())];
    text.extend(region.query(problem));
    text
}

/// Half of the time in order, half in any.
fn order(rng: &mut Rng) -> [Region; REGIONS] {
    let mut order = Region::ALL;
    if rng.chance(0.5) {
        rng.shuffle(&mut order);
    }
    order
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
mod tests;
