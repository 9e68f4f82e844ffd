//! What to make of a simulation in which nothing more happens by itself: lived order may differ from ideal
//! order, and a session may still be going.

use super::Simulation;
use crate::org::event::WaitOn;
use crate::org::ids::{MAX_DEPTH, ThreadId};
use crate::org::schedule::{Lane, Schedule};
use std::collections::{BTreeMap, HashMap};

impl Simulation<'_> {
    /// Nothing more happens by itself. If a blocked Fork's worker is known to have decoded (ideal order
    /// may differ from what was lived), or a hand-made one was never triggered, start it now.
    pub(super) fn force_a_fork(&mut self) -> bool {
        let began = |id: &ThreadId| {
            self.by_id.get(id).is_some_and(|&c| {
                let s = &self.states[c];
                s.lane.begin.is_none() && (s.tokens > 0 || s.trace.ended)
            })
        };
        if let Some(&entry) = self.blocked.iter().find(|(_, _, child, _)| began(child)) {
            self.blocked.remove(&entry);
            let (since, parent, child, claim) = entry;
            self.unserved.push((since, child));
            self.serve(parent, child, claim, since, None);
            return true;
        }
        let armed = self
            .armed
            .iter()
            .map(|(&child, &parent)| (child, parent))
            .filter(|(child, _)| began(child))
            .min();
        if let Some((child, parent)) = armed {
            self.armed.remove(&child);
            let now = self.states[self.by_id[&parent]].clock;
            self.start_child(child, now, parent);
            return true;
        }
        false
    }

    /// A worker that was stopped while it stood at something that never came.
    pub(super) fn force_an_end(&mut self) -> bool {
        let stopped = self.states.iter().position(|s| {
            s.waits_for.is_some()
                && s.trace.ended
                && s.lane.begin.is_some()
                && !s.lane.ended
                && !s.trace.id.is_organizer()
                && s.next_op == s.trace.ops.len()
                && s.position == s.tokens
        });
        let Some(i) = stopped else { return false };
        let id = self.states[i].trace.id;
        self.blocked.retain(|(_, parent, ..)| *parent != id);
        let state = &mut self.states[i];
        state.waits_for = None;
        let now = state.lane.finish.max(self.now);
        if let Some(wait) = state.lane.waits.last_mut() {
            wait.to = now;
        }
        state.lane.finish = now;
        self.end(i, now);
        true
    }

    pub(super) fn finish(mut self) -> Schedule {
        // A thread that still waits has waited as long as the one it waits for has come.
        for _ in 0..MAX_DEPTH {
            let frontier: HashMap<ThreadId, u64> = self
                .states
                .iter()
                .map(|s| (s.trace.id, s.lane.finish))
                .collect();
            let earliest_slot = self
                .states
                .iter()
                .filter(|s| s.lane.begin.is_some() && !s.lane.ended && !s.trace.id.is_organizer())
                .filter(|s| !matches!(s.waits_for, Some(WaitOn::Slot(_))))
                .map(|s| s.lane.finish)
                .min();
            for state in &mut self.states {
                let so_far = match state.waits_for {
                    Some(WaitOn::Join(child)) => frontier.get(&child).copied(),
                    Some(WaitOn::Slot(_)) => earliest_slot,
                    None => continue,
                };
                if let Some(wait) = state.lane.waits.last_mut() {
                    wait.to = wait.from.max(so_far.unwrap_or(0));
                    state.lane.finish = wait.to;
                }
            }
        }
        let lanes: BTreeMap<ThreadId, Lane> = self
            .states
            .into_iter()
            .map(|s| (s.trace.id, s.lane))
            .collect();
        Schedule {
            latency: lanes.get(&ThreadId::ORGANIZER).map_or(0, |l| l.finish),
            lanes,
            unserved: self.unserved,
        }
    }
}
