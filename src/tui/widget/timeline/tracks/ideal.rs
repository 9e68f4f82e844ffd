//! Tracks in ideal steps.

use super::{Doing, Flag, Stretch, Track, Tracks, decode_with, head};
use crate::org::{Link, Op, OpKind, Organization, People, Schedule, ThreadId, WaitOn};
use crate::tui::widget::timeline::writing;
use std::collections::BTreeMap;

/// `(from, to]` cut where the critical path enters and leaves.
fn split(from: u64, to: u64, on_path: &[(u64, u64)], out: &mut Vec<Stretch>) {
    let first = on_path.partition_point(|(_, end)| *end <= from);
    let critical = on_path[first..].iter().copied();
    decode_with(from, to, critical, Doing::Critical, out);
}

/// Forks and Joins lie after own tokens; where those lie in time follows from the decoding intervals.
fn ideal_flags(ops: &[Op], decoding: impl Iterator<Item = (u64, u64)>) -> Vec<Flag> {
    let mut flags = Vec::with_capacity(ops.len());
    let mut ops = ops.iter().peekable();
    let mut own = 0;
    let mut last = 0;
    for (from, to) in decoding {
        while let Some(op) = ops.next_if(|op| op.at <= own + (to - from)) {
            flags.push(flag(from + op.at.saturating_sub(own), op.kind));
        }
        own += to - from;
        last = to;
    }
    flags.extend(ops.map(|op| flag(last, op.kind)));
    flags
}

fn flag(at: u64, kind: OpKind) -> Flag {
    match kind {
        OpKind::Fork { child, .. } | OpKind::Overflow { child } => Flag {
            at,
            child,
            join: false,
        },
        OpKind::Join { child } => Flag {
            at,
            child,
            join: true,
        },
    }
}

impl Tracks {
    /// In ideal steps, the critical path marked.
    #[must_use]
    pub fn ideal(
        organization: &Organization,
        schedule: &Schedule,
        path: &[Link],
        slack: &BTreeMap<ThreadId, u64>,
    ) -> Self {
        let mut critical: BTreeMap<ThreadId, Vec<(u64, u64)>> = BTreeMap::new();
        for link in path {
            critical
                .entry(link.thread)
                .or_default()
                .push((link.from, link.to));
        }
        let mut joined: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for wait in schedule.lanes.values().flat_map(|lane| &lane.waits) {
            if let (WaitOn::Join(child), Some(_)) = (wait.on, wait.by) {
                joined.insert(child, wait.to);
            }
        }
        let tracks: Vec<Track> = organization
            .threads()
            .map(|thread| {
                let lane = schedule.lanes.get(&thread.id);
                let mut stretches = Vec::new();
                let mut flags = Vec::new();
                if let Some(lane) = lane {
                    let on_path = critical.get(&thread.id).map_or(&[][..], Vec::as_slice);
                    let mut waits = lane.waits.iter().filter(|w| w.to > w.from).peekable();
                    for (from, to) in lane.decoding() {
                        while let Some(wait) = waits.next_if(|w| w.from < from) {
                            stretches.push(Stretch {
                                from: wait.from,
                                to: wait.to,
                                what: Doing::Wait,
                            });
                        }
                        split(from, to, on_path, &mut stretches);
                    }
                    stretches.extend(waits.map(|wait| Stretch {
                        from: wait.from,
                        to: wait.to,
                        what: Doing::Wait,
                    }));
                    flags = ideal_flags(
                        &thread.trace(organization.now, People::Counted).ops,
                        lane.decoding(),
                    );
                    let hands = writing::in_own_steps(thread, organization.now);
                    stretches = writing::mark_ideal(stretches, &hands);
                }
                Track {
                    id: thread.id,
                    stretches,
                    flags,
                    head: head(thread),
                    joined_at: joined.get(&thread.id).copied().filter(|_| thread.joined),
                    slack: slack.get(&thread.id).copied(),
                }
            })
            .collect();
        let length = tracks.iter().filter_map(Track::finish).max().unwrap_or(0);
        Self {
            tracks,
            length: length.max(schedule.latency),
        }
    }
}
