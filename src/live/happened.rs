//! What has happened so far, by the names that places in files go by: `fork:2`, `return`, `break:fork`, …
//!
//! It only ever grows: going back to an earlier moment takes nothing away.

use crate::org::{
    ActionKind, AskKind, Body, Breakpoint, Command, ErrorKind, Event, Organization, ThreadEnd,
    ThreadId,
};
use std::collections::HashSet;

/// Names of what has happened.
#[derive(Debug, Clone, Default)]
pub struct Happened(HashSet<String>);

impl Happened {
    /// Whether something of this name has.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Takes in an event of `organization`.
    pub fn note(&mut self, event: &Event, organization: &Organization) {
        match &event.body {
            Body::Action { action, child, .. } => match action {
                ActionKind::Fork => self.about("fork", *child),
                ActionKind::Join => self.about("join", *child),
                ActionKind::Return => self.about("return", event.thread),
                ActionKind::Answer => self.about("answer", None),
            },
            Body::End { .. } if event.thread.is_some() => self.about("end", event.thread),
            Body::Ask { ask, .. } => self.asked(*ask),
            Body::Plan { .. } => self.about("plan", None),
            Body::Error { error, .. } => self.failed(*error),
            Body::Mark { .. } => {
                let commands = organization.commands.iter().rev();
                let mut left_by = commands.filter(|c| Some(c.seq) == event.cause);
                if let Some(Command::Break { on, .. }) = left_by.next().map(|c| &c.command) {
                    self.stopped(on);
                }
            }
            _ => {}
        }
    }

    /// Takes in what `organization` itself still knows: a recording was entered midway.
    pub fn recall(&mut self, organization: &Organization) {
        for thread in organization.threads() {
            let id = Some(thread.id);
            if !thread.id.is_organizer() {
                self.about("fork", id);
            }
            if thread.joined {
                self.about("join", id);
            }
            if let Some(end) = thread.end() {
                self.about("end", id);
                if end == ThreadEnd::Returned {
                    self.about("return", id);
                }
            }
        }
        if organization.answer.is_some() {
            self.about("answer", None);
        }
        for ask in &organization.asks {
            self.asked(ask.kind);
        }
        for error in &organization.errors {
            self.failed(error.kind);
        }
        for on in &organization.stopped_at {
            self.stopped(on);
        }
    }

    fn about(&mut self, word: &str, whom: Option<ThreadId>) {
        self.0.insert(word.to_owned());
        if let Some(whom) = whom {
            self.0.insert(format!("{word}:{whom}"));
        }
    }

    fn asked(&mut self, ask: AskKind) {
        self.0.insert("ask".to_owned());
        self.0.insert(format!("ask:{}", ask.name()));
    }

    fn failed(&mut self, error: ErrorKind) {
        self.0.insert("error".to_owned());
        self.0.insert(format!("error:{error:?}"));
    }

    fn stopped(&mut self, on: &Breakpoint) {
        self.0.insert("break".to_owned());
        self.0.insert(format!("break:{on}"));
    }
}
