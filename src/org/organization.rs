//! The organization as a fold over events.
//!
//! [`Organization::apply`] is the only way its state changes: a live run, a replay, `inspect` and the
//! exports all see the same. It holds structure and counts, no text, and grows with the number of
//! actions, not of tokens. It decides nothing; `live` does, by the rules of the protocol.

use super::approval::{AskRecord, Verdict};
use super::branch::{BranchRecord, Trail};
use super::breakpoint::{Breakpoint, BreakpointRecord};
use super::command::{Command, Outcome, Switch};
use super::event::{
    ActionKind, Author, Body, ErrorKind, Event, Role, RunEnd, Seat, ThreadEnd, WaitOn,
};
use super::ids::{BranchId, Seq, Step, ThreadId};
use super::metrics::{Metrics, measure};
use super::plan::{PlanBoard, PlanChange};
use super::schedule::{Op, OpKind, Schedule, Trace, simulate};
use super::thread::{LivedWait, Moment, People, Refusal, Status, Thread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recorded error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Which.
    pub kind: ErrorKind,
    /// Whose.
    pub thread: ThreadId,
    /// When.
    pub step: Step,
    /// For people.
    pub message: String,
}

/// A recorded command with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// Its event.
    pub seq: Seq,
    /// What was asked.
    pub command: Command,
    /// Who asked.
    #[serde(default = "a_person")]
    pub by: Author,
    /// When it was asked.
    pub step: Step,
    /// Its latest effect; `None` while there is none.
    pub outcome: Option<Outcome>,
}

/// Who asked where a keyframe does not say.
fn a_person() -> Author {
    Author::Human
}

