//! The chain that realises `T`, and what hangs on it: slack and blame.

use super::event::WaitOn;
use super::ids::ThreadId;
use super::schedule::{OpKind, Schedule, Trace, simulate_with};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A stretch of the critical path: `thread` decoded the steps `(from, to]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Who decoded.
    pub thread: ThreadId,
    /// Step before its first token here.
    pub from: u64,
    /// Step of its last token here.
    pub to: u64,
}

/// The critical path, first link first. The links follow one another without gap from 0 to `T`.
#[must_use]
pub fn critical_path(schedule: &Schedule) -> Vec<Link> {
    let mut links = Vec::new();
    let mut used: HashSet<(ThreadId, usize)> = HashSet::new();
    let mut thread = ThreadId::ORGANIZER;
    let mut now = schedule.latency;
    while let Some(lane) = schedule.lanes.get(&thread) {
        let begin = lane.begin.unwrap_or(now).min(now);
        let wait = lane
            .waits
            .iter()
            .enumerate()
            .rev()
            .find(|(i, w)| w.to <= now && w.to > w.from && !used.contains(&(thread, *i)));
        if let Some((i, wait)) = wait {
            used.insert((thread, i));
            push(&mut links, thread, wait.to, now);
            now = wait.to;
            match (wait.by, wait.on) {
                (Some(by), _) => thread = by,
                // Still waiting: what it waits for so far is the worker it joined.
                (None, WaitOn::Join(child)) => thread = child,
                (None, WaitOn::Slot(_)) => {
                    push(&mut links, thread, wait.from, now);
                    now = wait.from;
                }
            }
        } else {
            push(&mut links, thread, begin, now);
            now = begin;
            match lane.begun_by {
                Some(by) if !thread.is_organizer() => thread = by,
                _ => break,
            }
        }
    }
    links.reverse();
    links
}

fn push(links: &mut Vec<Link>, thread: ThreadId, from: u64, to: u64) {
    if to > from {
        links.push(Link { thread, from, to });
    }
}

/// Steps the Join or blocked Fork waits of each thread cost it, per worker waited for.
#[must_use]
pub fn blame(schedule: &Schedule) -> BTreeMap<(ThreadId, ThreadId), u64> {
    let mut blame = BTreeMap::new();
    for (&id, lane) in &schedule.lanes {
        for wait in &lane.waits {
            let (WaitOn::Join(child) | WaitOn::Slot(child)) = wait.on;
            *blame.entry((id, child)).or_insert(0) += wait.to - wait.from;
        }
    }
    blame
}

/// Where slots are short, slack is asked of the simulation worker by worker: not of more than these.
const MOST_ASKED: usize = 256;

/// How many more tokens each worker could have decoded without raising `T`. Workers nobody joins are
/// absent; where slots are short and there are more than 256 workers, all are ([`slack_of`] one).
#[must_use]
pub fn slack(traces: &[Trace], capacity: u32, schedule: &Schedule) -> BTreeMap<ThreadId, u64> {
    let workers = traces.iter().filter(|t| !t.id.is_organizer()).count();
    let special = traces.iter().flat_map(|t| &t.ops).any(|op| {
        matches!(
            op.kind,
            OpKind::Fork {
                anchor: Some(_),
                ..
            } | OpKind::Overflow { .. }
        )
    });
    // With a slot for everyone no longer worker can ever block a Fork, and one backward pass is exact.
    if workers < capacity as usize && !special {
        return backward_pass(traces, schedule);
    }
    if workers > MOST_ASKED {
        return BTreeMap::new();
    }
    joined(traces)
        .filter_map(|id| slack_of(id, traces, capacity, schedule).map(|s| (id, s)))
        .collect()
}

/// [`slack`] of one worker, by asking the simulation.
#[must_use]
pub fn slack_of(id: ThreadId, traces: &[Trace], capacity: u32, schedule: &Schedule) -> Option<u64> {
    if !joined(traces).any(|j| j == id) {
        return None;
    }
    let lane = schedule.lanes.get(&id)?;
    lane.begin?;
    let harmless = |extra: u64| {
        let extra = i64::try_from(extra).unwrap_or(i64::MAX);
        simulate_with(traces, capacity, Some((id, extra))).latency <= schedule.latency
    };
    // Most workers of a crowd have little: ever wider steps first, then halves.
    let most = schedule.latency.saturating_sub(lane.finish) + 1;
    let (mut low, mut high) = (0, 1.min(most));
    while high < most && harmless(high) {
        low = high;
        high = (high * 2).min(most);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if harmless(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// Workers whose results come to the organizer, through others if need be.
fn joined(traces: &[Trace]) -> impl Iterator<Item = ThreadId> + '_ {
    let joins = traces
        .iter()
        .flat_map(|t| &t.ops)
        .filter_map(|op| match op.kind {
            OpKind::Join { child } => Some(child),
            OpKind::Fork { .. } | OpKind::Overflow { .. } => None,
        });
    let all: HashSet<ThreadId> = joins.clone().collect();
    joins.filter(move |id| {
        std::iter::successors(id.parent(), |id| id.parent())
            .all(|id| id.is_organizer() || all.contains(&id))
    })
}

fn backward_pass(traces: &[Trace], schedule: &Schedule) -> BTreeMap<ThreadId, u64> {
    let by_id: HashMap<ThreadId, &Trace> = traces.iter().map(|t| (t.id, t)).collect();
    let mut latest_end: BTreeMap<ThreadId, u64> = BTreeMap::new();
    latest_begin(
        ThreadId::ORGANIZER,
        schedule.latency,
        &by_id,
        &mut latest_end,
    );
    latest_end
        .iter()
        .filter_map(|(id, latest)| {
            let lane = schedule.lanes.get(id)?;
            lane.begin?;
            Some((*id, latest.saturating_sub(lane.finish)))
        })
        .collect()
}

/// The latest step at which `id` may begin so that it ends by `end`; fills in the latest ends of the
/// workers it joins.
fn latest_begin(
    id: ThreadId,
    end: u64,
    by_id: &HashMap<ThreadId, &Trace>,
    latest_end: &mut BTreeMap<ThreadId, u64>,
) -> u64 {
    let Some(trace) = by_id.get(&id) else {
        return end;
    };
    let mut latest = end;
    let mut position = trace.tokens;
    for op in trace.ops.iter().rev() {
        latest = latest.saturating_sub(position.saturating_sub(op.at));
        position = position.min(op.at);
        match op.kind {
            OpKind::Join { child } => {
                latest_end.entry(child).or_insert(latest);
            }
            OpKind::Fork { child, .. } => {
                if let Some(&due) = latest_end.get(&child) {
                    latest = latest.min(latest_begin(child, due, by_id, latest_end));
                }
            }
            OpKind::Overflow { .. } => {}
        }
    }
    latest.saturating_sub(position)
}
