//! The list of breakpoints: opening it, its keys, adding one by its spec.

use super::Effect;
use super::act::field;
use crate::org::{Breakpoint, BreakpointState, Command};
use crate::tui::model::{Feed, Model};
use crate::tui::popup::{Popup, Purpose};
use crate::tui::view::breakpoints::{Row, rows};
use crossterm::event::{KeyCode, KeyEvent};

/// Opens the list.
pub fn open(model: &mut Model) -> Vec<Effect> {
    if model.feed != Feed::Live {
        model.say("a recording can be watched, not steered");
        return Vec::new();
    }
    model.popups.push(Popup::Breakpoints { chosen: 0 });
    Vec::new()
}

/// Serves a key of the list.
pub fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let rows = rows(&model.organization);
    let Some(Popup::Breakpoints { chosen }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let last = rows.len().saturating_sub(1);
    let at = (*chosen).min(last);
    match key.code {
        KeyCode::Esc | KeyCode::Char('q' | 'B') => {
            model.popups.pop();
        }
        KeyCode::Up | KeyCode::Char('k') => *chosen = at.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *chosen = (at + 1).min(last),
        KeyCode::Char(' ') | KeyCode::Enter => return toggle(&rows[at]),
        KeyCode::Char('d') | KeyCode::Delete if rows[at].active.is_some() => {
            return set(rows[at].on.clone(), BreakpointState::Deleted);
        }
        KeyCode::Char('a') => return field(model, Purpose::Breakpoint),
        _ => {}
    }
    Vec::new()
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
