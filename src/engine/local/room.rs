//! Who gives way when pages are short.
//!
//! Idle sequences lose their pages first, then sequences that have none wait, then the youngest running
//! worker loses its own. The organizer never does, and some pages are kept free for what it will join.

use super::pages::{PAGE, pages_for};
use super::planner::{Plan, Planner};
use super::sequence::Sequence;
use crate::engine::contract::Priority;

/// At most this many pages are kept free for the organizer.
const MOST_HEADROOM: usize = 1024 / PAGE;

/// Answer to a wish for pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// The pages are the sequence's.
    Granted,
    /// Not now.
    Later,
    /// Not as long as the others that hold pages rest.
    Never,
}

impl Planner {
    fn headroom(&self) -> usize {
        let organized = self
            .sequences
            .iter()
            .any(|s| s.priority == Priority::Organizer);
        if organized {
            (self.pool.total() / 8).min(MOST_HEADROOM)
        } else {
            0
        }
    }

    /// Give a sequence the pages for all its tokens.
    pub(super) fn make_room(&mut self, at: usize, newcomer: bool, plan: &Plan) -> Room {
        let need = pages_for(self.sequences[at].tokens.len())
            .saturating_sub(self.sequences[at].pages.len());
        let keep = match self.sequences[at].priority {
            Priority::Organizer => 0,
            Priority::Worker | Priority::Template => self.headroom(),
        };
        while need > 0 && self.pool.free() < need + keep {
            let victim = self
                .idle_victim(at, plan, true)
                .or_else(|| self.running_victim(at, newcomer, plan))
                .or_else(|| self.idle_victim(at, plan, false));
            match victim {
                Some(victim) => self.sequences[victim].evict(&mut self.pool),
                None if self.others_run(at) => return Room::Later,
                None => return Room::Never,
            }
        }
        for _ in 0..need {
            match self.pool.take() {
                Some(page) => self.sequences[at].pages.push(page),
                None => return Room::Later,
            }
        }
        self.sequences[at].evicted = false;
        Room::Granted
    }

    /// Whether somebody else who holds pages goes on, so that pages may come free.
    fn others_run(&self, at: usize) -> bool {
        let mut others = self
            .sequences
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        others.any(|(_, s)| s.running && !s.pages.is_empty())
    }

    /// A resting sequence to take pages from, workers before templates, the youngest first; with `gains` only
    /// one that holds pages which nobody shares.
    fn idle_victim(&self, at: usize, plan: &Plan, gains: bool) -> Option<usize> {
        let idle = (0..self.sequences.len()).filter(|other| {
            let s = &self.sequences[*other];
            let gained = || s.pages.iter().any(|page| !self.pool.is_shared(*page));
            let resting = !s.running && s.priority != Priority::Organizer;
            *other != at && resting && self.may_lose(s, plan) && (!gains || gained())
        });
        idle.max_by_key(|other| (self.sequences[*other].priority == Priority::Worker, *other))
    }

    /// The youngest running worker, if `at` may take its pages: the organizer may; a worker only what younger
    /// ones hold, and not before it has pages itself.
    fn running_victim(&self, at: usize, newcomer: bool, plan: &Plan) -> Option<usize> {
        let youngest = (0..self.sequences.len()).rev().find(|other| {
            let s = &self.sequences[*other];
            *other != at && s.running && s.priority == Priority::Worker && self.may_lose(s, plan)
        })?;
        match self.sequences[at].priority {
            Priority::Organizer => Some(youngest),
            Priority::Worker if !newcomer && youngest > at => Some(youngest),
            Priority::Worker | Priority::Template => None,
        }
    }

    fn may_lose(&self, sequence: &Sequence, plan: &Plan) -> bool {
        !sequence.pages.is_empty() && plan.shares.iter().all(|share| share.seq != sequence.id)
    }
}
