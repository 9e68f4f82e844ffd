//! The guard of a running session: tells the engine which tokens the organizer may not write next, and
//! records what was refused.

use super::config::overflow;
use super::session::Session;
use crate::engine::{Forbids, SeqId, SeqOp, TokenId, Veto};
use crate::org::rules::Overflow;
use crate::org::{Author, Body, Switch, TextBytes, ThreadId, WaitOn};
use crate::protocol::{Guard, Open};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the engine was told last.
pub(super) type Told = Option<(SeqId, Guard)>;

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

    /// Tells the engine what is forbidden now, if that is something else than before.
    pub(super) fn set_guard(&mut self) {
        let guard = self
            .guarded()
            .then(|| self.runners.get(&ThreadId::ORGANIZER))
            .flatten()
            .and_then(|runner| {
                let guard = Guard::new(&runner.scanner, self.open_actions())?;
                Some((runner.seq, guard))
            });
        if guard == self.told {
            return;
        }
        match (&guard, &self.told) {
            (Some((seq, guard)), _) => {
                let veto = Veto(Arc::new(guard.clone()));
                self.ops.push(SeqOp::Forbid(*seq, Some(veto)));
            }
            (None, Some((seq, _))) => self.ops.push(SeqOp::Forbid(*seq, None)),
            (None, None) => {}
        }
        self.told = guard;
    }

    /// The actions that are open to the organizer.
    fn open_actions(&self) -> Open {
        let org = &self.emitter.org;
        let organizer = ThreadId::ORGANIZER;
        let own = |id: ThreadId| {
            (id.parent() == Some(organizer))
                .then(|| id.index())
                .flatten()
        };
        let blocked = org.waiting().filter_map(|(_, on)| match on {
            WaitOn::Slot(child) => own(child),
            _ => None,
        });
        // Drafts will be forked before whatever the organizer does after the plan.
        let drafts = org.plan.standing().map(|draft| draft.index);
        let to_come: BTreeSet<u16> = blocked.chain(drafts).collect();
        let forked: BTreeSet<u16> = org.threads().filter_map(|t| own(t.id)).collect();
        let mut joinable: BTreeSet<u16> = forked
            .iter()
            .copied()
            .filter(|index| {
                org.newest_bearer(organizer, *index)
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
                Overflow::Error => Some(org.free_slots()),
                Overflow::Wait => None,
            },
        }
    }

    /// Records tokens that were drawn and refused.
    pub(super) fn note_vetoes(&mut self, id: ThreadId, ids: Vec<TokenId>) {
        if ids.is_empty() {
            return;
        }
        let bytes = TextBytes(self.engine.decode(&ids));
        self.emitter
            .emit(Author::Guard, Some(id), None, Body::Veto { ids, bytes });
    }
}
