//! What a run is asked to be.

use crate::engine::{ChatMessage, ChatRole, EngineCard, Sampling};
use crate::org::roster::instructions;
use crate::org::rules::{Overflow, Strictness};
use crate::org::{AskKind, DEFAULT_TAU, RosterSeat, Seat, ThreadId};
use crate::protocol::prompt;
use crate::record::{FORMAT, Header, Limits, Merge, Policy, PoolPolicy, Prompts, VERSION};
use std::collections::BTreeMap;

/// Everything fixed before a run begins, apart from the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    /// The question.
    pub query: String,
    /// The task behind the question, as a spec.
    pub task: Option<String>,
    /// How the organization is driven.
    pub policy: Policy,
    /// Copies under `parallel`.
    pub k: u32,
    /// Who writes the answer under `parallel`.
    pub merge: Merge,
    /// Organizer plus workers at once; `None`: 4, or `k + 1` under `parallel`, or 1 under `sequential`.
    pub capacity: Option<u32>,
    /// What a Fork without a free slot does.
    pub pool: PoolPolicy,
    /// Whether the first format error ends the run.
    pub strict: bool,
    /// Whether the checkpoint's thinking mode is on.
    pub thinking: bool,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Token budgets.
    pub limits: Limits,
    /// Whether illegal actions of the organizer are forbidden before they happen.
    pub guard: bool,
    /// Tokens a second and thread; 0: no limit.
    pub tokens_per_s: u32,
    /// Who writes which thread from the start, where it is not the model.
    pub seats: BTreeMap<ThreadId, Seat>,
    /// Who writes the workers that nobody else was named for.
    pub workers: Seat,
    /// Seats that a Fork can address by name.
    pub roster: Vec<RosterSeat>,
    /// What waits for a person's word.
    pub ask: Vec<AskKind>,
    /// Whether the first Forks stand on a board until they are released.
    pub plan: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            query: String::new(),
            task: None,
            policy: Policy::default(),
            k: 3,
            merge: Merge::default(),
            capacity: None,
            pool: PoolPolicy::default(),
            strict: false,
            thinking: false,
            sampling: Sampling::default(),
            limits: Limits::default(),
            guard: false,
            tokens_per_s: 0,
            seats: BTreeMap::new(),
            workers: Seat::Model,
            roster: Vec::new(),
            ask: Vec::new(),
            plan: false,
        }
    }
}

impl RunConfig {
    /// The capacity that is meant.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(match self.policy {
            Policy::Asyncthink => 4,
            Policy::Sequential => 1,
            Policy::Parallel => self.k.saturating_add(1),
        })
    }

    /// The header of a new session called `id`.
    #[must_use]
    pub fn header(&self, id: String, created: String, engine: &EngineCard) -> Header {
        let capacity = self.capacity();
        let organizer = match self.policy {
            Policy::Asyncthink => {
                prompt::organizer(capacity.saturating_sub(1)) + &instructions(&self.roster)
            }
            Policy::Sequential => prompt::SEQUENTIAL.to_owned(),
            Policy::Parallel => prompt::parallel(self.k),
        };
        Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            id,
            created,
            app: env!("CARGO_PKG_VERSION").to_owned(),
            engine: engine.clone(),
            prompts: Prompts {
                organizer,
                worker: prompt::WORKER.to_owned(),
                sub_organizer: if self.limits.depth > 1 {
                    prompt::sub_organizer(capacity.saturating_sub(1)) + &instructions(&self.roster)
                } else {
                    String::new()
                },
            },
            query: self.query.clone(),
            task: self.task.clone(),
            policy: self.policy,
            k: if self.policy == Policy::Parallel {
                self.k
            } else {
                0
            },
            merge: self.merge,
            capacity,
            pool: self.pool,
            strict: self.strict,
            thinking: self.thinking,
            sampling: self.sampling.clone(),
            limits: self.limits,
            seats: self.seats.clone(),
            workers: self.workers.clone(),
            roster: self.roster.clone(),
            ask: self.ask.clone(),
            plan: self.plan,
            guard: self.guard,
            tau: DEFAULT_TAU,
            parent: None,
        }
    }
}

/// How strictly a session keeps the rules.
#[must_use]
pub fn strictness(header: &Header) -> Strictness {
    if header.strict {
        Strictness::Strict
    } else {
        Strictness::Lenient
    }
}

/// What a session does with a Fork that finds no slot.
#[must_use]
pub fn overflow(header: &Header) -> Overflow {
    match header.pool {
        PoolPolicy::Wait => Overflow::Wait,
        PoolPolicy::Error => Overflow::Error,
    }
}

/// A thread's prompt as chat messages.
#[must_use]
pub fn messages(system: &str, query: &str) -> [ChatMessage; 2] {
    let message = |role, content: &str| ChatMessage {
        role,
        content: content.to_owned(),
    };
    [
        message(ChatRole::System, system),
        message(ChatRole::User, query),
    ]
}
