//! The mouse: selects panes and lanes, scrolls, moves the timeline's cursor. Never needed.

use super::Effect;
use super::select::{self, Move};
use crate::org::ThreadId;
use crate::tui::layout::{Panes, Screen, Slot};
use crate::tui::model::{Focus, Model};
use crate::tui::view::timeline::lanes_in_view;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

/// Rows a turn of the wheel moves.
const WHEEL: isize = 3;

/// Serves one mouse event; popups take none.
pub fn on_mouse(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    if !model.mouse || !model.popups.is_empty() {
        return Vec::new();
    }
    let screen = model.screen();
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, &screen, at, -WHEEL),
        MouseEventKind::ScrollDown => wheel(model, &screen, at, WHEEL),
        MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left) => {
            press(model, &screen, at)
        }
        _ => Vec::new(),
    }
}

fn thread_at(model: &Model, screen: &Screen, at: Position) -> Option<ThreadId> {
    match &screen.panes {
        Panes::Tiles(tiles) => tiles.iter().find_map(|(rect, slot)| match slot {
            Slot::Thread(id) if rect.contains(at) => Some(*id),
            _ => None,
        }),
        Panes::Rows(area) if area.contains(at) => model
            .shown()
            .get(model.first_row + usize::from(at.y - area.y))
            .copied(),
        Panes::Rows(_) => None,
    }
}

fn wheel(model: &mut Model, screen: &Screen, at: Position, by: isize) -> Vec<Effect> {
    match (&screen.panes, thread_at(model, screen, at)) {
        (Panes::Rows(_), Some(_)) => select::pane(model, Move::Lines(by.signum())),
        (Panes::Tiles(_), Some(id)) => select::scroll(model, id, Move::Lines(by)),
        (_, None) => Vec::new(),
    }
}

fn press(model: &mut Model, screen: &Screen, at: Position) -> Vec<Effect> {
    if let Some(id) = thread_at(model, screen, at) {
        model.selected = id;
        model.focus = Focus::Pane;
    } else if screen.timeline.contains(at) {
        model.focus = Focus::Timeline;
        let lanes = lanes_in_view(model, screen.timeline);
        let row = usize::from(at.y.saturating_sub(screen.timeline.y + 1));
        if at.y > screen.timeline.y
            && let Some(track) = lanes
                .get(row)
                .and_then(|i| model.ideal.tracks.tracks.get(*i))
        {
            model.selected = track.id;
        }
        let axis = model.axis(screen.timeline);
        let left = screen.timeline.x + 1 + model.timeline_names();
        if at.x >= left && at.x - left < axis.width {
            let unit = axis.unit(at.x - left);
            let last = model.ideal.tracks.length.saturating_sub(1);
            select::place_cursor(model, unit.min(last));
        }
    }
    Vec::new()
}
