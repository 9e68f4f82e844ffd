//! Everything that can happen to an organization, as data.
//!
//! The state of a session is a fold over these events ([`super::Organization::apply`]); nothing is
//! shown that is not in them. Field names here are the field names of the session file.

use super::approval::{AskKind, Verdict};
use super::branch::{Place, Turn};
use super::command::{Command, Outcome};
use super::ids::{BranchId, Seq, Step, ThreadId};
use super::metrics::Metrics;
use super::organization::Organization;
use super::plan::PlanChange;
use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

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

/// Who wrote or did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Author {
    /// The model behind the thread's seat.
    #[default]
    Model,
    /// A person.
    Human,
    /// orgtop itself: splices, limits, policies.
    System,
    /// The guard that forbids illegal actions.
    Guard,
    /// A program.
    Tool(String),
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Human => f.write_str("human"),
            Self::System => f.write_str("system"),
            Self::Guard => f.write_str("guard"),
            Self::Tool(name) => write!(f, "tool:{name}"),
        }
    }
}

impl Serialize for Author {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Author {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Author;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an author")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Author, E> {
                Ok(match text {
                    "model" => Author::Model,
                    "human" => Author::Human,
                    "system" => Author::System,
                    "guard" => Author::Guard,
                    other => Author::Tool(other.strip_prefix("tool:").unwrap_or(other).to_owned()),
                })
            }
        }
        deserializer.deserialize_str(Text)
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

/// Who writes a thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Seat {
    /// The session's model.
    #[default]
    Model,
    /// A person.
    Human,
    /// Another engine.
    Server(String),
    /// A program.
    Tool(String),
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Human => f.write_str("human"),
            Self::Server(name) => write!(f, "server:{name}"),
            Self::Tool(name) => write!(f, "tool:{name}"),
        }
    }
}

impl Serialize for Seat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(match text.split_once(':') {
            Some(("server", name)) => Self::Server(name.to_owned()),
            Some(("tool", name)) => Self::Tool(name.to_owned()),
            _ if text == "human" => Self::Human,
            _ => Self::Model,
        })
    }
}

/// Text as bytes: stored as `text` where it is UTF-8, else as `b64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextBytes(pub Vec<u8>);

impl Serialize for TextBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1))?;
        match std::str::from_utf8(&self.0) {
            Ok(text) => map.serialize_entry("text", text)?,
            Err(_) => map.serialize_entry(
                "b64",
                &base64::engine::general_purpose::STANDARD.encode(&self.0),
            )?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TextBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Either<'a> {
            #[serde(default, borrow)]
            text: Option<std::borrow::Cow<'a, str>>,
            #[serde(default, borrow)]
            b64: Option<std::borrow::Cow<'a, str>>,
        }
        let either = Either::deserialize(deserializer)?;
        match (either.text, either.b64) {
            (Some(text), None) => Ok(Self(text.into_owned().into_bytes())),
            (None, Some(b64)) => base64::engine::general_purpose::STANDARD
                .decode(b64.as_bytes())
                .map(Self)
                .map_err(serde::de::Error::custom),
            _ => Err(serde::de::Error::custom(
                "expected either `text` or `b64` beside the token ids",
            )),
        }
    }
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

/// Where a thread's text stands at the beginning of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextStand {
    /// Bytes so far (decoded and spliced).
    pub bytes: u64,
    /// SHA-256 of those bytes, hex.
    pub hash: String,
}

/// Where a thread's text stands at a keyframe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextMark {
    /// Bytes so far (decoded and spliced).
    pub bytes: u64,
    /// SHA-256 of those bytes, hex; on a branch, of the hash at its beginning and the bytes since.
    pub hash: String,
    /// Byte offset of the last record that holds text of this thread.
    pub last: u64,
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
