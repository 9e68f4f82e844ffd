//! What each thread did when, as stretches on one axis: ideal steps or lived microseconds.
//!
//! Built from the organization when it changed; drawing only reads the part on screen.

mod ideal;
mod lived;

use crate::org::{Seat, Status, Thread, ThreadEnd, ThreadId};

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

#[cfg(test)]
mod tests;
