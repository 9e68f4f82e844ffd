//! Actions that ask something of a running session.

use super::act::{ask, field};
use super::{Effect, queue, seat};
use crate::org::{Command, Role, RunEnd, ThreadId};
use crate::tui::action::Action;
use crate::tui::model::{Feed, Model};
use crate::tui::popup::{Popup, Purpose, Question};

/// Speed limits in tokens a second and thread, slowest first; the last is none.
const LIMITS: [u32; 9] = [1, 2, 5, 10, 20, 40, 80, 160, 0];

/// Carries out a steering action, or says why it cannot be.
pub fn steer(model: &mut Model, action: Action) -> Vec<Effect> {
    if model.feed != Feed::Live {
        model.say("a recording can be watched, not steered");
        return Vec::new();
    }
    if action == Action::Mark {
        return field(model, Purpose::Mark);
    }
    let possible = model.steerable() || (action == Action::Seat && unanswered(model));
    if !possible {
        model.popups.retain(|p| !matches!(p, Popup::Stop));
        model.say(match model.organization.end {
            Some(_) => "the run is over",
            None => "the session has not begun yet",
        });
        return Vec::new();
    }
    let selected = model.selected;
    let send = |command| vec![Effect::Send(command)];
    match action {
        Action::PauseResume if model.organization.paused => send(Command::Resume { thread: None }),
        Action::PauseResume => {
            model.pause_asked = true;
            send(Command::Pause { thread: None })
        }
        Action::Step => send(Command::Step),
        Action::Next => send(Command::Next),
        Action::PauseThread => {
            let held = model
                .organization
                .thread(selected)
                .is_some_and(|t| t.paused);
            let thread = Some(selected);
            send(if held {
                Command::Resume { thread }
            } else {
                Command::Pause { thread }
            })
        }
        Action::Fork => {
            model.draft.thread = who_forks(model);
            model.popups.push(Popup::Composer);
            Vec::new()
        }
        Action::Join => join(model),
        Action::Answer => send(Command::Answer),
        Action::StopMenu => {
            model.popups.push(Popup::Stop);
            Vec::new()
        }
        Action::Seat => seat::take_or_give(model),
        Action::Write => seat::write(model),
        Action::Approvals => queue::approvals(model),
        Action::Board => queue::board(model),
        Action::Retry => {
            model.popups.retain(|p| !matches!(p, Popup::Stop));
            send(Command::Retry { thread: selected })
        }
        Action::WrapUp | Action::Kill => stop(model, action),
        Action::Abort => {
            model.popups.retain(|p| !matches!(p, Popup::Stop));
            ask(model, Question::Abort);
            Vec::new()
        }
        Action::Slower | Action::Faster => limit_speed(model, action == Action::Faster),
        _ => Vec::new(),
    }
}

/// Whether the run ended without an answer, and whoever takes the organizer's seat could give one.
fn unanswered(model: &Model) -> bool {
    let end = model.organization.end;
    model.selected.is_organizer() && matches!(end, Some(RunEnd::NoAnswer | RunEnd::TokenLimit))
}

fn stop(model: &mut Model, action: Action) -> Vec<Effect> {
    model.popups.retain(|p| !matches!(p, Popup::Stop));
    let thread = model.selected;
    let Some(worker) = model.organization.thread(thread) else {
        return Vec::new();
    };
    if worker.role == Role::Organizer {
        let (answer, abort) = (model.key(Action::Answer), model.key(Action::Abort));
        model.say(format!(
            "only workers can be stopped alone: {answer} makes the organizer answer, {abort} aborts the run"
        ));
        return Vec::new();
    }
    if worker.ended() {
        model.say(format!("worker {thread} has ended already"));
        return Vec::new();
    }
    vec![Effect::Send(if action == Action::Kill {
        Command::Kill { thread }
    } else {
        Command::WrapUp { thread }
    })]
}

/// The selected thread if it may fork and goes on, else the organizer.
fn who_forks(model: &Model) -> ThreadId {
    let id = model.selected;
    let organizes = model.header.as_ref().is_some_and(|h| h.organizes(id));
    let goes_on = model.organization.thread(id).is_some_and(|t| !t.ended());
    if organizes && goes_on {
        id
    } else {
        ThreadId::ORGANIZER
    }
}

fn join(model: &mut Model) -> Vec<Effect> {
    let workers: Vec<ThreadId> = model
        .organization
        .threads()
        .filter(|t| !t.joined)
        .filter(|t| {
            let parent = t.id.parent().and_then(|id| model.organization.thread(id));
            parent.is_some_and(|parent| !parent.ended())
        })
        .map(|t| t.id)
        .collect();
    match workers.as_slice() {
        [] => {
            model.say("there is no worker that was not joined yet");
            Vec::new()
        }
        [thread] => vec![Effect::Send(Command::Join { thread: *thread })],
        _ => {
            let chosen = workers
                .iter()
                .position(|w| *w == model.selected)
                .unwrap_or(0);
            model.popups.push(Popup::Pick { workers, chosen });
            Vec::new()
        }
    }
}

fn limit_speed(model: &mut Model, faster: bool) -> Vec<Effect> {
    let at = LIMITS
        .iter()
        .position(|l| *l == model.speed_limit)
        .unwrap_or(LIMITS.len() - 1);
    let next = if faster {
        (at + 1).min(LIMITS.len() - 1)
    } else {
        at.saturating_sub(1)
    };
    model.speed_limit = LIMITS[next];
    model.say(match model.speed_limit {
        0 => "no speed limit".to_owned(),
        limit => format!("at most {limit} tok/s a thread"),
    });
    vec![Effect::Send(Command::Speed {
        tokens_per_s: model.speed_limit,
    })]
}
