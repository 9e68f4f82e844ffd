//! Which worker to join.

use super::frame::{fit, popup, put, span};
use crate::org::ThreadId;
use crate::tui::action::Action;
use crate::tui::model::Model;
use crate::tui::sign::{status_scope, status_words};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the picker.
pub fn draw(model: &Model, workers: &[ThreadId], chosen: usize, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let height = u16::try_from(workers.len() + 2).unwrap_or(u16::MAX).min(16);
    let inside = popup(
        look,
        "Join which worker?",
        &format!(
            "{} or its digit joins, esc closes",
            model.key(Action::PickJoin)
        ),
        (64, height),
        area,
        buffer,
    );
    let rows = usize::from(inside.height).max(1);
    let first = (chosen + 1).saturating_sub(rows);
    for (i, (y, id)) in (inside.y..inside.bottom())
        .zip(workers.iter().skip(first))
        .enumerate()
    {
        let Some(thread) = model.organization.thread(*id) else {
            continue;
        };
        let state = format!("{} {:<14}", look.signs.status(thread), status_words(thread));
        let room = usize::from(inside.width).saturating_sub(24);
        let line = Line::from(vec![
            span(format!("{:<6} ", id.to_string()), look.style("pane.title")),
            span(state, look.style(status_scope(thread))),
            span(
                format!(
                    " {}",
                    fit(&look.safe(&thread.query), room, look.signs.ellipsis)
                ),
                look.style("ui.dim"),
            ),
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
}
