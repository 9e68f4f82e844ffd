//! Everything that can happen to an organization, as data.
//!
//! The state of a session is a fold over these events ([`super::Organization::apply`]); nothing is
//! shown that is not in them. Field names here are the field names of the session file.

mod author;
mod body;
mod text;

pub use author::Author;
pub use body::Body;
pub use text::{TextBytes, TextMark, TextStand};

use super::ids::{BranchId, Seq, Step, ThreadId};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Position in the session, gapless from 0.
    pub seq: Seq,
    /// Microseconds since the session began, never decreasing.
    pub us: u64,
    /// The step it happened in; for tokens, the step of the first.
    pub step: Step,
    /// The line of history it belongs to.
    #[serde(skip_serializing_if = "is_first_branch")]
    pub branch: BranchId,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
    /// Whose thread, where it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Who made it happen.
    pub by: Author,
    /// The command that led here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Seq>,
}

fn is_first_branch(branch: &BranchId) -> bool {
    branch.0 == 0
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

/// Organizer or worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Forks, joins, answers.
    Organizer,
    /// Serves one sub-query.
    Worker,
}

/// How a thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadEnd {
    /// The organizer closed its answer.
    Answered,
    /// A worker closed its RETURN.
    Returned,
    /// Its token budget or context was used up.
    Limit,
    /// The model ended its turn.
    Eos,
    /// A person stopped it.
    Killed,
    /// The engine failed on it.
    Failed,
    /// The run ended while it was still going.
    Abandoned,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The organizer answered.
    Answered,
    /// The organizer stopped without an answer.
    NoAnswer,
    /// The organizer used up its budget.
    TokenLimit,
    /// A person ended it.
    Aborted,
    /// Stopped midway; can be resumed.
    Interrupted,
    /// The engine failed, or a strict run met a format error.
    Failed,
}

/// Kinds of protocol and engine errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// A sub-query index was forked twice.
    DuplicateIndex,
    /// A Fork found no slot that can ever get free (or any, where waiting is not allowed).
    PoolOverflow,
    /// A Join named a sub-query never forked.
    JoinUnknown,
    /// A sub-query was joined twice.
    JoinTwice,
    /// A Fork without text.
    EmptyQuery,
    /// The organizer stopped inside a Fork.
    UnclosedFork,
    /// The organizer stopped without an answer.
    NoAnswer,
    /// The organizer used up its budget.
    TokenLimit,
    /// The engine failed.
    Engine,
    /// A tool failed.
    Tool,
    /// A Fork was addressed to a name that nobody has.
    NoSuchSeat,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitOn {
    /// The result of this worker.
    Join(ThreadId),
    /// A free slot for this worker.
    Slot(ThreadId),
}

/// A protocol action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// A sub-query was committed.
    Fork,
    /// A result was asked for.
    Join,
    /// A worker gave its result.
    Return,
    /// The organizer gave its answer.
    Answer,
}

/// Ties the moment of a hand-made Fork to another thread's progress, while its own thread waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The thread that was decoding.
    pub thread: ThreadId,
    /// How many tokens it had.
    pub tokens: u64,
    /// How many steps a person or a tool had written it by then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What kind of text was put into a context that nobody decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpliceKind {
    /// A worker's result with its closing tag.
    Result,
    /// A hand-made Fork.
    Fork,
    /// A hand-made Join tag.
    Join,
    /// An opened ANSWER.
    Answer,
    /// An opened RETURN.
    WrapUp,
    /// What a person wrote in place of what was decoded; read for tags like decoded text.
    Edit,
    /// Written by whoever holds the seat: tags in it act as if they were decoded.
    Text,
    /// Something a thread should know, such as why it was denied. Ends the tag that was denied.
    Note,
}
