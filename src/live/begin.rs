//! How a fresh session begins.

use super::config::{RunConfig, messages};
use super::emitter::Emitter;
use super::engines::Engines;
use super::mailbox::{Mailbox, Phase};
use super::session::{Audience, Session};
use super::wish::{Intent, Wish};
use crate::engine::EngineError;
use crate::org::{Author, Body, Organization, Role, Seat, ThreadId};
use crate::protocol::Grammar;
use crate::record::{Header, History, Merge, Policy, Recorder};
use crate::task::{Task, merged};
use std::sync::Arc;

impl Session {
    /// A fresh session. The header must have been made by [`RunConfig::header`] for this engine.
    ///
    /// # Errors
    /// When the organizer's prompt cannot be rendered or encoded.
    pub fn begin(
        engines: impl Into<Engines>,
        header: Header,
        config: &RunConfig,
        recorder: Option<Recorder>,
        mailbox: Option<Arc<Mailbox>>,
        audience: Audience,
    ) -> Result<Self, EngineError> {
        let mut engines = engines.into();
        let organizer = header.seats.get(&ThreadId::ORGANIZER);
        let desk = engines.desk(organizer.unwrap_or(&Seat::Model))?;
        let prompt = engines.prompt(
            desk,
            &messages(&header.prompts.organizer, &header.query),
            header.thinking,
        )?;
        let org = Organization::new(header.capacity, header.tau);
        let emitter = Emitter::new(org, History::default(), recorder, mailbox);
        let mut session = Self::new(engines, emitter, header, audience);
        session.set_speed(config.tokens_per_s);
        session.announce();
        let seat = session.seat_of(ThreadId::ORGANIZER);
        session.emitter.emit(
            Author::System,
            Some(ThreadId::ORGANIZER),
            None,
            Body::Thread {
                role: Role::Organizer,
                seat,
                query: session.header.query.clone(),
                prompt: prompt.clone(),
            },
        );
        session.open(ThreadId::ORGANIZER, Grammar::Organizer, &prompt);
        if session.header.policy == Policy::Parallel {
            session.plan_copies();
        }
        Ok(session)
    }

    /// Tells the screen what this session is.
    pub(super) fn announce(&self) {
        if let Some(mailbox) = self.emitter.mailbox() {
            mailbox.report(|report| {
                report.header = Some(Box::new(self.header.clone()));
                report.phase = Phase::Running;
            });
        }
    }

    /// Policy `parallel`: the system forks k copies of the query, then joins them in order. A session that goes
    /// on has done some of it.
    pub(super) fn plan_copies(&mut self) {
        let k = u16::try_from(self.header.k).unwrap_or(crate::org::MAX_INDEX);
        let ids = || (1..=k).filter_map(ThreadId::worker);
        let joined = |id| self.emitter.org.thread(id).is_some_and(|t| t.joined);
        let forks = ids()
            .filter(|id| self.emitter.org.thread(*id).is_none())
            .map(|_| Wish::Fork(self.header.query.clone()));
        let joins = ids().filter(|id| !joined(*id)).map(Wish::Join);
        let plan: Vec<Intent> = forks
            .chain(joins)
            .chain((self.header.merge == Merge::Rule).then_some(Wish::Merge))
            .map(|what| Intent {
                of: ThreadId::ORGANIZER,
                by: Author::System,
                cause: None,
                what,
                seat: None,
            })
            .collect();
        self.intents.extend(plan);
    }

    /// The answer that the copies of a task come to, by the rule.
    pub(super) fn merged(&self) -> String {
        let spec = self.header.task.as_deref().unwrap_or_default();
        let Ok(task) = Task::parse(spec, 0) else {
            return String::new();
        };
        let copies = self.emitter.org.threads().filter(|t| t.joined);
        let results: Vec<&str> = copies.filter_map(|t| t.result.as_deref()).collect();
        merged(&task, &results)
    }
}
