//! The one object that `run --headless --json` and `inspect --json` print.

use crate::eval::verdict;
use crate::org::{
    Author, BranchId, BranchRecord, ErrorKind, Metrics, Organization, Outcome, Refusal, Role,
    RunEnd, Seat, Step, ThreadEnd, ThreadId, slack,
};
use crate::record::Header;
use crate::task::Report;
use serde::Serialize;

/// A session in numbers. `begin`, `finish`, `slack` and `T` are ideal steps.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The final answer, whole or partial.
    pub answer: Option<String>,
    /// How the run ended; `null` while it has not (or the file was cut off).
    pub end: Option<RunEnd>,
    /// The measures.
    pub metrics: Metrics,
    /// Errors in order.
    pub errors: Vec<ErrorRow>,
    /// Threads in path order, the organizer first.
    pub threads: Vec<ThreadRow>,
    /// What persons and command files asked, in order.
    pub commands: Vec<CommandRow>,
    /// Lines of history in order of making; one where nobody went back.
    pub branches: Vec<BranchRow>,
    /// The session file, where there is one.
    pub session: Option<String>,
    /// What the answer is worth, where there is a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Report>,
}

/// One error.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorRow {
    /// Which.
    pub kind: ErrorKind,
    /// Whose.
    pub thread: ThreadId,
    /// When.
    pub step: Step,
    /// For people.
    pub message: String,
}

/// One thread.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadRow {
    /// Its name.
    pub id: ThreadId,
    /// Its role.
    pub role: Role,
    /// Its sub-query index.
    pub index: Option<u16>,
    /// Who forked it.
    pub parent: Option<ThreadId>,
    /// Who writes it.
    pub seat: Seat,
    /// Tokens it decoded.
    pub tokens: u64,
    /// Ideal step after which it began.
    pub begin: Option<u64>,
    /// Ideal step of its last token.
    pub finish: Option<u64>,
    /// How it ended; `null` while it has not.
    pub end: Option<ThreadEnd>,
    /// What the guard refused, by the token that was drawn in its place; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// Tokens it could have decoded more without raising `T`; `null` if nobody joins it.
    pub slack: Option<u64>,
}

/// One branch.
#[derive(Debug, Clone, Serialize)]
pub struct BranchRow {
    /// Its number.
    pub id: BranchId,
    /// The branch it left from; `null` for the first.
    pub parent: Option<BranchId>,
    /// The step it left from; `null` for the first.
    pub at: Option<Step>,
    /// Ideal latency, where it was left or now.
    #[serde(rename = "T")]
    pub latency: u64,
    /// Mean number of active workers.
    pub eta: f64,
    /// Its answer, whole or partial.
    pub answer: Option<String>,
}

impl BranchRow {
    fn all(org: &Organization) -> Vec<Self> {
        let present = org.standing();
        let row = |record: BranchRecord| {
            let standing = record.left.as_ref().unwrap_or(&present);
            Self {
                id: record.id,
                parent: record.parent(),
                at: record.from.map(|place| place.step),
                latency: standing.latency,
                eta: standing.eta(),
                answer: standing.answer.clone(),
            }
        };
        org.branches().into_iter().map(row).collect()
    }
}

/// One command.
#[derive(Debug, Clone, Serialize)]
pub struct CommandRow {
    /// Its word.
    #[serde(rename = "do")]
    pub verb: &'static str,
    /// When it was asked; `null` if it never came due.
    pub step: Option<Step>,
    /// `done`, `queued`, `refused` or `unfired`.
    pub result: &'static str,
    /// Why it was queued or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Summary {
    /// Sums up an organization.
    #[must_use]
    pub fn new(header: &Header, org: &Organization, session: Option<String>) -> Self {
        let metrics = org.recorded_metrics.unwrap_or_else(|| org.metrics());
        let traces = org.traces();
        let schedule = org.schedule();
        let slack = slack(&traces, org.capacity, &schedule);
        // What orgtop asks of itself (hold after a step, stop when nothing is due) nobody commanded.
        let asked = org.commands.iter().filter(|c| c.by != Author::System);
        let commands = asked.map(|c| {
            let (result, why) = match &c.outcome {
                Some(Outcome::Done) => ("done", None),
                Some(Outcome::Queued { why }) => ("queued", Some(why.clone())),
                Some(Outcome::Refused { why }) => ("refused", Some(why.clone())),
                Some(Outcome::Unfired) => ("unfired", None),
                None => ("queued", None),
            };
            CommandRow {
                verb: c.command.name(),
                step: (c.outcome != Some(Outcome::Unfired)).then_some(c.step),
                result,
                why,
            }
        });
        Self {
            answer: org.answer.clone(),
            end: org.end,
            task: verdict(header, org),
            metrics,
            errors: org
                .errors
                .iter()
                .map(|e| ErrorRow {
                    kind: e.kind,
                    thread: e.thread,
                    step: e.step,
                    message: e.message.clone(),
                })
                .collect(),
            threads: org
                .threads()
                .map(|t| {
                    let lane = schedule.lanes.get(&t.id);
                    let begin = lane.and_then(|l| l.begin);
                    ThreadRow {
                        id: t.id,
                        role: t.role,
                        index: t.id.index(),
                        parent: t.id.parent(),
                        seat: t.seat.clone(),
                        tokens: t.tokens,
                        begin,
                        finish: begin.and(lane).map(|l| l.finish),
                        end: t.end(),
                        refusals: t.refusals.clone(),
                        slack: slack.get(&t.id).copied(),
                    }
                })
                .collect(),
            commands: commands.collect(),
            branches: BranchRow::all(org),
            session,
        }
    }
}
