//! One thread of an organization, as folded from events.

use super::event::{Role, Seat, ThreadEnd, WaitOn};
use super::ids::{Step, ThreadId};
use super::schedule::{Op, Trace};
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
    /// When it stood still.
    pub waits: Vec<LivedWait>,
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

    /// Its part in ideal time.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace {
            id: self.id,
            tokens: self.tokens,
            ended: self.end().is_some_and(|end| end != ThreadEnd::Abandoned),
            ops: self.ops.clone(),
        }
    }
}
