//! The guard of a running session: tells the engine which tokens those who organize may not write next, and
//! records what was refused.

use super::config::overflow;
use super::session::Session;
use crate::engine::{Forbids, SeqId, SeqOp, TokenId, Veto};
use crate::org::rules::{Overflow, a_slot_can_free};
use crate::org::{Author, Body, Switch, TextBytes, ThreadId};
use crate::protocol::{Guard, Open, Position};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the engine was told last.
pub(super) type Told = BTreeMap<SeqId, Guard>;

impl Forbids for Guard {
    fn forbids(&self, bytes: &[u8], eos: bool) -> bool {
        Self::forbids(self, bytes, eos)
    }
}

impl Session {
    fn guarded(&self) -> bool {
        match self.emitter.org.guard {
            Some(switch) => switch == Switch::On,
            None => self.header.guard,
        }
    }

    /// Tells the engine what is forbidden now, where that is something else than before.
    pub(super) fn set_guard(&mut self) {
        if !self.guarded() && self.told.is_empty() {
            return;
        }
        let organizing = self
            .runners
            .iter()
            .filter(|(id, _)| self.guarded() && self.header.organizes(**id))
            .filter(|(id, _)| self.is_running(**id));
        let guards: Told = organizing
            .filter_map(|(id, runner)| {
                let guard = Guard::new(&runner.scanner, self.open_actions(*id))?;
                Some((runner.seq, guard))
            })
            .collect();
        for (seq, guard) in &guards {
            if self.told.get(seq) != Some(guard) {
                let veto = Veto(Arc::new(guard.clone()));
                self.ops.push(SeqOp::Forbid(*seq, Some(veto)));
            }
        }
        let gone = self.told.keys().filter(|seq| !guards.contains_key(seq));
        for seq in gone.filter(|seq| self.by_seq.contains_key(seq)) {
            self.ops.push(SeqOp::Forbid(*seq, None));
        }
        self.told = guards;
    }

    /// The actions that are open to a thread that organizes.
    fn open_actions(&self, id: ThreadId) -> Open {
        let org = &self.emitter.org;
        // Drafts will be forked before whatever the organizer does after the plan.
        let to_come: BTreeSet<u16> = org
            .plan
            .standing()
            .filter(|_| id.is_organizer())
            .map(|draft| draft.index)
            .collect();
        let own = org.below(id).filter(|t| t.id.parent() == Some(id));
        let forked: BTreeSet<u16> = own.filter_map(|t| t.id.index()).collect();
        let mut joinable: BTreeSet<u16> = forked
            .iter()
            .copied()
            .filter(|index| {
                org.newest_bearer(id, *index)
                    .and_then(|id| org.thread(id))
                    .is_some_and(|t| !t.joined)
            })
            .collect();
        joinable.extend(&to_come);
        Open {
            used: forked.union(&to_come).copied().collect(),
            joinable,
            forks: match overflow(&self.header) {
                _ if org.capacity <= 1 => Some(0),
                Overflow::Wait => {
                    let serves = org.free_slots() > 0
                        || a_slot_can_free(org, |other| {
                            other == id || self.forks_before(other, id)
                        });
                    (!serves).then_some(0)
                }
                Overflow::Error => {
                    let others = self.runners.keys();
                    let before = others
                        .filter(|other| self.forks_before(**other, id))
                        .count();
                    Some(org.free_slots().saturating_sub(before))
                }
            },
        }
    }

    /// Whether `other` is about to fork and comes before `id`: whoever opened its Fork does so before those
    /// who have not, and then the smaller path.
    fn forks_before(&self, other: ThreadId, id: ThreadId) -> bool {
        let inside = |id: &ThreadId| {
            let position = self.runners.get(id).map(|r| r.scanner.position());
            matches!(position, Some(Position::InFork(_)))
        };
        other != id && inside(&other) && self.is_running(other) && (other < id || !inside(&id))
    }

    /// Records tokens that were drawn and refused.
    pub(super) fn note_vetoes(&mut self, id: ThreadId, ids: Vec<TokenId>) {
        if ids.is_empty() {
            return;
        }
        let bytes = TextBytes(self.engines.decode(&ids));
        self.emitter
            .emit(Author::Guard, Some(id), None, Body::Veto { ids, bytes });
    }
}
