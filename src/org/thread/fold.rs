//! What an event changes in the thread it concerns.

use super::{LivedWait, Moment, Refusal, Status, Thread};
use crate::org::event::{ActionKind, Body, ErrorKind, Event, WaitOn};
use crate::org::plan::PlanChange;
use crate::org::schedule::{Op, OpKind};

impl Thread {
    /// The thread that `event` begins at `now`; `None` for any other event.
    pub(in crate::org) fn begun(event: &Event, now: Moment) -> Option<Self> {
        let Body::Thread {
            role,
            seat,
            query,
            prompt,
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: event.thread?,
            role: *role,
            seat: seat.clone(),
            query: query.clone(),
            status: Status::Running,
            paused: false,
            prompt_tokens: prompt.len() as u64,
            tokens: 0,
            spliced_tokens: 0,
            vetoes: 0,
            refusals: Vec::new(),
            text_bytes: 0,
            ops: Vec::new(),
            acted: 0,
            began: now,
            last: now,
            waits: Vec::new(),
            writing: Vec::new(),
            result: None,
            joined: false,
        })
    }

    /// Folds one event of the self.
    pub(in crate::org) fn apply(&mut self, event: &Event, now: Moment) {
        match &event.body {
            Body::Tokens { ids, bytes, .. } => {
                self.tokens += ids.len() as u64;
                self.text_bytes += bytes.0.len() as u64;
                self.last = now;
            }
            Body::Veto { ids, bytes } => {
                self.vetoes += ids.len() as u64;
                self.refusals.push(Refusal {
                    token: self.tokens,
                    ids: ids.clone(),
                    text: String::from_utf8_lossy(&bytes.0).into_owned(),
                });
            }
            Body::Splice { ids, bytes, .. } => {
                self.spliced_tokens += ids.len() as u64;
                self.text_bytes += bytes.0.len() as u64;
            }
            Body::Action {
                action,
                at,
                child,
                text,
                anchor,
                ..
            } => {
                self.acted += u64::from(event.in_text());
                let kind = match (action, child) {
                    (ActionKind::Fork, Some(child)) => OpKind::Fork {
                        child: *child,
                        anchor: *anchor,
                    },
                    (ActionKind::Join, Some(child)) => OpKind::Join { child: *child },
                    (ActionKind::Return | ActionKind::Answer, _) => {
                        self.result = Some(text.clone());
                        return;
                    }
                    _ => return,
                };
                self.ops.push(Op { at: *at, kind });
            }
            Body::Error { error, span, .. } => {
                self.acted += u64::from(span.is_some());
                if let (ErrorKind::PoolOverflow, Status::Waiting(WaitOn::Slot(child))) =
                    (error, self.status)
                    && let Some(op) = self.ops.last_mut()
                {
                    op.kind = OpKind::Overflow { child };
                }
            }
            Body::Ask { span, .. } => self.acted += u64::from(span.is_some()),
            Body::Plan {
                change: PlanChange::Draft(draft),
            } => self.acted += u64::from(draft.span.is_some()),
            Body::Wait { on } => {
                self.close_wait(now);
                self.status = Status::Waiting(*on);
                self.waits.push(LivedWait {
                    on: *on,
                    from: now,
                    to: None,
                });
            }
            Body::Resume => {
                self.status = Status::Running;
                self.close_wait(now);
            }
            Body::End { end } => {
                self.close_wait(now);
                self.status = Status::Ended(*end);
                self.last = now;
            }
            _ => {}
        }
    }

    fn close_wait(&mut self, now: Moment) {
        if let Some(LivedWait { to: to @ None, .. }) = self.waits.last_mut() {
            *to = Some(now);
        }
    }
}
