//! The fold: what an event changes in the organization. What it changes in the one thread it concerns is
//! [`Thread::apply`].

use super::{ErrorRecord, MarkRecord, Organization};
use crate::org::approval::{AskRecord, Verdict};
use crate::org::event::{ActionKind, Body, Event, WaitOn};
use crate::org::ids::ThreadId;
use crate::org::schedule::OpKind;
use crate::org::thread::{Moment, Thread};

impl Organization {
    /// Folds one event. Events that make no sense in this state (from a damaged file) change as little
    /// as possible and never panic.
    pub fn apply(&mut self, event: &Event) {
        if let Body::Branch {
            from,
            turn,
            token,
            state,
            ..
        } = &event.body
        {
            self.now.us = self.now.us.max(event.us);
            self.apply_branch(event, *from, *turn, *token, state);
            return;
        }
        self.now = Moment {
            step: self.now.step.max(event.last_step()),
            us: self.now.us.max(event.us),
        };
        self.next_seq = self.next_seq.max(event.seq.next());
        let structural = !matches!(
            event.body,
            Body::Tokens { .. } | Body::Keyframe { .. } | Body::Unknown
        );
        self.revision += u64::from(structural);
        match &event.body {
            Body::Command { command } => self.apply_command(event, command),
            Body::Effect { outcome } => self.apply_effect(event, outcome),
            Body::Error { error, message, .. } => self.errors.push(ErrorRecord {
                kind: *error,
                thread: event.thread.unwrap_or(ThreadId::ORGANIZER),
                step: event.step,
                message: message.clone(),
            }),
            Body::Mark { name } => {
                self.note_stop(event.cause);
                self.marks.push(MarkRecord {
                    seq: event.seq,
                    at: self.now,
                    name: name.clone(),
                });
            }
            Body::Tokens { .. } => self.stopped_at.clear(),
            Body::RunEnd {
                end,
                answer,
                metrics,
            } => {
                self.end = Some(*end);
                self.answer.clone_from(answer);
                self.recorded_metrics = Some(*metrics);
            }
            Body::Keyframe { .. } | Body::Unknown => {}
            Body::Thread { .. } => self.apply_thread_begin(event),
            Body::Ask { .. } => self.apply_ask(event),
            Body::Decided {
                number,
                verdict,
                text,
            } => {
                let own = self.asks.iter_mut().find(|a| a.number == *number);
                if let Some(own) = own {
                    own.verdict = Some(*verdict);
                    if let Some(text) = text {
                        own.text.clone_from(text);
                    }
                }
            }
            Body::Plan { change } => self.plan.change(change),
            _ => {}
        }
        if let Some(id) = event.thread {
            self.apply_to_thread(id, event);
        }
    }

    fn apply_ask(&mut self, event: &Event) {
        if let Body::Ask {
            number,
            ask,
            index,
            text,
            span,
        } = &event.body
        {
            self.asks.push(AskRecord {
                seq: event.seq,
                number: *number,
                kind: *ask,
                thread: event.thread.unwrap_or(ThreadId::ORGANIZER),
                index: *index,
                text: text.clone(),
                span: *span,
                since: self.now,
                verdict: None,
            });
        }
    }

    /// A Join waits for a newer bearer of the index: it means that one.
    fn join_newest(&mut self, parent: ThreadId, child: ThreadId) {
        let Some(thread) = self.threads.get_mut(&parent) else {
            return;
        };
        let joined = thread
            .ops
            .iter_mut()
            .rev()
            .find_map(|op| match &mut op.kind {
                OpKind::Join { child } => Some(child),
                OpKind::Fork { .. } | OpKind::Overflow { .. } => None,
            });
        let Some(joined) = joined.filter(|old| **old != child && old.index() == child.index())
        else {
            return;
        };
        let old = std::mem::replace(joined, child);
        for (id, taken) in [(old, false), (child, true)] {
            if let Some(thread) = self.threads.get_mut(&id) {
                thread.joined = taken;
            }
        }
    }

    fn apply_thread_begin(&mut self, event: &Event) {
        if let Some(thread) = Thread::begun(event, self.now) {
            self.threads.insert(thread.id, thread);
        }
    }

    fn apply_to_thread(&mut self, id: ThreadId, event: &Event) {
        let now = self.now;
        if let Body::Action {
            action: ActionKind::Join,
            child: Some(child),
            ..
        } = &event.body
            && let Some(child) = self.threads.get_mut(child)
        {
            child.joined = true;
        }
        match &event.body {
            Body::Wait {
                on: WaitOn::Join(child),
            } => self.join_newest(id, *child),
            Body::Action {
                action: ActionKind::Fork,
                child: Some(child),
                ..
            } => self.plan.forked(*child),
            Body::End { .. } => {
                for ask in self.asks.iter_mut().filter(|a| a.thread == id) {
                    ask.verdict.get_or_insert(Verdict::Lapsed);
                }
            }
            _ => {}
        }
        if let Some(thread) = self.threads.get_mut(&id) {
            thread.apply(event, now);
            thread.note_writer(now);
        }
    }
}
