//! Who writes a thread: taking and giving back seats, and what a person writes there.
//!
//! A seat changes between two steps, so no token is lost or doubled. What is written goes into the
//! thread's text as one stream with what the model decoded: tags in it act.

use super::runner::Runner;
use super::session::Session;
use super::splice::Origin;
use super::steer::refused;
use crate::org::roster::{Addressed, addressed};
use crate::org::{
    Author, Body, Command, ErrorKind, OpKind, Outcome, Seat, Seq, SpliceKind, Status, ThreadId,
    WaitOn,
};
use crate::protocol::{Position, Tag};
use std::collections::BTreeMap;

impl Session {
    /// Who is to write thread `id` when it begins.
    pub(super) fn seat_of(&self, id: ThreadId) -> Seat {
        let first = id
            .parent()
            .zip(id.index())
            .and_then(|(parent, index)| parent.child(index, 1));
        [Some(id), first]
            .into_iter()
            .flatten()
            .find_map(|id| self.seats.get(&id).or_else(|| self.header.seats.get(&id)))
            .cloned()
            .unwrap_or_else(|| {
                if id.is_organizer() {
                    Seat::Model
                } else {
                    self.header.workers.clone()
                }
            })
    }

    /// Reads the address of a sub-query: who is to serve it, and what is left of it. A name that nobody has
    /// is an error, and anybody serves the whole text.
    pub(super) fn readdressed(&mut self, id: ThreadId, query: &str) -> String {
        let (seat, rest) = match addressed(&self.header.roster, query) {
            Addressed::Anybody => return query.to_owned(),
            Addressed::To(seat, rest) => (seat.seat.clone(), rest.to_owned()),
            Addressed::Unknown(name) => {
                let names: Vec<&str> = self.header.roster.iter().map(|s| s.name.as_str()).collect();
                let message = format!(
                    "{id} is addressed to `@{name}`, whom nobody knows; there are {}. Anybody serves it",
                    names.join(", ")
                );
                let parent = id.parent().unwrap_or(ThreadId::ORGANIZER);
                self.error(parent, ErrorKind::NoSuchSeat, None, message);
                return query.to_owned();
            }
        };
        // Whom a person chose stays chosen.
        self.seats.entry(id).or_insert(seat);
        rest
    }

    /// Addresses the worker `child`, which has not begun.
    pub(super) fn address(&mut self, child: ThreadId, seat: Option<&Seat>) {
        if let Some(seat) = seat {
            self.seats.insert(child, seat.clone());
        }
    }

    /// Finds out again whom the workers are addressed to that have been forked but have not begun.
    pub(super) fn readdress(&mut self) {
        self.seats.clear();
        let org = &self.emitter.org;
        let begun = |child: &ThreadId| org.thread(*child).is_some();
        let waiting: Vec<ThreadId> = org
            .threads()
            .flat_map(|t| &t.ops)
            .filter_map(|op| match op.kind {
                OpKind::Fork { child, .. } => Some(child),
                OpKind::Join { .. } | OpKind::Overflow { .. } => None,
            })
            .filter(|child| !begun(child))
            .collect();
        for child in waiting {
            if let Some(seat) = self.addressed_to(child) {
                self.seats.insert(child, seat);
            }
        }
    }

    /// Whom a command or the board addressed `child` to, if not to the model.
    fn addressed_to(&self, child: ThreadId) -> Option<Seat> {
        let org = &self.emitter.org;
        let planned = org
            .plan
            .drafts
            .iter()
            .find(|d| child.depth() == 1 && Some(d.index) == child.index())
            .map(|d| d.seat.clone());
        let forked = self.emitter.history().events().iter().rev().find(
            |event| matches!(&event.body, Body::Action { child: Some(own), .. } if *own == child),
        );
        let cause = forked.and_then(|event| event.cause);
        let command = org
            .commands
            .iter()
            .find(|c| cause.is_some() && Some(c.seq) == cause)
            .map(|c| &c.command);
        match command {
            Some(Command::Fork { seat, .. }) => seat.clone(),
            _ => planned,
        }
    }

    /// Why nobody can take such a seat here, if nobody can.
    pub(super) fn seat_refusal(&self, seat: &Seat) -> Option<Outcome> {
        match seat {
            Seat::Model | Seat::Human => None,
            Seat::Tool(name) if self.tools.knows(name) => None,
            Seat::Tool(name) => Some(refused(format!(
                "there is no tool `{name}`; tools are named in the config file as [tools.{name}]"
            ))),
            Seat::Server(name) if self.engines.names().any(|known| known == name) => None,
            Seat::Server(name) => Some(refused(format!(
                "there is no server `{name}`; servers are named in the config file as [servers.{name}]"
            ))),
        }
    }

