//! What to run next: another instance, another seed, another query.

use super::frame::{popup, put, span};
use crate::tui::action::{Action, Context, TABLE};
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the menu.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let title = if model.running() {
        "Run again; this run is saved as interrupted"
    } else {
        "Run again"
    };
    let inside = popup(look, title, "esc closes", (60, 5), area, buffer);
    let rows = TABLE.iter().filter(|row| row.context == Context::Again);
    for (y, row) in (inside.y..inside.bottom()).zip(rows) {
        let possible = row.action != Action::AgainInstance || model.task().is_some();
        let key = model.keymap.keys_of(row.action).into_iter().next();
        let (key_style, style) = if possible {
            (look.style("ui.key"), look.style("ui.text"))
        } else {
            (look.style("ui.dim"), look.style("ui.dim"))
        };
        let line = Line::from(vec![
            span(format!("{} ", key.unwrap_or_default()), key_style),
            span(row.long, style),
        ]);
        put(buffer, inside.x, y, &line, inside.width);
    }
}
