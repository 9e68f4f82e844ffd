//! Keys of the queue of requests and of the board of drafts.
//!
//! Neither takes the focus by itself. A key that comes sooner after a prompt's appearance than a person can
//! read it is no answer.

use super::Effect;
use super::seat::{next_seat, open};
use crate::org::{AskRecord, Command, Draft};
use crate::tui::letter::{Letter, Saying};
use crate::tui::model::Model;
use crate::tui::popup::{Popup, REACTION};
use crossterm::event::{KeyCode, KeyEvent};

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

/// Moves `chosen` by an arrow; whether the key was one.
fn moved(chosen: &mut usize, key: KeyEvent, last: usize) -> bool {
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => *chosen = chosen.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *chosen = (*chosen + 1).min(last),
        _ => return false,
    }
    true
}

/// A key while the queue is open.
pub fn approvals_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let asks: Vec<&AskRecord> = model.organization.open_asks().collect();
    let Some(Popup::Approvals { chosen, since }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let last = asks.len().saturating_sub(1);
    *chosen = (*chosen).min(last);
    if matches!(key.code, KeyCode::Esc | KeyCode::Char('q')) {
        model.popups.pop();
        return Vec::new();
    }
    if moved(chosen, key, last) {
        return Vec::new();
    }
    let Some(ask) = asks.get(*chosen) else {
        return Vec::new();
    };
    let appeared = model.ask_since.get(&ask.number).copied();
    let appeared = appeared.unwrap_or_default().max(*since);
    if model.now.saturating_sub(appeared) < REACTION {
        return Vec::new();
    }
    let (number, text) = (ask.number, ask.text.clone());
    match key.code {
        KeyCode::Char('y') | KeyCode::Enter => {
            // Whatever moves up into its place is a new prompt.
            *since = model.now;
            vec![Effect::Send(Command::Approve {
                ask: Some(number),
                text: None,
            })]
        }
        KeyCode::Char('e') => {
            open(model, Letter::Approve(number), Saying::Aloud, text);
            Vec::new()
        }
        KeyCode::Char('n' | 'd') => {
            open(model, Letter::Deny(number), Saying::Aloud, String::new());
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// A key while the board is open.
pub fn board_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let drafts: Vec<&Draft> = model.organization.plan.standing().collect();
    let tools = model.report.tools.clone();
    let Some(Popup::Board { chosen, since }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let last = drafts.len().saturating_sub(1);
    *chosen = (*chosen).min(last);
    let released = model.organization.plan.released;
    if matches!(key.code, KeyCode::Esc | KeyCode::Char('q')) || released {
        model.popups.pop();
        return Vec::new();
    }
    if moved(chosen, key, last) {
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('a') => {
            open(model, Letter::NewDraft, Saying::Aloud, String::new());
            return Vec::new();
        }
        KeyCode::Char('r') if model.now.saturating_sub(*since) >= REACTION => {
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
    let command = match key.code {
        KeyCode::Char('d') => Command::PlanDrop { draft },
        KeyCode::Char('s') => Command::PlanEdit {
            draft,
            query: None,
            seat: Some(next_seat(&own.seat, &tools)),
        },
        KeyCode::Char('K') if place > 0 => {
            *chosen -= 1;
            Command::PlanMove { draft, to: place }
        }
        KeyCode::Char('J') if *chosen < last => {
            *chosen += 1;
            Command::PlanMove {
                draft,
                to: place + 2,
            }
        }
        KeyCode::Char('e') | KeyCode::Enter => {
            open(model, Letter::Draft(draft), Saying::Aloud, query);
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    vec![Effect::Send(command)]
}
