//! Judges a thread as the protocol judges a model: the same scanner, the same rules, strictly.
//!
//! A worker is taken to run until it is joined, the latest moment possible, so that a thread that passes
//! is sound at any speed of its workers.

use super::trace::{Example, Role};
use crate::learn::words::{self, Vocabulary};
use crate::org::rules::{ForkVerdict, JoinVerdict, Overflow, Strictness, judge_fork, judge_join};
use crate::org::{
    ActionKind, Author, Body, BranchId, ErrorKind, Event, Organization, Role as Seated, Seat, Seq,
    Step, ThreadEnd, ThreadId,
};
use crate::protocol::{Found, Grammar, Position, Scanner};

/// Why a thread is no good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A format error.
    #[error("{0}")]
    Format(String),
    /// It never closes its answer or result.
    #[error("it ends without {0}")]
    Unfinished(&'static str),
    /// Tokens and mask differ in length, or the prompt has no end.
    #[error("{0}")]
    Shape(&'static str),
}

/// Whether the protocol accepts the thread, given that an organizer has `workers`.
///
/// # Errors
/// The first [`Fault`].
pub fn judge(example: &Example, workers: u32) -> Result<(), Fault> {
    let Example {
        tokens,
        loss_mask,
        role,
    } = example;
    if tokens.len() != loss_mask.len() {
        return Err(Fault::Shape("tokens and loss mask differ in length"));
    }
    let Some(prompt) = tokens.iter().position(|t| *t == words::THINK) else {
        return Err(Fault::Shape("the prompt never ends"));
    };
    let grammar = if *role == Role::Worker {
        Grammar::Worker
    } else {
        Grammar::Organizer
    };
    let mut bench = Bench::new(workers);
    let mut scanner = Scanner::new(grammar);
    let (mut offset, mut findings) = (0, Vec::new());
    for (token, own) in tokens
        .iter()
        .zip(loss_mask)
        .skip(prompt + 1)
        .filter(|(_, own)| **own)
    {
        debug_assert!(own);
        let bytes = Vocabulary::get().bytes(*token);
        scanner.push(bytes, offset, &mut findings);
        offset += bytes.len() as u64;
        for finding in findings.drain(..) {
            bench.act(&finding.found)?;
        }
    }
    match (scanner.position(), role) {
        (Position::Done, _) => Ok(()),
        (_, Role::Worker) => Err(Fault::Unfinished("a RETURN")),
        _ => Err(Fault::Unfinished("an ANSWER")),
    }
}

/// An organization in which only the structure happens.
struct Bench {
    organization: Organization,
    seq: u64,
}

impl Bench {
    fn new(workers: u32) -> Self {
        let mut bench = Self {
            organization: Organization::new(workers + 1, crate::org::DEFAULT_TAU),
            seq: 0,
        };
        bench.begin(ThreadId::ORGANIZER, Seated::Organizer, "");
        bench
    }

    fn apply(&mut self, thread: ThreadId, body: Body) {
        let event = Event {
            seq: Seq(self.seq),
            us: 0,
            step: Step(0),
            branch: BranchId(0),
            body,
            thread: Some(thread),
            by: Author::Model,
            cause: None,
        };
        self.seq += 1;
        self.organization.apply(&event);
    }

    fn begin(&mut self, id: ThreadId, role: Seated, query: &str) {
        let body = Body::Thread {
            role,
            seat: Seat::Model,
            query: query.to_owned(),
            prompt: Vec::new(),
        };
        self.apply(id, body);
    }

    fn action(&mut self, action: ActionKind, child: ThreadId) {
        let body = Body::Action {
            action,
            span: (0, 0),
            at: 0,
            child: Some(child),
            text: String::new(),
            anchor: None,
        };
        self.apply(ThreadId::ORGANIZER, body);
    }

    fn act(&mut self, found: &Found) -> Result<(), Fault> {
        match found {
            Found::Fork { index, query } => {
                let (verdict, _) = judge_fork(
                    &self.organization,
                    ThreadId::ORGANIZER,
                    *index,
                    query,
                    Strictness::Strict,
                    Overflow::Error,
                );
                match verdict {
                    ForkVerdict::Start(child) | ForkVerdict::Block(child) => {
                        self.begin(child, Seated::Worker, query);
                        self.action(ActionKind::Fork, child);
                        Ok(())
                    }
                    ForkVerdict::Refuse(kind, why) => Err(refused(kind, &why)),
                }
            }
            Found::Join { index } => {
                match judge_join(&self.organization, ThreadId::ORGANIZER, *index) {
                    JoinVerdict::Ready(child) | JoinVerdict::Wait(child) => {
                        self.apply(
                            child,
                            Body::End {
                                end: ThreadEnd::Returned,
                            },
                        );
                        self.action(ActionKind::Join, child);
                        Ok(())
                    }
                    JoinVerdict::Refuse(kind, why) => Err(refused(kind, &why)),
                }
            }
            Found::Answer { .. } | Found::Return { .. } => Ok(()),
        }
    }
}

fn refused(kind: ErrorKind, why: &str) -> Fault {
    Fault::Format(format!("{kind:?}: {why}"))
}
