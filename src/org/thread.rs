//! One thread of an organization, as folded from events.

mod fold;

use super::event::{Role, ThreadEnd, WaitOn};
use super::ids::{Step, ThreadId};
use super::schedule::{Op, OpKind, Trace};
use super::seat::{Seat, Writing};
use serde::{Deserialize, Serialize};

/// A moment of lived time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Moment {
    /// Global step.
    pub step: Step,
    /// Microseconds since the session began.
    pub us: u64,
}

/// A lived stretch in which a thread stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivedWait {
    /// For what.
    pub on: WaitOn,
    /// Since when.
    pub from: Moment,
    /// Until when; `None` while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Moment>,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Decoding (or about to).
    Running,
    /// Standing at a Join or a blocked Fork.
    Waiting(WaitOn),
    /// Over.
    Ended(ThreadEnd),
}

/// How people's time counts in ideal time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum People {
    /// As many steps as others decoded meanwhile.
    Counted,
    /// Nothing.
    Instant,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Tokens that were drawn and that the guard refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Own tokens of the thread before the one that was drawn in their place.
    pub token: u64,
    /// Token ids, in the order in which they were drawn.
    pub ids: Vec<u32>,
    /// Their text; what is no UTF-8 is replaced.
    pub text: String,
}

/// One decoding trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name.
    pub id: ThreadId,
    /// Its role.
    pub role: Role,
    /// Who writes it.
    pub seat: Seat,
    /// Its sub-query, or the run's query.
    pub query: String,
    /// What it is doing.
    pub status: Status,
    /// Held by a person, apart from the run as a whole.
    #[serde(default)]
    pub paused: bool,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens it decoded.
    pub tokens: u64,
    /// Tokens spliced into it.
    pub spliced_tokens: u64,
    /// Bytes of its text, decoded and spliced.
    pub text_bytes: u64,
    /// Its valid Forks and Joins.
    pub ops: Vec<Op>,
    /// How many actions and format errors it has recorded: what a re-scan of its text skips.
    pub acted: u64,
    /// When it began.
    pub began: Moment,
    /// When it last decoded or changed.
    pub last: Moment,
    /// Tokens that the guard refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vetoes: u64,
    /// What the guard refused, by the token that was drawn in its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// When it stood still.
    pub waits: Vec<LivedWait>,
    /// When a person or a tool wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writing: Vec<Writing>,
    /// Its closed RETURN or ANSWER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether somebody has joined it.
    #[serde(default)]
    pub joined: bool,
}

impl Thread {
    /// How it ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<ThreadEnd> {
        match self.status {
            Status::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Whether it is over.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.end().is_some()
    }

    /// Its part in ideal time, up to `now`. What a person or a tool wrote takes the steps that others
    /// decoded meanwhile; with [`People::Instant`] a person takes none.
    #[must_use]
    pub fn trace(&self, now: Moment, people: People) -> Trace {
        let mut trace = Trace {
            id: self.id,
            tokens: self.tokens,
            ended: self.end().is_some_and(|end| end != ThreadEnd::Abandoned),
            ops: self.ops.clone(),
        };
        for writing in &self.writing {
            if people == People::Instant && writing.by == Seat::Human {
                continue;
            }
            let steps = writing.steps(now);
            trace.tokens += steps;
            for op in trace.ops.iter_mut().skip(writing.ops) {
                op.at += steps;
            }
        }
        if people == People::Instant {
            for op in &mut trace.ops {
                if let OpKind::Fork {
                    anchor: Some(anchor),
                    ..
                } = &mut op.kind
                {
                    anchor.steps = 0;
                }
            }
        }
        trace
    }

    /// Steps that a person or a tool has written it, up to `now`.
    #[must_use]
    pub fn written_steps(&self, now: Moment) -> u64 {
        self.writing.iter().map(|w| w.steps(now)).sum()
    }

    /// Brings the record of who writes up to date after something happened to the thread.
    pub fn note_writer(&mut self, now: Moment) {
        let writes = !self.seat.decodes() && self.status == Status::Running;
        let ops = self.ops.len();
        if let Some(open) = self.writing.last_mut().filter(|w| w.to.is_none()) {
            if writes && open.by == self.seat && open.ops == ops {
                return;
            }
            open.to = Some(now);
        }
        if writes {
            self.writing.push(Writing {
                by: self.seat.clone(),
                from: now,
                to: None,
                at: self.tokens,
                ops,
            });
        }
    }
}
