//! Wishes: what a person or a policy wants of a thread that may stand inside a tag. Noted in order, and done at
//! the next possible moment.

use super::config::{overflow, strictness};
use super::session::Session;
use super::splice::Origin;
use super::steer::{called, fits_in_fork, refused};
use crate::org::rules::{ForkVerdict, judge_fork, next_index};
use crate::org::{Author, Outcome, Seat, Seq, SpliceKind, ThreadId};
use crate::protocol::{Position, Tag};

/// What a person (or a policy) wants of a thread at the next possible moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intent {
    /// Of whom.
    pub of: ThreadId,
    pub by: Author,
    pub cause: Option<Seq>,
    pub what: Wish,
    /// For a Fork: who will serve it.
    pub seat: Option<Seat>,
}

/// See [`Intent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Fork(String),
    Join(ThreadId),
    Answer,
    /// A worker writes its result now.
    WrapUp,
    /// The system writes the answer from the copies' results.
    Merge,
}

impl Session {
    /// Notes a wish for a thread; does it now if the thread is free.
    pub(super) fn wish(
        &mut self,
        of: ThreadId,
        what: Wish,
        seat: Option<&Seat>,
        cause: Seq,
    ) -> Outcome {
        match self.position(of) {
            Some(Position::InAnswer) => return refused("the organizer is writing its answer"),
            Some(Position::InReturn) => {
                return refused(format!("worker {of} is writing its result"));
            }
            _ => {}
        }
        self.intents.push_back(Intent {
            of,
            by: Author::Human,
            cause: Some(cause),
            what,
            seat: seat.cloned(),
        });
        self.pursue_intents();
        let waiting = self.intents.iter().any(|i| i.cause == Some(cause));
        if !waiting {
            return Outcome::Done;
        }
        let why = match self.position(of) {
            Some(Position::InFork(i)) => format!("until sub-query {i} is closed"),
            _ => format!("until {} decodes again", called(of)),
        };
        Outcome::Queued { why }
    }

    pub(super) fn position(&self, id: ThreadId) -> Option<Position> {
        self.runners.get(&id).map(|r| r.scanner.position())
    }

    /// Does what is wished of threads as far as it can be done now, of each in order.
    pub(super) fn pursue_intents(&mut self) {
        while !self.over() {
            let free = |intent: &Intent| self.is_free(intent.of);
            let Some(intent) = self
                .intents
                .iter()
                .position(free)
                .and_then(|i| self.intents.remove(i))
            else {
                return;
            };
            let queued = self.was_queued(intent.cause);
            let outcome = self.pursue(&intent);
            if let (Some(cause), true) = (intent.cause, queued) {
                self.effect(cause, outcome);
            }
        }
    }

    fn was_queued(&self, cause: Option<Seq>) -> bool {
        self.emitter
            .org
            .commands
            .iter()
            .rev()
            .find(|c| Some(c.seq) == cause)
            .is_some_and(|c| c.outcome.is_some())
    }

    fn is_free(&self, id: ThreadId) -> bool {
        self.is_running(id)
            && self
                .runners
                .get(&id)
                .is_some_and(|r| r.scanner.position() == Position::Free && r.pending.is_empty())
    }

    fn pursue(&mut self, intent: &Intent) -> Outcome {
        let of = intent.of;
        let from = self.runners.get(&of).map_or(0, |r| r.text_len);
        let origin = Origin::by(intent.by.clone(), intent.cause);
        let by = (intent.by.clone(), intent.cause);
        match &intent.what {
            Wish::Fork(query) => {
                let Some(index) = next_index(&self.emitter.org, of) else {
                    return refused("no index is left");
                };
                let (verdict, _) = judge_fork(
                    &self.emitter.org,
                    of,
                    index,
                    query,
                    strictness(&self.header),
                    overflow(&self.header),
                );
                if let ForkVerdict::Refuse(_, why) = &verdict {
                    return refused(why.clone());
                }
                // The index may be another than when it was asked.
                if let Err(refusal) = fits_in_fork(query, index) {
                    return refusal;
                }
                let text = format!("<FORK-{index}>{query}</FORK-{index}>");
                if let ForkVerdict::Start(child) | ForkVerdict::Block(child) = verdict {
                    self.address(child, intent.seat.as_ref());
                }
                if self.splice(of, SpliceKind::Fork, &text, origin) {
                    let span = (from, from + text.len() as u64);
                    self.fork(of, index, query.clone(), span, by);
                }
            }
            Wish::Join(id) => {
                let Some(index) = id.index() else {
                    return refused("the organizer cannot join itself");
                };
                if self.emitter.org.thread(*id).is_none_or(|t| t.joined) {
                    return refused(format!("worker {id} was joined before"));
                }
                let text = Tag::Join(index).to_string();
                if self.splice(of, SpliceKind::Join, &text, origin) {
                    self.join(of, index, (from, from + text.len() as u64), by);
                }
            }
            Wish::Answer => {
                if let Some(runner) = self.runners.get_mut(&of) {
                    runner.scanner.enter(Position::InAnswer, from);
                }
                let text = Tag::AnswerOpen.to_string();
                self.splice(of, SpliceKind::Answer, &text, origin);
            }
            Wish::WrapUp => {
                if let Some(runner) = self.runners.get_mut(&of) {
                    runner.scanner.enter(Position::InReturn, from);
                }
                let text = Tag::ReturnOpen.to_string();
                self.splice(of, SpliceKind::WrapUp, &text, origin);
            }
            Wish::Merge => {
                let text = format!("{}{}{}", Tag::AnswerOpen, self.merged(), Tag::AnswerClose);
                self.write(of, &text, Author::System);
            }
        }
        Outcome::Done
    }
}
