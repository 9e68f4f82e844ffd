//! Datasets: endless streams of examples, addressed by index.
//!
//! Example `i` depends on the seed and on `i` alone, so that training stopped anywhere goes on exactly where
//! it was, and any number of threads can make examples in any order. What the protocol would refuse is drawn
//! again ([`judge`]); [`Dataset::audit`] says how much that is.

use super::teacher::judge::judge;
use super::teacher::noise;
use super::teacher::organizer::{MAX_WORKERS, Topology, organizer, organizer_at_a_loss};
use super::teacher::region::{MAX_HITS, Problem, REGIONS, Region, search};
use super::teacher::trace::{self, Closing};
use crate::learn::words;
use crate::task::countdown::preset::{Split, small_sets};
use crate::task::rng::Rng;
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

/// Targets to learn from: wider than those asked, so that the edges are no edges.
pub const TARGETS: std::ops::RangeInclusive<u32> = 5..=55;

/// A stream of examples. Clones share the problems.
#[derive(Debug, Clone)]
pub struct Dataset {
    spec: Spec,
    seed: u64,
    position: u64,
    problems: Arc<Problems>,
}

#[derive(Debug)]
struct Problems {
    /// With at least four solutions in the six regions together.
    rich: Vec<Problem>,
    /// The others.
    poor: Vec<Problem>,
    /// Regions with a hit.
    hits: Vec<(Problem, Region)>,
}

impl Problems {
    fn of(split: Split) -> Self {
        let mut out = Self {
            rich: Vec::new(),
            poor: Vec::new(),
            hits: Vec::new(),
        };
        for numbers in small_sets(split) {
            for target in TARGETS {
                let problem = Problem { numbers, target };
                let found = Region::ALL.map(|region| search(&problem, region, MAX_HITS).hits.len());
                let list = if found.iter().sum::<usize>() >= MAX_HITS {
                    &mut out.rich
                } else {
                    &mut out.poor
                };
                list.push(problem);
                let with_hit = Region::ALL
                    .into_iter()
                    .zip(found)
                    .filter(|(_, found)| *found > 0);
                out.hits
                    .extend(with_hit.map(|(region, _)| (problem, region)));
            }
        }
        out
    }

    fn draw(&self, rich: f64, rng: &mut Rng) -> Problem {
        let list = if rng.chance(rich) {
            &self.rich
        } else {
            &self.poor
        };
        list[rng.below(list.len())]
    }
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
mod tests {
    use super::*;
    use crate::learn::words::Vocabulary;
    use crate::task::Countdown;

    #[test]
    fn examples_are_addressed_by_index() {
        let mut stream = Dataset::new(Spec::organization(Split::Dev), 5);
        let first: Vec<Example> = stream.by_ref().take(6).collect();
        stream.seek(4);
        assert_eq!(stream.next().as_ref(), Some(&first[4]));
        assert_eq!(stream.example(0), first[0]);
        let other = Dataset::new(Spec::organization(Split::Dev), 6);
        assert_ne!(other.example(0), first[0]);
    }

    #[test]
    fn the_protocol_accepts_nearly_every_thread() {
        for spec in [Spec::organization(Split::Train), Spec::alone(Split::Train)] {
            let started = std::time::Instant::now();
            let audit = Dataset::new(spec, 1).audit(0..4000);
            let rate = audit.tokens.iter().sum::<u64>() as f64 / started.elapsed().as_secs_f64();
            println!(
                "{:?}: kept {:.4}, {rate:.0} tokens/s, {audit:?}",
                spec.threads,
                audit.kept()
            );
            assert!(audit.kept() > 0.99, "{audit:?}");
            assert!(audit.longest < 1400, "{audit:?}");
        }
    }

