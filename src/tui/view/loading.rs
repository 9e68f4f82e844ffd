//! The screen before there is an organization, and the one that is too small for any.

use super::frame::{fill, put, span};
use super::header::spinner;
use crate::live::Phase;
use crate::tui::layout::LEAST;
use crate::tui::model::{Feed, Model};
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Says what is being waited for, in the middle of `area`.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let what = model.look.safe(&model.loading);
    let (head, rest) = match (&model.report.phase, &model.feed) {
        (Phase::Failed(_), _) => (
            "The session could not start.".to_owned(),
            "The reason is above. q quits.".to_owned(),
        ),
        (_, Feed::Replay(_)) => ("Opening the session".to_owned(), what),
        (Phase::Loading, _) => (format!("{} Loading the model", spinner(model)), what),
        _ => ("Waiting for the first token".to_owned(), String::new()),
    };
    let width = usize::from(area.width).saturating_sub(4).max(1);
    let lines = fill(&rest, width.min(72));
    let height = u16::try_from(lines.len()).unwrap_or(0) + 2;
    let top = area.y + area.height.saturating_sub(height) / 2;
    centred(buffer, area, top, &head, model.look.style("ui.text"));
    for (y, line) in (top + 1..area.bottom()).zip(&lines) {
        centred(buffer, area, y, line, model.look.style("ui.dim"));
    }
}

/// Says what a useful screen needs.
pub fn too_small(model: &Model, area: Rect, buffer: &mut Buffer) {
    let lines = [
        "too small".to_owned(),
        format!("{}{}{} needed", LEAST.0, model.look.signs.times, LEAST.1),
        format!(
            "{}{}{} here",
            area.width, model.look.signs.times, area.height
        ),
    ];
    let height = area.height.min(3);
    let top = area.y + (area.height - height) / 2;
    for (y, line) in (top..top + height).zip(&lines) {
        centred(buffer, area, y, line, model.look.style("ui.text"));
    }
}

fn centred(buffer: &mut Buffer, area: Rect, y: u16, text: &str, style: ratatui::style::Style) {
    if y >= area.bottom() {
        return;
    }
    let width = u16::try_from(text_width(text)).unwrap_or(u16::MAX);
    let x = area.x + area.width.saturating_sub(width) / 2;
    put(buffer, x, y, &Line::from(span(text, style)), area.width);
}
