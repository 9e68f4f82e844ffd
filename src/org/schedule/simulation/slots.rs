//! Who gets a free slot, and who stands at a blocked Fork meanwhile.

use super::{Simulation, State};
use crate::org::event::WaitOn;
use crate::org::ids::ThreadId;
use crate::org::schedule::IdealWait;

/// What waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// A Fork made by hand: its thread goes on meanwhile.
    ByHand,
    /// A Fork at which its thread stands.
    Stands,
    /// The same, and it was lived that it would never be served.
    InVain,
}
impl Simulation<'_> {
    /// Thread `i` stands at a blocked Fork.
    pub(super) fn stand(&mut self, i: usize, child: ThreadId, now: u64, claim: Claim) {
        let state = &mut self.states[i];
        let on = WaitOn::Slot(child);
        state.waits_for = Some(on);
        state.lane.waits.push(IdealWait {
            from: now,
            to: now,
            on,
            by: None,
        });
        self.blocked.insert((now, state.trace.id, child, claim));
    }

    /// Where no active worker can end any more, the Forks that were lived to be in vain are given up, the
    /// latest first.
    pub(super) fn give_up_what_is_in_vain(&mut self, now: u64) {
        let in_vain = |entry: &&(u64, ThreadId, ThreadId, Claim)| entry.3 == Claim::InVain;
        while let Some(&entry) = self.blocked.iter().rev().find(in_vain) {
            if self.somebody_can_end() {
                return;
            }
            self.blocked.remove(&entry);
            self.unserved.push((now, entry.2));
            self.resume(self.by_id[&entry.1], now, None);
        }
    }

    fn somebody_can_end(&self) -> bool {
        let can_end = |state: &State<'_>| {
            let mut state = state;
            loop {
                match state.waits_for {
                    None => return true,
                    Some(WaitOn::Slot(_)) => return false,
                    // A thread waits for one below it, so this comes to an end.
                    Some(WaitOn::Join(child)) if child.is_below(state.trace.id) => {
                        match self.by_id.get(&child) {
                            Some(&c) => state = &self.states[c],
                            None => return false,
                        }
                    }
                    Some(WaitOn::Join(_)) => return false,
                }
            }
        };
        self.states
            .iter()
            .filter(|s| s.lane.begin.is_some() && !s.lane.ended && !s.trace.id.is_organizer())
            .any(can_end)
    }

    pub(super) fn arm(&mut self, child: ThreadId, parent: ThreadId, now: u64) {
        if let Some((_, anchor)) = self.triggered.remove(&child) {
            self.start_or_queue(child, parent, anchor, now);
        } else {
            self.armed.insert(child, parent);
        }
    }

    pub(super) fn trigger(&mut self, child: ThreadId, anchor: ThreadId, now: u64) {
        if let Some(parent) = self.armed.remove(&child) {
            self.start_or_queue(child, parent, anchor, now);
        } else {
            self.triggered.insert(child, (now, anchor));
        }
    }

    fn start_or_queue(&mut self, child: ThreadId, parent: ThreadId, by: ThreadId, now: u64) {
        if self.active < self.slots && self.blocked.is_empty() {
            self.start_child(child, now, by);
        } else {
            self.blocked.insert((now, parent, child, Claim::ByHand));
        }
    }

    pub(super) fn serve(
        &mut self,
        parent: ThreadId,
        child: ThreadId,
        claim: Claim,
        now: u64,
        by: Option<ThreadId>,
    ) {
        if claim != Claim::InVain {
            self.start_child(child, now, by.unwrap_or(parent));
        }
        if claim != Claim::ByHand {
            self.resume(self.by_id[&parent], now, by);
        }
    }
}
