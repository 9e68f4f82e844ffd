//! The board: drafts in the order in which they will be forked.

use super::frame::{fit, popup, put, span};
use super::seat_words;
use crate::org::Draft;
use crate::tui::action::Action;
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Cells for whom a draft is for.
const SEAT: usize = 12;

/// Draws the board.
pub fn draw(model: &Model, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let plan = &model.organization.plan;
    let drafts: Vec<&Draft> = plan.standing().collect();
    let chosen = chosen.min(drafts.len().saturating_sub(1));
    let width = 84.min(area.width.saturating_sub(2));
    let room = usize::from(width.saturating_sub(4)).max(1);
    let height = u16::try_from(drafts.len().max(1) + 6).unwrap_or(u16::MAX);
    let slots = model.organization.capacity.saturating_sub(1);
    let inside = popup(
        look,
        &format!("Plan: {} drafts, {slots} slots", drafts.len()),
        "esc closes",
        (width, height),
        area,
        buffer,
    );
    let mut y = inside.y;
    let mut say = |line: Line<'_>| {
        if y < inside.bottom() {
            put(buffer, inside.x, y, &line, inside.width);
        }
        y += 1;
    };
    if drafts.is_empty() {
        let words = if plan.released {
            "The plan was released."
        } else {
            "No draft yet: what the organizer forks comes here first."
        };
        say(Line::from(span(words, look.style("ui.dim"))));
    }
    for (i, draft) in drafts.iter().enumerate() {
        let (mark, style) = if i == chosen {
            (look.signs.prompt, look.style("pane.title.focused"))
        } else {
            (" ", look.style("ui.text"))
        };
        let seat = fit(&seat_words(&draft.seat), SEAT, look.signs.ellipsis);
        let head = format!("{mark} {}. {:>3} {seat:<SEAT$} ", i + 1, draft.index);
        let query = fit(
            &look.safe(&draft.query),
            room.saturating_sub(head.chars().count()),
            look.signs.ellipsis,
        );
        say(Line::from(vec![
            span(head, look.style("ui.dim")),
            span(query, style),
        ]));
    }
    say(Line::default());
    let rows = [
        [
            Action::DraftAdd,
            Action::DraftEdit,
            Action::DraftDrop,
            Action::DraftSeat,
        ]
        .as_slice(),
        [Action::DraftUp, Action::DraftDown, Action::PlanRelease].as_slice(),
    ];
    for row in rows {
        let mut keys = Vec::new();
        for action in row {
            let word = action.row().short;
            keys.push(span(
                format!("{} ", model.key(*action)),
                look.style("ui.key"),
            ));
            keys.push(span(format!("{word}   "), look.style("ui.text")));
        }
        say(Line::from(keys));
    }
}
