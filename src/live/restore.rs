//! How an interrupted session goes on: from its recorded token ids, not from its text.
//!
//! A file may end anywhere, also between an action and what follows from it. So after the threads are
//! rebuilt, whatever a recorded action still calls for is done: results spliced, workers started, queued
//! commands queued again.

use super::emitter::Emitter;
use super::engines::Engines;
use super::mailbox::Mailbox;
use super::rescan::{feed, grammar};
use super::runner::{Blocked, Deferred, Runner, Wrote};
use super::session::{Audience, Session};
use super::travel::Kept;
use super::wish::{Intent, Wish};
use crate::engine::SeqOp;
use crate::org::{
    Author, Body, Command, OpKind, Outcome, RunEnd, SpliceKind, Status, ThreadEnd, ThreadId, WaitOn,
};
use crate::protocol::Found;
use crate::record::{Origin, Policy, Recorder, Restored, RestoredThread};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a thread's recorded text says, beyond what the fold knows.
#[derive(Default)]
pub(super) struct Reread {
    findings: Vec<Wrote>,
    /// Workers whose results were spliced.
    joined: Vec<ThreadId>,
    /// Indices whose hand-made Fork text was spliced.
    forked: Vec<u16>,
}

impl Reread {
    /// Whether the text holds a Fork of `index`, written or put in.
    fn forks(&self, index: u16) -> bool {
        let written = |wrote: &Wrote| match &wrote.finding.found {
            Found::Fork { index: own, .. } => *own == index,
            _ => false,
        };
        self.forked.contains(&index) || self.findings.iter().any(written)
    }
}

impl Session {
    /// A session that goes on where `restored` ends. The recorder must append to the same file.
    pub fn restore(
        engines: impl Into<Engines>,
        restored: Restored,
        recorder: Option<Recorder>,
        mailbox: Option<Arc<Mailbox>>,
        audience: Audience,
    ) -> Self {
        let emitter = Emitter::new(restored.organization, restored.history, recorder, mailbox);
        let mut session = Self::new(engines.into(), emitter, restored.header, audience);
        session.announce();
        // For the screen, and for commands that wait for something.
        session.emitter.recall_all();
        session.readdress();
        let reread = session.reopen_all(&restored.threads, &BTreeMap::new());
        session.announce_continuation();
        session.catch_up(&reread);
        session.queue_again();
        session
    }

    /// Rebuilds all threads; `kept` are sequences that the engine still holds, by thread.
    pub(super) fn reopen_all(
        &mut self,
        threads: &BTreeMap<ThreadId, RestoredThread>,
        kept: &BTreeMap<ThreadId, Kept>,
    ) -> BTreeMap<ThreadId, Reread> {
        threads
            .iter()
            .map(|(id, thread)| (*id, self.reopen(*id, thread, kept.get(id))))
            .collect()
    }

    /// Rebuilds one thread's sequence and runner.
    fn reopen(&mut self, id: ThreadId, recorded: &RestoredThread, kept: Option<&Kept>) -> Reread {
        let mut reread = Reread::default();
        let Some(thread) = self.emitter.org.thread(id) else {
            return reread;
        };
        let (ended, acted) = (thread.ended(), thread.acted);
        let grammar = grammar(&self.header, id, thread.role);
        self.engines.recall(&recorded.tokens());
        let mut held = 0;
        // What another engine decoded is text to this one: then nothing is taken from the record as it is.
        let translated = (!ended && kept.is_none())
            .then(|| self.translated(id, recorded))
            .flatten();
        if ended {
            let seq = self.new_seq();
            self.runners
                .insert(id, Runner::new(seq, grammar, recorded.prompt.len()));
        } else if let Some(kept) = kept {
            held = kept.len;
            self.take_up(id, grammar, recorded.prompt.len(), *kept);
        } else if let Some(context) = &translated {
            held = usize::MAX;
            self.open_with(id, grammar, context);
        } else {
            self.open(id, grammar, &recorded.prompt);
            held = recorded.prompt.len();
        }
        let mut place = recorded.prompt.len();
        let Some(runner) = self.runners.get_mut(&id) else {
            return reread;
        };
        for piece in &recorded.pieces {
            let mut findings = Vec::new();
            feed(&mut runner.scanner, piece, &mut findings);
            reread
                .findings
                .extend(findings.into_iter().map(|finding| Wrote {
                    finding,
                    by: piece.by.clone(),
                }));
            if let Origin::Spliced {
                kind: SpliceKind::Text | SpliceKind::Edit,
                ..
            } = piece.origin
            {
                runner.remember_words(&piece.bytes);
            }
            runner.restored(&piece.bytes, &piece.lens, piece.ids.len());
            let known = held.saturating_sub(place).min(piece.ids.len());
            place += piece.ids.len();
            if !ended && known < piece.ids.len() {
                self.ops.push(SeqOp::Append {
                    seq: runner.seq,
                    tokens: piece.ids[known..].to_vec(),
                    decoded: piece.origin == Origin::Decoded,
                });
            }
            match &piece.origin {
                Origin::Spliced {
                    of: Some(child), ..
                } => reread.joined.push(*child),
                Origin::Spliced {
                    kind: SpliceKind::Fork,
                    ..
                } => reread.forked.extend(fork_index(&piece.bytes)),
                _ => {}
            }
        }
        if let Some(context) = translated {
            runner.context = context.iter().map(|(ids, _)| ids.len()).sum();
        }
        let acted = usize::try_from(acted).unwrap_or(usize::MAX);
        runner
            .pending
            .extend(reread.findings.iter().skip(acted).cloned());
        reread
    }

