//! Going elsewhere: edit, branch, undo and redo take the whole organization to an earlier place.
//!
//! The place is folded again from what was recorded, its contexts are the recorded ids, and sequences that
//! the engine still holds are cut back to what they have in common with them. So nothing that was decoded
//! on the line that is left can appear on the new one, and draws go on as if it had never been.

use super::mailbox::Phase;
use super::runner::Runner;
use super::session::Session;
use super::splice::Origin;
use super::steer::refused;
use crate::engine::{Epoch, SeqId, SeqOp, StepOutput};
use crate::org::{
    Author, Body, BranchId, Command, ErrorKind, Event, Organization, Outcome, Place, RunEnd, Seq,
    SpliceKind, Step, ThreadId, Turn,
};
use crate::protocol::Grammar;
use crate::record::{Origin as From, RestoredThread};
use std::collections::BTreeMap;

/// A sequence that the engine holds, and how much of it stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    seq: SeqId,
    epoch: Epoch,
    pub len: usize,
}

/// Where a command leads.
struct Journey {
    to: Place,
    turn: Turn,
    /// The thread that was pointed at, and how many tokens it keeps.
    at: Option<(ThreadId, u64)>,
}

impl Session {
    /// Serves a command that leads elsewhere.
    pub(super) fn travel(&mut self, command: &Command, cause: Seq) -> Outcome {
        self.emitter.flush();
        let journey = match command {
            Command::Edit {
                thread,
                token,
                text,
            } => self.before_token(*thread, *token, text),
            Command::Branch {
                thread,
                token,
                step,
                of,
            } => self.moment(*thread, *token, *step, *of, cause),
            Command::Undo => self.trail_end(Turn::Undo),
            _ => self.trail_end(Turn::Redo),
        };
        match journey {
            Ok(journey) => self.go(&journey, cause),
            Err(why) => return refused(why),
        }
        if let Command::Edit { thread, text, .. } = command {
            self.write_instead(*thread, text, cause);
        }
        Outcome::Done
    }

    /// The moment before `thread` decoded the token after its first `keep`.
    fn before_token(&self, thread: ThreadId, keep: u64, text: &str) -> Result<Journey, String> {
        let here = self.emitter.org.here();
        let has = self.tokens_of(thread)?;
        if keep > has {
            return Err(format!("{thread} has {has} tokens only"));
        }
        if keep == has && text.is_empty() {
            return Err("that changes nothing".into());
        }
        let ended = self.emitter.org.thread(thread).is_some_and(|t| t.ended());
        let history = self.emitter.history();
        let step = history.step_of(here, thread, keep);
        let to = match step {
            Some(step) => history.at_step(here.branch, Step(step.0.saturating_sub(1))),
            None if ended => {
                return Err(format!("{thread} has ended; edit an earlier token of it"));
            }
            None if !self.is_running(thread) => {
                return Err(format!(
                    "{thread} waits: what it waits for comes before any text; edit an earlier token of it"
                ));
            }
            None => Some(here),
        };
        Ok(Journey {
            to: to.ok_or("that moment is not known")?,
            turn: Turn::Edit,
            at: Some((thread, keep)),
        })
    }

    fn moment(
        &self,
        thread: Option<ThreadId>,
        token: Option<u64>,
        step: Option<Step>,
        of: Option<BranchId>,
        cause: Seq,
    ) -> Result<Journey, String> {
        let history = self.emitter.history();
        let here = self.emitter.org.here();
        let branch = of.unwrap_or(here.branch);
        if !history.knows(branch) {
            return Err(format!("there is no branch {branch}"));
        }
        // The question itself is no part of what is gone back to.
        let tip = match history.tip(branch) {
            Some(tip) if branch == here.branch => Place { seq: cause, ..tip },
            tip => tip.ok_or("that moment is not known")?,
        };
        let to = match (thread, token, step) {
            (None, None, None) if branch == here.branch && self.over() => {
                return Err(
                    "nothing comes after the end of a run: give a step, or a thread and a token, to branch from".into(),
                );
            }
            (None, None, None) => Some(tip),
            (None, None, Some(step)) if step > tip.step => {
                return Err(format!("that line ends at step {}", tip.step));
            }
            (None, None, Some(step)) => history.at_step(branch, step),
            (Some(thread), Some(token), None) => {
                let step = match token.checked_sub(1) {
                    Some(last) => history.step_of(tip, thread, last),
                    None => history
                        .step_of(tip, thread, 0)
                        .map(|first| Step(first.0.saturating_sub(1))),
                };
                let Some(step) = step else {
                    return Err(format!("{thread} never had {token} tokens on that line"));
                };
                history.at_step(branch, step)
            }
            _ => return Err("give a step, or a thread with a token, or neither".into()),
        };
        Ok(Journey {
            to: to.ok_or("that moment is not known")?,
            turn: Turn::Branch,
            at: thread.zip(token),
        })
    }

    /// Goes back to the moment before the organizer stopped without an answer: somebody takes its seat.
    pub(super) fn before_the_end(&mut self, cause: Seq) -> Outcome {
        if !matches!(
            self.emitter.org.end,
            Some(RunEnd::NoAnswer | RunEnd::TokenLimit)
        ) {
            return refused("the run has ended");
        }
        self.emitter.flush();
        let here = self.emitter.org.here();
        let stopped = |event: &&Event| {
            event.branch == here.branch
                && event.thread == Some(ThreadId::ORGANIZER)
                && matches!(
                    event.body,
                    Body::Error {
                        error: ErrorKind::NoAnswer | ErrorKind::TokenLimit,
                        ..
                    }
                )
        };
        let events = self.emitter.history().events();
        let Some(seq) = events.iter().rev().find(stopped).map(|event| event.seq) else {
            return refused("that moment is not known");
        };
        let tokens = self.tokens_of(ThreadId::ORGANIZER).unwrap_or_default();
        let journey = Journey {
            to: Place { seq, ..here },
            turn: Turn::Branch,
            at: Some((ThreadId::ORGANIZER, tokens)),
        };
        self.go(&journey, cause);
        Outcome::Done
    }

