//! What waits for a person's word: Forks, the answer, tools about to run.

use super::config::{overflow, strictness};
use super::runner::Wrote;
use super::session::Session;
use super::steer::{fits_in_fork, refused};
use crate::org::rules::{ForkVerdict, Strictness, judge_fork};
use crate::org::{
    AskKind, AskRecord, Author, Body, ErrorKind, Outcome, RunEnd, Seq, ThreadEnd, ThreadId, Verdict,
};
use crate::protocol::Found;

impl Session {
    /// Gives the finding back unless a person has to be asked about it first.
    pub(super) fn unless_asked(&mut self, id: ThreadId, wrote: Wrote) -> Option<Wrote> {
        if wrote.by != Author::Model {
            return Some(wrote);
        }
        let finding = &wrote.finding;
        let (kind, index, text) = match &finding.found {
            Found::Fork { index, query } => (AskKind::Fork, Some(*index), query.clone()),
            Found::Answer { text } => (AskKind::Answer, None, text.clone()),
            Found::Join { .. } | Found::Return { .. } => return Some(wrote),
        };
        if !self.header.ask.contains(&kind) {
            return Some(wrote);
        }
        if index.is_some_and(|index| self.cannot_fork(id, index, &text).is_some()) {
            return Some(wrote);
        }
        let span = Some((finding.from, finding.to));
        self.ask(id, kind, index, text, span);
        None
    }

    /// Why a Fork would be refused now, if it would.
    pub(super) fn cannot_fork(
        &self,
        id: ThreadId,
        index: u16,
        query: &str,
    ) -> Option<(ErrorKind, String)> {
        let (strict, overflow) = (strictness(&self.header), overflow(&self.header));
        match judge_fork(&self.emitter.org, id, index, query, strict, overflow) {
            (ForkVerdict::Refuse(kind, why), _) => Some((kind, why)),
            _ => None,
        }
    }

    /// A Fork that was held back and can't be done any more. Its place in the text is accounted for.
    pub(super) fn refuse_fork(&mut self, id: ThreadId, kind: ErrorKind, why: String) {
        self.error(id, kind, None, why);
        if strictness(&self.header) == Strictness::Strict {
            self.end_run(RunEnd::Failed, None, None);
        }
    }

    /// Lets thread `id` stand until a person has spoken.
    pub(super) fn ask(
        &mut self,
        id: ThreadId,
        ask: AskKind,
        index: Option<u16>,
        text: String,
        span: Option<(u64, u64)>,
    ) {
        let number = u32::try_from(self.emitter.org.asks.len() + 1).unwrap_or(u32::MAX);
        let body = Body::Ask {
            number,
            ask,
            index,
            text,
            span,
        };
        self.emitter.emit(Author::Model, Some(id), None, body);
    }

    /// The ask that a command means, or why there is none.
    fn meant(&self, number: Option<u32>) -> Result<AskRecord, Outcome> {
        let org = &self.emitter.org;
        let Some(number) = number else {
            return org
                .open_asks()
                .next()
                .cloned()
                .ok_or_else(|| refused("nothing waits for approval"));
        };
        match org.asks.iter().find(|a| a.number == number) {
            None => Err(refused(format!("there is no request {number}"))),
            Some(a) if a.verdict.is_some() => {
                Err(refused(format!("request {number} was settled before")))
            }
            Some(a) => Ok(a.clone()),
        }
    }

    fn decide(&mut self, ask: &AskRecord, verdict: Verdict, text: Option<String>, cause: Seq) {
        let body = Body::Decided {
            number: ask.number,
            verdict,
            text,
        };
        self.emitter
            .emit(Author::Human, Some(ask.thread), Some(cause), body);
    }

    /// Lets an ask take effect, with another text if one is given.
    pub(super) fn approve(
        &mut self,
        number: Option<u32>,
        text: Option<&str>,
        cause: Seq,
    ) -> Outcome {
        let ask = match self.meant(number) {
            Ok(ask) => ask,
            Err(refusal) => return refusal,
        };
        let changed = text.map(str::trim).filter(|text| *text != ask.text);
        let id = ask.thread;
        match (ask.kind, changed) {
            (AskKind::Plan, Some(_)) => return refused("a plan is edited draft by draft"),
            (AskKind::Plan, None) => return self.release_plan(cause),
            (AskKind::Fork | AskKind::Tool, Some("")) => return refused("the sub-query is empty"),
            (AskKind::Fork, Some(text)) => {
                if let Err(refusal) = fits_in_fork(text, ask.index.unwrap_or_default()) {
                    return refusal;
                }
            }
            _ => {}
        }
        self.decide(&ask, Verdict::Approved, changed.map(str::to_owned), cause);
        let text = changed.unwrap_or(&ask.text).to_owned();
        let span = ask.span.unwrap_or_default();
        let by = (Author::Model, Some(cause));
        match ask.kind {
            AskKind::Fork => {
                let index = ask.index.unwrap_or_default();
                if changed.is_some() {
                    self.note(id, changed_note(index, &text), cause);
                }
                if let Some((kind, why)) = self.cannot_fork(id, index, &text) {
                    self.refuse_fork(id, kind, why);
                } else {
                    self.fork(id, index, text, span, by);
                }
            }
            AskKind::Answer => self.answer(id, text, span, by),
            // It runs at this boundary: see `serve_tools`.
            AskKind::Tool | AskKind::Plan => {}
        }
        self.follow_up();
        Outcome::Done
    }

    /// Refuses an ask; whoever asked is told why.
    pub(super) fn deny(&mut self, number: Option<u32>, reason: &str, cause: Seq) -> Outcome {
        let ask = match self.meant(number) {
            Ok(ask) => ask,
            Err(refusal) => return refusal,
        };
        let id = ask.thread;
        let why = match reason.trim() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        if ask.kind == AskKind::Plan {
            return self.drop_plan(&why, cause);
        }
        self.decide(&ask, Verdict::Denied, None, cause);
        match ask.kind {
            AskKind::Fork => {
                let index = ask.index.unwrap_or_default();
                self.note(id, format!(" [sub-query {index} denied{why}] "), cause);
            }
            AskKind::Tool => {
                self.write(id, &format!("[denied{why}]"), Author::Human);
                self.end_worker(id, ThreadEnd::Killed, Some(cause));
            }
            AskKind::Answer | AskKind::Plan => {
                self.note(id, format!(" [answer denied{why}] "), cause);
            }
        }
        self.follow_up();
        Outcome::Done
    }
}

/// What the organizer should know of a sub-query that it wrote otherwise.
pub(super) fn changed_note(index: u16, query: &str) -> String {
    format!(" [sub-query {index} changed to: {query}] ")
}
