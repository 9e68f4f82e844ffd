//! Folding one step: first all tokens, then ends, then Forks and Joins in path order.

use super::deed::Deed;
use super::runner::{Blocked, Wrote};
use super::session::{Session, Stepping};
use crate::engine::{Decoded, StepOutput, StepStats, Stop};
use crate::org::{
    ActionKind, Author, Body, Command, ErrorKind, Role, Status, TextBytes, ThreadEnd, ThreadId,
};
use crate::protocol::Found;
use std::collections::BTreeMap;

impl Session {
    /// Turns what one step produced into events.
    pub(super) fn absorb(&mut self, output: StepOutput) {
        let mut fresh: Vec<(ThreadId, Decoded)> = output
            .decoded
            .into_iter()
            .filter_map(|token| {
                let id = *self.by_seq.get(&token.seq)?;
                let runner = self.runners.get(&id)?;
                (runner.epoch == token.epoch).then_some((id, token))
            })
            .collect();
        fresh.sort_by_key(|(id, _)| *id);
        if !fresh.is_empty() {
            self.emitter.step = self.emitter.step.next();
            self.trouble = None;
        }
        let mut stops: BTreeMap<ThreadId, Stop> = output
            .stopped
            .into_iter()
            .filter_map(|(seq, stop)| self.by_seq.get(&seq).map(|id| (*id, stop)))
            .collect();
        for (id, token) in fresh {
            if token.eos {
                stops.insert(id, Stop::Exhausted);
            }
            self.take_token(id, token);
        }
        let lost = self.note_lost(&mut stops);
        self.report_pages(&output.stats);
        let revision = self.emitter.org.revision();
        self.end_workers(&stops);
        self.serve_blocked();
        self.act();
        let asked = self.emitter.org.asked_of(ThreadId::ORGANIZER).is_some();
        if !self.over() && !asked {
            self.end_organizer(stops.get(&ThreadId::ORGANIZER));
        }
        self.finish_stepping(revision);
        if lost {
            self.pause_for_lost();
        }
    }

    pub(super) fn report_pages(&self, stats: &StepStats) {
        if let Some(mailbox) = self.emitter.mailbox()
            && stats.pages_total > 0
        {
            mailbox.report(|report| {
                report.pages = (stats.pages_used, stats.pages_total);
                report.queued = stats.queued;
            });
        }
    }

    fn take_token(&mut self, id: ThreadId, token: Decoded) {
        let Some(runner) = self.runners.get_mut(&id) else {
            return;
        };
        runner.decoded(&token.bytes);
        let lens = vec![u32::try_from(token.bytes.len()).unwrap_or(u32::MAX)];
        let body = Body::Tokens {
            ids: vec![token.token],
            bytes: TextBytes(token.bytes),
            lens,
            logprobs: token.logprob.into_iter().collect(),
            top: if token.alternatives.is_empty() {
                Vec::new()
            } else {
                vec![token.alternatives]
            },
        };
        self.note_vetoes(id, token.vetoed);
        self.emitter.emit(Author::Model, Some(id), None, body);
    }

