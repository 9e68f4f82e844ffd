//! Folding one step: first all tokens, then ends, then Forks and Joins in path order.

use super::config::{overflow, strictness};
use super::runner::{Blocked, Wrote};
use super::session::{Session, Stepping};
use crate::engine::{Decoded, StepOutput, StepStats, Stop};
use crate::org::rules::{ForkVerdict, JoinVerdict, Strictness, judge_fork, judge_join};
use crate::org::{
    ActionKind, Anchor, Author, Body, Command, ErrorKind, Role, RunEnd, Seq, Status, TextBytes,
    ThreadEnd, ThreadId, WaitOn,
};
use crate::protocol::{Found, Position};
use std::collections::BTreeMap;

/// Who made something happen, and by which command.
pub(super) type By = (Author, Option<Seq>);

/// An action that takes effect.
pub(super) struct Deed {
    pub action: ActionKind,
    pub span: (u64, u64),
    pub child: Option<ThreadId>,
    pub text: String,
    pub anchor: Option<Anchor>,
    pub by: By,
}

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

    /// The organizer's answer ends the run.
    pub(super) fn answer(&mut self, id: ThreadId, text: String, span: (u64, u64), by: By) {
        let cause = by.1;
        self.action(
            id,
            Deed {
                action: ActionKind::Answer,
                span,
                child: None,
                text: text.clone(),
                anchor: None,
                by,
            },
        );
        self.end_run(RunEnd::Answered, Some(text), cause);
    }

    /// Judges a Fork and does what the verdict says.
    pub(super) fn fork(
        &mut self,
        parent: ThreadId,
        index: u16,
        query: String,
        span: (u64, u64),
        by: By,
    ) {
        let (verdict, note) = judge_fork(
            &self.emitter.org,
            parent,
            index,
            &query,
            strictness(&self.header),
            overflow(&self.header),
        );
        if let Some((kind, message)) = note {
            self.error(parent, kind, None, message);
        }
        let (child, starts) = match verdict {
            ForkVerdict::Start(child) => (child, true),
            ForkVerdict::Block(child) => (child, false),
            ForkVerdict::Refuse(kind, message) => {
                self.format_error(parent, kind, span, message);
                return;
            }
        };
        self.action(
            parent,
            Deed {
                action: ActionKind::Fork,
                span,
                child: Some(child),
                text: query.clone(),
                anchor: None,
                by: by.clone(),
            },
        );
        if starts {
            self.start_worker(child, &query, by);
            return;
        }
        let on = WaitOn::Slot(child);
        self.emitter
            .emit(Author::System, Some(parent), None, Body::Wait { on });
        self.blocked.push(Blocked {
            since: self.emitter.step,
            parent,
            child,
            query,
        });
    }

    /// Judges a Join and does what the verdict says.
    pub(super) fn join(&mut self, parent: ThreadId, index: u16, span: (u64, u64), by: By) {
        let (child, ready) = match judge_join(&self.emitter.org, parent, index) {
            JoinVerdict::Ready(child) => (child, true),
            JoinVerdict::Wait(child) => (child, false),
            JoinVerdict::Refuse(kind, message) => {
                self.format_error(parent, kind, span, message);
                if !self.over() {
                    self.splice_empty_result(parent, index);
                }
                return;
            }
        };
        self.action(
            parent,
            Deed {
                action: ActionKind::Join,
                span,
                child: Some(child),
                text: String::new(),
                anchor: None,
                by,
            },
        );
        if ready {
            self.splice_result(parent, child);
        } else {
            let on = WaitOn::Join(child);
            self.emitter
                .emit(Author::System, Some(parent), None, Body::Wait { on });
        }
    }

    /// Records an action that takes effect.
    pub(super) fn action(&mut self, thread: ThreadId, deed: Deed) {
        let body = Body::Action {
            action: deed.action,
            span: deed.span,
            at: self.emitter.org.thread(thread).map_or(0, |t| t.tokens),
            child: deed.child,
            text: deed.text,
            anchor: deed.anchor,
        };
        self.emitter.emit(deed.by.0, Some(thread), deed.by.1, body);
    }

    /// An error with a place in the text; ends a strict run.
    pub(super) fn format_error(
        &mut self,
        id: ThreadId,
        kind: ErrorKind,
        span: (u64, u64),
        message: String,
    ) {
        self.error(id, kind, Some(span), message);
        if strictness(&self.header) == Strictness::Strict {
            self.end_run(RunEnd::Failed, None, None);
        }
    }

    pub(super) fn error(
        &mut self,
        id: ThreadId,
        error: ErrorKind,
        span: Option<(u64, u64)>,
        message: String,
    ) {
        let body = Body::Error {
            error,
            span,
            message,
        };
        self.emitter.emit(Author::System, Some(id), None, body);
    }

    fn end_organizer(&mut self, stop: Option<&Stop>) {
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
