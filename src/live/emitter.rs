//! Where events come from: stamps them, folds them, and hands them to the screen and the recorder.
//!
//! The screen gets every step as it happens; the recorder gets token events coalesced. Two folds are
//! kept: `org`, up to the present step, by which the session decides; and `log`, of exactly what was
//! recorded, from which keyframes and final metrics are taken so that a reader computes the same.

use super::breakpoint::Watch;
use super::happened::Happened;
use super::mailbox::Mailbox;
use crate::org::{
    Author, Body, BranchId, Event, Organization, Place, RunEnd, Seq, Step, ThreadId, Turn,
};
use crate::record::{Coalescer, History, Recorder, RestoredThread, stands};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Emits the events of one session.
pub struct Emitter {
    /// The fold up to the present.
    pub org: Organization,
    /// The present step.
    pub step: Step,
    /// Looks out for breakpoints.
    pub watch: Watch,
    log: Organization,
    history: History,
    branch: BranchId,
    coalescer: Coalescer,
    recorder: Option<Recorder>,
    mailbox: Option<Arc<Mailbox>>,
    started: Instant,
    /// Microseconds lived before this process (a resumed session).
    lived_us: u64,
    /// `fork:2`, `answer`, …: what has happened, for scripted commands.
    happened: Happened,
    out: Vec<Event>,
    /// Numbers of adopted events: what they were, and what they are.
    adopted: BTreeMap<Seq, Seq>,
}

impl Emitter {
    /// An emitter that goes on after `org` (a fresh one, or restored from a file) and what led there.
    #[must_use]
    pub fn new(
        org: Organization,
        history: History,
        recorder: Option<Recorder>,
        mailbox: Option<Arc<Mailbox>>,
    ) -> Self {
        let mut watch = Watch::default();
        watch.set(&org.breakpoints, org.now.step);
        Self {
            step: org.now.step,
            watch,
            lived_us: org.now.us,
            coalescer: Coalescer::starting_at(org.next_seq),
            log: org.clone(),
            branch: org.branch(),
            history,
            org,
            recorder,
            mailbox,
            started: Instant::now(),
            happened: Happened::default(),
            out: Vec::new(),
            adopted: BTreeMap::new(),
        }
    }

