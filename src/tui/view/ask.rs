//! A question; the answer is no unless said otherwise.

use super::frame::{fill, popup, put, span};
use crate::tui::action::Action;
use crate::tui::model::Model;
use crate::tui::popup::Question;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the question.
pub fn draw(model: &Model, question: Question, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let (title, text, yes) = match question {
        Question::Abort => (
            "Abort the run?",
            "The organizer and all workers stop without an answer. What was decoded stays in the session.",
            "abort",
        ),
        Question::Quit => (
            "Quit while it runs?",
            "The session is saved as interrupted.",
            "save and quit",
        ),
    };
    let width = 56.min(area.width.saturating_sub(2));
    let lines = fill(text, usize::from(width.saturating_sub(4)).max(1));
    let height = u16::try_from(lines.len()).unwrap_or(0) + 4;
    let inside = popup(look, title, "", (width, height), area, buffer);
    let mut y = inside.y;
    for line in &lines {
        if y < inside.bottom() {
            put(
                buffer,
                inside.x,
                y,
                &Line::from(span(line.as_str(), look.style("ui.text"))),
                inside.width,
            );
        }
        y += 1;
    }
    y += 1;
    if y < inside.bottom() {
        let no = model.keymap.keys_of(Action::No).into_iter().nth(1);
        let others = no.map_or_else(|| "esc".to_owned(), |key| format!("{key}, esc"));
        let line = Line::from(vec![
            span(format!("{} ", model.key(Action::Yes)), look.style("ui.key")),
            span(format!("{yes}   "), look.style("ui.text")),
            span(format!("{} ", model.key(Action::No)), look.style("ui.key")),
            span(format!("no, go on ({others})"), look.style("ui.text")),
        ]);
        put(buffer, inside.x, y, &line, inside.width);
    }
}
