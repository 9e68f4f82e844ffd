//! Ways to stop: one worker gently, one worker now, everything.

use super::frame::{popup, put, span};
use crate::org::Role;
use crate::tui::action::{Action, Context, TABLE};
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the stop menu.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let id = model.selected;
    let worker = model
        .organization
        .thread(id)
        .is_some_and(|t| t.role == Role::Worker && !t.ended());
    let again = model
        .organization
        .thread(id)
        .is_some_and(|t| t.role == Role::Worker && !(t.ended() && t.joined));
    let title = if id.is_organizer() {
        "Stop the run".to_owned()
    } else {
        format!("Stop worker {id}")
    };
    let inside = popup(look, &title, "esc closes", (64, 6), area, buffer);
    let rows = TABLE.iter().filter(|row| row.context == Context::Stop);
    for (y, row) in (inside.y..inside.bottom()).zip(rows) {
        let possible = match row.action {
            Action::Abort => true,
            Action::Retry => again,
            _ => worker,
        };
        let key = model.keymap.keys_of(row.action).into_iter().next();
        let (key_style, style) = if possible {
            (look.style("ui.key"), look.style("ui.text"))
        } else {
            (look.style("ui.dim"), look.style("ui.dim"))
        };
        let text = if possible {
            row.long.to_owned()
        } else {
            format!("{} {} not possible here", row.short, look.signs.dash)
        };
        let line = Line::from(vec![
            span(format!("{} ", key.unwrap_or_default()), key_style),
            span(text, style),
        ]);
        put(buffer, inside.x, y, &line, inside.width);
    }
}
