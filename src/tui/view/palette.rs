//! Any action by its name.

use super::frame::{fit, fit_tail, popup, put, span};
use crate::tui::model::Model;
use crate::tui::text::text_width;
use crate::tui::update::callable;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

/// Draws the palette.
pub fn draw(model: &Model, text: &str, chosen: usize, area: Rect, frame: &mut Frame<'_>) {
    let look = &model.look;
    let found = callable(model, text);
    let inside = popup(
        look,
        "Command",
        "enter runs it, esc closes",
        (72, 16),
        area,
        frame.buffer_mut(),
    );
    if inside.height == 0 || inside.width < 4 {
        return;
    }
    let buffer = frame.buffer_mut();
    let room = usize::from(inside.width).saturating_sub(3);
    let typed = fit_tail(text, room, look.signs.ellipsis);
    let cursor = 2 + u16::try_from(text_width(&typed)).unwrap_or(0);
    let line = Line::from(vec![
        span(format!("{} ", look.signs.prompt), look.style("ui.accent")),
        span(typed, look.style("ui.text")),
    ]);
    put(buffer, inside.x, inside.y, &line, inside.width);
    let rows = usize::from(inside.height - 1).max(1);
    let first = (chosen + 1).saturating_sub(rows);
    for (i, (y, row)) in (inside.y + 1..inside.bottom())
        .zip(found.iter().skip(first))
        .enumerate()
    {
        let keys = model.keymap.keys_of(row.action);
        let key = keys.first().map_or("", String::as_str);
        let name = format!("{:<16} ", row.id);
        let room = usize::from(inside.width).saturating_sub(name.len() + text_width(key) + 1);
        let what = fit(row.long, room, look.signs.ellipsis);
        let pad = room.saturating_sub(text_width(&what));
        let line = Line::from(vec![
            span(name, look.style("ui.text")),
            span(format!("{what}{}", " ".repeat(pad)), look.style("ui.dim")),
            span(format!(" {key}"), look.style("ui.key")),
        ]);
        put(buffer, inside.x, y, &line, inside.width);
        if first + i == chosen {
            let rect = Rect {
                y,
                height: 1,
                ..inside
            };
            buffer.set_style(rect, look.style("ui.selection"));
        }
    }
    if found.is_empty() && inside.height > 1 {
        let line = Line::from(span("no action has these letters", look.style("ui.dim")));
        put(buffer, inside.x, inside.y + 1, &line, inside.width);
    }
    frame.set_cursor_position(Position::new(
        (inside.x + cursor).min(inside.right()),
        inside.y,
    ));
}
