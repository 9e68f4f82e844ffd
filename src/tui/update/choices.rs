//! Choosing: rows of the open list, the worker to join, yes or no.

use super::act::digit;
use super::{Effect, leave};
use crate::org::Command;
use crate::tui::action::Action;
use crate::tui::model::Model;
use crate::tui::popup::{Popup, Question, REACTION};
use crate::tui::view;
use crossterm::event::KeyEvent;

/// Chooses another row of the list that is open.
pub fn list(model: &mut Model, down: bool) -> Vec<Effect> {
    let organization = &model.organization;
    let rows = match model.popups.last() {
        Some(Popup::Approvals { .. }) => organization.open_asks().count(),
        Some(Popup::Board { .. }) => organization.plan.standing().count(),
        Some(Popup::Breakpoints { .. }) => view::breakpoints::rows(organization).len(),
        Some(Popup::Branches { .. }) => view::tree::rows(organization).len(),
        Some(Popup::Pick { workers, .. }) => workers.len(),
        _ => 0,
    };
    let last = rows.saturating_sub(1);
    if let Some(
        Popup::Approvals { chosen, .. }
        | Popup::Board { chosen, .. }
        | Popup::Breakpoints { chosen }
        | Popup::Branches { chosen, .. }
        | Popup::Pick { chosen, .. },
    ) = model.popups.last_mut()
    {
        let at = (*chosen).min(last);
        *chosen = if down {
            (at + 1).min(last)
        } else {
            at.saturating_sub(1)
        };
    }
    Vec::new()
}

/// Joins the chosen worker, or the newest one of the index that is the key's digit.
pub fn join(model: &mut Model, action: Action, key: Option<KeyEvent>) -> Vec<Effect> {
    let Some(Popup::Pick { workers, chosen }) = model.popups.last() else {
        return Vec::new();
    };
    let worker = if action == Action::PickJoin {
        workers.get(*chosen)
    } else {
        let index = key.and_then(digit);
        let mut newest_first = workers.iter().rev();
        newest_first.find(|w| w.depth() == 1 && index.is_some() && w.index() == index)
    };
    let Some(thread) = worker.copied() else {
        return Vec::new();
    };
    model.popups.pop();
    vec![Effect::Send(Command::Join { thread })]
}

/// Answers the question, unless the key was pressed before it could be read.
pub fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    let Some(Popup::Ask { question, since }) = model.popups.last() else {
        return Vec::new();
    };
    let (question, since) = (*question, *since);
    if model.now.saturating_sub(since) < REACTION {
        return Vec::new();
    }
    model.popups.pop();
    match (yes, question) {
        (false, _) => Vec::new(),
        (true, Question::Abort) => vec![Effect::Send(Command::Abort)],
        (true, Question::Quit) => leave(model),
    }
}