/// A named moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkRecord {
    /// Its event.
    pub seq: Seq,
    /// When.
    pub at: Moment,
    /// Its name.
    pub name: String,
}

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

    /// Folds one event. Events that make no sense in this state (from a damaged file) change as little
    /// as possible and never panic.
    pub fn apply(&mut self, event: &Event) {
        if let Body::Branch {
            from,
            turn,
            token,
            state,
            ..
        } = &event.body
        {
            self.now.us = self.now.us.max(event.us);
            self.apply_branch(event, *from, *turn, *token, state);
            return;
        }
        self.now = Moment {
            step: self.now.step.max(event.last_step()),
            us: self.now.us.max(event.us),
        };
        self.next_seq = self.next_seq.max(event.seq.next());
        let structural = !matches!(
            event.body,
            Body::Tokens { .. } | Body::Keyframe { .. } | Body::Unknown
        );
        self.revision += u64::from(structural);
        match &event.body {
            Body::Command { command } => self.apply_command(event, command),
            Body::Effect { outcome } => self.apply_effect(event, outcome),
            Body::Error { error, message, .. } => self.errors.push(ErrorRecord {
                kind: *error,
                thread: event.thread.unwrap_or(ThreadId::ORGANIZER),
                step: event.step,
                message: message.clone(),
            }),
            Body::Mark { name } => {
                self.note_stop(event.cause);
                self.marks.push(MarkRecord {
                    seq: event.seq,
                    at: self.now,
                    name: name.clone(),
                });
            }
            Body::Tokens { .. } => self.stopped_at.clear(),
            Body::RunEnd {
                end,
                answer,
                metrics,
            } => {
                self.end = Some(*end);
                self.answer.clone_from(answer);
                self.recorded_metrics = Some(*metrics);
            }
            Body::Keyframe { .. } | Body::Unknown => {}
            Body::Thread { .. } => self.apply_thread_begin(event),
            Body::Ask { .. } => self.apply_ask(event),
            Body::Decided {
                number,
                verdict,
                text,
            } => {
                let own = self.asks.iter_mut().find(|a| a.number == *number);
                if let Some(own) = own {
                    own.verdict = Some(*verdict);
                    if let Some(text) = text {
                        own.text.clone_from(text);
                    }
                }
            }
            Body::Plan { change } => self.plan.change(change),
            _ => {}
        }
        if let Some(id) = event.thread {
            self.apply_to_thread(id, event);
            let now = self.now;
            if let Some(thread) = self.threads.get_mut(&id) {
                thread.note_writer(now);
            }
        }
    }

    fn apply_ask(&mut self, event: &Event) {
        if let Body::Ask {
            number,
            ask,
            index,
            text,
            span,
        } = &event.body
        {
            self.asks.push(AskRecord {
                seq: event.seq,
                number: *number,
                kind: *ask,
                thread: event.thread.unwrap_or(ThreadId::ORGANIZER),
                index: *index,
                text: text.clone(),
                span: *span,
                since: self.now,
                verdict: None,
            });
        }
    }

    /// A Join waits for a newer bearer of the index: it means that one.
    fn join_newest(&mut self, parent: ThreadId, child: ThreadId) {
        let Some(thread) = self.threads.get_mut(&parent) else {
            return;
        };
        let joined = thread
            .ops
            .iter_mut()
            .rev()
            .find_map(|op| match &mut op.kind {
                OpKind::Join { child } => Some(child),
                OpKind::Fork { .. } | OpKind::Overflow { .. } => None,
            });
        let Some(joined) = joined.filter(|old| **old != child && old.index() == child.index())
        else {
            return;
        };
        let old = std::mem::replace(joined, child);
        for (id, taken) in [(old, false), (child, true)] {
            if let Some(thread) = self.threads.get_mut(&id) {
                thread.joined = taken;
            }
        }
    }

    fn apply_thread_begin(&mut self, event: &Event) {
        let (
            Some(id),
            Body::Thread {
                role,
                seat,
                query,
                prompt,
            },
        ) = (event.thread, &event.body)
        else {
            return;
        };
        self.threads.insert(
            id,
            Thread {
                id,
                role: *role,
                seat: seat.clone(),
                query: query.clone(),
                status: Status::Running,
                paused: false,
                prompt_tokens: prompt.len() as u64,
                tokens: 0,
                spliced_tokens: 0,
                vetoes: 0,
                refusals: Vec::new(),
                text_bytes: 0,
                ops: Vec::new(),
                acted: 0,
                began: self.now,
                last: self.now,
                waits: Vec::new(),
                writing: Vec::new(),
                result: None,
                joined: false,
            },
        );
    }

    fn apply_to_thread(&mut self, id: ThreadId, event: &Event) {
        let now = self.now;
        if let Body::Action {
            action: ActionKind::Join,
            child: Some(child),
            ..
        } = &event.body
            && let Some(child) = self.threads.get_mut(child)
        {
            child.joined = true;
        }
        match &event.body {
            Body::Wait {
                on: WaitOn::Join(child),
            } => self.join_newest(id, *child),
            Body::Action {
                action: ActionKind::Fork,
                child: Some(child),
                ..
            } => self.plan.forked(*child),
            Body::End { .. } => {
                for ask in self.asks.iter_mut().filter(|a| a.thread == id) {
                    ask.verdict.get_or_insert(Verdict::Lapsed);
                }
            }
            _ => {}
        }
        let Some(thread) = self.threads.get_mut(&id) else {
            return;
        };
        match &event.body {
            Body::Tokens { ids, bytes, .. } => {
                thread.tokens += ids.len() as u64;
                thread.text_bytes += bytes.0.len() as u64;
                thread.last = now;
            }
            Body::Veto { ids, bytes } => {
                thread.vetoes += ids.len() as u64;
                thread.refusals.push(Refusal {
                    token: thread.tokens,
                    ids: ids.clone(),
                    text: String::from_utf8_lossy(&bytes.0).into_owned(),
                });
            }
            Body::Splice { ids, bytes, .. } => {
                thread.spliced_tokens += ids.len() as u64;
                thread.text_bytes += bytes.0.len() as u64;
            }
            Body::Action {
                action,
                at,
                child,
                text,
                anchor,
                ..
            } => {
                thread.acted += u64::from(event.in_text());
                let kind = match (action, child) {
                    (ActionKind::Fork, Some(child)) => OpKind::Fork {
                        child: *child,
                        anchor: *anchor,
                    },
                    (ActionKind::Join, Some(child)) => OpKind::Join { child: *child },
                    (ActionKind::Return | ActionKind::Answer, _) => {
                        thread.result = Some(text.clone());
                        return;
                    }
                    _ => return,
                };
                thread.ops.push(Op { at: *at, kind });
            }
            Body::Error { error, span, .. } => {
                thread.acted += u64::from(span.is_some());
                if let (ErrorKind::PoolOverflow, Status::Waiting(WaitOn::Slot(child))) =
                    (error, thread.status)
                    && let Some(op) = thread.ops.last_mut()
                {
                    op.kind = OpKind::Overflow { child };
                }
            }
            Body::Ask { span, .. } => thread.acted += u64::from(span.is_some()),
            Body::Plan {
                change: PlanChange::Draft(draft),
            } => thread.acted += u64::from(draft.span.is_some()),
            Body::Wait { on } => {
                close_wait(thread, now);
                thread.status = Status::Waiting(*on);
                thread.waits.push(LivedWait {
                    on: *on,
                    from: now,
                    to: None,
                });
            }
            Body::Resume => {
                thread.status = Status::Running;
                close_wait(thread, now);
            }
            Body::End { end } => {
                close_wait(thread, now);
                thread.status = Status::Ended(*end);
                thread.last = now;
            }
            _ => {}
        }
    }

    fn apply_command(&mut self, event: &Event, command: &Command) {
        self.commands.push(CommandRecord {
            seq: event.seq,
            command: command.clone(),
            by: event.by.clone(),
            step: event.step,
            outcome: None,
        });
    }

    fn apply_effect(&mut self, event: &Event, outcome: &Outcome) {
        let now = self.now;
        let Some(record) = self
            .commands
            .iter_mut()
            .rev()
            .find(|c| Some(c.seq) == event.cause)
        else {
            return;
        };
        let first = record.outcome.replace(outcome.clone()).is_none();
        let record = record.clone();
        if first && matches!(outcome, Outcome::Done | Outcome::Queued { .. }) {
            self.remember(&record);
        }
        if *outcome != Outcome::Done {
            return;
        }
        match record.command {
            Command::Pause { thread: None } => self.hold(now),
            Command::Resume { thread: None } | Command::Next => self.release(now),
            Command::Set { guard } => self.guard = Some(guard),
            Command::Break { on, set } => self.set_breakpoint(&on, set, record.seq),
            Command::Pause { thread: Some(id) } => self.hold_thread(id, true),
            Command::Resume { thread: Some(id) } => self.hold_thread(id, false),
            Command::Seat { thread: id, to } => {
                if let Some(thread) = self.threads.get_mut(&id) {
                    thread.seat = to;
                    thread.note_writer(now);
                }
            }
            command @ (Command::PlanEdit { .. }
            | Command::PlanDrop { .. }
            | Command::PlanMove { .. }) => self.plan.command(&command),
            Command::Continue => {
                self.end = None;
                self.answer = None;
                self.recorded_metrics = None;
                self.release(now);
            }
            _ => {}
        }
    }

    pub(super) fn hold(&mut self, now: Moment) {
        if !self.paused {
            self.paused = true;
            self.pauses.push((now, None));
        }
    }

    pub(super) fn release(&mut self, now: Moment) {
        self.paused = false;
        if let Some((_, to @ None)) = self.pauses.last_mut() {
            *to = Some(now);
        }
    }

    fn hold_thread(&mut self, id: ThreadId, held: bool) {
        if let Some(thread) = self.threads.get_mut(&id) {
            thread.paused = held;
        }
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

fn close_wait(thread: &mut Thread, now: Moment) {
    if let Some(LivedWait { to: to @ None, .. }) = thread.waits.last_mut() {
        *to = Some(now);
    }
}

impl Event {
    /// Whether an action was written in its thread's text, not made by a command.
    #[must_use]
    pub fn in_text(&self) -> bool {
        let wrote = match self.by {
            Author::Model | Author::Human | Author::Tool(_) => true,
            // the answer that copies are merged to
            Author::System => matches!(
                self.body,
                Body::Action {
                    action: ActionKind::Answer,
                    ..
                }
            ),
            Author::Guard => false,
        };
        wrote && self.cause.is_none()
    }

    /// The step of the last thing in it.
    #[must_use]
    pub fn last_step(&self) -> Step {
        match &self.body {
            Body::Tokens { ids, .. } => Step(
                self.step
                    .0
                    .saturating_add((ids.len() as u64).saturating_sub(1)),
            ),
            _ => self.step,
        }
    }
}
