//! The organization as a fold over events.
//!
//! [`Organization::apply`] is the only way its state changes: a live run, a replay, `inspect` and the
//! exports all see the same. It holds structure and counts, no text, and grows with the number of
//! actions, not of tokens. It decides nothing; `live` does, by the rules of the protocol. This room holds
//! the state and answers questions about it.

mod effects;
mod fold;
mod records;

pub use records::{CommandRecord, ErrorRecord, MarkRecord};

use super::approval::AskRecord;
use super::branch::{BranchRecord, Trail};
use super::breakpoint::{Breakpoint, BreakpointRecord};
use super::command::Switch;
use super::event::{ErrorKind, Role, RunEnd, ThreadEnd, WaitOn};
use super::ids::{BranchId, Seq, ThreadId};
use super::metrics::{Metrics, measure};
use super::plan::PlanBoard;
use super::schedule::{Schedule, Trace, simulate};
use super::seat::Seat;
use super::thread::{Moment, People, Status, Thread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of one organization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Organization {
    /// Agents that can run at once: the organizer and `capacity - 1` workers.
    pub capacity: u32,
    /// Cap of the concurrency reward.
    pub tau: f64,
    /// Threads by path.
    threads: BTreeMap<ThreadId, Thread>,
    /// Errors in order.
    pub errors: Vec<ErrorRecord>,
    /// Commands in order.
    pub commands: Vec<CommandRecord>,
    /// Marks in order.
    pub marks: Vec<MarkRecord>,
    /// What waited for a person's word, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AskRecord>,
    /// Sub-queries planned before any was forked.
    #[serde(default, skip_serializing_if = "PlanBoard::is_blank")]
    pub plan: PlanBoard,
    /// Whether the guard was switched on or off; `None`: as the header says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Switch>,
    /// Places to stop at, in the order in which they were set first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakpoints: Vec<BreakpointRecord>,
    /// Breakpoints met since the last token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_at: Vec<Breakpoint>,
    /// Lived stretches in which everything was held.
    pub pauses: Vec<(Moment, Option<Moment>)>,
    /// Held by a person as a whole.
    pub paused: bool,
    /// The last step and time seen.
    pub now: Moment,
    /// Position after the last event.
    pub next_seq: Seq,
    /// How the run ended, if it has.
    pub end: Option<RunEnd>,
    /// The answer, whole or partial.
    pub answer: Option<String>,
    /// Metrics as recorded at the end.
    pub recorded_metrics: Option<Metrics>,
    /// The branch that is live.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) branch: BranchId,
    /// All branches, once there is a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) branches: Vec<BranchRecord>,
    /// Where undo and redo lead.
    #[serde(default, skip_serializing_if = "Trail::is_empty")]
    pub(super) trail: Trail,
    /// Grows whenever anything but token counts and time changed.
    #[serde(skip)]
    revision: u64,
}

fn is_first(branch: &BranchId) -> bool {
    branch.0 == 0
}

impl Organization {
    /// An organization to which nothing has happened.
    #[must_use]
    pub fn new(capacity: u32, tau: f64) -> Self {
        Self {
            capacity,
            tau,
            ..Self::default()
        }
    }

    /// The thread called `id`.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> Option<&Thread> {
        self.threads.get(&id)
    }

    /// All threads in path order, the organizer first.
    pub fn threads(&self) -> impl DoubleEndedIterator<Item = &Thread> + ExactSizeIterator {
        self.threads.values()
    }

    /// The threads below `id`, in path order.
    pub fn below(&self, id: ThreadId) -> impl DoubleEndedIterator<Item = &Thread> {
        let range = id.below();
        range
            .into_iter()
            .flat_map(|range| self.threads.range(range))
            .map(|(_, thread)| thread)
    }

    /// Workers that hold a slot.
    #[must_use]
    pub fn active_workers(&self) -> usize {
        self.threads()
            .filter(|t| t.role == Role::Worker && !t.ended())
            .count()
    }

    /// Slots that are free.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        (self.capacity as usize)
            .saturating_sub(1)
            .saturating_sub(self.active_workers())
    }

    /// Changes whenever the structure did; equal values mean equal Forks, Joins, ends and errors.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Sets its revision past `revision`: for a state that takes another one's place, so that nobody who
    /// remembers the other takes them for equal.
    pub fn succeed(&mut self, revision: u64) {
        self.revision = self.revision.max(revision).saturating_add(1);
    }

    /// The newest bearer of sub-query `index` among the children of `parent`.
    #[must_use]
    pub fn newest_bearer(&self, parent: ThreadId, index: u16) -> Option<ThreadId> {
        let first = parent.child(index, 1)?;
        let last = parent.child(index, u16::MAX)?;
        self.threads
            .range(first..=last)
            .rev()
            .find(|(id, _)| id.parent() == Some(parent))
            .map(|(id, _)| *id)
    }

    /// Everybody's part in ideal time.
    #[must_use]
    pub fn traces(&self) -> Vec<Trace> {
        self.traces_with(People::Counted)
    }

    /// [`Self::traces`], with people's time counted or not.
    #[must_use]
    pub fn traces_with(&self, people: People) -> Vec<Trace> {
        self.threads().map(|t| t.trace(self.now, people)).collect()
    }

    /// Ideal time so far.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        simulate(&self.traces(), self.capacity)
    }

    /// The measures so far.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.metrics_of(&self.schedule())
    }

    /// The measures so far, given ideal time so far.
    #[must_use]
    pub fn metrics_of(&self, schedule: &Schedule) -> Metrics {
        let work = self.threads().map(|t| t.tokens).sum();
        let metrics = measure(
            schedule,
            work,
            self.capacity,
            self.tau,
            self.now.step.0,
            self.now.us,
        );
        Metrics {
            latency_without_people: self.latency_without_people(),
            ..metrics
        }
    }

    /// `T` had people written in no time; `None` where no person wrote.
    #[must_use]
    pub fn latency_without_people(&self) -> Option<u64> {
        self.threads()
            .flat_map(|t| &t.writing)
            .any(|w| w.by == Seat::Human)
            .then(|| simulate(&self.traces_with(People::Instant), self.capacity).latency)
    }

    /// Whether the model decodes `thread` in the next step, if nothing is held as a whole.
    #[must_use]
    pub fn decodes(&self, thread: &Thread) -> bool {
        thread.status == Status::Running
            && !thread.paused
            && thread.seat.decodes()
            && self.asked_of(thread.id).is_none()
    }

    /// Whether it answered, and kept every rule of the protocol until then. An engine or a tool that failed
    /// breaks none.
    #[must_use]
    pub fn kept_format(&self) -> bool {
        let broken =
            |error: &ErrorRecord| !matches!(error.kind, ErrorKind::Engine | ErrorKind::Tool);
        self.end == Some(RunEnd::Answered) && !self.errors.iter().any(broken)
    }

    /// What waits for a person's word, oldest first.
    pub fn open_asks(&self) -> impl Iterator<Item = &AskRecord> {
        self.asks.iter().filter(|a| a.verdict.is_none())
    }

    /// What thread `id` stands at until a person has spoken.
    #[must_use]
    pub fn asked_of(&self, id: ThreadId) -> Option<&AskRecord> {
        self.open_asks().find(|a| a.thread == id)
    }

    /// Whether both hold the same, however they came to it ([`Self::revision`] aside).
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        let Self {
            capacity,
            tau,
            threads,
            errors,
            commands,
            marks,
            asks,
            plan,
            guard,
            breakpoints,
            stopped_at,
            pauses,
            paused,
            now,
            next_seq,
            end,
            answer,
            recorded_metrics,
            branch,
            branches,
            trail,
            revision: _,
        } = other;
        self.capacity == *capacity
            && self.tau == *tau
            && self.threads == *threads
            && self.errors == *errors
            && self.commands == *commands
            && self.marks == *marks
            && self.asks == *asks
            && self.plan == *plan
            && self.guard == *guard
            && self.breakpoints == *breakpoints
            && self.stopped_at == *stopped_at
            && self.pauses == *pauses
            && self.paused == *paused
            && self.now == *now
            && self.next_seq == *next_seq
            && self.end == *end
            && self.answer == *answer
            && self.recorded_metrics == *recorded_metrics
            && self.branch == *branch
            && self.branches == *branches
            // Keyframes of files older than branches say nothing of it.
            && (trail.is_empty() || self.trail == *trail)
    }

    /// The result of worker `id` as far as it goes, for a Join: its RETURN, else `None` (the caller has
    /// the text).
    #[must_use]
    pub fn result(&self, id: ThreadId) -> Option<(&str, ThreadEnd)> {
        let thread = self.thread(id)?;
        Some((thread.result.as_deref()?, thread.end()?))
    }

    /// Whom each waiting thread waits for.
    pub fn waiting(&self) -> impl Iterator<Item = (ThreadId, WaitOn)> + '_ {
        self.threads().filter_map(|t| match t.status {
            Status::Waiting(on) => Some((t.id, on)),
            _ => None,
        })
    }
}
