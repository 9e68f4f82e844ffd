//! Editors: of a sub-query, of a thread's text, of a letter. A key that the keymap does not give to them goes
//! into the text; sending asks the session, or says why it cannot.

use super::{Effect, seat, travel};
use crate::org::Command;
use crate::tui::action::Action;
use crate::tui::keymap::Key;
use crate::tui::model::Model;
use crate::tui::popup::{Draft, Popup, check_query};
use crossterm::event::{KeyCode, KeyEvent};

/// A key while an editor is open; `None` leaves it to the keymap.
pub fn key(model: &mut Model, key: KeyEvent) -> Option<Vec<Effect>> {
    if model
        .keymap
        .action(&model.contexts(), Key::from_event(key))
        .is_some()
    {
        return None;
    }
    if key.code == KeyCode::Esc {
        close(model);
    } else {
        input(model, key);
    }
    Some(Vec::new())
}

/// Esc keeps what is written.
fn close(model: &mut Model) {
    let closed = model.popups.pop();
    if matches!(closed, Some(Popup::Composer)) && !model.draft.text().is_empty() {
        let key = model.key(Action::Fork);
        model.say(format!("the draft is kept: {key} opens it again"));
    }
}

/// Puts a key into the text of the open editor.
fn input(model: &mut Model, key: KeyEvent) {
    let (editor, complaint) = match model.popups.last() {
        Some(Popup::Composer) => (&mut model.draft.editor, &mut model.draft.complaint),
        Some(Popup::Letter { letter, .. }) => {
            let draft = model.letters.entry(*letter).or_default();
            (&mut draft.editor, &mut draft.complaint)
        }
        _ => match &mut model.rewrite {
            Some(rewrite) => (&mut rewrite.editor, &mut rewrite.complaint),
            None => return,
        },
    };
    editor.input(key);
    *complaint = None;
}

/// Sends what is written, or changes what sending does.
pub fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match (model.popups.last(), action) {
        (Some(Popup::Composer), Action::Send) => fork(model),
        (Some(Popup::Composer), _) => {
            model.draft.seat = seat::next_seat(&model.draft.seat, &model.report.seats);
            Vec::new()
        }
        (Some(Popup::Letter { .. }), Action::Send) => seat::send(model),
        (Some(Popup::Letter { .. }), _) => {
            seat::otherwise(model);
            Vec::new()
        }
        (Some(Popup::Edit), Action::Send) => travel::send_edit(model),
        _ => Vec::new(),
    }
}

fn fork(model: &mut Model) -> Vec<Effect> {
    let query = model.draft.text();
    if let Err(why) = check_query(&query) {
        model.draft.complaint = Some(why);
        return Vec::new();
    }
    if !model.steerable() {
        model.draft.complaint = Some("The run is over: nothing can be forked any more.".to_owned());
        return Vec::new();
    }
    model.popups.pop();
    let (seat, thread) = (model.draft.address(), model.draft.thread);
    model.draft = Draft::default();
    vec![Effect::Send(Command::Fork {
        query,
        seat,
        thread: (!thread.is_organizer()).then_some(thread),
    })]
}
