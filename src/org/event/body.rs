//! What happened: one kind of event each, with its body. How a line of a file is read as one is the business
//! of `record`.

use super::{
    ActionKind, Anchor, ErrorKind, Role, RunEnd, SpliceKind, TextBytes, TextMark, TextStand,
    ThreadEnd, WaitOn,
};
use crate::org::approval::{AskKind, Verdict};
use crate::org::branch::{Place, Turn};
use crate::org::command::{Command, Outcome};
use crate::org::ids::ThreadId;
use crate::org::metrics::Metrics;
use crate::org::organization::Organization;
use crate::org::plan::PlanChange;
use crate::org::seat::Seat;
use serde::Serialize;
use std::collections::BTreeMap;

/// Kind and body of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A thread begins.
    Thread {
        /// Its role.
        role: Role,
        /// Who writes it.
        seat: Seat,
        /// Its sub-query, or the run's query.
        query: String,
        /// Token ids of its prompt.
        prompt: Vec<u32>,
    },
    /// Tokens on consecutive steps.
    Tokens {
        /// Token ids.
        ids: Vec<u32>,
        /// Their bytes, concatenated.
        #[serde(flatten)]
        bytes: TextBytes,
        /// Byte length per token.
        lens: Vec<u32>,
        /// Natural log probability per token, where the engine knows it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        logprobs: Vec<f32>,
        /// Alternatives per token, best first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        top: Vec<Vec<(u32, f32)>>,
    },
    /// A valid protocol action took effect.
    Action {
        /// Which.
        action: ActionKind,
        /// Bytes `[from, to)` of the thread's text, tag to tag.
        span: (u64, u64),
        /// The thread's own decoded tokens up to and including it.
        at: u64,
        /// The worker forked or joined.
        #[serde(skip_serializing_if = "Option::is_none")]
        child: Option<ThreadId>,
        /// Query, result or answer; empty for Join.
        #[serde(skip_serializing_if = "String::is_empty")]
        text: String,
        /// For a hand-made Fork during a wait.
        #[serde(skip_serializing_if = "Option::is_none")]
        anchor: Option<Anchor>,
    },
    /// Tokens that were drawn and that the guard refused; the next token was drawn in their place.
    Veto {
        /// Token ids.
        ids: Vec<u32>,
        /// Their bytes, concatenated.
        #[serde(flatten)]
        bytes: TextBytes,
    },
    /// A thread stops decoding to wait.
    Wait {
        /// For what.
        on: WaitOn,
    },
    /// A waiting thread decodes on.
    Resume,
    /// Text was put into a context.
    Splice {
        /// Why.
        splice: SpliceKind,
        /// Token ids.
        ids: Vec<u32>,
        /// The text.
        #[serde(flatten)]
        bytes: TextBytes,
        /// Whose result it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<ThreadId>,
        /// How that worker ended; anything but `returned` is a partial result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ThreadEnd>,
        /// It did not fit and was cut short.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        shortened: bool,
    },
    /// A person asked for something.
    Command {
        /// What.
        #[serde(flatten)]
        command: Command,
    },
    /// What became of the command in `cause`.
    Effect {
        /// Done, queued or refused.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A format error or an engine error.
    Error {
        /// Which.
        error: ErrorKind,
        /// Bytes of the thread's text it concerns.
        #[serde(skip_serializing_if = "Option::is_none")]
        span: Option<(u64, u64)>,
        /// For people.
        message: String,
    },
    /// A thread ended.
    End {
        /// How.
        end: ThreadEnd,
    },
    /// The run ended.
    RunEnd {
        /// How.
        end: RunEnd,
        /// The answer, whole or partial.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// As computed at the end.
        metrics: Metrics,
    },
    /// Something waits for a person's word; its thread stands.
    Ask {
        /// How commands name it.
        number: u32,
        /// About what.
        ask: AskKind,
        /// Index of the sub-query that is to be forked.
        #[serde(skip_serializing_if = "Option::is_none")]
        index: Option<u16>,
        /// The sub-query or the answer.
        text: String,
        /// Bytes of the thread's text, tag to tag.
        #[serde(skip_serializing_if = "Option::is_none")]
        span: Option<(u64, u64)>,
    },
    /// What became of an ask.
    Decided {
        /// Which.
        number: u32,
        /// What.
        verdict: Verdict,
        /// The sub-query or answer that a person put in its place.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The board changed.
    Plan {
        /// How.
        #[serde(flatten)]
        change: PlanChange,
    },
    /// A named place.
    Mark {
        /// Its name.
        name: String,
    },
    /// The structure so far, to seek by.
    Keyframe {
        /// The fold of everything before, without text.
        state: Box<Organization>,
        /// Where each thread's text stands; filled in by the recorder.
        texts: BTreeMap<ThreadId, TextMark>,
        /// Byte offset of the keyframe before; filled in by the recorder.
        #[serde(skip_serializing_if = "Option::is_none")]
        prev_keyframe: Option<u64>,
    },
    /// The organization goes to another place; the event is the first of the new branch.
    Branch {
        /// Where to.
        from: Place,
        /// Why.
        turn: Turn,
        /// Of the event's thread: how many tokens were to stay.
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The fold of everything before that place, without text.
        state: Box<Organization>,
        /// Where each thread's text stands there.
        texts: BTreeMap<ThreadId, TextStand>,
    },
    /// A kind this version does not know; the line is kept in the file and skipped here.
    Unknown,
}
