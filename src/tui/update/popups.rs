//! Keys of whatever takes text: fields and the palette; editors have a room of their own.

use super::act::act;
use super::{Effect, Place, breakpoints, editor, select, travel};
use crate::org::Command;
use crate::tui::action::{Action, Context, Row, find};
use crate::tui::app::Next;
use crate::tui::keymap::Key;
use crate::tui::model::Model;
use crate::tui::popup::{Popup, Purpose};
use crate::tui::text::{safe_line, safe_text};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Longest text of a one-line field, in characters.
const LONGEST_FIELD: usize = 400;

/// Serves a key if the topmost popup takes it; `None` leaves it to the keymap.
pub fn key(model: &mut Model, key: KeyEvent) -> Option<Vec<Effect>> {
    let popup = model.popups.last_mut()?;
    match popup {
        // What opens it closes it, though nothing else of those keys works here.
        Popup::Help { .. } => {
            let key = Key::from_event(key);
            let opens = model.keymap.action(&[Context::Any], key) == Some(Action::Help);
            opens.then(|| act(model, Action::Help, None))
        }
        Popup::Inspector { .. }
        | Popup::WhatIf { .. }
        | Popup::Compare { .. }
        | Popup::Approvals { .. }
        | Popup::Board { .. }
        | Popup::Breakpoints { .. }
        | Popup::Branches { .. }
        | Popup::Pick { .. }
        | Popup::Ask { .. }
        | Popup::Stop
        | Popup::Again => None,
        Popup::Composer | Popup::Edit | Popup::Letter { .. } => editor::key(model, key),
        Popup::Palette { .. } => Some(palette(model, key)),
        Popup::Field { .. } => Some(field(model, key)),
    }
}

/// Pasted text goes where text goes, else nowhere.
pub fn paste(model: &mut Model, text: &str) {
    // Terminals send line breaks of pasted text as the return key does.
    let text = &text.replace("\r\n", "\n").replace('\r', "\n");
    match model.popups.last_mut() {
        Some(Popup::Composer) => {
            model.draft.editor.insert_str(safe_text(text).as_ref());
            model.draft.complaint = None;
        }
        Some(Popup::Edit) => {
            if let Some(rewrite) = &mut model.rewrite {
                rewrite.editor.insert_str(safe_text(text).as_ref());
                rewrite.complaint = None;
            }
        }
        Some(Popup::Letter { letter, .. }) => {
            let draft = model.letters.entry(*letter).or_default();
            draft.editor.insert_str(safe_text(text).as_ref());
            draft.complaint = None;
        }
        Some(Popup::Field {
            text: into,
            purpose,
        }) => {
            into.push_str(&safe_line(text));
            truncate(into);
            let (purpose, into) = (*purpose, into.clone());
            typed(model, purpose, &into);
        }
        Some(Popup::Palette { text: into, chosen }) => {
            into.push_str(&safe_line(text));
            truncate(into);
            *chosen = 0;
        }
        _ => {}
    }
}

fn truncate(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(LONGEST_FIELD) {
        text.truncate(at);
    }
}

/// Changes `text` by an editing key; `false` if it is none.
fn edit(text: &mut String, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Backspace if control || key.modifiers.contains(KeyModifiers::ALT) => {
            drop_word(text);
        }
        KeyCode::Backspace => {
            text.pop();
        }
        KeyCode::Char('w') if control => drop_word(text),
        KeyCode::Char('u') if control => text.clear(),
        KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
            text.push_str(&safe_line(c.encode_utf8(&mut [0; 4])));
            truncate(text);
        }
        _ => return false,
    }
    true
}

fn drop_word(text: &mut String) {
    let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
    text.truncate(kept);
}

