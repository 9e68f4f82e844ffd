//! A worker once more: same sub-query, same index, other draws.

use super::deed::Deed;
use super::session::Session;
use super::steer::refused;
use crate::org::{ActionKind, Author, Body, Outcome, Seq, Status, ThreadEnd, ThreadId, WaitOn};

impl Session {
    /// Stops worker `old` (if it still goes on) and gives its sub-query to the next bearer of its index.
    /// Whoever stands at a Join on the index waits for the new one.
    pub(super) fn retry(&mut self, old: ThreadId, cause: Seq) -> Outcome {
        let org = &self.emitter.org;
        let (Some(parent), Some(index)) = (old.parent(), old.index()) else {
            return refused("the organizer cannot be tried again; abort the run and start another");
        };
        let Some(worker) = org.thread(old) else {
            return refused(format!("there is no worker {old}"));
        };
        if org.newest_bearer(parent, index) != Some(old) {
            return refused(format!("a newer worker bears the index of {old}"));
        }
        let ended = worker.ended();
        if ended && worker.joined {
            return refused(format!(
                "the result of {old} was joined already; fork a new sub-query"
            ));
        }
        if ended && org.free_slots() == 0 {
            return refused("no slot is free");
        }
        let Some(new) = parent.child(index, old.bearer().saturating_add(1)) else {
            return refused(format!("index {index} cannot be borne once more"));
        };
        let query = worker.query.clone();
        let Some(stands) = org.thread(parent).map(|t| t.status) else {
            return refused(format!("nobody can take the result of {old}"));
        };
        let anchor = match stands {
            Status::Ended(_) => {
                return refused(format!("{parent} has ended: nobody can take the result"));
            }
            Status::Waiting(WaitOn::Slot(_)) => {
                return refused(format!(
                    "{parent} waits for a slot: try again when it goes on"
                ));
            }
            Status::Waiting(WaitOn::Join(on)) => Some(self.anchor(on)),
            Status::Running => None,
        };
        let by = (Author::Human, Some(cause));
        if !ended {
            self.end_without_result(old, ThreadEnd::Killed, Some(cause));
        }
        let place = self.runners.get(&parent).map_or(0, |r| r.text_len);
        self.action(
            parent,
            Deed {
                action: ActionKind::Fork,
                span: (place, place),
                child: Some(new),
                text: query.clone(),
                anchor,
                by: by.clone(),
            },
        );
        self.start_worker(new, &query, by);
        if stands == Status::Waiting(WaitOn::Join(old)) {
            let on = WaitOn::Join(new);
            self.emitter
                .emit(Author::System, Some(parent), Some(cause), Body::Wait { on });
        }
        self.follow_up();
        Outcome::Done
    }
}
