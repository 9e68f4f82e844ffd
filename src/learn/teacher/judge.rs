//! Judges a thread as the protocol judges a model: the same scanner, the same rules, strictly.
//!
//! A worker is taken to run until it is joined, the latest moment possible, so that a thread that passes
//! is sound at any speed of its workers.

use super::example::{Example, Role};
use crate::learn::words::{self, Vocabulary};
use crate::org::rules::{ForkVerdict, JoinVerdict, Overflow, Strictness, judge_fork, judge_join};
use crate::org::{
    ActionKind, Author, Body, BranchId, ErrorKind, Event, Organization, Role as Seated, Seat, Seq,
    Step, ThreadEnd, ThreadId,
};
use crate::protocol::{Found, Grammar, Match, Position, Scanner, Tag, classify};

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
/// What a person put in by hand (given text with tags outside of results) acts as the person's command does;
/// results are not read.
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
    let (mut own_scanner, mut given_scanner) = (Scanner::new(grammar), Scanner::new(grammar));
    let mut findings = Vec::new();
    let mut awaits_result = false;
    for (token, own) in tokens.iter().zip(loss_mask).skip(prompt + 1) {
        let bytes = Vocabulary::get().bytes(*token);
        if *own {
            own_scanner.push(bytes, 0, &mut findings);
        } else if awaits_result {
            awaits_result = !matches!(classify(bytes), Match::Complete(Tag::JoinClose(_)));
        } else {
            match classify(bytes) {
                Match::Complete(Tag::AnswerOpen) => own_scanner.enter(Position::InAnswer, 0),
                Match::Complete(Tag::ReturnOpen) => own_scanner.enter(Position::InReturn, 0),
                _ => given_scanner.push(bytes, 0, &mut findings),
            }
        }
        for finding in findings.drain(..) {
            awaits_result |= matches!(finding.found, Found::Join { .. });
            bench.act(&finding.found)?;
        }
    }
    match (own_scanner.position(), role) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An organizer's thread with two workers; text in `{}` is given, not its own.
    fn judged(text: &str) -> Result<(), Fault> {
        let mut example = Example {
            tokens: vec![words::ORGANIZER, words::THINK],
            loss_mask: vec![false, false],
            role: Role::Organizer,
        };
        for (i, part) in text.split(['{', '}']).enumerate() {
            example.tokens.extend(Vocabulary::get().encode(part));
            example.loss_mask.resize(example.tokens.len(), i % 2 == 0);
        }
        judge(&example, 2)
    }

    #[test]
    fn sound_threads_pass() {
        for text in [
            "<ANSWER></ANSWER>",
            "<FORK-1>a</FORK-1><JOIN-1>{x</JOIN-1>}<ANSWER>x</ANSWER>",
            "<FORK-1>a</FORK-1><FORK-2>b</FORK-2><JOIN-2>{x</JOIN-2>}<FORK-3>c</FORK-3><ANSWER>x</ANSWER>",
            "<FORK-1>a</FORK-1>{<FORK-2>by hand</FORK-2>}<JOIN-2>{<FORK-2> is no tag here</JOIN-2>}<ANSWER>x</ANSWER>",
            "<FORK-1>a</FORK-1>{<JOIN-1>x</JOIN-1>}{<ANSWER>}x</ANSWER>",
        ] {
            assert_eq!(judged(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn every_format_error_is_found() {
        for (text, kind) in [
            ("<FORK-1>a</FORK-1><FORK-1>b</FORK-1>", "DuplicateIndex"),
            (
                "<FORK-1>a</FORK-1><FORK-2>b</FORK-2><FORK-3>c</FORK-3>",
                "PoolOverflow",
            ),
            ("<JOIN-1>{x</JOIN-1>}", "JoinUnknown"),
            (
                "<FORK-1>a</FORK-1><JOIN-1>{x</JOIN-1>}<JOIN-1>{x</JOIN-1>}",
                "JoinTwice",
            ),
            ("<FORK-1> </FORK-1>", "EmptyQuery"),
        ] {
            let fault = judged(&format!("{text}<ANSWER></ANSWER>"))
                .expect_err(text)
                .to_string();
            assert!(fault.starts_with(kind), "{fault}");
        }
        for text in [
            "",
            "<ANSWER>x",
            "<FORK-1>a<ANSWER>x</ANSWER>",
            "{<ANSWER>x</ANSWER>}",
        ] {
            assert_eq!(judged(text), Err(Fault::Unfinished("an ANSWER")), "{text}");
        }
    }

    #[test]
    fn damaged_examples_are_refused() {
        let role = Role::Worker;
        let judged = |tokens: Vec<u32>, mask: Vec<bool>| {
            judge(
                &Example {
                    tokens,
                    loss_mask: mask,
                    role,
                },
                1,
            )
        };
        assert!(matches!(
            judged(vec![words::THINK], vec![]),
            Err(Fault::Shape(_))
        ));
        assert!(matches!(judged(vec![9], vec![true]), Err(Fault::Shape(_))));
        assert!(matches!(
            judged(vec![words::THINK, u32::MAX], vec![false, true]),
            Err(Fault::Unfinished("a RETURN"))
        ));
    }
}
