//! The editor of a thread's text: whose it is, what will happen, why it was not sent.

use super::frame::{fill, fit, popup, put, span};
use crate::tui::model::Model;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

/// Draws the editor.
pub fn draw(model: &mut Model, area: Rect, frame: &mut Frame<'_>) {
    let look = &model.look;
    let Some(rewrite) = &mut model.rewrite else {
        return;
    };
    let width = 100.min(area.width.saturating_sub(2));
    let room = usize::from(width.saturating_sub(4)).max(1);
    let what = fill(
        &format!(
            "From {} on. What you leave stays as it was decoded; from your first change on the text is yours, and \
             the model goes on after it. The whole organization goes back to that moment, on a new branch.",
            match rewrite.before() {
                0 => "its first token".to_owned(),
                n => format!("its token {}", n + 1),
            }
        ),
        room,
    );
    let complaint = rewrite
        .complaint
        .as_ref()
        .map_or_else(Vec::new, |text| fill(text, room));
    let inner = what.len() + complaint.len() + 14;
    let height = u16::try_from(inner)
        .unwrap_or(u16::MAX)
        .min(area.height.saturating_sub(2));
    let inside = popup(
        look,
        &format!("EDIT {}", rewrite.thread),
        "ctrl-s sends, esc closes",
        (width, height),
        area,
        frame.buffer_mut(),
    );
    let buffer = frame.buffer_mut();
    let mut y = inside.y;
    let mut say = |line: &str, style| {
        if y < inside.bottom() {
            let line = Line::from(span(fit(line, room, look.signs.ellipsis), style));
            put(buffer, inside.x, y, &line, inside.width);
            y += 1;
        }
    };
    for line in &what {
        say(line, look.style("ui.dim"));
    }
    for line in &complaint {
        say(line, look.style("ui.badge.error"));
    }
    say("", look.style("ui.dim"));
    let editor_area = Rect {
        y,
        height: inside.bottom().saturating_sub(y),
        ..inside
    };
    let editor = &mut rewrite.editor;
    editor.set_style(look.style("ui.popup").patch(look.style("ui.text")));
    editor.set_cursor_style(look.style("ui.cursor"));
    editor.set_cursor_line_style(look.style("ui.popup"));
    editor.set_selection_style(look.style("ui.selection"));
    if editor_area.area() > 0 {
        editor.render(editor_area, frame.buffer_mut());
    }
}
