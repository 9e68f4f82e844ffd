//! What commands change in an organization: each is kept when it is asked, and acts once an effect says that
//! it was done. Whether it may be done is decided in `live`.

use super::{CommandRecord, Organization};
use crate::org::command::{Command, Outcome};
use crate::org::event::Event;
use crate::org::ids::ThreadId;
use crate::org::thread::Moment;

impl Organization {
    pub(super) fn apply_command(&mut self, event: &Event, command: &Command) {
        self.commands.push(CommandRecord {
            seq: event.seq,
            command: command.clone(),
            by: event.by.clone(),
            step: event.step,
            outcome: None,
        });
    }

    pub(super) fn apply_effect(&mut self, event: &Event, outcome: &Outcome) {
        let now = self.now;
        let Some(record) = self
            .commands
            .iter_mut()
            .rev()
            .find(|c| Some(c.seq) == event.cause)
        else {
            return;
        };
        let first = record.outcome.replace(outcome.clone()).is_none();
        let record = record.clone();
        if first && matches!(outcome, Outcome::Done | Outcome::Queued { .. }) {
            self.remember(&record);
        }
        if *outcome != Outcome::Done {
            return;
        }
        match record.command {
            Command::Pause { thread: None } => self.hold(now),
            Command::Resume { thread: None } | Command::Next => self.release(now),
            Command::Set { guard } => self.guard = Some(guard),
            Command::Break { on, set } => self.set_breakpoint(&on, set, record.seq),
            Command::Pause { thread: Some(id) } => self.hold_thread(id, true),
            Command::Resume { thread: Some(id) } => self.hold_thread(id, false),
            Command::Seat { thread: id, to } => {
                if let Some(thread) = self.threads.get_mut(&id) {
                    thread.seat = to;
                    thread.note_writer(now);
                }
            }
            command @ (Command::PlanEdit { .. }
            | Command::PlanDrop { .. }
            | Command::PlanMove { .. }) => self.plan.command(&command),
            Command::Continue => {
                self.end = None;
                self.answer = None;
                self.recorded_metrics = None;
                self.release(now);
            }
            _ => {}
        }
    }

    pub(in crate::org) fn hold(&mut self, now: Moment) {
        if !self.paused {
            self.paused = true;
            self.pauses.push((now, None));
        }
    }

    pub(in crate::org) fn release(&mut self, now: Moment) {
        self.paused = false;
        if let Some((_, to @ None)) = self.pauses.last_mut() {
            *to = Some(now);
        }
    }

    fn hold_thread(&mut self, id: ThreadId, held: bool) {
        if let Some(thread) = self.threads.get_mut(&id) {
            thread.paused = held;
        }
    }
}
