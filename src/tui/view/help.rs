//! Every key, from the action table.

use super::frame::{popup, put, span};
use crate::tui::action::{Context, TABLE};
use crate::tui::model::Model;
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the help from line `scroll` on; returns the line that was really first.
pub fn draw(model: &Model, scroll: usize, area: Rect, buffer: &mut Buffer) -> usize {
    let lines = lines(model);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let look = &model.look;
    let inside = popup(
        look,
        "Keys",
        "scroll with the arrows, esc closes",
        (78, height.min(area.height.saturating_sub(2))),
        area,
        buffer,
    );
    let first = scroll.min(lines.len().saturating_sub(usize::from(inside.height)));
    for (y, line) in (inside.y..inside.bottom()).zip(lines.iter().skip(first)) {
        put(buffer, inside.x, y, line, inside.width);
    }
    first
}

fn lines(model: &Model) -> Vec<Line<'static>> {
    let look = &model.look;
    let mut lines = Vec::new();
    for context in Context::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(span(context.title(), look.style("ui.accent"))));
        for row in TABLE.iter().filter(|row| row.context == context) {
            let keys = model.keymap.keys_of(row.action).join(" ");
            let pad = 14_usize.saturating_sub(text_width(&keys));
            lines.push(Line::from(vec![
                span(format!("  {keys}{}", " ".repeat(pad)), look.style("ui.key")),
                span(format!(" {}", row.long), look.style("ui.text")),
            ]));
        }
    }
    lines.push(Line::default());
    lines.push(Line::from(span("Always", look.style("ui.accent"))));
    for (keys, what) in [
        ("ctrl-c", "Pause; again to be asked; again to save and quit"),
        (
            "esc",
            "Close the innermost open thing; it never stops anything",
        ),
    ] {
        lines.push(Line::from(vec![
            span(format!("  {keys:<14}"), look.style("ui.key")),
            span(format!(" {what}"), look.style("ui.text")),
        ]));
    }
    lines
}
