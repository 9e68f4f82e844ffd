//! Two independent readings of the protocol's section on time, to test the simulation against.

use orgtop::org::{OpKind, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet};

pub struct Outcome {
    pub latency: u64,
    pub begins: BTreeMap<ThreadId, u64>,
}

/// Step by step: every running thread decodes one token; then ends; then blocked Forks, Forks, Joins.
pub fn run(traces: &[Trace], capacity: u32) -> Outcome {
    let organizer = &traces[0];
    let lengths: BTreeMap<ThreadId, u64> = traces.iter().map(|t| (t.id, t.tokens)).collect();
    let slots = (capacity - 1) as usize;
    let mut begins: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut done: BTreeSet<ThreadId> = BTreeSet::new();
    let (mut tokens, mut next, mut step) = (0, 0, 0u64);
    let mut waits: Option<OpKind> = None;
    loop {
        // Ends, then whatever the organizer can do at this step.
        loop {
            let before = (done.len(), next, waits.is_some());
            for (id, begin) in &begins {
                if step >= begin + lengths[id] {
                    done.insert(*id);
                }
            }
            let active = begins.keys().filter(|id| !done.contains(id)).count();
            let op = waits.or_else(|| {
                organizer
                    .ops
                    .get(next)
                    .filter(|op| op.at == tokens)
                    .map(|op| op.kind)
            });
            if let Some(kind) = op {
                if waits.is_none() {
                    next += 1;
                }
                waits = match kind {
                    OpKind::Fork { child, .. } if active < slots => {
                        begins.insert(child, step);
                        None
                    }
                    OpKind::Join { child } if done.contains(&child) => None,
                    other => Some(other),
                };
            }
            if before == (done.len(), next, waits.is_some()) {
                break;
            }
        }
        if waits.is_none() {
            if tokens == organizer.tokens {
                return Outcome {
                    latency: step,
                    begins,
                };
            }
            tokens += 1;
        }
        step += 1;
    }
}

/// The closed form over fragments, for depth 1.
pub fn recursion(traces: &[Trace], capacity: u32) -> u64 {
    let organizer = &traces[0];
    let lengths: BTreeMap<ThreadId, u64> = traces.iter().map(|t| (t.id, t.tokens)).collect();
    let mut ends: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let (mut clock, mut position) = (0, 0);
    for op in &organizer.ops {
        clock += op.at - position;
        position = op.at;
        match op.kind {
            OpKind::Fork { child, .. } => {
                let mut active: Vec<u64> =
                    ends.values().copied().filter(|end| *end > clock).collect();
                active.sort_unstable();
                if active.len() >= (capacity - 1) as usize {
                    clock = active[0];
                }
                ends.insert(child, clock + lengths[&child]);
            }
            OpKind::Join { child } => clock = clock.max(ends[&child]),
        }
    }
    clock + organizer.tokens - position
}