    #[test]
    fn more_than_half_of_the_workers_find_something() {
        let data = Dataset::new(
            Spec {
                noise: 0.0,
                ..Spec::organization(Split::Train)
            },
            1,
        );
        let workers: Vec<Example> = data.take(4000).filter(|e| e.role == Role::Worker).collect();
        let none = |e: &&Example| e.tokens.contains(&words::BARE_NONE);
        let share = 1.0 - workers.iter().filter(none).count() as f64 / workers.len() as f64;
        assert!((0.5..0.6).contains(&share), "{share}");
    }

    #[test]
    fn the_mix_is_as_asked() {
        let audit = Dataset::new(Spec::organization(Split::Dev), 2).audit(0..3000);
        assert!(
            (500..700).contains(&audit.examples[Role::Organizer as usize]),
            "{audit:?}"
        );
        assert_eq!(audit.examples[Role::Sequential as usize], 0);
        let audit = Dataset::new(Spec::alone(Split::Dev), 2).audit(0..1000);
        assert!(
            (400..600).contains(&audit.examples[Role::Sequential as usize]),
            "{audit:?}"
        );
    }

    #[test]
    fn what_is_learnt_is_what_the_thread_writes() {
        for example in Dataset::new(
            Spec {
                noise: 0.0,
                ..Spec::organization(Split::Dev)
            },
            3,
        )
        .take(300)
        {
            let text = |own: bool| -> String {
                let tokens: Vec<u32> = example
                    .tokens
                    .iter()
                    .zip(&example.loss_mask)
                    .filter(|(_, m)| **m == own)
                    .map(|(t, _)| *t)
                    .collect();
                Vocabulary::get().decode(&tokens)
            };
            let (own, given) = (text(true), text(false));
            assert_eq!(
                own.matches("<JOIN-").count(),
                given.matches("</JOIN-").count(),
                "{}",
                Vocabulary::get().show(&example.tokens)
            );
            assert!(
                !own.contains("</JOIN-") && !given.contains("<JOIN-"),
                "{own}"
            );
            assert!(own.contains("</ANSWER>") || own.contains("</RETURN>"));
            assert_eq!(example.loss_mask.len(), example.tokens.len());
            assert_eq!(example.tokens.last(), Some(&words::END));
        }
    }

    #[test]
    fn true_answers_are_right_and_distinct() {
        let spec = Spec {
            noise: 0.0,
            invented: 0.0,
            organizers: 1.0,
            ..Spec::organization(Split::Dev)
        };
        let (mut wrong, mut answers) = (0, 0);
        for example in Dataset::new(spec, 4).take(400) {
            let text = Vocabulary::get().decode(&example.tokens);
            let (query, answer) = (
                text.split("countdown").nth(1),
                text.split("<ANSWER>").nth(1),
            );
            let (Some(query), Some(answer)) = (query, answer) else {
                panic!("{text}")
            };
            let query: String = query
                .chars()
                .take_while(|c| " 0123456789=".contains(*c))
                .collect();
            let Ok(task) = Countdown::parse(&format!("{query} find 1")) else {
                continue;
            };
            let found = task.check(answer).found;
            answers += found.len();
            wrong += found.iter().filter(|f| !f.distinct).count();
        }
        assert!(
            answers > 1000 && wrong * 200 < answers,
            "{wrong} of {answers}"
        );
    }

    #[test]
    fn every_text_survives_as_tokens() {
        for example in Dataset::new(
            Spec {
                noise: 1.0,
                ..Spec::organization(Split::Dev)
            },
            5,
        )
        .take(2000)
        {
            let begin = example
                .tokens
                .iter()
                .position(|t| *t == words::THINK)
                .expect("a prompt")
                + 1;
            let vocabulary = Vocabulary::get();
            let text = vocabulary.decode(&example.tokens[begin..]);
            let again: Vec<u32> = vocabulary
                .encode(&text)
                .into_iter()
                .chain([words::END])
                .collect();
            assert_eq!(
                vocabulary.show(&again),
                vocabulary.show(&example.tokens[begin..])
            );
            assert!(example.tokens.iter().all(|t| (*t as usize) < words::SIZE));
        }
    }
}
