//! One running session: drives the engine step by step and turns what it decodes into events.
//!
//! The session owns the engine (by its thread's proxy), the emitter and one [`Runner`] a thread. It
//! decides by [`crate::org::rules`] alone. Commands are served between steps only.

mod boundary;

use super::emitter::Emitter;
use super::engines::Engines;
use super::guard::Told;
use super::mailbox::Phase;
use super::orders::Order;
use super::runner::{Blocked, Runner};
use super::splice::Template;
use super::tool::{ToolSet, Tools};
use super::wish::Intent;
use crate::engine::{EngineError, SeqId, SeqOp, StepOutput};
use crate::org::{Author, Body, Command, Outcome, Seat, Seq, Step, ThreadId};
use crate::record::{Header, Health};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// A person's running start while everything else is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepping {
    /// Until the step after this one is done.
    One(Step),
    /// Until something other than text happens.
    UntilAction,
}

/// Who can send commands while the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person at the screen: paused means waiting for them, and marks are taken after the end.
    Person,
    /// Nobody but the orders and signals: paused with nothing due is the end.
    Nobody,
}

/// An order that was given: its line in the file, if it has one, and its `command` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordered {
    /// Its line, from 1.
    pub line: Option<usize>,
    /// Its event.
    pub seq: Seq,
}

/// How a session left off.
#[derive(Debug)]
pub struct Finished {
    /// Orders that never came due, in file order.
    pub unfired: Vec<Command>,
    /// What became of the orders of the file, in the order in which they came due.
    pub ordered: Vec<Ordered>,
    /// The run stopped because it was paused and nothing was due.
    pub stuck: bool,
    /// The final state.
    pub organization: crate::org::Organization,
    /// Everything that led there, on all branches.
    pub history: crate::record::History,
    /// The header.
    pub header: Header,
    /// What the recorder could not do.
    pub record_error: Option<String>,
}

/// A running session.
pub struct Session {
    pub(super) engines: Engines,
    pub(super) emitter: Emitter,
    pub(super) header: Header,
    pub(super) runners: BTreeMap<ThreadId, Runner>,
    pub(super) by_seq: BTreeMap<SeqId, ThreadId>,
    pub(super) ops: Vec<SeqOp>,
    pub(super) blocked: Vec<Blocked>,
    pub(super) intents: VecDeque<Intent>,
    pub(super) orders: VecDeque<Order>,
    pub(super) ordered: Vec<Ordered>,
    pub(super) stepping: Option<Stepping>,
    /// Sequences holding the instructions that workers share.
    pub(super) templates: Vec<Template>,
    pub(super) next_seq: u32,
    pub(super) tokens_per_s: u32,
    /// Seats of workers that were addressed by hand.
    pub(super) seats: BTreeMap<ThreadId, Seat>,
    pub(super) tools: Tools,
    next_step_at: Instant,
    audience: Audience,
    stuck: bool,
    /// What the guard told the engine.
    pub(super) told: Told,
    held_by_recorder: bool,
    /// Why an engine is out of reach, until something is decoded again.
    pub(super) trouble: Option<String>,
}

impl Session {
    /// A session that has not begun: see [`Session::begin`] and [`Session::restore`].
    pub(super) fn new(
        engines: Engines,
        emitter: Emitter,
        header: Header,
        audience: Audience,
    ) -> Self {
        Self {
            engines,
            emitter,
            header,
            runners: BTreeMap::new(),
            by_seq: BTreeMap::new(),
            ops: Vec::new(),
            blocked: Vec::new(),
            intents: VecDeque::new(),
            orders: VecDeque::new(),
            ordered: Vec::new(),
            stepping: None,
            templates: Vec::new(),
            next_seq: 0,
            tokens_per_s: 0,
            seats: BTreeMap::new(),
            tools: Tools::default(),
            next_step_at: Instant::now(),
            audience,
            stuck: false,
            told: Told::new(),
            held_by_recorder: false,
            trouble: None,
        }
    }

    /// Gives it commands that come due by themselves.
    pub fn set_orders(&mut self, orders: VecDeque<Order>) {
        self.orders = orders;
    }

    /// Gives it the tools that can take a seat.
    pub fn set_tools(&mut self, tools: ToolSet) {
        if let Some(mailbox) = self.emitter.mailbox() {
            let programs = tools.keys().cloned().map(Seat::Tool);
            let servers = self.engines.names().cloned().map(Seat::Server);
            let seats: Vec<Seat> = programs.chain(servers).collect();
            mailbox.report(|report| report.seats = seats);
        }
        self.tools = Tools::new(tools);
    }

