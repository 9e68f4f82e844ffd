//! Threads as rows, for when there are more than tiles fit: one line each, in a stable order.

use super::frame::{fit, fit_tail, grouped, pane, put, span};
use crate::org::ThreadId;
use crate::tui::look::Look;
use crate::tui::model::{Focus, Model};
use crate::tui::rate::BARS;
use crate::tui::sign::status_scope;
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;

/// Width from which rows carry a sparkline.
const WIDE: u16 = 72;

/// Width from which rows say the state in words beside its glyph.
const ROOM_FOR_WORDS: u16 = 56;

/// Draws the list in `area`, whose inside is `inside`.
pub fn draw(model: &mut Model, area: Rect, inside: Rect, buffer: &mut Buffer) {
    let shown = model.shown();
    let height = usize::from(inside.height).max(1);
    let selected = shown.iter().position(|t| *t == model.selected).unwrap_or(0);
    let least = (selected + 1).saturating_sub(height);
    model.first_row = model
        .first_row
        .clamp(least, selected)
        .min(shown.len().saturating_sub(height));
    let look = &model.look;
    let all = model.organization.threads().len();
    let title = if model.filter.is_empty() {
        format!(" {all} threads ")
    } else {
        format!(
            " {} of {all} threads with `{}` ",
            shown.len(),
            look.safe(&model.filter)
        )
    };
    let room = usize::from(area.width.saturating_sub(4));
    let title = fit(&title, room, look.signs.ellipsis);
    let below = shown.len().saturating_sub(model.first_row + height);
    let bottom = if below > 0 {
        Line::from(span(
            format!(" {} {below} more ", look.signs.below),
            look.style("ui.dim"),
        ))
    } else {
        Line::default()
    };
    let focused = model.focus == Focus::Pane && model.popups.is_empty();
    pane(
        look,
        focused,
        Line::from(span(title, look.style("pane.title"))),
        Line::default(),
        bottom,
        area,
        buffer,
    );
    let names = shown
        .iter()
        .map(|id| text_width(&look.signs.hanging(*id)))
        .max()
        .unwrap_or(0)
        .clamp(2, 14);
    for (y, id) in (inside.y..inside.bottom()).zip(shown.iter().skip(model.first_row)) {
        let row = Rect {
            y,
            height: 1,
            ..inside
        };
        row_of(model, *id, names, row, buffer);
    }
}

fn row_of(model: &Model, id: ThreadId, names: usize, row: Rect, buffer: &mut Buffer) {
    let (Some(thread), Some(view)) = (model.organization.thread(id), model.threads.get(&id)) else {
        return;
    };
    let look = &model.look;
    let signs = &look.signs;
    let selected = id == model.selected;
    let state = look.style(status_scope(thread));
    let name = fit(&signs.hanging(id), names, signs.ellipsis);
    let cells = if row.width >= ROOM_FOR_WORDS { 14 } else { 0 };
    let words = view.state_words(thread, model.organization.now.us);
    let words = fit(&words, cells, signs.ellipsis);
    let mark = if selected { signs.prompt } else { " " };
    let mut spans = vec![
        span(format!("{mark}{} ", signs.status(thread)), state),
        span(format!("{name:<names$} "), look.style("pane.title")),
        span(format!("{words:<cells$} "), state),
        span(
            format!("{:>7}  ", grouped(thread.tokens)),
            look.style("ui.text"),
        ),
    ];
    let used: usize = spans.iter().map(|s| text_width(&s.content)).sum();
    let bars = if row.width >= WIDE { BARS + 2 } else { 0 };
    let room = usize::from(row.width).saturating_sub(used + bars);
    // A line break is one blank here; the pane shows it as it is.
    let last = view.text.last_words(room * 4 + 16).replace('␊', " ");
    let last = look.shown(&last);
    let text = if last.trim().is_empty() {
        let query = look.safe(&thread.query);
        span(fit(&query, room, signs.ellipsis), look.style("ui.dim"))
    } else {
        span(
            fit_tail(last.trim_end(), room, signs.ellipsis),
            look.style("ui.text"),
        )
    };
    spans.push(text);
    put(buffer, row.x, row.y, &Line::from(spans), row.width);
    if bars > 0 {
        sparkline(
            look,
            view.history.bars(model.organization.now.us),
            row,
            buffer,
        );
    }
    if selected {
        let style = look.style("ui.selection").add_modifier(Modifier::BOLD);
        buffer.set_style(row, style);
    }
}

fn sparkline(look: &Look, bars: impl Iterator<Item = u32>, row: Rect, buffer: &mut Buffer) {
    let bars: Vec<u32> = bars.collect();
    let top = bars.iter().copied().max().unwrap_or(0).max(8);
    let text: String = bars
        .iter()
        .map(|n| {
            let level = (u64::from(*n) * 8).div_ceil(u64::from(top));
            look.signs.spark[usize::try_from(level).unwrap_or(8).min(8)]
        })
        .collect();
    let x = row.right().saturating_sub(u16::try_from(BARS).unwrap_or(0));
    let line = Line::from(span(text, look.style("timeline.sparkline")));
    put(buffer, x, row.y, &line, row.width);
}
