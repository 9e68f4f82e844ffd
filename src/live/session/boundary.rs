//! Between two steps: orders that are due, commands, tools and wishes, until something can be decoded or the
//! session is over.

use super::{Audience, Ordered, Session};
use crate::live::mailbox::Mailbox;
use crate::org::{Author, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// How long to look for commands at a time while nothing can be decoded.
const IDLE: Duration = Duration::from_millis(50);

/// The same while a tool runs: nobody wakes the session when it is done.
const IDLE_WITH_TOOL: Duration = Duration::from_millis(5);

impl Session {
    /// Everything between two steps. False when the session is over and nobody wants anything more.
    pub(super) fn boundary(&mut self, commands: &Receiver<Command>) -> bool {
        loop {
            self.heed_breakpoints();
            // Before commands are taken: none comes after it says no.
            let listens = self.emitter.mailbox().is_some_and(Mailbox::listens);
            self.fire_orders();
            if !self.drain(commands) {
                return false;
            }
            if self.over() {
                self.release();
                if self.audience == Audience::Nobody {
                    return false;
                }
            } else {
                self.serve_tools();
                self.pursue_intents();
                if self.over() {
                    continue;
                }
                self.heed_breakpoints();
                self.sync_running();
                if self.can_decode() {
                    let now = Instant::now();
                    if now >= self.next_step_at || self.tokens_per_s == 0 {
                        self.next_step_at = self.pace(now);
                        return true;
                    }
                    if !self.wait_for_command(commands, self.next_step_at - now) {
                        return false;
                    }
                    continue;
                }
                let nobody_comes =
                    self.audience == Audience::Nobody && !listens && !self.tools.busy();
                if nobody_comes && !self.held_by_recorder {
                    self.stuck = true;
                    self.command(Command::Interrupt, Author::System);
                    return false;
                }
                self.housekeeping();
            }
            let patience = if self.tools.busy() {
                IDLE_WITH_TOOL
            } else {
                IDLE
            };
            if !self.wait_for_command(commands, patience) {
                return false;
            }
        }
    }

    /// When the step after one taken `now` may come at the earliest.
    fn pace(&self, now: Instant) -> Instant {
        if self.tokens_per_s == 0 {
            return now;
        }
        let period = Duration::from_secs_f64(1.0 / f64::from(self.tokens_per_s));
        // Keep the beat, but never run after a long stop to catch up.
        (self.next_step_at + period).max(now)
    }

    fn fire_orders(&mut self) {
        while let Some(i) = self.orders.iter().position(|o| o.due(&self.emitter)) {
            while let Some(order) = self.orders.remove(i) {
                let seq = self.command(order.command, Author::Human);
                let line = order.line;
                self.ordered.push(Ordered { line, seq });
                if !self.orders.get(i).is_some_and(|next| next.together) {
                    break;
                }
            }
        }
    }

    /// Serves everything in the channel; false when the other side is gone and the run must stop.
    fn drain(&mut self, commands: &Receiver<Command>) -> bool {
        loop {
            match commands.try_recv() {
                Ok(command) => {
                    if !self.serve(command) {
                        return false;
                    }
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return self.abandoned_by_sender(),
            }
        }
    }

    fn wait_for_command(&mut self, commands: &Receiver<Command>, patience: Duration) -> bool {
        match commands.recv_timeout(patience) {
            Ok(command) => self.serve(command),
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => self.abandoned_by_sender(),
        }
    }

    /// The screen is gone: stop so that the session can be resumed.
    fn abandoned_by_sender(&mut self) -> bool {
        if !self.over() {
            self.command(Command::Interrupt, Author::System);
        }
        false
    }

    fn serve(&mut self, command: Command) -> bool {
        let leaves = command == Command::Interrupt;
        self.command(command, Author::Human);
        !leaves
    }

    /// Whether some thread would decode in the next step.
    fn can_decode(&self) -> bool {
        if self.held_by_recorder {
            return false;
        }
        if self.emitter.org.paused && self.stepping.is_none() {
            return false;
        }
        let org = &self.emitter.org;
        org.threads().any(|t| org.decodes(t))
    }

    /// Tells the engine who decodes.
    fn sync_running(&mut self) {
        for (id, runner) in &mut self.runners {
            let org = &self.emitter.org;
            let run = org.thread(*id).is_some_and(|t| org.decodes(t));
            self.ops.extend(runner.set_running(run));
        }
    }
}
