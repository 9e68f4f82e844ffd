//! What waits for a person's word.

use super::frame::{fill, fit, popup, put, span};
use crate::org::{AskKind, AskRecord};
use crate::tui::action::Action;
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Most lines of the chosen request's text.
const MOST_LINES: usize = 8;

/// Draws the queue.
pub fn draw(model: &Model, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let asks: Vec<&AskRecord> = model.organization.open_asks().collect();
    let chosen = chosen.min(asks.len().saturating_sub(1));
    let width = 76.min(area.width.saturating_sub(2));
    let room = usize::from(width.saturating_sub(4)).max(1);
    let text = asks.get(chosen).map_or_else(Vec::new, |ask| {
        let mut lines = fill(&look.safe(&ask.text), room.saturating_sub(2).max(1));
        lines.truncate(MOST_LINES);
        lines
    });
    let height = u16::try_from(asks.len() + text.len() + 4).unwrap_or(u16::MAX);
    let inside = popup(
        look,
        "Waiting for your word",
        "esc closes",
        (width, height),
        area,
        buffer,
    );
    let mut y = inside.y;
    for (i, ask) in asks.iter().enumerate() {
        if y >= inside.bottom() {
            return;
        }
        let mark = if i == chosen { look.signs.prompt } else { " " };
        let style = if i == chosen {
            look.style("pane.title.focused")
        } else {
            look.style("ui.text")
        };
        let line = fit(
            &format!("{mark} {} {}", ask.number, wish(ask)),
            room,
            look.signs.ellipsis,
        );
        put(
            buffer,
            inside.x,
            y,
            &Line::from(span(line, style)),
            inside.width,
        );
        y += 1;
        if i == chosen {
            for line in &text {
                if y < inside.bottom() {
                    let line = Line::from(span(format!("  {line}"), look.style("ui.dim")));
                    put(buffer, inside.x, y, &line, inside.width);
                }
                y += 1;
            }
        }
    }
    y += 1;
    if y < inside.bottom() {
        let mut keys = Vec::new();
        for action in [Action::Approve, Action::ApproveEdited, Action::Deny] {
            let word = action.row().short;
            keys.push(span(
                format!("{} ", model.key(action)),
                look.style("ui.key"),
            ));
            keys.push(span(format!("{word}   "), look.style("ui.text")));
        }
        put(buffer, inside.x, y, &Line::from(keys), inside.width);
    }
}

fn wish(ask: &AskRecord) -> String {
    let who = match ask.thread {
        id if id.is_organizer() => "the organizer".to_owned(),
        id => format!("worker {id}"),
    };
    match (ask.kind, ask.index) {
        (AskKind::Fork, Some(index)) => format!("{who} wants to fork sub-query {index}:"),
        (AskKind::Fork, None) => format!("{who} wants to fork a sub-query:"),
        (AskKind::Answer, _) => "the organizer wants to answer:".into(),
        (AskKind::Tool, _) => format!("a tool is about to run for worker {}:", ask.thread),
        (AskKind::Plan, _) => "the organizer wants to go on: release the plan?".into(),
    }
}
