//! What commands do.

use super::deed::Deed;
use super::runner::Deferred;
use super::session::{Session, Stepping};
use super::wish::Wish;
use crate::org::rules::next_index;
use crate::org::{
    ActionKind, Anchor, Author, Body, Command, Outcome, RunEnd, Seat, Seq, Status, Switch,
    ThreadEnd, ThreadId, WaitOn,
};
use crate::protocol::{Position, Tag};

pub(super) fn refused(why: impl Into<String>) -> Outcome {
    Outcome::Refused { why: why.into() }
}

/// A sub-query that would close its own Fork early cannot be put into one.
pub(super) fn fits_in_fork(query: &str, index: u16) -> Result<(), Outcome> {
    let closing = Tag::ForkClose(index).to_string();
    if query.contains(&closing) {
        return Err(refused(format!("the sub-query must not contain {closing}")));
    }
    Ok(())
}

/// A thread in a sentence.
pub(super) fn called(id: ThreadId) -> String {
    if id.is_organizer() {
        "the organizer".to_owned()
    } else {
        format!("worker {id}")
    }
}

impl Session {
    /// Does what a command asks; its own event is `cause`.
    pub(super) fn carry_out(&mut self, command: &Command, cause: Seq) -> Outcome {
        match command {
            Command::Pause { thread: None } => {
                self.stepping = None;
                self.unless(self.emitter.org.paused, "already paused")
            }
            Command::Resume { thread: None } => {
                self.stepping = None;
                self.unless(!self.emitter.org.paused, "not paused")
            }
            Command::Pause { thread: Some(id) } => self.hold(*id, true),
            Command::Resume { thread: Some(id) } => self.hold(*id, false),
            Command::Step => {
                self.stepping = Some(Stepping::One(self.emitter.step));
                Outcome::Done
            }
            Command::Next => {
                self.stepping = Some(Stepping::UntilAction);
                Outcome::Done
            }
            Command::Fork {
                query,
                seat,
                thread,
            } => {
                let of = thread.unwrap_or_default();
                if of.is_organizer() && self.planning() {
                    return self.add_draft(query, seat.as_ref(), cause);
                }
                self.wish_fork(of, query, seat.as_ref(), cause)
            }
            Command::Join { thread } => self.wish_join(*thread, cause),
            Command::Answer => self.wish(ThreadId::ORGANIZER, Wish::Answer, None, cause),
            Command::Kill { thread } => self.kill(*thread, cause),
            Command::WrapUp { thread } => self.wrap_up(*thread, cause),
            Command::Abort => {
                self.end_run(RunEnd::Aborted, None, Some(cause));
                Outcome::Done
            }
            Command::Interrupt => {
                if self.over() {
                    return refused("the run has ended");
                }
                self.end_run(RunEnd::Interrupted, None, Some(cause));
                Outcome::Done
            }
            // Only `Session::restore` continues a session, and sees to it itself.
            Command::Continue => refused("the run is going on"),
            Command::Mark { name } => {
                let name = name.clone();
                self.emitter
                    .emit(Author::Human, None, Some(cause), Body::Mark { name });
                Outcome::Done
            }
            Command::Edit { .. } | Command::Branch { .. } | Command::Undo | Command::Redo => {
                self.travel(command, cause)
            }
            Command::Set { guard: Switch::On } if self.engines.card().server.is_some() => refused(
                "a server draws the tokens of this run, and cannot be kept from any: the guard has no hold there",
            ),
            Command::Set { .. } => Outcome::Done,
            Command::Break { on, set } => match self.emitter.org.check_breakpoint(on, *set) {
                Ok(()) => Outcome::Done,
                Err(why) => refused(why),
            },
            Command::Speed { tokens_per_s } => {
                self.tokens_per_s = *tokens_per_s;
                Outcome::Done
            }
            Command::Seat { .. } if self.over() => self.before_the_end(cause),
            Command::Seat { thread, to } => self.change_seat(*thread, to),
            Command::Text { thread, text } => self.person_writes(*thread, text),
            Command::Submit { thread, text } => self.person_submits(*thread, text),
            Command::Retry { thread } => self.retry(*thread, cause),
            Command::Approve { ask, text } => self.approve(*ask, text.as_deref(), cause),
            Command::Deny { ask, reason } => self.deny(*ask, reason, cause),
            Command::PlanAdd { query, seat } => self.add_draft(query, seat.as_ref(), cause),
            Command::PlanEdit { draft, query, seat } => {
                self.check_edit(*draft, query.as_deref(), seat.as_ref())
            }
            Command::PlanDrop { draft } | Command::PlanMove { draft, .. } => {
                self.check_draft(*draft)
            }
            Command::PlanRelease => self.release_plan(cause),
        }
    }

    fn unless(&self, bad: bool, why: &str) -> Outcome {
        if bad { refused(why) } else { Outcome::Done }
    }

    fn hold(&self, id: ThreadId, hold: bool) -> Outcome {
        match self.emitter.org.thread(id) {
            None => refused(format!("there is no thread {id}")),
            Some(t) if t.ended() => refused(format!("thread {id} has ended")),
            Some(t) if t.paused == hold => {
                refused(if hold { "already paused" } else { "not paused" })
            }
            Some(_) => Outcome::Done,
        }
    }

