//! The organizer's threads, in sampled topologies.
//!
//! The paper found that a teacher left alone writes two topologies only, and put random action sequences
//! into its prompt. Here every choice that the protocol leaves open is drawn: how many workers are in use,
//! how results are taken in, in which order regions are given out, whether the organizer searches one itself
//! meanwhile, and whether a person steps in.

use super::example::{Example, Labelled, Query, Returned, Role, Writer};
use super::expression::word;
use super::region::{REGIONS, Region};
use crate::learn::words;
use crate::task::rng::Rng;
use std::collections::VecDeque;

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
    /// Probability, at each occasion, that a person forks, joins or asks for the answer by hand.
    pub steering: f64,
}

/// Workers that a prompt may speak of: more than regions are of no use.
pub const MAX_WORKERS: usize = REGIONS;

impl Topology {
    /// Draws one. Half of them give the regions out in order, most use every worker they have; nobody steers.
    #[must_use]
    pub fn sample(rng: &mut Rng) -> Self {
        let workers = rng.weighted(&[0.03, 0.08, 0.12, 0.6, 0.08, 0.05, 0.04]);
        let fewer = workers > 1 && rng.chance(0.2);
        let used = if fewer {
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
            steering: 0.0,
        }
    }
}

/// An organizer's thread. `results` says what the worker on a region (none: on some other text) returns.
#[must_use]
pub fn organizer(
    query: &Query,
    topology: &Topology,
    rng: &mut Rng,
    results: impl FnMut(Option<Region>, &mut Rng) -> Returned,
) -> Example {
    let begin = [
        words::ORGANIZER,
        word(topology.workers as u32),
        words::QUERY,
    ];
    let mut desk = Desk {
        writer: Writer::prompt(&begin, &query.words()),
        query,
        topology,
        rng,
        results,
        left: topology.order.into(),
        busy: VecDeque::new(),
        forked: 0,
        found: Vec::new(),
    };
    desk.organize();
    desk.writer.example(Role::Organizer)
}

/// An organizer's thread on a query that it cannot make sense of.
#[must_use]
pub fn organizer_at_a_loss(text: &[u32], workers: usize) -> Example {
    let begin = [words::ORGANIZER, word(workers as u32), words::QUERY];
    let mut writer = Writer::prompt(&begin, text);
    writer.answer(&[], Opened::ByModel);
    writer.example(Role::Organizer)
}

/// Who opened an ANSWER or RETURN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The thread itself.
    ByModel,
    /// A person who wants it now.
    ByPerson,
}

struct Desk<'a, R> {
    writer: Writer,
    query: &'a Query,
    topology: &'a Topology,
    rng: &'a mut Rng,
    results: R,
    /// Regions not yet given out.
    left: VecDeque<Region>,
    /// Workers not yet joined, oldest first.
    busy: VecDeque<(u16, Option<Region>)>,
    forked: u16,
    found: Vec<Labelled>,
}

impl<R: FnMut(Option<Region>, &mut Rng) -> Returned> Desk<'_, R> {
    fn organize(&mut self) {
        let wanted = self.query.wanted;
        let mut opened = Opened::ByModel;
        while self.found.len() < wanted && !(self.left.is_empty() && self.busy.is_empty()) {
            self.fork_all();
            if !self.left.is_empty()
                && (self.busy.is_empty() || self.rng.chance(self.topology.explores))
            {
                self.explore();
            }
            let mut joins = match self.topology.joins {
                Joins::Each if !self.left.is_empty() => 1,
                _ => self.busy.len(),
            };
            while joins > 0 && self.found.len() < wanted {
                joins -= 1;
                self.join();
            }
            if self.steered(0.3) {
                opened = Opened::ByPerson;
                break;
            }
        }
        self.found.truncate(wanted);
        self.writer.answer(&self.found, opened);
    }

    /// Whether a person acts at this occasion.
    fn steered(&mut self, share: f64) -> bool {
        self.topology.steering > 0.0 && self.rng.chance(self.topology.steering * share)
    }

    fn fork_all(&mut self) {
        while self.busy.len() < self.topology.used && !self.left.is_empty() {
            if self.steered(0.5) {
                self.fork_by_person();
            } else if let Some(region) = self.left.pop_front() {
                let mut text = vec![words::bare_letter(region.index())];
                text.extend(region.query(&self.query.problem));
                self.fork(Some(region), &text, Opened::ByModel);
            }
        }
    }

    /// A region that is left, or a text of the person's own.
    fn fork_by_person(&mut self) {
        if self.rng.chance(0.6) {
            let Some(region) = self.left.remove(self.rng.below(self.left.len())) else {
                return;
            };
            let mut text = vec![words::bare_letter(region.index())];
            text.extend(region.query(&self.query.problem));
            self.fork(Some(region), &text, Opened::ByPerson);
        } else {
            let text = super::noise::odd_text(self.rng);
            self.fork(None, &text, Opened::ByPerson);
        }
    }

    fn fork(&mut self, region: Option<Region>, text: &[u32], by: Opened) {
        let (Some(open), Some(close)) = (
            words::fork_open(self.forked + 1),
            words::fork_close(self.forked + 1),
        ) else {
            // no tags left: only a person who forks again and again comes here
            self.left.clear();
            return;
        };
        self.forked += 1;
        self.writer.write(&[open], by);
        self.writer.write(text, by);
        self.writer.write(&[close], by);
        self.busy.push_back((self.forked, region));
    }

    fn explore(&mut self) {
        if let Some(region) = self.left.pop_front() {
            let limit = self.query.wanted - self.found.len();
            let found = self.writer.explore(&self.query.problem, region, limit);
            self.found.extend(found);
            self.writer.have(self.found.len().min(self.query.wanted));
        }
    }

    fn join(&mut self) {
        let Some((index, region)) = self.busy.pop_front() else {
            return;
        };
        let returned = (self.results)(region, self.rng);
        if let (Some(join), Some(close)) = (words::join(index), words::join_close(index)) {
            let by = if self.steered(0.5) {
                Opened::ByPerson
            } else {
                Opened::ByModel
            };
            self.writer.write(&[join], by);
            self.writer.given(&returned.text);
            self.writer.given(&[close]);
        }
        self.found.extend(returned.found);
        self.writer.have(self.found.len().min(self.query.wanted));
    }
}
