//! Tracks in microseconds as they really passed.

use super::{Doing, Flag, Stretch, Track, Tracks, decode_with, head};
use crate::org::{OpKind, Organization, Thread, ThreadId, WaitOn};
use crate::tui::widget::timeline::writing;
use std::collections::BTreeMap;

/// Forks where their workers began, Joins where they made the thread wait.
fn lived_flags(organization: &Organization, thread: &Thread) -> Vec<Flag> {
    let forks = thread.ops.iter().filter_map(|op| match op.kind {
        OpKind::Fork { child, .. } => organization.thread(child).map(|c| Flag {
            at: c.began.us,
            child,
            join: false,
        }),
        OpKind::Join { .. } | OpKind::Overflow { .. } => None,
    });
    let joins = thread.waits.iter().filter_map(|wait| match wait.on {
        WaitOn::Join(child) => Some(Flag {
            at: wait.from.us,
            child,
            join: true,
        }),
        WaitOn::Slot(_) => None,
    });
    let mut flags: Vec<Flag> = forks.chain(joins).collect();
    flags.sort_by_key(|f| f.at);
    flags
}

fn decode_with_pauses(from: u64, to: u64, organization: &Organization, out: &mut Vec<Stretch>) {
    let pauses = &organization.pauses;
    let first = pauses.partition_point(|(_, end)| end.is_some_and(|e| e.us <= from));
    let paused = pauses[first..]
        .iter()
        .map(|(begin, end)| (begin.us, end.map_or(to, |e| e.us)));
    decode_with(from, to, paused, Doing::Paused, out);
}

impl Tracks {
    /// In microseconds as they really passed. The critical path belongs to ideal time and is not here.
    #[must_use]
    pub fn lived(organization: &Organization) -> Self {
        let now = organization.now.us;
        let mut joined: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for wait in organization.threads().flat_map(|t| &t.waits) {
            if let (WaitOn::Join(child), Some(to)) = (wait.on, wait.to) {
                joined.insert(child, to.us);
            }
        }
        let tracks = organization
            .threads()
            .map(|thread| {
                let end = if thread.ended() { thread.last.us } else { now };
                let mut stretches = Vec::new();
                let mut at = thread.began.us;
                for wait in &thread.waits {
                    decode_with_pauses(at, wait.from.us, organization, &mut stretches);
                    let to = wait.to.map_or(end, |m| m.us);
                    if to > wait.from.us {
                        stretches.push(Stretch {
                            from: wait.from.us,
                            to,
                            what: Doing::Wait,
                        });
                    }
                    at = to.max(at);
                }
                decode_with_pauses(at, end, organization, &mut stretches);
                let hands = writing::in_lived_time(thread, organization.now);
                let stretches = writing::mark_lived(stretches, &hands);
                Track {
                    id: thread.id,
                    stretches,
                    flags: lived_flags(organization, thread),
                    head: head(thread),
                    joined_at: joined.get(&thread.id).copied(),
                    slack: None,
                }
            })
            .collect();
        Self {
            tracks,
            length: now,
        }
    }
}
