//! Text that nobody decodes: results, hand-made tags; and the start of workers.

use super::config::messages;
use super::deed::By;
use super::engines::Desk;
use super::rescan::grammar;
use super::runner::{Deferred, Runner};
use super::session::Session;
use crate::engine::{Priority, SeqId, SeqOp, TokenId};
use crate::org::{
    Author, Body, ErrorKind, Role, Seat, Seq, SpliceKind, Status, TextBytes, ThreadEnd, ThreadId,
    WaitOn,
};
use crate::protocol::Grammar;

/// Tokens of a context kept free so that a thread can still write a few words after a splice.
const HEADROOM: usize = 32;

/// A sequence that holds what the prompts of workers of one kind have in common, and its tokens.
#[derive(Debug)]
pub(super) struct Template {
    pub organizes: bool,
    pub seq: SeqId,
    pub tokens: Vec<TokenId>,
}

/// Where a splice comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub by: Author,
    pub cause: Option<Seq>,
    pub of: Option<ThreadId>,
    pub result: Option<ThreadEnd>,
}

impl Origin {
    pub(super) fn by(by: Author, cause: Option<Seq>) -> Self {
        Self {
            by,
            cause,
            ..Self::default()
        }
    }
}

impl Session {
    /// Puts `text` into a thread's context. True if it fitted whole; a thread whose context is full
    /// ends with `limit`.
    pub(super) fn splice(
        &mut self,
        id: ThreadId,
        kind: SpliceKind,
        text: &str,
        origin: Origin,
    ) -> bool {
        let desk = self.desk(id);
        let (ids, error) = match self.engines.encode(desk, text) {
            Ok(ids) => (ids, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let context = self.engines.context(desk);
        let Some(runner) = self.runners.get_mut(&id) else {
            return false;
        };
        let room = if context == 0 {
            usize::MAX
        } else {
            context.saturating_sub(runner.context + HEADROOM)
        };
        let whole = ids.len() <= room;
        let (ids, bytes) = if whole {
            (ids, text.as_bytes().to_vec())
        } else {
            let kept = ids[..room].to_vec();
            let bytes = self.engines.decode(&kept);
            (kept, bytes)
        };
        match kind {
            SpliceKind::Text | SpliceKind::Edit => runner.written(&bytes, ids.len(), &origin.by),
            SpliceKind::Note => runner.noted(&bytes, ids.len()),
            _ => runner.spliced(&bytes, ids.len()),
        }
        self.ops.push(SeqOp::Append {
            seq: runner.seq,
            tokens: ids.clone(),
            decoded: false,
        });
        let body = Body::Splice {
            splice: kind,
            ids,
            bytes: TextBytes(bytes),
            of: origin.of,
            result: origin.result,
            shortened: !whole,
        };
        self.emitter.emit(origin.by, Some(id), origin.cause, body);
        if let Some(message) = error {
            self.error(id, ErrorKind::Engine, None, message);
        }
        if !whole {
            self.context_full(id);
        }
        whole
    }

    fn context_full(&mut self, id: ThreadId) {
        if id.is_organizer() {
            self.out_of_tokens("its context is full", None);
        } else {
            self.end_worker(id, ThreadEnd::Limit, None);
        }
    }

    /// Puts the result of `child` into `parent`, then the text of Forks made by hand meanwhile.
    pub(super) fn splice_result(&mut self, parent: ThreadId, child: ThreadId) {
        let Some(end) = self.emitter.org.thread(child).and_then(|t| t.end()) else {
            return;
        };
        let result = match self.emitter.org.result(child) {
            Some((text, _)) => text.to_owned(),
            None => self
                .runners
                .get(&child)
                .map(Runner::partial)
                .unwrap_or_default(),
        };
        let mark = match end {
            ThreadEnd::Killed => " [partial: killed]",
            ThreadEnd::Failed => " [partial: failed]",
            ThreadEnd::Limit => " [partial: limit]",
            _ => "",
        };
        let index = child.index().unwrap_or_default();
        let text = format!("{result}{mark}</JOIN-{index}>");
        let origin = Origin {
            by: Author::System,
            cause: None,
            of: Some(child),
            result: Some(end),
        };
        if self.splice(parent, SpliceKind::Result, &text, origin) {
            self.splice_deferred(parent);
        }
    }

    /// Puts in what had to wait for the result of a Join.
    fn splice_deferred(&mut self, parent: ThreadId) {
        let deferred = self
            .runners
            .get_mut(&parent)
            .map(|r| std::mem::take(&mut r.deferred))
            .unwrap_or_default();
        for late in deferred {
            let origin = Origin::by(Author::Human, late.cause);
            if !self.splice(parent, late.kind, &late.text, origin) {
                return;
            }
        }
    }

    /// Puts a person's text into a thread, after the result if it stands at a Join.
    pub(super) fn splice_or_defer(&mut self, id: ThreadId, late: Deferred) {
        let status = self.emitter.org.thread(id).map(|t| t.status);
        let waits = matches!(status, Some(Status::Waiting(WaitOn::Join(_))));
        if let Some(runner) = self.runners.get_mut(&id)
            && (waits || runner.at_a_join())
        {
            runner.deferred.push(late);
        } else {
            let origin = Origin::by(Author::Human, late.cause);
            self.splice(id, late.kind, &late.text, origin);
        }
    }

    /// Closes a Join that has no result, so that the text stays well-formed.
    pub(super) fn splice_empty_result(&mut self, parent: ThreadId, index: u16) {
        let text = format!("</JOIN-{index}>");
        let origin = Origin::by(Author::System, None);
        if self.splice(parent, SpliceKind::Result, &text, origin) {
            self.splice_deferred(parent);
        }
    }

    /// The instructions of workers that may organize, or may not.
    pub(super) fn worker_prompt(&self, organizes: bool) -> &str {
        let prompts = &self.header.prompts;
        // Sessions that others wrote may have one for all.
        if organizes && !prompts.sub_organizer.is_empty() {
            &prompts.sub_organizer
        } else {
            &prompts.worker
        }
    }

    /// Starts the worker `id` on `query`.
    pub(super) fn start_worker(&mut self, id: ThreadId, query: &str, (by, cause): By) {
        let system = self.worker_prompt(self.header.organizes(id)).to_owned();
        let query = self.readdressed(id, query);
        let query = query.as_str();
        let mut seat = self.seat_of(id);
        let desk = match self.desk_of(&seat) {
            Ok(desk) => desk,
            Err(why) => {
                let parent = id.parent().unwrap_or(ThreadId::ORGANIZER);
                let message = format!("{id} is served by the session's own model: {why}");
                self.error(parent, ErrorKind::Engine, None, message);
                seat = Seat::Model;
                Desk::OWN
            }
        };
        let prompt = self
            .engines
            .prompt(desk, &messages(&system, query), self.header.thinking);
        let (prompt, failure) = match prompt {
            Ok(ids) => (ids, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        self.emitter.emit(
            by,
            Some(id),
            cause,
            Body::Thread {
                role: Role::Worker,
                seat,
                query: query.to_owned(),
                prompt: prompt.clone(),
            },
        );
        let grammar = grammar(&self.header, id, Role::Worker);
        self.open(id, grammar, &prompt);
        if let Some(message) = failure {
            self.error(id, ErrorKind::Engine, None, message);
            self.end_worker(id, ThreadEnd::Failed, None);
        }
    }

    /// Begins the empty sequence of thread `id`, or one that shares a prefix.
    pub(super) fn begin_sequence(
        &mut self,
        seq: SeqId,
        id: ThreadId,
        prefix: Option<(SeqId, usize)>,
    ) {
        self.ops.push(SeqOp::Open {
            seq,
            key: id.to_string(),
            sampling: self.header.sampling.clone(),
            priority: if id.is_organizer() {
                Priority::Organizer
            } else {
                Priority::Worker
            },
            prefix,
        });
    }

    /// Opens a sequence for thread `id` with its prompt.
    pub(super) fn open(&mut self, id: ThreadId, grammar: Grammar, prompt: &[TokenId]) {
        let seq = self.new_seq();
        let desk = self.desk(id);
        self.engines.assign(seq, desk);
        let prefix = (!id.is_organizer() && desk == Desk::OWN)
            .then(|| self.shared_prefix(self.header.organizes(id), prompt))
            .flatten();
        let shared = prefix.map_or(0, |(_, len)| len);
        self.begin_sequence(seq, id, prefix);
        self.ops.push(SeqOp::Append {
            seq,
            tokens: prompt[shared..].to_vec(),
            decoded: false,
        });
        self.by_seq.insert(seq, id);
        self.runners
            .insert(id, Runner::new(seq, grammar, prompt.len()));
    }

    pub(super) fn new_seq(&mut self) -> SeqId {
        let seq = SeqId(self.next_seq);
        self.next_seq += 1;
        seq
    }

    /// The part of a worker's prompt that the template sequence holds already. The template is made of
    /// what the prompts of two different sub-queries have in common.
    fn shared_prefix(&mut self, organizes: bool, prompt: &[TokenId]) -> Option<(SeqId, usize)> {
        if self.template(organizes).is_none() {
            let system = self.worker_prompt(organizes).to_owned();
            let thinking = self.header.thinking;
            let mut with = |text| {
                self.engines
                    .prompt(Desk::OWN, &messages(&system, text), thinking)
                    .ok()
            };
            let (one, other) = (with("a")?, with("7")?);
            let common = one[..common_prefix(&one, &other)].to_vec();
            let seq = self.new_seq();
            self.ops.push(SeqOp::Open {
                seq,
                key: if organizes {
                    "template of organizing workers".into()
                } else {
                    "template".into()
                },
                sampling: self.header.sampling.clone(),
                priority: Priority::Template,
                prefix: None,
            });
            self.ops.push(SeqOp::Append {
                seq,
                tokens: common.clone(),
                decoded: false,
            });
            self.templates.push(Template {
                organizes,
                seq,
                tokens: common,
            });
        }
        let template = self.template(organizes)?;
        let len = common_prefix(&template.tokens, prompt).min(prompt.len().saturating_sub(1));
        (len > 0).then_some((template.seq, len))
    }

    fn template(&self, organizes: bool) -> Option<&Template> {
        self.templates.iter().find(|t| t.organizes == organizes)
    }
}

fn common_prefix(a: &[TokenId], b: &[TokenId]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
