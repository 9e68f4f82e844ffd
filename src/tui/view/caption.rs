//! What a demo says, above the footer.

use super::footer::demo_hints;
use super::frame::{fill, fit, put, span};
use crate::tui::demo::Demo;
use crate::tui::model::{CAPTION_MARGINS, Model};
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// The line above it: the keys that are the demo's now, and how far it is.
fn rule(model: &Model, demo: &Demo, width: usize) -> Line<'static> {
    let look = &model.look;
    let across = look.signs.frame.horizontal_top;
    let (at, of) = demo.progress();
    let title = format!(" {} {at}/{of} ", demo.manner().word());
    let keys = demo_hints(model, width.saturating_sub(text_width(&title) + 5));
    let used: usize = keys.iter().map(|s| text_width(&s.content)).sum();
    let middle = width.saturating_sub(used + text_width(&title) + 4);
    let line = |cells: usize| span(across.repeat(cells), look.style("pane.border"));
    let mut spans = vec![line(2)];
    spans.extend(keys);
    spans.extend([line(middle), span(title, look.style("ui.dim")), line(2)]);
    Line::from(spans)
}

/// Draws the caption; its place stays empty between two.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let Some(demo) = model.demo.as_ref().filter(|_| area.height > 0) else {
        return;
    };
    let look = &model.look;
    let width = usize::from(area.width);
    put(
        buffer,
        area.x,
        area.y,
        &rule(model, demo, width),
        area.width,
    );
    let text = look.shown(&crate::tui::text::safe_text(
        demo.caption().unwrap_or_default(),
    ));
    let room = width.saturating_sub(CAPTION_MARGINS);
    let mut lines = fill(&text, room);
    let rows = usize::from(area.height - 1);
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = fit(
                &format!("{last} {}", look.signs.ellipsis),
                room,
                look.signs.ellipsis,
            );
        }
    }
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        let line = Line::from(span(line, look.style("ui.accent")));
        put(buffer, area.x + 2, y, &line, area.width.saturating_sub(4));
    }
}
