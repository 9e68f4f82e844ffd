//! A new session that goes on from a place of a recorded one.
//!
//! The past is copied: the line that leads to the place becomes the first branch of the new session, with
//! the recorded ids, so that the new file stands alone. Who asked for a turn that lies on that line is not
//! copied: what came of it is.

use super::emitter::Emitter;
use super::engines::Engines;
use super::mailbox::Mailbox;
use super::session::{Audience, Session};
use crate::org::{Author, Command, Organization, Place, RunEnd};
use crate::record::{Header, History, Parent, Recorder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A place of a recorded session, and everything that led there.
#[derive(Debug, Clone)]
pub struct Departure {
    /// What session it is.
    pub header: Header,
    /// Everything that happened in it.
    pub history: History,
    /// The place.
    pub place: Place,
}

impl Departure {
    /// The header of the session called `id` that goes on from here.
    #[must_use]
    pub fn header(&self, id: String, created: String) -> Header {
        Header {
            id,
            created,
            app: env!("CARGO_PKG_VERSION").to_owned(),
            parent: Some(Parent {
                id: self.header.id.clone(),
                seq: self.place.seq,
            }),
            ..self.header.clone()
        }
    }
}

impl Session {
    /// A session that goes on from `departure`. Where a person watches it begins held, so that they can
    /// act first.
    pub fn take_over(
        engines: impl Into<Engines>,
        header: Header,
        departure: &Departure,
        recorder: Option<Recorder>,
        mailbox: Option<Arc<Mailbox>>,
        audience: Audience,
    ) -> Self {
        let org = Organization::new(header.capacity, header.tau);
        let mut emitter = Emitter::new(org, History::default(), recorder, mailbox);
        let mut header = header;
        let engines = engines.into();
        header.engine = engines.card().clone();
        let mut session = {
            for event in departure.history.line(departure.place) {
                emitter.adopt(event);
            }
            emitter.settle_down();
            Self::new(engines, emitter, header, audience)
        };
        session.announce();
        session.readdress();
        let here = session.emitter.org.here();
        let contexts = session.emitter.history().contexts(here);
        let reread = session.reopen_all(&contexts, &BTreeMap::new());
        if session.emitter.org.end == Some(RunEnd::Interrupted) {
            session.announce_continuation();
        }
        let held = session.emitter.org.paused;
        let thread = None;
        match audience {
            Audience::Person if !held && !session.over() => {
                session.command(Command::Pause { thread }, Author::System);
            }
            Audience::Nobody if held => {
                session.command(Command::Resume { thread }, Author::System);
            }
            _ => {}
        }
        if !session.over() {
            session.catch_up(&reread);
            session.queue_again();
        }
        session
    }
}