    pub(super) fn announce_continuation(&mut self) {
        let cause = self.emitter.emit(
            Author::Human,
            None,
            None,
            Body::Command {
                command: Command::Continue,
            },
        );
        self.effect(cause, Outcome::Done);
    }

    /// Does what recorded actions still call for.
    pub(super) fn catch_up(&mut self, reread: &BTreeMap<ThreadId, Reread>) {
        self.end_who_gave_results();
        if self.over() {
            return;
        }
        let parents: Vec<ThreadId> = self
            .emitter
            .org
            .threads()
            .filter(|t| !t.ended())
            .map(|t| t.id)
            .collect();
        for parent in parents {
            let Some(thread) = self.emitter.org.thread(parent) else {
                continue;
            };
            if thread.ended() {
                continue;
            }
            let (ops, status) = (thread.ops.clone(), thread.status);
            let since = thread
                .waits
                .last()
                .map_or(self.emitter.step, |w| w.from.step);
            let said = reread.get(&parent);
            for op in &ops {
                match op.kind {
                    OpKind::Fork { child, .. } => {
                        let query = self.query_of(child, said);
                        if let Some(index) = child.index()
                            && said.is_none_or(|s| !s.forks(index))
                            && let Some(runner) = self.runners.get_mut(&parent)
                        {
                            let late = Deferred::fork(index, &query, None);
                            runner.deferred.push(late);
                        }
                        if status == Status::Waiting(WaitOn::Slot(child)) {
                            self.blocked.push(Blocked {
                                since,
                                parent,
                                child,
                                query,
                            });
                        } else if self.emitter.org.thread(child).is_none() {
                            self.start_worker(child, &query, (Author::System, None));
                        }
                    }
                    OpKind::Overflow { .. } => {}
                    OpKind::Join { child } => {
                        let ended = self.emitter.org.thread(child).is_some_and(|t| t.ended());
                        let spliced = said.is_some_and(|s| s.joined.contains(&child));
                        if ended && !spliced {
                            if status == Status::Waiting(WaitOn::Join(child)) {
                                self.emitter
                                    .emit(Author::System, Some(parent), None, Body::Resume);
                            }
                            self.splice_result(parent, child);
                        } else if !ended && status == Status::Running {
                            let on = WaitOn::Join(child);
                            self.emitter.emit(
                                Author::System,
                                Some(parent),
                                None,
                                Body::Wait { on },
                            );
                        }
                    }
                }
            }
        }
        self.absorb(crate::engine::StepOutput::default());
    }

    /// A RETURN or ANSWER that was recorded ends its thread, and the organizer's end the run, even where
    /// the end itself was not recorded.
    fn end_who_gave_results(&mut self) {
        let done: Vec<ThreadId> = self
            .emitter
            .org
            .threads()
            .filter(|t| !t.id.is_organizer() && !t.ended() && t.result.is_some())
            .map(|t| t.id)
            .collect();
        for id in done {
            // Whoever waits for it is served with the other Joins.
            if self.emitter.org.thread(id).is_some_and(|t| !t.ended()) {
                self.end_without_result(id, ThreadEnd::Returned, None);
            }
        }
        let Some(organizer) = self.emitter.org.thread(ThreadId::ORGANIZER) else {
            return;
        };
        let answer = organizer.result.clone();
        let end = match organizer.end() {
            _ if answer.is_some() => RunEnd::Answered,
            None => return,
            Some(ThreadEnd::Eos) => RunEnd::NoAnswer,
            Some(ThreadEnd::Limit) => RunEnd::TokenLimit,
            Some(ThreadEnd::Failed) => RunEnd::Failed,
            Some(_) => RunEnd::Aborted,
        };
        self.end_run(end, answer, None);
    }

    fn query_of(&self, child: ThreadId, said: Option<&Reread>) -> String {
        if let Some(thread) = self.emitter.org.thread(child) {
            return thread.query.clone();
        }
        said.into_iter()
            .flat_map(|s| s.findings.iter().rev())
            .find_map(|wrote| match &wrote.finding.found {
                Found::Fork { index, query } if Some(*index) == child.index() => {
                    Some(query.clone())
                }
                _ => None,
            })
            .unwrap_or_else(|| self.header.query.clone())
    }

    /// Wishes that were still open: queued commands, and the rest of the policy's plan.
    pub(super) fn queue_again(&mut self) {
        if self.header.policy == Policy::Parallel {
            self.plan_copies();
        }
        let queued: Vec<Intent> = self
            .emitter
            .org
            .commands
            .iter()
            .filter(|c| matches!(c.outcome, Some(Outcome::Queued { .. })))
            .filter_map(|c| {
                let (mut seat, mut of) = (None, ThreadId::ORGANIZER);
                let what = match &c.command {
                    Command::Fork {
                        query,
                        seat: own,
                        thread,
                    } => {
                        seat.clone_from(own);
                        of = thread.unwrap_or_default();
                        Wish::Fork(query.trim().to_owned())
                    }
                    Command::Join { thread } => {
                        of = thread.parent().unwrap_or_default();
                        Wish::Join(*thread)
                    }
                    Command::WrapUp { thread } => {
                        of = *thread;
                        Wish::WrapUp
                    }
                    Command::Answer => Wish::Answer,
                    _ => return None,
                };
                Some(Intent {
                    of,
                    by: Author::Human,
                    cause: Some(c.seq),
                    what,
                    seat,
                })
            })
            .collect();
        self.intents.extend(queued);
    }
}

/// The index in `<FORK-i>…`.
fn fork_index(bytes: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (index, _) = text.strip_prefix("<FORK-")?.split_once('>')?;
    index.parse().ok()
}
