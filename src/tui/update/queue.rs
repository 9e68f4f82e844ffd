//! What the queue of requests and the board of drafts do.
//!
//! Neither takes the focus by itself. A key that comes sooner after a prompt's appearance than a person can
//! read it is no answer.

use super::Effect;
use super::seat::{next_seat, open};
use crate::org::{AskRecord, Command, Draft};
use crate::tui::action::Action;
use crate::tui::letter::{Letter, Saying};
use crate::tui::model::Model;
use crate::tui::popup::{Popup, REACTION};

/// Opens the queue, if anything waits.
pub fn approvals(model: &mut Model) -> Vec<Effect> {
    if model.organization.open_asks().next().is_none() {
        model.say("nothing waits for approval");
    } else {
        let since = model.now;
        model.popups.push(Popup::Approvals { chosen: 0, since });
    }
    Vec::new()
}

/// Opens the board, if this run has one.
pub fn board(model: &mut Model) -> Vec<Effect> {
    if model.header.as_ref().is_some_and(|h| h.plan) {
        let since = model.now;
        model.popups.push(Popup::Board { chosen: 0, since });
    } else {
        model.say("this run has no plan: start it with --plan");
    }
    Vec::new()
}

/// Decides the chosen request.
pub fn decide(model: &mut Model, action: Action) -> Vec<Effect> {
    let asks: Vec<&AskRecord> = model.organization.open_asks().collect();
    let Some(Popup::Approvals { chosen, since }) = model.popups.last_mut() else {
        return Vec::new();
    };
    *chosen = (*chosen).min(asks.len().saturating_sub(1));
    let Some(ask) = asks.get(*chosen) else {
        return Vec::new();
    };
    let appeared = model.ask_since.get(&ask.number).copied();
    let appeared = appeared.unwrap_or_default().max(*since);
    if model.now.saturating_sub(appeared) < REACTION {
        return Vec::new();
    }
    let (number, text) = (ask.number, ask.text.clone());
    match action {
        Action::Approve => {
            // Whatever moves up into its place is a new prompt.
            *since = model.now;
            return vec![Effect::Send(Command::Approve {
                ask: Some(number),
                text: None,
            })];
        }
        Action::ApproveEdited => open(model, Letter::Approve(number), Saying::Aloud, text),
        _ => open(model, Letter::Deny(number), Saying::Aloud, String::new()),
    }
    Vec::new()
}

/// Changes the board.
pub fn plan(model: &mut Model, action: Action) -> Vec<Effect> {
    let drafts: Vec<&Draft> = model.organization.plan.standing().collect();
    let seats = model.report.seats.clone();
    let Some(Popup::Board { chosen, since }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let last = drafts.len().saturating_sub(1);
    *chosen = (*chosen).min(last);
    if model.organization.plan.released {
        model.popups.pop();
        return Vec::new();
    }
    match action {
        Action::DraftAdd => {
            open(model, Letter::NewDraft, Saying::Aloud, String::new());
            return Vec::new();
        }
        Action::PlanRelease if model.now.saturating_sub(*since) >= REACTION => {
            model.popups.pop();
            return vec![Effect::Send(Command::PlanRelease)];
        }
        _ => {}
    }
    let Some(own) = drafts.get(*chosen) else {
        return Vec::new();
    };
    let (draft, query) = (own.draft, own.query.clone());
    let place = u32::try_from(*chosen).unwrap_or(u32::MAX);
    let command = match action {
        Action::DraftDrop => Command::PlanDrop { draft },
        Action::DraftSeat => Command::PlanEdit {
            draft,
            query: None,
            seat: Some(next_seat(&own.seat, &seats)),
        },
        Action::DraftUp if place > 0 => {
            *chosen -= 1;
            Command::PlanMove { draft, to: place }
        }
        Action::DraftDown if *chosen < last => {
            *chosen += 1;
            Command::PlanMove {
                draft,
                to: place + 2,
            }
        }
        Action::DraftEdit => {
            open(model, Letter::Draft(draft), Saying::Aloud, query);
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    vec![Effect::Send(command)]
}