    fn trail_end(&self, turn: Turn) -> Result<Journey, String> {
        let trail = self.emitter.org.trail();
        let to = match turn {
            Turn::Redo => trail.on.last().ok_or("nothing was undone"),
            _ => trail.back.last().ok_or("there is nothing to undo"),
        };
        Ok(Journey {
            to: *to?,
            turn,
            at: None,
        })
    }

    fn tokens_of(&self, id: ThreadId) -> Result<u64, String> {
        match self.emitter.org.thread(id) {
            None => Err(format!("there is no thread {id}")),
            Some(thread) => Ok(thread.tokens),
        }
    }

    /// Takes everything to another place.
    fn go(&mut self, journey: &Journey, cause: Seq) {
        let history = self.emitter.history();
        let state = history.state(journey.to, &self.header);
        let contexts = history.contexts(journey.to);
        let before = history.contexts(self.emitter.org.here());
        self.leave_wishes_behind(&state);
        self.emitter.turn(
            journey.to,
            journey.turn,
            journey.at,
            cause,
            state,
            &contexts,
        );
        self.stepping = None;
        self.blocked.clear();
        self.intents.clear();
        let kept = self.cut_back(&before, &contexts);
        self.runners.clear();
        self.tools.stop_all();
        self.readdress();
        let reread = self.reopen_all(&contexts, &kept);
        let phase = if self.over() {
            Phase::Over
        } else {
            Phase::Running
        };
        if let Some(mailbox) = self.emitter.mailbox() {
            mailbox.report(|report| report.phase = phase);
        }
        if !self.over() {
            self.catch_up(&reread);
            self.queue_again();
        }
    }

    /// Commands that wait for their moment, and were asked after the place that is gone to, never get it.
    fn leave_wishes_behind(&mut self, state: &Organization) {
        let waiting: Vec<Seq> = self
            .emitter
            .org
            .commands
            .iter()
            .filter(|c| matches!(c.outcome, Some(Outcome::Queued { .. })))
            .map(|c| c.seq)
            .filter(|seq| state.commands.iter().all(|c| c.seq != *seq))
            .collect();
        for seq in waiting {
            self.effect(
                seq,
                refused("its line was left before it could take effect"),
            );
        }
    }

    /// Cuts the sequences of threads that go on to what both contexts begin with; closes the others.
    fn cut_back(
        &mut self,
        before: &BTreeMap<ThreadId, RestoredThread>,
        after: &BTreeMap<ThreadId, RestoredThread>,
    ) -> BTreeMap<ThreadId, Kept> {
        let mut kept = BTreeMap::new();
        for (seq, id) in std::mem::take(&mut self.by_seq) {
            let goes_on = self.emitter.org.thread(id).is_some_and(|t| !t.ended()) && !self.over();
            let len = match (before.get(&id), after.get(&id)) {
                (Some(before), Some(after)) if goes_on => {
                    // Another thread may have had this name.
                    Some(common(before, after))
                        .filter(|len| *len >= after.prompt.len())
                        .filter(|_| self.holds_the_record(id, seq, [before, after]))
                }
                _ => None,
            };
            let runner = self.runners.get(&id).filter(|runner| runner.seq == seq);
            let (Some(runner), Some(len)) = (runner, len) else {
                self.ops.push(SeqOp::Close(seq));
                continue;
            };
            let epoch = Epoch(runner.epoch.0 + 1);
            self.ops.push(SeqOp::Hold(seq));
            self.ops.push(SeqOp::Cut { seq, len, epoch });
            self.by_seq.insert(seq, id);
            kept.insert(id, Kept { seq, epoch, len });
        }
        kept
    }

    /// Goes on with a sequence that was cut back.
    pub(super) fn take_up(&mut self, id: ThreadId, grammar: Grammar, prompt: usize, kept: Kept) {
        let mut runner = Runner::new(kept.seq, grammar, prompt);
        runner.take_up(kept.seq, kept.epoch);
        self.runners.insert(id, runner);
    }

    /// Puts what a person wrote after what is left of a thread, and does what it says.
    fn write_instead(&mut self, id: ThreadId, text: &str, cause: Seq) {
        if text.is_empty() || self.over() {
            return;
        }
        let origin = Origin::by(Author::Human, Some(cause));
        if self.splice(id, SpliceKind::Edit, text, origin) {
            self.absorb(StepOutput::default());
        }
    }
}

/// How many tokens both contexts begin with, come by in the same way.
fn common(a: &RestoredThread, b: &RestoredThread) -> usize {
    let tokens = |thread: &RestoredThread| -> Vec<(u32, bool)> {
        let prompt = thread.prompt.iter().map(|id| (*id, false));
        let texts = thread.pieces.iter().flat_map(|piece| {
            let decoded = piece.origin == From::Decoded;
            piece.ids.iter().map(move |id| (*id, decoded))
        });
        prompt.chain(texts).collect()
    };
    tokens(a)
        .iter()
        .zip(&tokens(b))
        .take_while(|(x, y)| x == y)
        .count()
}
