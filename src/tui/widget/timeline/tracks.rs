//! What each thread did when, as stretches on one axis: ideal steps or lived microseconds.
//!
//! Built from the organization when it changed; drawing only reads the part on screen.

use super::writing;
use crate::org::{
    Link, Op, OpKind, Organization, People, Schedule, Seat, Status, Thread, ThreadEnd, ThreadId,
    WaitOn,
};
use std::collections::BTreeMap;

/// What a thread does during a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Decodes, off the critical path.
    Decode,
    /// Decodes, on the critical path.
    Critical,
    /// Stands at a Join or a blocked Fork.
    Wait,
    /// Held by a person.
    Paused,
    /// A person writes, off the critical path.
    Human,
    /// A person writes, on the critical path.
    HumanCritical,
    /// A tool works, off the critical path.
    Tool,
    /// A tool works, on the critical path.
    ToolCritical,
}

impl Doing {
    /// Whether the thread gets on.
    #[must_use]
    pub fn works(self) -> bool {
        !matches!(self, Self::Wait | Self::Paused)
    }
}

/// `what` from unit `from` to unit `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// First unit.
    pub from: u64,
    /// Unit after the last.
    pub to: u64,
    /// What.
    pub what: Doing,
}

/// A Fork or a Join on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// When.
    pub at: u64,
    /// The worker.
    pub child: ThreadId,
    /// Join rather than Fork.
    pub join: bool,
}

/// How a lane ends on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// Still decoding.
    Running,
    /// Still waiting.
    Waiting,
    /// Held by a person.
    Paused,
    /// A person writes.
    Human,
    /// A tool works.
    Tool,
    /// Over.
    Ended(ThreadEnd),
}

/// One thread's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Whose.
    pub id: ThreadId,
    /// In order, not overlapping.
    pub stretches: Vec<Stretch>,
    /// Its Forks and Joins, in order.
    pub flags: Vec<Flag>,
    /// How it ends.
    pub head: Head,
    /// When its result was taken in by a Join, if it was.
    pub joined_at: Option<u64>,
    /// Tokens it could still have taken without raising `T`.
    pub slack: Option<u64>,
}

impl Track {
    /// Its first unit.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.stretches.first().map(|s| s.from)
    }

    /// The unit after its last.
    #[must_use]
    pub fn finish(&self) -> Option<u64> {
        self.stretches.last().map(|s| s.to)
    }

    /// The stretch that contains `unit`.
    #[must_use]
    pub fn at(&self, unit: u64) -> Option<Stretch> {
        let i = self.stretches.partition_point(|s| s.to <= unit);
        self.stretches.get(i).copied().filter(|s| s.from <= unit)
    }

    /// Whether it decodes at some point of `[from, to)`.
    #[must_use]
    pub fn decodes_in(&self, from: u64, to: u64) -> bool {
        let first = self.stretches.partition_point(|s| s.to <= from);
        self.stretches[first..]
            .iter()
            .take_while(|s| s.from < to)
            .any(|s| s.what.works())
    }
}

/// All lanes on one axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracks {
    /// Organizer first, then by path.
    pub tracks: Vec<Track>,
    /// Units the run is long so far.
    pub length: u64,
}

fn head(thread: &Thread) -> Head {
    match thread.status {
        Status::Ended(end) => Head::Ended(end),
        _ if thread.paused => Head::Paused,
        Status::Waiting(_) => Head::Waiting,
        Status::Running => match thread.seat {
            Seat::Human => Head::Human,
            Seat::Tool(_) => Head::Tool,
            Seat::Model | Seat::Server(_) => Head::Running,
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

    /// How many workers decode in each cell's time; one counts in every cell it touches.
    #[must_use]
    pub fn active_per_cell(&self, axis: &super::geometry::Axis) -> Vec<u32> {
        let mut change = vec![0_i64; usize::from(axis.width) + 1];
        for track in self.tracks.iter().filter(|t| !t.id.is_organizer()) {
            let end = axis.start.saturating_add(axis.span);
            let first = track.stretches.partition_point(|s| s.to <= axis.start);
            let mut filled_to = 0_i64;
            for stretch in track.stretches[first..]
                .iter()
                .take_while(|s| s.from < end)
                .filter(|s| s.what.works())
            {
                let from = axis.eighths(stretch.from).div_euclid(8).max(filled_to);
                let to = (axis.eighths(stretch.to).saturating_add(7))
                    .div_euclid(8)
                    .min(i64::from(axis.width));
                if let (Ok(a), Ok(b)) = (usize::try_from(from), usize::try_from(to))
                    && a < b
                {
                    change[a] += 1;
                    change[b] -= 1;
                    filled_to = to;
                }
            }
        }
        let mut count = 0;
        change
            .iter()
            .take(usize::from(axis.width))
            .map(|c| {
                count += c;
                u32::try_from(count).unwrap_or(0)
            })
            .collect()
    }
}

/// `(from, to]` cut where the critical path enters and leaves.
fn split(from: u64, to: u64, on_path: &[(u64, u64)], out: &mut Vec<Stretch>) {
    let first = on_path.partition_point(|(_, end)| *end <= from);
    let critical = on_path[first..].iter().copied();
    decode_with(from, to, critical, Doing::Critical, out);
}

/// `(from, to]` decoding, but for the stretches in `other`, which are in order.
fn decode_with(
    from: u64,
    to: u64,
    other: impl Iterator<Item = (u64, u64)>,
    what: Doing,
    out: &mut Vec<Stretch>,
) {
    let mut push = |from: u64, to: u64, what: Doing| {
        if to > from {
            out.push(Stretch { from, to, what });
        }
    };
    let mut at = from;
    for (begin, end) in other.take_while(|(begin, _)| *begin < to) {
        let (begin, end) = (begin.max(at), end.min(to));
        push(at, begin, Doing::Decode);
        push(begin, end, what);
        at = at.max(end);
    }
    push(at, to, Doing::Decode);
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

fn decode_with_pauses(from: u64, to: u64, organization: &Organization, out: &mut Vec<Stretch>) {
    let pauses = &organization.pauses;
    let first = pauses.partition_point(|(_, end)| end.is_some_and(|e| e.us <= from));
    let paused = pauses[first..]
        .iter()
        .map(|(begin, end)| (begin.us, end.map_or(to, |e| e.us)));
    decode_with(from, to, paused, Doing::Paused, out);
}

#[cfg(test)]
mod tests;