    /// Thread `id` if it goes on, or why not.
    fn going(&self, id: ThreadId) -> Result<&crate::org::Thread, Outcome> {
        match self.emitter.org.thread(id) {
            None => Err(refused(format!("there is no thread {id}"))),
            Some(t) if t.ended() => Err(refused(format!("thread {id} has ended"))),
            Some(t) => Ok(t),
        }
    }

    /// Whether the seat of `id` can go to `to`; the effect changes it.
    pub(super) fn change_seat(&mut self, id: ThreadId, to: &Seat) -> Outcome {
        let thread = match self.going(id) {
            Ok(thread) => thread,
            Err(refusal) => return refusal,
        };
        if thread.seat == *to {
            return refused(format!("{to} has the seat of {id} already"));
        }
        if let Some(refusal) = self.seat_refusal(to) {
            return refusal;
        }
        if id.is_organizer() && matches!(to, Seat::Tool(_)) {
            return refused("a tool can only serve a sub-query");
        }
        if let Err(refusal) = self.move_to(id, to) {
            return refusal;
        }
        self.tools.stop(id);
        Outcome::Done
    }

    /// The runner of a thread in which a person can write now, or why not.
    fn written_by_a_person(&self, id: ThreadId) -> Result<&Runner, Outcome> {
        let thread = self.going(id)?;
        if thread.seat != Seat::Human {
            return Err(refused(format!(
                "{} writes {id}: take its seat first",
                thread.seat
            )));
        }
        match thread.status {
            Status::Waiting(WaitOn::Join(on)) => {
                return Err(refused(format!("{id} waits for {on}")));
            }
            Status::Waiting(WaitOn::Slot(on)) => {
                return Err(refused(format!("{id} waits for a slot for {on}")));
            }
            _ => {}
        }
        if let Some(ask) = self.emitter.org.asked_of(id) {
            return Err(refused(format!(
                "{id} stands until the {} is approved or denied",
                ask.kind.name()
            )));
        }
        self.runners
            .get(&id)
            .ok_or_else(|| refused(format!("{id} is not running")))
    }

    /// A person's text as it is.
    pub(super) fn person_writes(&mut self, id: ThreadId, text: &str) -> Outcome {
        if let Err(refusal) = self.written_by_a_person(id) {
            return refusal;
        }
        if text.is_empty() {
            return refused("there is no text");
        }
        self.write(id, text, Author::Human);
        Outcome::Done
    }

    /// A person's result or answer, in its tag.
    pub(super) fn person_submits(&mut self, id: ThreadId, text: &str) -> Outcome {
        let position = match self.written_by_a_person(id) {
            Ok(runner) => runner.scanner.position(),
            Err(refusal) => return refusal,
        };
        let (open, close) = if id.is_organizer() {
            (Tag::AnswerOpen, Tag::AnswerClose)
        } else {
            (Tag::ReturnOpen, Tag::ReturnClose)
        };
        let (open, close) = (open.to_string(), close.to_string());
        if text.contains(&close) {
            return refused(format!("the text must not contain {close}"));
        }
        let whole = match position {
            Position::Free => format!("{open}{text}{close}"),
            Position::InAnswer | Position::InReturn => format!("{text}{close}"),
            Position::InFork(index) => {
                return refused(format!("sub-query {index} is still open: close it first"));
            }
            Position::Done => return refused(format!("{id} is done")),
        };
        self.write(id, &whole, Author::Human);
        Outcome::Done
    }

    /// Puts `text` into a thread as if it had been decoded, and does what its tags ask.
    pub(super) fn write(&mut self, id: ThreadId, text: &str, by: Author) {
        self.splice(id, SpliceKind::Text, text, Origin::by(by, None));
        self.follow_up();
    }

    /// What follows between two steps from something a person did: ends, then slots, then actions.
    pub(super) fn follow_up(&mut self) {
        if self.over() {
            return;
        }
        self.end_workers(&BTreeMap::new());
        self.serve_blocked();
        self.act();
    }

    /// Records a note for a thread: something it should know.
    pub(super) fn note(&mut self, id: ThreadId, text: String, cause: Seq) {
        let late = super::runner::Deferred {
            kind: SpliceKind::Note,
            text,
            cause: Some(cause),
        };
        self.splice_or_defer(id, late);
    }
}
