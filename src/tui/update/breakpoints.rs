//! The list of breakpoints: opening it, changing it, adding one by its spec.

use super::Effect;
use super::act::field;
use crate::org::{Breakpoint, BreakpointState, Command};
use crate::tui::action::Action;
use crate::tui::model::{Feed, Model};
use crate::tui::popup::{Popup, Purpose};
use crate::tui::view::breakpoints::{Row, rows};

/// Opens the list.
pub fn open(model: &mut Model) -> Vec<Effect> {
    if model.feed != Feed::Live {
        model.say("a recording can be watched, not steered");
        return Vec::new();
    }
    model.popups.push(Popup::Breakpoints { chosen: 0 });
    Vec::new()
}

/// Changes the list.
pub fn change(model: &mut Model, action: Action) -> Vec<Effect> {
    let rows = rows(&model.organization);
    let Some(Popup::Breakpoints { chosen }) = model.popups.last() else {
        return Vec::new();
    };
    let Some(row) = rows.get((*chosen).min(rows.len().saturating_sub(1))) else {
        return Vec::new();
    };
    match action {
        Action::BreakSwitch => toggle(row),
        Action::BreakDelete if row.active.is_some() => {
            set(row.on.clone(), BreakpointState::Deleted)
        }
        Action::BreakAdd => field(model, Purpose::Breakpoint),
        _ => Vec::new(),
    }
}

fn toggle(row: &Row) -> Vec<Effect> {
    let to = if row.active == Some(true) {
        BreakpointState::Off
    } else {
        BreakpointState::On
    };
    set(row.on.clone(), to)
}

fn set(on: Breakpoint, set: BreakpointState) -> Vec<Effect> {
    vec![Effect::Send(Command::Break { on, set })]
}

/// Adds the breakpoint that was typed.
pub fn add(model: &mut Model, text: &str) -> Vec<Effect> {
    if text.is_empty() {
        return Vec::new();
    }
    match text.parse() {
        Ok(on) => set(on, BreakpointState::On),
        Err(why) => {
            model.say(format!("{why}"));
            Vec::new()
        }
    }
}
