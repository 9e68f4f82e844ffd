//! What a run without a screen came to: its exit code, and in words why it has no whole answer and what can be
//! done; what became of commands that did nothing. Prints nothing itself.

use super::Exit;
use crate::live::{Finished, Ordered};
use crate::org::{
    AskKind, Author, Body, Command, CommandRecord, ErrorKind, Organization, Outcome, RunEnd, Seat,
    Status,
};
use std::path::Path;

/// Done is a whole answer, wholly recorded, and nothing else.
#[must_use]
pub fn exit(finished: &Finished) -> Exit {
    if finished.organization.end == Some(RunEnd::Answered) && finished.record_error.is_none() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

/// Of a session in which somebody may have wanted to leave, or that repeats one: an orderly end is done;
/// breaking down, standing still or losing the recording is not.
#[must_use]
pub fn orderly(finished: &Finished) -> Exit {
    let orderly = !matches!(finished.organization.end, None | Some(RunEnd::Failed));
    if orderly && !finished.stuck && finished.record_error.is_none() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

/// Why there is no whole answer and what can be done, in one line; `file` is where it is recorded.
#[must_use]
pub fn why(finished: &Finished, file: Option<&Path>) -> Option<String> {
    let org = &finished.organization;
    let step = org.now.step.0;
    let what = match org.end {
        Some(RunEnd::Answered) => return None,
        Some(RunEnd::Interrupted) | None if finished.stuck => {
            format!("{}; {}", standing(org), goes_on(file))
        }
        Some(RunEnd::Interrupted) | None => {
            format!("interrupted at step {step}; {}", goes_on(file))
        }
        Some(RunEnd::Aborted) => format!("aborted at step {step}; {}", shows(file)),
        Some(RunEnd::Failed) => format!("failed at step {step}{}; {}", last(org), shows(file)),
        Some(end @ (RunEnd::NoAnswer | RunEnd::TokenLimit)) => {
            let head = match org.answer {
                Some(_) => "no whole answer",
                None => "no answer",
            };
            let more = match end {
                RunEnd::TokenLimit => "more room: --max-organizer, --context",
                _ => "another --seed may answer",
            };
            format!("{head}{}; {more}; {}", last(org), shows(file))
        }
    };
    Some(what)
}

/// The message of the last error.
fn last(org: &Organization) -> String {
    org.errors
        .last()
        .map(|error| format!(": {}", error.message))
        .unwrap_or_default()
}

fn goes_on(file: Option<&Path>) -> String {
    match file {
        Some(file) => format!("orgtop resume {} goes on", file.display()),
        None => "it was not recorded, so nothing can go on from here".into(),
    }
}

fn shows(file: Option<&Path>) -> String {
    match file {
        Some(file) => format!("orgtop replay {} shows it", file.display()),
        None => "it was not recorded".into(),
    }
}

/// That it stands, where, and for whom.
fn standing(org: &Organization) -> String {
    let mut reasons: Vec<String> = org
        .stopped_at
        .iter()
        .map(|on| format!("breakpoint {on}"))
        .collect();
    reasons.extend(org.open_asks().map(|ask| match (ask.kind, ask.index) {
        (AskKind::Fork, Some(index)) => format!("waits for approval of fork {index}"),
        (AskKind::Fork, None) => "waits for approval of a fork".into(),
        (AskKind::Answer, _) => "waits for approval of the answer".into(),
        (AskKind::Tool, _) => format!("waits for approval of the tool of {}", ask.thread),
        (AskKind::Plan, _) => "waits for the plan to be released".into(),
    }));
    for thread in org.threads() {
        let stands = thread.status == Status::Running && org.asked_of(thread.id).is_none();
        if stands && thread.paused {
            reasons.push(format!("{} is paused", thread.id));
        } else if stands && thread.seat == Seat::Human {
            reasons.push(format!(
                "waits for text from the person in seat {}",
                thread.id
            ));
        }
    }
    if org.paused && reasons.is_empty() {
        reasons.push(paused_by(org));
    }
    let verb = if org.paused {
        "stands paused"
    } else {
        "stands still"
    };
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join("; ")),
    };
    format!("{verb} at step {}{reasons}", org.now.step.0)
}

/// Who paused the whole run, if no breakpoint did.
fn paused_by(org: &Organization) -> String {
    let whole = |c: &&CommandRecord| c.command == Command::Pause { thread: None };
    let system = org.commands.iter().rfind(whole).map(|c| &c.by) == Some(&Author::System);
    match org.errors.last() {
        Some(error) if system && error.kind == ErrorKind::Engine => error.message.clone(),
        _ => "by a command".into(),
    }
}

/// A line for every order that was refused or never came due; `file` is where orders with a line stand.
#[must_use]
pub fn orders_in_vain(finished: &Finished, file: Option<&Path>) -> Vec<String> {
    let mut ordered: Vec<&Ordered> = finished.ordered.iter().collect();
    ordered.sort_by_key(|order| order.line);
    let line = |order: &Ordered| {
        let events = finished.history.events();
        let outcome = events.iter().rev().find_map(|e| match &e.body {
            Body::Effect { outcome } if e.cause == Some(order.seq) => Some(outcome),
            _ => None,
        })?;
        let name = events.iter().find_map(|e| match &e.body {
            Body::Command { command } if e.seq == order.seq => Some(command.name()),
            _ => None,
        })?;
        let place = match (file, order.line) {
            (Some(file), Some(line)) => format!("{}, line {line}: ", file.display()),
            _ => String::new(),
        };
        match outcome {
            Outcome::Refused { why } => Some(format!("{place}{name} refused: {why}")),
            Outcome::Unfired => Some(format!("{place}{name} never came due")),
            Outcome::Done | Outcome::Queued { .. } => None,
        }
    };
    ordered.into_iter().filter_map(line).collect()
}
