//! Ideal time: a discrete-event simulation over token counts alone.
//!
//! Input is who forked and joined whom after how many own tokens, and the capacity. Every running
//! thread decodes one token a step; pauses, prefill and slow machines do not exist here. The result
//! says when each thread would have begun, waited and finished, and the critical-path latency `T`.
//! At depth 1 this equals the recursion over fragments of the AsyncThink paper (arXiv 2510.26658).
//!
//! Within a step: ends first, then blocked Forks by (step, path), then Forks and Joins in path order. A worker
//! that ends takes with it whoever still works below it.

mod simulation;

use super::event::{Anchor, WaitOn};
use super::ids::ThreadId;
use simulation::Simulation;
use std::collections::BTreeMap;

/// What a thread did, in token counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Whose.
    pub id: ThreadId,
    /// Tokens it decoded (so far).
    pub tokens: u64,
    /// Whether it will decode no more and its slot is free. An abandoned worker never ended.
    pub ended: bool,
    /// Its Forks and Joins in order.
    pub ops: Vec<Op>,
}

/// A Fork or a Join, after `at` own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Op {
    /// Own decoded tokens up to and including the action.
    pub at: u64,
    /// Which action.
    pub kind: OpKind,
}

/// Which action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Starts a worker.
    Fork {
        /// The worker.
        child: ThreadId,
        /// For a Fork made by hand while its thread waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<Anchor>,
    },
    /// Waits for a worker.
    Join {
        /// The worker.
        child: ThreadId,
    },
    /// A Fork that waited for a slot until none could get free any more: its worker never began.
    Overflow {
        /// The worker that would have been.
        child: ThreadId,
    },
}

/// A stretch in which a thread stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdealWait {
    /// Step after which it stood.
    pub from: u64,
    /// Step after which it went on.
    pub to: u64,
    /// For what.
    pub on: WaitOn,
    /// The worker whose end let it go on; `None` while it still waits.
    pub by: Option<ThreadId>,
}

/// One thread in ideal time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lane {
    /// Step after which it began; its first token is at `begin + 1`. `None`: never began.
    pub begin: Option<u64>,
    /// Step of its last token so far, or up to which it has waited.
    pub finish: u64,
    /// Whether `finish` is final.
    pub ended: bool,
    /// Where it stood still, in order. Joins that cost nothing are here with `from == to`.
    pub waits: Vec<IdealWait>,
    /// The thread whose progress decided `begin`; `None` for the organizer.
    pub begun_by: Option<ThreadId>,
}

impl Lane {
    /// The intervals `(from, to]` in which it decoded, in order.
    pub fn decoding(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let begin = self.begin.unwrap_or(self.finish);
        let starts = std::iter::once(begin).chain(self.waits.iter().map(|w| w.to));
        let stops = self
            .waits
            .iter()
            .map(|w| w.from)
            .chain(std::iter::once(self.finish));
        starts.zip(stops).filter(|(from, to)| to > from)
    }
}

/// All threads in ideal time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Critical-path latency in steps; "so far" while the organizer has not ended.
    pub latency: u64,
    /// One lane per trace.
    pub lanes: BTreeMap<ThreadId, Lane>,
    /// Forks that no slot could ever have served (no active worker could end any more), by step and worker.
    /// Those that began all the same are taken to have found one.
    pub unserved: Vec<(u64, ThreadId)>,
}

/// Simulates `traces` (the organizer among them) under `capacity`.
#[must_use]
pub fn simulate(traces: &[Trace], capacity: u32) -> Schedule {
    simulate_with(traces, capacity, None)
}

/// Like [`simulate`], with `extra.1` more (or fewer) tokens at the end of thread `extra.0`.
#[must_use]
pub fn simulate_with(traces: &[Trace], capacity: u32, extra: Option<(ThreadId, i64)>) -> Schedule {
    Simulation::new(traces, capacity, extra).run()
}