    /// A running worker called `id`, or why not.
    pub(super) fn active_worker(&self, id: ThreadId) -> Result<(), Outcome> {
        if id.is_organizer() {
            return Err(refused(
                "the organizer cannot be stopped alone; answer now or abort the run",
            ));
        }
        match self.emitter.org.thread(id) {
            None => Err(refused(format!("there is no worker {id}"))),
            Some(t) if t.ended() => Err(refused(format!("worker {id} has ended"))),
            Some(_) => Ok(()),
        }
    }

    fn kill(&mut self, id: ThreadId, cause: Seq) -> Outcome {
        if let Err(refusal) = self.active_worker(id) {
            return refusal;
        }
        self.end_worker(id, ThreadEnd::Killed, Some(cause));
        self.serve_blocked();
        self.act();
        Outcome::Done
    }

    fn wrap_up(&mut self, id: ThreadId, cause: Seq) -> Outcome {
        if let Err(refusal) = self.active_worker(id) {
            return refusal;
        }
        match self.position(id) {
            None => return refused(format!("worker {id} is not running")),
            Some(Position::Free) => {}
            Some(Position::InReturn) => {
                return refused(format!("worker {id} is writing its result"));
            }
            Some(_) => return refused(format!("worker {id} is inside a tag")),
        }
        self.wish(id, Wish::WrapUp, None, cause)
    }

    /// Thread `id` if it may fork and goes on, or why not.
    fn organizing(&self, id: ThreadId) -> Result<Status, Outcome> {
        match self.emitter.org.thread(id) {
            None => Err(refused(format!("there is no thread {id}"))),
            Some(t) if t.ended() => Err(refused(format!("{} has ended", called(id)))),
            Some(_) if !self.header.organizes(id) => Err(refused(format!(
                "worker {id} cannot fork: workers of this run nest {} deep (--depth)",
                self.header.limits.depth
            ))),
            Some(t) => Ok(t.status),
        }
    }

    fn wish_fork(&mut self, of: ThreadId, query: &str, seat: Option<&Seat>, cause: Seq) -> Outcome {
        let query = query.trim();
        if let Some(refusal) = seat.and_then(|seat| self.seat_refusal(seat)) {
            return refusal;
        }
        if query.is_empty() {
            return refused("the sub-query is empty");
        }
        let status = match self.organizing(of) {
            Ok(status) => status,
            Err(refusal) => return refusal,
        };
        let Some(index) = next_index(&self.emitter.org, of) else {
            return refused("no index is left");
        };
        if let Err(refusal) = fits_in_fork(query, index) {
            return refusal;
        }
        if let Status::Waiting(WaitOn::Join(waited)) = status
            && self.emitter.org.free_slots() > 0
            && self.blocked.is_empty()
        {
            return self.fork_while_waiting((of, index), query, seat, waited, cause);
        }
        self.wish(of, Wish::Fork(query.to_owned()), seat, cause)
    }

    /// The thread stands at a Join: the worker starts now, the text follows after the result.
    fn fork_while_waiting(
        &mut self,
        (parent, index): (ThreadId, u16),
        query: &str,
        seat: Option<&Seat>,
        waited: ThreadId,
        cause: Seq,
    ) -> Outcome {
        let Some(child) = parent.child(index, 1) else {
            return refused("no index is left");
        };
        let anchor = self.anchor(waited);
        let Some(runner) = self.runners.get_mut(&parent) else {
            return refused(format!("{} is not running", called(parent)));
        };
        let place = runner.text_len;
        let late = Deferred::fork(index, query, Some(cause));
        runner.deferred.push(late);
        self.address(child, seat);
        let by = (Author::Human, Some(cause));
        self.action(
            parent,
            Deed {
                action: ActionKind::Fork,
                span: (place, place),
                child: Some(child),
                text: query.to_owned(),
                anchor: Some(anchor),
                by: by.clone(),
            },
        );
        self.start_worker(child, query, by);
        Outcome::Done
    }

    fn wish_join(&mut self, id: ThreadId, cause: Seq) -> Outcome {
        match self.emitter.org.thread(id) {
            _ if id.is_organizer() => return refused("the organizer cannot join itself"),
            None => return refused(format!("there is no worker {id}")),
            Some(t) if t.joined => return refused(format!("worker {id} was joined before")),
            Some(_) => {}
        }
        let (Some(parent), Some(index)) = (id.parent(), id.index()) else {
            return refused("the organizer cannot join itself");
        };
        if self.emitter.org.newest_bearer(parent, index) != Some(id) {
            return refused(format!("a newer worker bears the index of {id}"));
        }
        if let Err(refusal) = self.organizing(parent) {
            return refusal;
        }
        self.wish(parent, Wish::Join(id), None, cause)
    }

    /// The present moment of thread `waited`, for a Fork made while another thread waits for it.
    pub(super) fn anchor(&self, waited: ThreadId) -> Anchor {
        let org = &self.emitter.org;
        let thread = org.thread(waited);
        Anchor {
            thread: waited,
            tokens: thread.map_or(0, |t| t.tokens),
            steps: thread.map_or(0, |t| t.written_steps(org.now)),
        }
    }
}
