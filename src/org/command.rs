//! What a person (or a script) asks of a running organization.

use super::breakpoint::{Breakpoint, BreakpointState};
use super::ids::{BranchId, Step, ThreadId};
use super::seat::{self, Seat};
use serde::{Deserialize, Serialize};

/// One request. Recorded as asked, followed by its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Stop decoding at the next step boundary: everything, or one thread.
    Pause {
        /// Only this thread; everything if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<ThreadId>,
    },
    /// Go on decoding.
    Resume {
        /// Only this thread; everything if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<ThreadId>,
    },
    /// Advance exactly one step, then stay paused.
    Step,
    /// Run until the next action or end, then pause.
    Next,
    /// Fork a sub-query by hand.
    Fork {
        /// The sub-query.
        query: String,
        /// Who will serve it; the model if absent.
        #[serde(
            default,
            deserialize_with = "seat::strict_if_given",
            skip_serializing_if = "Option::is_none"
        )]
        seat: Option<Seat>,
        /// Who forks; the organizer if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<ThreadId>,
    },
    /// Join a worker now.
    Join {
        /// The worker.
        thread: ThreadId,
    },
    /// Make the organizer write its answer now.
    Answer,
    /// Stop a worker now and keep its partial text.
    Kill {
        /// The worker.
        thread: ThreadId,
    },
    /// Make a worker write its result now.
    WrapUp {
        /// The worker.
        thread: ThreadId,
    },
    /// End the run without an answer.
    Abort,
    /// Stop here and keep the session so that it can be resumed.
    Interrupt,
    /// Go on with an interrupted session.
    Continue,
    /// Name this moment.
    Mark {
        /// Its name.
        name: String,
    },
    /// Write a thread anew: keep its first tokens, put a text after them, and go on from there. The whole
    /// organization goes back to that moment, on a new branch.
    Edit {
        /// Whose text.
        thread: ThreadId,
        /// How many of its own tokens stay.
        token: u64,
        /// What comes after them.
        text: String,
    },
    /// Take the whole organization to a moment and live on from there, on a new branch. Without any field:
    /// from here.
    Branch {
        /// With `token`: the moment at which this thread had so many tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<ThreadId>,
        /// See `thread`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The moment after this step.
        #[serde(
            default,
            rename = "to_step",
            alias = "step",
            skip_serializing_if = "Option::is_none"
        )]
        step: Option<Step>,
        /// On the line of this branch; the present one if absent. Alone: where that branch was left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<BranchId>,
    },
    /// Go to the state before the last steering command.
    Undo,
    /// Go to the state that the last undo left.
    Redo,
    /// Limit decoding to this many tokens a second and thread; 0 lifts the limit.
    Speed {
        /// Tokens a second and thread.
        tokens_per_s: u32,
    },
    /// Take the seat of a thread, or give it back.
    Seat {
        /// Whose.
        thread: ThreadId,
        /// Who writes from now on.
        #[serde(deserialize_with = "seat::strict")]
        to: Seat,
    },
    /// Write into a thread whose seat a person holds; tags in it act.
    Text {
        /// The thread.
        thread: ThreadId,
        /// The text.
        text: String,
    },
    /// Close what a person writes: a worker's RETURN, the organizer's ANSWER.
    Submit {
        /// The thread.
        thread: ThreadId,
        /// The result or the answer, or its last part if the tag is open already.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// Stop a worker and give its sub-query to a new bearer of its index.
    Retry {
        /// The worker.
        thread: ThreadId,
    },
    /// Let something that waits for a person's word take effect.
    Approve {
        /// Its number; the oldest that waits if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<u32>,
        /// Another sub-query or answer instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Refuse something that waits for a person's word.
    Deny {
        /// Its number; the oldest that waits if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<u32>,
        /// Why, for whoever asked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Put a sub-query on the board.
    PlanAdd {
        /// The sub-query.
        query: String,
        /// Who will serve it; the model if absent.
        #[serde(
            default,
            deserialize_with = "seat::strict_if_given",
            skip_serializing_if = "Option::is_none"
        )]
        seat: Option<Seat>,
    },
    /// Change a draft on the board.
    PlanEdit {
        /// Which.
        draft: u32,
        /// Its new sub-query.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        query: Option<String>,
        /// Who will serve it.
        #[serde(
            default,
            deserialize_with = "seat::strict_if_given",
            skip_serializing_if = "Option::is_none"
        )]
        seat: Option<Seat>,
    },
    /// Take a draft off the board.
    PlanDrop {
        /// Which.
        draft: u32,
    },
    /// Move a draft to another place in the order.
    PlanMove {
        /// Which.
        draft: u32,
        /// Its new place, from 1.
        to: u32,
    },
    /// Fork everything on the board, in order.
    PlanRelease,
    /// Change how the run goes on, from the next step on.
    Set {
        /// Whether illegal actions of the organizer are forbidden before they happen.
        guard: Switch,
    },
    /// Set a breakpoint, switch it off, or delete it.
    Break {
        /// Where to stop.
        on: Breakpoint,
        /// What becomes of it.
        #[serde(default, skip_serializing_if = "BreakpointState::is_on")]
        set: BreakpointState,
    },
}

impl Command {
    /// The word in `"do"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume { .. } => "resume",
            Self::Step => "step",
            Self::Next => "next",
            Self::Fork { .. } => "fork",
            Self::Join { .. } => "join",
            Self::Answer => "answer",
            Self::Kill { .. } => "kill",
            Self::WrapUp { .. } => "wrap_up",
            Self::Abort => "abort",
            Self::Interrupt => "interrupt",
            Self::Continue => "continue",
            Self::Mark { .. } => "mark",
            Self::Edit { .. } => "edit",
            Self::Branch { .. } => "branch",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Speed { .. } => "speed",
            Self::Seat { .. } => "seat",
            Self::Text { .. } => "text",
            Self::Submit { .. } => "submit",
            Self::Retry { .. } => "retry",
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
            Self::PlanAdd { .. } => "plan_add",
            Self::PlanEdit { .. } => "plan_edit",
            Self::PlanDrop { .. } => "plan_drop",
            Self::PlanMove { .. } => "plan_move",
            Self::PlanRelease => "plan_release",
            Self::Set { .. } => "set",
            Self::Break { .. } => "break",
        }
    }

    /// Whether an ended run can be asked this.
    #[must_use]
    pub fn works_after_the_end(&self) -> bool {
        matches!(
            self,
            Self::Mark { .. } | Self::Interrupt | Self::Speed { .. } | Self::Break { .. }
        ) || self.travels()
            || self.takes_the_organizer()
    }

    /// Whether a person sits down in the organizer's seat: a run without an answer can get one.
    #[must_use]
    pub fn takes_the_organizer(&self) -> bool {
        matches!(self, Self::Seat { thread, to: Seat::Human } if thread.is_organizer())
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// It took effect.
    Done,
    /// It will take effect as soon as it can.
    Queued {
        /// What it waits for.
        why: String,
    },
    /// It had no effect.
    Refused {
        /// Why not, in words for the person who asked.
        why: String,
    },
    /// It was due at a place that the run never reached.
    Unfired,
}
