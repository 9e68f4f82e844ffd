//! What takes effect by the protocol: Forks, Joins and the answer, judged by [`crate::org::rules`], and what
//! is wrong with them.

use super::config::{overflow, strictness};
use super::runner::Blocked;
use super::session::Session;
use crate::org::rules::{ForkVerdict, JoinVerdict, Strictness, judge_fork, judge_join};
use crate::org::{ActionKind, Anchor, Author, Body, ErrorKind, RunEnd, Seq, ThreadId, WaitOn};

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
}
