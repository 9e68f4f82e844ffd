//! The editor of a thread's text: whose it is, what will happen, why it was not sent.

use super::composer::{Sheet, editor_box};
use crate::tui::action::Action;
use crate::tui::model::Model;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Text of a thread is longer than a letter.
const SIZE: (u16, u16) = (100, 14);

/// Draws the editor.
pub fn draw(model: &mut Model, area: Rect, frame: &mut Frame<'_>) {
    let hint = format!("{} sends, esc closes", model.key(Action::Send));
    let Some(rewrite) = &mut model.rewrite else {
        return;
    };
    let what = format!(
        "From {} on. What you leave stays as it was decoded; from your first change on the text is yours, and \
         the model goes on after it. The whole organization goes back to that moment, on a new branch.",
        match rewrite.before() {
            0 => "its first token".to_owned(),
            n => format!("its token {}", n + 1),
        }
    );
    let title = format!("EDIT {}", rewrite.thread);
    let sheet = Sheet {
        title: &title,
        hint: &hint,
        what: &what,
        placeholder: "",
        size: SIZE,
    };
    let written = (&mut rewrite.editor, rewrite.complaint.as_deref());
    editor_box(&model.look, &sheet, written, area, frame);
}
