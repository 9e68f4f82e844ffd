//! What `T` would be had something been otherwise: the same simulation on changed traces.
//!
//! Everything else stays as it was: nobody decodes a token more or less because of the change.

use super::ids::ThreadId;
use super::schedule::{Op, OpKind, Schedule, Trace, simulate};

/// Something that was not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This worker was never forked; what named it in other threads is text.
    Without(ThreadId),
    /// This worker needed half its tokens, rounded up.
    TwiceAsFast(ThreadId),
}

impl Change {
    /// The traces as they would be.
    #[must_use]
    pub fn applied(self, traces: &[Trace]) -> Vec<Trace> {
        match self {
            Self::Without(gone) => traces
                .iter()
                .filter(|trace| !is_or_serves(trace.id, gone))
                .map(|trace| Trace {
                    ops: trace
                        .ops
                        .iter()
                        .filter_map(|op| without(op, gone))
                        .collect(),
                    ..trace.clone()
                })
                .collect(),
            Self::TwiceAsFast(fast) => traces.iter().map(|trace| faster(trace, fast)).collect(),
        }
    }

    /// When everything would happen.
    #[must_use]
    pub fn predict(self, traces: &[Trace], capacity: u32) -> Schedule {
        simulate(&self.applied(traces), capacity)
    }
}

/// Whether `id` is `ancestor` or works for it.
fn is_or_serves(id: ThreadId, ancestor: ThreadId) -> bool {
    id == ancestor || id.is_below(ancestor)
}

fn without(op: &Op, gone: ThreadId) -> Option<Op> {
    let mut op = *op;
    match &mut op.kind {
        OpKind::Fork { child, anchor } => {
            if is_or_serves(*child, gone) {
                return None;
            }
            // The moment it was tied to never comes: it happens where it stands.
            *anchor = anchor.filter(|anchor| !is_or_serves(anchor.thread, gone));
        }
        OpKind::Join { child } | OpKind::Overflow { child } => {
            if is_or_serves(*child, gone) {
                return None;
            }
        }
    }
    Some(op)
}

fn faster(trace: &Trace, fast: ThreadId) -> Trace {
    let own = trace.id == fast;
    let half = |tokens: u64| tokens.div_ceil(2);
    let ops = trace.ops.iter().map(|op| {
        let mut op = *op;
        if own {
            op.at = half(op.at);
        }
        if let OpKind::Fork {
            anchor: Some(anchor),
            ..
        } = &mut op.kind
            && anchor.thread == fast
        {
            anchor.tokens = half(anchor.tokens);
        }
        op
    });
    Trace {
        tokens: if own {
            half(trace.tokens)
        } else {
            trace.tokens
        },
        ops: ops.collect(),
        ..trace.clone()
    }
}
