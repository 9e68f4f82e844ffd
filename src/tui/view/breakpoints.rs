//! The breakpoints: the usual ones, set or not, then those with an argument.

use super::frame::{fit, popup, put, span};
use crate::org::{Breakpoint, Organization};
use crate::tui::action::Action;
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where.
    pub on: Breakpoint,
    /// Whether it stops the run; `None`: it is not set.
    pub active: Option<bool>,
}

/// The list.
#[must_use]
pub fn rows(organization: &Organization) -> Vec<Row> {
    let set = &organization.breakpoints;
    let usual = Breakpoint::PLAIN.iter().map(|on| Row {
        on: on.clone(),
        active: set.iter().find(|b| b.on == *on).map(|b| b.active),
    });
    let others = set
        .iter()
        .filter(|b| !Breakpoint::PLAIN.contains(&b.on))
        .map(|b| Row {
            on: b.on.clone(),
            active: Some(b.active),
        });
    usual.chain(others).collect()
}

/// Draws the list.
pub fn draw(model: &Model, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let rows = rows(&model.organization);
    let wanted = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let inside = popup(
        look,
        "Breakpoints",
        &model.hints(&[Action::BreakSwitch, Action::BreakAdd, Action::BreakDelete]),
        (72, wanted.clamp(7, 24)),
        area,
        buffer,
    );
    let room = usize::from(inside.height);
    let chosen = chosen.min(rows.len().saturating_sub(1));
    let first = (chosen + 1).saturating_sub(room);
    let stopped = &model.organization.stopped_at;
    for (y, (i, row)) in (inside.y..inside.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let (sign, scope) = match row.active {
            Some(true) => (look.signs.live, "state.paused"),
            Some(false) => (look.signs.dash, "ui.dim"),
            None => (" ", "ui.dim"),
        };
        let here = if stopped.contains(&row.on) {
            format!(" {} the run stands here", look.signs.running)
        } else {
            String::new()
        };
        let spec = fit(&look.safe(&row.on.to_string()), 24, look.signs.ellipsis);
        let text = format!("{spec:<24} when {}{here}", row.on.words());
        let cells = usize::from(inside.width).saturating_sub(2);
        let style = look.style(if row.active == Some(true) {
            "ui.text"
        } else {
            "ui.dim"
        });
        let line = Line::from(vec![
            span(format!("{sign} "), look.style(scope)),
            span(fit(&text, cells, look.signs.ellipsis), style),
        ]);
        put(buffer, inside.x, y, &line, inside.width);
        if i == chosen {
            let rect = Rect {
                y,
                height: 1,
                ..inside
            };
            buffer.set_style(rect, look.style("ui.selection"));
        }
    }
}