    /// Limits its pace from the start; 0: no limit.
    pub fn set_speed(&mut self, tokens_per_s: u32) {
        self.tokens_per_s = tokens_per_s;
    }

    /// Runs to the end.
    pub fn run(mut self, commands: &Receiver<Command>) -> Finished {
        while let Some(ops) = self.before_step(commands) {
            let output = self.engines.advance(ops);
            self.after_step(output);
        }
        self.close()
    }

    /// Serves commands up to the next step; what the engine is to do in it. `None` when the session is over.
    pub(super) fn before_step(&mut self, commands: &Receiver<Command>) -> Option<Vec<SeqOp>> {
        if !self.boundary(commands) {
            return None;
        }
        self.set_guard();
        Some(std::mem::take(&mut self.ops))
    }

    /// Takes in what the step produced.
    pub(super) fn after_step(&mut self, output: Result<StepOutput, EngineError>) {
        match output {
            Ok(output) => self.absorb(output),
            Err(error) => self.engine_failed(&error.to_string()),
        }
        self.housekeeping();
    }

    pub(super) fn over(&self) -> bool {
        self.emitter.org.end.is_some()
    }

    /// After every step: keyframes, the recorder's health, what the screen should know.
    fn housekeeping(&mut self) {
        self.emitter.flush_due();
        self.emitter.keyframe();
        let status = self.emitter.recorder().map(crate::record::Recorder::status);
        let mut banner = None;
        if let Some(status) = status {
            self.held_by_recorder = status.health == Health::Full;
            banner = status.banner;
        }
        let banner = banner.or_else(|| self.trouble_words());
        if let Some(mailbox) = self.emitter.mailbox() {
            mailbox.report(|report| {
                if report.banner != banner {
                    if let Some(banner) = &banner {
                        tracing::warn!("banner: {banner}");
                    }
                    report.banner = banner;
                }
            });
        }
    }

    /// Gives the engine's memory back: nothing of a run that is over is decoded any more.
    fn release(&mut self) {
        // Only now: what the command that ended the run came to is told before the run is over.
        if self.over()
            && let Some(mailbox) = self.emitter.mailbox()
        {
            mailbox.report(|report| report.phase = Phase::Over);
        }
        let template = self.templates.drain(..).map(|template| template.seq);
        let held = std::mem::take(&mut self.by_seq).into_keys();
        let closing: Vec<SeqOp> = held.chain(template).map(SeqOp::Close).collect();
        self.ops.extend(closing);
        if self.ops.is_empty() {
            return;
        }
        let ops = std::mem::take(&mut self.ops);
        // An engine that fails now has nothing left to lose.
        if let Ok(output) = self.engines.advance(ops) {
            self.report_pages(&output.stats);
        }
    }

    /// Returns the engine's memory, finishes the file.
    pub(super) fn close(mut self) -> Finished {
        let mut unfired = Vec::new();
        for Order { line, command, .. } in std::mem::take(&mut self.orders) {
            unfired.push(command.clone());
            let body = Body::Command { command };
            let cause = self.emitter.emit(Author::Human, None, None, body);
            self.ordered.push(Ordered { line, seq: cause });
            self.effect(cause, Outcome::Unfired);
        }
        self.release();
        let record_error = self
            .emitter
            .take_recorder()
            .and_then(|recorder| recorder.finish().err())
            .map(|e| e.to_string());
        let history = self.emitter.take_history();
        Finished {
            history,
            unfired,
            ordered: self.ordered,
            stuck: self.stuck,
            organization: self.emitter.org,
            header: self.header,
            record_error,
        }
    }

    /// Serves one command and records what became of it. Its event.
    pub(super) fn command(&mut self, command: Command, by: Author) -> Seq {
        tracing::debug!(command = command.name(), %by, "asked");
        let cause = self.emitter.emit(
            by,
            None,
            None,
            Body::Command {
                command: command.clone(),
            },
        );
        let outcome = if self.over() && !command.works_after_the_end() {
            Outcome::Refused {
                why: "the run has ended".into(),
            }
        } else {
            self.carry_out(&command, cause)
        };
        self.effect(cause, outcome);
        cause
    }

    pub(super) fn effect(&mut self, cause: Seq, outcome: Outcome) {
        self.emitter
            .emit(Author::System, None, Some(cause), Body::Effect { outcome });
    }
}
