//! Commands and ends in words.

use crate::org::{BreakpointState, Command, RunEnd, Switch};

/// A command in words.
pub(super) fn command_words(command: &Command) -> String {
    let name = command.name().replace('_', " ");
    match command {
        Command::Pause { thread: Some(id) }
        | Command::Resume { thread: Some(id) }
        | Command::Join { thread: id }
        | Command::Kill { thread: id }
        | Command::WrapUp { thread: id }
        | Command::Retry { thread: id } => format!("{name} {id}"),
        Command::Fork {
            query,
            seat,
            thread,
        } => {
            let whose = thread.map(|id| format!(" in {id}")).unwrap_or_default();
            let to = seat.as_ref().map(|seat| format!(" to {seat}"));
            format!("{name}{whose}{}: {query}", to.unwrap_or_default())
        }
        Command::PlanAdd { query, seat } => match seat {
            Some(seat) => format!("{name} to {seat}: {query}"),
            None => format!("{name}: {query}"),
        },
        Command::Seat { thread, to } => format!("{name} of {thread} to {to}"),
        Command::Text { thread, text } => format!("{name} in {thread}: {text}"),
        Command::Submit { thread, text } => format!("{name} {thread}: {text}"),
        Command::Approve { ask, text } => format!(
            "{name}{}{}",
            ask.map(|n| format!(" {n}")).unwrap_or_default(),
            text.as_ref()
                .map(|t| format!(" as: {t}"))
                .unwrap_or_default()
        ),
        Command::Deny { ask, reason } => format!(
            "{name}{}: {reason}",
            ask.map(|n| format!(" {n}")).unwrap_or_default()
        ),
        Command::PlanEdit { draft, query, seat } => format!(
            "{name} {draft}{}{}",
            seat.as_ref()
                .map(|s| format!(" to {s}"))
                .unwrap_or_default(),
            query.as_ref().map(|q| format!(": {q}")).unwrap_or_default()
        ),
        Command::PlanDrop { draft } => format!("{name} {draft}"),
        Command::PlanMove { draft, to } => format!("{name} {draft} to place {to}"),
        Command::Mark { name: mark } => format!("{name}: {mark}"),
        Command::Speed { tokens_per_s: 0 } => format!("{name}: no limit"),
        Command::Speed { tokens_per_s } => format!("{name}: {tokens_per_s} tok/s a thread"),
        Command::Edit {
            thread,
            token,
            text,
        } => {
            format!("{name} {thread} after token {token}: {text}")
        }
        Command::Set { guard } => match guard {
            Switch::On => format!("{name} guard on"),
            Switch::Off => format!("{name} guard off"),
        },
        Command::Break { on, set } => match set {
            BreakpointState::On => format!("{name} on {on}"),
            BreakpointState::Off => format!("{name} on {on}: off"),
            BreakpointState::Deleted => format!("{name} on {on}: deleted"),
        },
        Command::Branch { .. } => branch_words(command),
        Command::Pause { thread: None }
        | Command::Resume { thread: None }
        | Command::Step
        | Command::Next
        | Command::Answer
        | Command::Undo
        | Command::Redo
        | Command::PlanRelease
        | Command::Abort
        | Command::Interrupt
        | Command::Continue => name,
    }
}

/// Where a `branch` command leads, in words.
fn branch_words(command: &Command) -> String {
    let Command::Branch {
        thread,
        token,
        step,
        of,
    } = command
    else {
        return command.name().to_owned();
    };
    let mut words = "branch".to_owned();
    if let Some(of) = of {
        words.push_str(&format!(" of branch {of}"));
    }
    if let (Some(thread), Some(token)) = (thread, token) {
        words.push_str(&format!(" after token {token} of {thread}"));
    }
    if let Some(step) = step {
        words.push_str(&format!(" after step {step}"));
    }
    words
}

/// The words for how a run ended.
#[must_use]
pub fn run_end_words(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Answered => "answered",
        RunEnd::NoAnswer => "no answer",
        RunEnd::TokenLimit => "token limit reached",
        RunEnd::Aborted => "aborted",
        RunEnd::Interrupted => "interrupted",
        RunEnd::Failed => "failed",
    }
}