    fn now_us(&self) -> u64 {
        self.lived_us + u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX / 2)
    }

    /// Emits one event and returns its position.
    pub fn emit(
        &mut self,
        by: Author,
        thread: Option<ThreadId>,
        cause: Option<Seq>,
        body: Body,
    ) -> Seq {
        let us = self.now_us();
        self.emit_at(us, by, thread, cause, body)
    }

    fn emit_at(
        &mut self,
        us: u64,
        by: Author,
        thread: Option<ThreadId>,
        cause: Option<Seq>,
        body: Body,
    ) -> Seq {
        let mut event = Event {
            seq: Seq(0),
            us,
            step: self.step,
            branch: self.branch,
            body,
            thread,
            by,
            cause,
        };
        self.happened.note(&event, &self.org);
        self.watch.note(&event, &self.org);
        let seq = self.coalescer.push(event.clone(), &mut self.out);
        event.seq = seq.unwrap_or_else(|| self.coalescer.next_seq());
        self.org.apply(&event);
        if matches!(event.body, Body::Effect { .. }) {
            self.watch.set(&self.org.breakpoints, self.step);
        }
        if let Some(mailbox) = &self.mailbox
            && !matches!(event.body, Body::Keyframe { .. })
        {
            let seq = event.seq;
            mailbox.post(event);
            self.pass_on();
            return seq;
        }
        self.pass_on();
        event.seq
    }

    /// What the coalescer let go, to the log's fold and the recorder.
    fn pass_on(&mut self) {
        for event in self.out.drain(..) {
            self.log.apply(&event);
            self.history.push(event.clone());
            if let Some(recorder) = &self.recorder {
                recorder.record(event);
            }
        }
    }

    /// Lets go of tokens that were held back long enough.
    pub fn flush_due(&mut self) {
        let us = self.now_us();
        self.coalescer.flush_due(us, &mut self.out);
        self.pass_on();
    }

    /// Lets go of everything held back for coalescing.
    pub fn flush(&mut self) {
        self.coalescer.flush(&mut self.out);
        self.pass_on();
    }

    /// Ends the run, with the metrics that a reader of the file will compute.
    pub fn end_run(&mut self, end: RunEnd, answer: Option<String>, cause: Option<Seq>) {
        self.flush();
        let us = self.now_us();
        self.log.now.us = self.log.now.us.max(us);
        let metrics = self.log.metrics();
        let body = Body::RunEnd {
            end,
            answer,
            metrics,
        };
        self.emit_at(us, Author::System, None, cause, body);
    }

    /// Writes a keyframe if one is due.
    pub fn keyframe(&mut self) {
        if !self.recorder.as_ref().is_some_and(Recorder::keyframe_due) {
            return;
        }
        self.flush();
        let body = Body::Keyframe {
            state: Box::new(self.log.clone()),
            texts: BTreeMap::new(),
            prev_keyframe: None,
        };
        self.emit(Author::System, None, None, body);
    }

    /// Everything that was recorded so far, once [`Self::flush`] let go of the rest.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Begins a branch at `from`, where the threads have these contexts and the organization this state.
    pub fn turn(
        &mut self,
        from: Place,
        turn: Turn,
        at: Option<(ThreadId, u64)>,
        cause: Seq,
        state: Organization,
        contexts: &BTreeMap<ThreadId, RestoredThread>,
    ) {
        self.flush();
        self.branch = self.history.next_branch();
        self.step = from.step;
        self.watch.move_to(from.step);
        if let Some(mailbox) = &self.mailbox {
            mailbox.expect_line(contexts.clone());
        }
        let body = Body::Branch {
            from,
            turn,
            token: at.map(|(_, token)| token),
            state: Box::new(state.as_branch_state()),
            texts: stands(contexts),
        };
        let thread = at.map(|(thread, _)| thread);
        self.emit(Author::Human, thread, Some(cause), body);
    }

    /// The recorder, where there is one.
    #[must_use]
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Takes the recorder out, to finish it.
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        self.flush();
        self.recorder.take()
    }

    /// The screen's mailbox, where there is one.
    #[must_use]
    pub fn mailbox(&self) -> Option<&Mailbox> {
        self.mailbox.as_deref()
    }

    /// Takes in what was recorded before this process: for the screen, and for commands that wait for it.
    pub fn recall_all(&mut self) {
        let history = std::mem::take(&mut self.history);
        for event in history.events() {
            self.happened.note(event, &self.org);
            if let Some(mailbox) = &self.mailbox {
                if let Body::Branch { from, .. } = &event.body {
                    mailbox.expect_line(history.contexts(*from));
                }
                mailbox.post(event.clone());
            }
        }
        self.history = history;
    }

    /// Takes in an event of another session, as the next of this one. All of them must come before the
    /// first of its own.
    pub fn adopt(&mut self, mut event: Event) {
        let seq = self.coalescer.next_seq();
        self.adopted.insert(event.seq, seq);
        let cause = event.cause.take();
        event.cause = cause.and_then(|old| self.adopted.get(&old).copied());
        if matches!(event.body, Body::Effect { .. }) && event.cause.is_none() {
            return;
        }
        event.seq = seq;
        event.branch = self.branch;
        self.coalescer = Coalescer::starting_at(seq.next());
        self.happened.note(&event, &self.org);
        if let Some(mailbox) = &self.mailbox {
            mailbox.post(event.clone());
        }
        self.out.push(event);
        self.pass_on();
    }

    /// Goes on from what was adopted.
    pub fn settle_down(&mut self) {
        self.adopted.clear();
        self.org = self.log.clone();
        self.step = self.org.now.step;
        self.watch = Watch::default();
        self.watch.set(&self.org.breakpoints, self.step);
        self.lived_us = self.org.now.us;
        self.started = Instant::now();
    }

    /// Takes out everything that was recorded.
    pub fn take_history(&mut self) -> History {
        self.flush();
        std::mem::take(&mut self.history)
    }

    /// What has happened, for places in files.
    #[must_use]
    pub fn happened(&self) -> &Happened {
        &self.happened
    }
}