    pub(super) fn end_workers(&mut self, stops: &BTreeMap<ThreadId, Stop>) {
        let workers: Vec<ThreadId> = self
            .emitter
            .org
            .threads()
            .filter(|t| t.role == Role::Worker && !t.ended())
            .map(|t| t.id)
            .collect();
        for id in workers {
            // It may have gone with whoever it worked for.
            if self.emitter.org.thread(id).is_none_or(|t| t.ended()) || self.take_return(id) {
                continue;
            }
            let free = self.is_running(id);
            let asked = self.emitter.org.asked_of(id).is_some();
            let tokens = self.emitter.org.thread(id).map_or(0, |t| t.tokens);
            match stops.get(&id) {
                Some(Stop::Absent | Stop::Exhausted) if !free => {}
                Some(Stop::Absent) => {
                    let at = self.runners.get(&id).map_or(0, |r| r.text_len);
                    self.action(
                        id,
                        Deed {
                            action: ActionKind::Return,
                            span: (at, at),
                            child: None,
                            text: String::new(),
                            anchor: None,
                            by: (Author::System, None),
                        },
                    );
                    self.end_worker(id, ThreadEnd::Returned, None);
                }
                Some(Stop::Exhausted) => self.end_worker(id, ThreadEnd::Eos, None),
                Some(Stop::ContextFull) => self.end_worker(id, ThreadEnd::Limit, None),
                Some(Stop::Failed(message)) => {
                    self.error(id, ErrorKind::Engine, None, message.clone());
                    self.end_worker(id, ThreadEnd::Failed, None);
                }
                None | Some(Stop::Lost(_)) if tokens >= self.header.limits.worker && !asked => {
                    self.end_worker(id, ThreadEnd::Limit, None);
                }
                None | Some(Stop::Lost(_)) => {}
            }
        }
    }

    /// Blocked Forks take free slots, longest wait first.
    pub(super) fn serve_blocked(&mut self) {
        self.blocked.sort();
        while self.emitter.org.free_slots() > 0 && !self.blocked.is_empty() && !self.over() {
            let Blocked {
                parent,
                child,
                query,
                ..
            } = self.blocked.remove(0);
            self.emitter
                .emit(Author::System, Some(parent), None, Body::Resume);
            self.start_worker(child, &query, (Author::System, None));
        }
    }

    /// Forks, Joins and the answer, in path order; what ends because of one ends before the next.
    pub(super) fn act(&mut self) {
        loop {
            let ids: Vec<ThreadId> = self
                .runners
                .iter()
                .filter(|(id, runner)| id.is_organizer() || !runner.pending.is_empty())
                .map(|(id, _)| *id)
                .collect();
            while !self.over() && self.act_next(&ids) {}
            if self.over() || !self.give_up_what_is_in_vain() {
                return;
            }
        }
    }

    /// Does the next thing that one of these threads has to do; false if there is none.
    fn act_next(&mut self, ids: &[ThreadId]) -> bool {
        if ids.iter().any(|id| self.take_return(*id)) {
            self.serve_blocked();
            return true;
        }
        for &id in ids {
            if !self.is_running(id) {
                continue;
            }
            if id.is_organizer() && self.fork_next_draft() {
                return true;
            }
            let next = self
                .runners
                .get_mut(&id)
                .and_then(|r| r.pending.pop_front());
            let Some(wrote) = next else { continue };
            if let Some(wrote) = self.unless_planned(id, wrote)
                && let Some(wrote) = self.unless_asked(id, wrote)
            {
                self.act_on(id, wrote);
            }
            return true;
        }
        false
    }

    /// Whether the thread can go on: it neither waits nor stands for a person's word.
    pub(super) fn is_running(&self, id: ThreadId) -> bool {
        let org = &self.emitter.org;
        org.thread(id).is_some_and(|t| t.status == Status::Running) && org.asked_of(id).is_none()
    }

    fn act_on(&mut self, id: ThreadId, Wrote { finding, by }: Wrote) {
        let span = (finding.from, finding.to);
        let by = (by, None);
        match finding.found {
            Found::Fork { index, query } => self.fork(id, index, query, span, by),
            Found::Join { index } => self.join(id, index, span, by),
            Found::Answer { text } => self.answer(id, text, span, by),
            // A worker's RETURN is taken among the ends.
            Found::Return { .. } => {}
        }
    }

    /// A running start ends after its step, or at the action it ran to.
    fn finish_stepping(&mut self, revision: u64) {
        let done = match self.stepping {
            Some(Stepping::One(from)) => self.emitter.step > from,
            Some(Stepping::UntilAction) => self.emitter.org.revision() != revision,
            None => false,
        };
        if done {
            self.stepping = None;
            if !self.over() && !self.emitter.org.paused {
                self.command(Command::Pause { thread: None }, Author::System);
            }
        }
    }
}
