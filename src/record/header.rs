//! The first line of a session file.

use crate::engine::{EngineCard, Sampling};
use crate::org::{AskKind, MAX_DEPTH, RosterSeat, Seat, Seq, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `format` says in every session file.
pub const FORMAT: &str = "orgtop-session";

/// The version this program writes.
pub const VERSION: Version = Version { major: 1, minor: 2 };

/// Version of the session format. A newer `major` opens read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// Changes when old readers would misread.
    pub major: u32,
    /// Changes when kinds or fields are added.
    pub minor: u32,
}

/// Token budgets by role, and how deep workers nest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tokens the organizer may decode.
    pub organizer: u64,
    /// Tokens each worker may decode.
    pub worker: u64,
    /// Deepest level of workers: 1 where only the organizer organizes, 2 where its workers may too, …
    #[serde(skip_serializing_if = "is_one")]
    pub depth: u8,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_one(depth: &u8) -> bool {
    *depth == 1
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            organizer: 2048,
            worker: 512,
            depth: 1,
        }
    }
}

/// How the organization is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The model forks and joins.
    #[default]
    Asyncthink,
    /// One thread, no forks.
    Sequential,
    /// The system forks k copies of the query and joins them in order.
    Parallel,
}

/// Who writes the answer under `parallel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Merge {
    /// The organizer, from the results.
    #[default]
    Model,
    /// The system, by a rule that knows nothing of right and wrong: what the copies wrote, in order, repetitions
    /// dropped, as many as wanted; where one is wanted, the majority's.
    Rule,
}

impl Merge {
    fn is_model(&self) -> bool {
        *self == Self::Model
    }
}

/// What a Fork does when no slot is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum PoolPolicy {
    /// Wait for one.
    #[default]
    Wait,
    /// A format error.
    Error,
}

/// The instructions of both roles, in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Prompts {
    /// System prompt of the organizer.
    pub organizer: String,
    /// System prompt of every worker.
    pub worker: String,
    /// System prompt of workers that may organize workers of their own, where there are such.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_organizer: String,
}

/// What a session is, fixed when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// Format version.
    pub version: Version,
    /// Readable unique name.
    pub id: String,
    /// RFC 3339.
    pub created: String,
    /// Program version.
    pub app: String,
    /// The engine and its model.
    #[serde(default)]
    pub engine: EngineCard,
    /// Instructions of both roles.
    #[serde(default)]
    pub prompts: Prompts,
    /// The question.
    #[serde(default)]
    pub query: String,
    /// The task behind the question, as a spec, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// How the organization is driven.
    #[serde(default)]
    pub policy: Policy,
    /// Copies under `parallel`.
    #[serde(default)]
    pub k: u32,
    /// Who writes the answer under `parallel`.
    #[serde(default, skip_serializing_if = "Merge::is_model")]
    pub merge: Merge,
    /// Organizer plus workers at once.
    pub capacity: u32,
    /// What a Fork without a free slot does.
    #[serde(default)]
    pub pool: PoolPolicy,
    /// Whether the first format error ends the run.
    #[serde(default)]
    pub strict: bool,
    /// Whether the checkpoint's thinking mode is on.
    #[serde(default)]
    pub thinking: bool,
    /// How tokens are drawn; the seed is in here.
    #[serde(default)]
    pub sampling: Sampling,
    /// Token budgets, and the depth.
    #[serde(default)]
    pub limits: Limits,
    /// Who writes which thread from the start, where it is not the model. A seat given to the first bearer
    /// of an index is that of all its bearers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seats: BTreeMap<ThreadId, Seat>,
    /// Who writes the workers that nobody else was named for.
    #[serde(default, skip_serializing_if = "Seat::is_model")]
    pub workers: Seat,
    /// Seats that a Fork can address by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roster: Vec<RosterSeat>,
    /// What waits for a person's word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<AskKind>,
    /// Whether the first Forks stand on a board until they are released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
    /// Whether illegal actions of the organizer are forbidden before they happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guard: bool,
    /// Cap of the concurrency reward.
    #[serde(default = "default_tau")]
    pub tau: f64,
    /// The session and the place in it that this one goes on from, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

impl Header {
    /// Whether thread `id` may fork and join.
    #[must_use]
    pub fn organizes(&self, id: ThreadId) -> bool {
        id.depth() < usize::from(self.limits.depth).clamp(1, MAX_DEPTH)
    }
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The other session's id.
    pub id: String,
    /// The first event of it that is not part of this one.
    pub seq: Seq,
}

fn default_tau() -> f64 {
    crate::org::DEFAULT_TAU
}