fn field(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Some(Popup::Field { purpose, text }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let purpose = *purpose;
    match key.code {
        KeyCode::Esc => {
            model.popups.pop();
            if purpose == Purpose::Filter {
                model.filter.clear();
            }
            Vec::new()
        }
        KeyCode::Enter => {
            let text = std::mem::take(text);
            model.popups.pop();
            submit(model, purpose, text.trim())
        }
        KeyCode::Backspace if text.is_empty() => {
            model.popups.pop();
            Vec::new()
        }
        _ => {
            if edit(text, key) {
                let text = text.clone();
                typed(model, purpose, &text);
            }
            Vec::new()
        }
    }
}

/// The filter acts while it is typed.
fn typed(model: &mut Model, purpose: Purpose, text: &str) {
    if purpose == Purpose::Filter {
        model.filter = text.trim().to_owned();
        model.first_row = 0;
    }
}

fn submit(model: &mut Model, purpose: Purpose, text: &str) -> Vec<Effect> {
    match purpose {
        Purpose::Filter => Vec::new(),
        Purpose::Search => select::begin_search(model, text),
        Purpose::GoTo if text.is_empty() => Vec::new(),
        Purpose::GoTo => match text.parse() {
            Ok(id) => select::thread(model, id),
            Err(e) => {
                model.say(format!("{e}"));
                Vec::new()
            }
        },
        Purpose::Seek => match text.trim_end_matches('%').trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                vec![Effect::Seek(Place::Percent(percent))]
            }
            _ => {
                model.say(format!("`{text}` is not a percentage: expected 0 to 100"));
                Vec::new()
            }
        },
        Purpose::Breakpoint => breakpoints::add(model, text),
        Purpose::CompareWith => travel::compare_with(model, text),
        Purpose::Query if text.is_empty() => Vec::new(),
        Purpose::Query => match (model.accepts)(text) {
            Ok(()) => vec![Effect::Again(Next::Query(text.to_owned()))],
            Err(why) => {
                model.say(why);
                Vec::new()
            }
        },
        Purpose::Mark => {
            let name = if text.is_empty() {
                format!("step {}", model.organization.now.step)
            } else {
                text.to_owned()
            };
            vec![Effect::Send(Command::Mark { name })]
        }
    }
}

/// Actions that can be called now, best match first.
#[must_use]
pub fn callable(model: &Model, text: &str) -> Vec<&'static Row> {
    let mut below = model.contexts_below_popups();
    if below.contains(&Context::Live) {
        below.push(Context::Stop);
        below.push(Context::Again);
    }
    // What scrolls a panel acts on the one that the palette lies over.
    let mut over = model.popups.iter().rev();
    let palette = |p: &&Popup| matches!(p, Popup::Palette { .. });
    let over = over.find(|p| !palette(p));
    if over.is_some_and(Popup::is_panel) {
        below.push(Context::Panel);
    }
    // The same of lists.
    if let Some(list) = over.and_then(Popup::list) {
        below.extend([list, Context::List]);
    }
    find(text)
        .into_iter()
        .filter(|row| below.contains(&row.context))
        .collect()
}

fn palette(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Some(Popup::Palette { text, chosen }) = model.popups.last() else {
        return Vec::new();
    };
    let (mut text, mut chosen) = (text.clone(), *chosen);
    match key.code {
        KeyCode::Esc => {
            model.popups.pop();
            return Vec::new();
        }
        KeyCode::Enter => {
            let action = callable(model, &text).get(chosen).map(|row| row.action);
            model.popups.pop();
            return action.map_or_else(Vec::new, |action| act(model, action, None));
        }
        KeyCode::Backspace if text.is_empty() => {
            model.popups.pop();
            return Vec::new();
        }
        KeyCode::Up => chosen = chosen.saturating_sub(1),
        KeyCode::Down | KeyCode::Tab => chosen += 1,
        _ => {
            if edit(&mut text, key) {
                chosen = 0;
            }
        }
    }
    let last = callable(model, &text).len().saturating_sub(1);
    if let Some(Popup::Palette {
        text: own,
        chosen: at,
    }) = model.popups.last_mut()
    {
        *own = text;
        *at = chosen.min(last);
    }
    Vec::new()
}
