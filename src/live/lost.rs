//! An engine that is out of reach for now: a server that died, fell silent, or sends others first.
//!
//! Nothing of the session is lost by it. The threads stand where they are, the run pauses, and going on asks
//! again: with `resume` while the session lives, with `orgtop resume` where it was left meanwhile.

use super::session::Session;
use crate::engine::Stop;
use crate::org::{Author, Command, ErrorKind, ThreadId};
use std::collections::BTreeMap;

impl Session {
    /// Takes out of `stops` the threads whose engine is out of reach, and records why. Whether there are any.
    pub(super) fn note_lost(&mut self, stops: &mut BTreeMap<ThreadId, Stop>) -> bool {
        let lost: Vec<(ThreadId, String)> = stops
            .iter()
            .filter_map(|(id, stop)| match stop {
                Stop::Lost(why) => Some((*id, why.clone())),
                _ => None,
            })
            .collect();
        let any = !lost.is_empty();
        for (id, why) in lost {
            stops.remove(&id);
            if let Some(runner) = self.runners.get_mut(&id) {
                runner.stopped_by_engine();
            }
            self.error(id, ErrorKind::Engine, None, why.clone());
            tracing::warn!(%id, "out of reach: {why}");
            self.trouble = Some(why);
        }
        any
    }

    /// Pauses the run because something is out of reach.
    pub(super) fn pause_for_lost(&mut self) {
        if !self.over() && !self.emitter.org.paused {
            self.command(Command::Pause { thread: None }, Author::System);
        }
    }

    /// What the screen should say of it.
    pub(super) fn trouble_words(&self) -> Option<String> {
        let why = self.trouble.as_ref().filter(|_| self.emitter.org.paused)?;
        Some(format!(
            "paused, nothing is lost; resume to ask again: {why}"
        ))
    }
}
