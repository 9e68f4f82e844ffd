//! How a run ends: the organizer stops, its tokens are used up, the engine fails.

use super::session::Session;
use crate::engine::Stop;
use crate::org::{Author, Body, ErrorKind, RunEnd, Seq, ThreadEnd, ThreadId};
use crate::protocol::Position;

impl Session {
    pub(super) fn end_organizer(&mut self, stop: Option<&Stop>) {
        let id = ThreadId::ORGANIZER;
        let Some(runner) = self.runners.get(&id) else {
            return;
        };
        let position = runner.scanner.position();
        let partial = (position == Position::InAnswer)
            .then(|| runner.scanner.open_text())
            .flatten();
        let tokens = self.emitter.org.thread(id).map_or(0, |t| t.tokens);
        match stop {
            Some(Stop::Exhausted | Stop::Absent) if self.is_running(id) => {
                if let Position::InFork(index) = position {
                    let message = format!("stopped inside the Fork of sub-query {index}");
                    self.error(id, ErrorKind::UnclosedFork, None, message);
                }
                let message = if partial.is_some() {
                    "stopped inside the ANSWER"
                } else {
                    "stopped without an ANSWER"
                };
                self.error(id, ErrorKind::NoAnswer, None, message.into());
                self.end_run(RunEnd::NoAnswer, partial, None);
            }
            Some(Stop::Failed(message)) => self.engine_failed(&message.clone()),
            Some(Stop::ContextFull) => self.out_of_tokens("its context is full", partial),
            _ if tokens >= self.header.limits.organizer => {
                let why = format!("used up its {} tokens", self.header.limits.organizer);
                self.out_of_tokens(&why, partial);
            }
            _ => {}
        }
    }

    pub(super) fn out_of_tokens(&mut self, why: &str, partial: Option<String>) {
        let id = ThreadId::ORGANIZER;
        self.error(
            id,
            ErrorKind::TokenLimit,
            None,
            format!("the organizer stopped: {why}"),
        );
        self.end_run(RunEnd::TokenLimit, partial, None);
    }

    pub(super) fn engine_failed(&mut self, message: &str) {
        tracing::error!("engine: {message}");
        self.emitter.emit(
            Author::System,
            Some(ThreadId::ORGANIZER),
            None,
            Body::Error {
                error: ErrorKind::Engine,
                span: None,
                message: message.to_owned(),
            },
        );
        self.end_run(RunEnd::Failed, None, None);
    }

    /// Ends the run: everybody still going is abandoned (or left as it is when interrupted).
    pub(super) fn end_run(&mut self, end: RunEnd, answer: Option<String>, cause: Option<Seq>) {
        if end != RunEnd::Interrupted {
            let going: Vec<ThreadId> = self
                .emitter
                .org
                .threads()
                .filter(|t| !t.ended())
                .map(|t| t.id)
                .rev()
                .collect();
            for id in going {
                let how = match (id.is_organizer(), end) {
                    (true, RunEnd::Answered) => ThreadEnd::Answered,
                    (true, RunEnd::NoAnswer) => ThreadEnd::Eos,
                    (true, RunEnd::TokenLimit) => ThreadEnd::Limit,
                    (true, RunEnd::Failed) => ThreadEnd::Failed,
                    _ => ThreadEnd::Abandoned,
                };
                self.emitter
                    .emit(Author::System, Some(id), cause, Body::End { end: how });
            }
        }
        self.emitter.end_run(end, answer, cause);
        self.blocked.clear();
        self.intents.clear();
        self.tools.stop_all();
    }
}
