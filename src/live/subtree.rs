//! Workers that work for workers: ends that take others along, and Forks that no slot can ever serve.

use super::deed::Deed;
use super::runner::{Runner, Wrote};
use super::session::Session;
use super::steer::refused;
use super::wish::Intent;
use crate::engine::SeqOp;
use crate::org::rules::a_slot_can_free;
use crate::org::{ActionKind, Author, Body, ErrorKind, Seq, Status, ThreadEnd, ThreadId, WaitOn};
use crate::protocol::Found;
use std::collections::VecDeque;

impl Session {
    /// Ends a worker and whoever still works below it, frees their sequences, and hands the result to
    /// whoever waits at a Join.
    pub(super) fn end_worker(&mut self, id: ThreadId, end: ThreadEnd, cause: Option<Seq>) {
        self.end_without_result(id, end, cause);
        // Only whoever forked a worker can join it.
        let waits = id.parent().filter(|parent| {
            let parent = self.emitter.org.thread(*parent);
            parent.is_some_and(|t| t.status == Status::Waiting(WaitOn::Join(id)))
        });
        if let Some(parent) = waits {
            self.emitter
                .emit(Author::System, Some(parent), cause, Body::Resume);
            self.splice_result(parent, id);
        }
    }

    /// Ends a worker and its subtree, whoever waits for it.
    pub(super) fn end_without_result(&mut self, id: ThreadId, end: ThreadEnd, cause: Option<Seq>) {
        let below = match end {
            ThreadEnd::Killed => ThreadEnd::Killed,
            _ => ThreadEnd::Abandoned,
        };
        let going: Vec<ThreadId> = self
            .emitter
            .org
            .below(id)
            .filter(|t| !t.ended())
            .map(|t| t.id)
            .rev()
            .collect();
        for (id, end) in going.into_iter().map(|id| (id, below)).chain([(id, end)]) {
            self.emitter
                .emit(Author::System, Some(id), cause, Body::End { end });
            self.forget(id);
        }
    }

    /// Gives back what an ended worker holds: its sequence, its tool, its claims.
    fn forget(&mut self, id: ThreadId) {
        if let Some(runner) = self.runners.get(&id) {
            self.ops.push(SeqOp::Close(runner.seq));
            self.by_seq.remove(&runner.seq);
        }
        self.tools.stop(id);
        self.blocked.retain(|blocked| blocked.parent != id);
        let (lost, kept): (VecDeque<Intent>, _) = std::mem::take(&mut self.intents)
            .into_iter()
            .partition(|intent| intent.of == id);
        self.intents = kept;
        for cause in lost.into_iter().filter_map(|intent| intent.cause) {
            self.effect(cause, refused(format!("worker {id} has ended")));
        }
    }

    /// Where no active worker can end any more, blocked Forks are an overflow: the latest is given up, until
    /// somebody can end. Whether there was any.
    pub(super) fn give_up_what_is_in_vain(&mut self) -> bool {
        let mut any = false;
        while !self.over()
            && !self.blocked.is_empty()
            && self.emitter.org.free_slots() == 0
            && !a_slot_can_free(&self.emitter.org, |_| false)
        {
            self.blocked.sort();
            let Some(blocked) = self.blocked.pop() else {
                break;
            };
            any = true;
            let index = blocked.child.index().unwrap_or_default();
            let why = format!(
                "sub-query {index} waits for a slot that no worker can free any more (capacity {})",
                self.emitter.org.capacity
            );
            // Its place in the text is accounted for.
            self.refuse_fork(blocked.parent, ErrorKind::PoolOverflow, why);
            if !self.over() {
                self.emitter
                    .emit(Author::System, Some(blocked.parent), None, Body::Resume);
            }
        }
        any
    }

    /// Takes the RETURN that a worker wrote, if that is the next thing it does.
    pub(super) fn take_return(&mut self, id: ThreadId) -> bool {
        if id.is_organizer() || !self.is_running(id) {
            return false;
        }
        let wrote = self.runners.get_mut(&id).and_then(Runner::next_return);
        let Some(Wrote { finding, by }) = wrote else {
            return false;
        };
        let Found::Return { text } = finding.found else {
            return false;
        };
        self.action(
            id,
            Deed {
                action: ActionKind::Return,
                span: (finding.from, finding.to),
                child: None,
                text,
                anchor: None,
                by: (by, None),
            },
        );
        self.end_worker(id, ThreadEnd::Returned, None);
        true
    }
}
