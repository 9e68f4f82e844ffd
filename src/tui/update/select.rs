//! Moving: which thread is selected, where its pane and the timeline's cursor stand, searching.

use super::Effect;
use super::act::{digit, focus_pane};
use crate::org::ThreadId;
use crate::tui::layout::{Panes, neighbour};
use crate::tui::model::{Focus, Model, Search};
use crate::tui::popup::{Popup, Purpose};
use crate::tui::text::Direction;
use crate::tui::widget::timeline::geometry::Window;
use crossterm::event::KeyEvent;
use regex::{Regex, RegexBuilder};

/// How a pane moves.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    /// Rows.
    Lines(isize),
    /// Pages.
    Pages(isize),
    /// To the beginning.
    Top,
    /// To the end, and stay there.
    Follow,
}

/// Moves the selected pane; in rows, the selection.
pub fn pane(model: &mut Model, how: Move) -> Vec<Effect> {
    if let Panes::Rows(area) = model.screen().panes {
        let shown = model.shown();
        let at = shown.iter().position(|t| *t == model.selected).unwrap_or(0);
        let page = isize::try_from(area.height).unwrap_or(1).max(1);
        let last = shown.len().saturating_sub(1);
        let by = |n: isize| at.saturating_add_signed(n).min(last);
        let to = match how {
            Move::Lines(n) => by(n),
            Move::Pages(n) => by(n.saturating_mul(page)),
            Move::Top => 0,
            Move::Follow => last,
        };
        if let Some(id) = shown.get(to) {
            model.selected = *id;
        }
        return Vec::new();
    }
    scroll(model, model.selected, how)
}

/// Bytes above the view from which a recording is asked for older text.
const NEAR_THE_TOP: u64 = 8 << 10;

/// Moves the pane of thread `id`; a recording may have to read older text for it.
pub fn scroll(model: &mut Model, id: ThreadId, how: Move) -> Vec<Effect> {
    let Some(view) = model.threads.get_mut(&id) else {
        return Vec::new();
    };
    match how {
        Move::Lines(n) => view.pane.scroll(n),
        Move::Pages(n) => view.pane.page(n),
        Move::Top => view.pane.top(),
        Move::Follow => view.pane.follow(),
    }
    let start = view.text.start();
    let upwards = matches!(how, Move::Top | Move::Lines(..0) | Move::Pages(..0));
    let near = view.pane.anchor().unwrap_or(view.text.end()) <= start + NEAR_THE_TOP;
    if start > 0 && upwards && (near || matches!(how, Move::Top)) {
        return vec![Effect::Older(id)];
    }
    Vec::new()
}

/// Selects a thread by its id.
pub fn thread(model: &mut Model, id: ThreadId) -> Vec<Effect> {
    if model.organization.thread(id).is_none() {
        model.say(format!("there is no thread {id}"));
        return Vec::new();
    }
    if !model.shown().contains(&id) {
        model.filter.clear();
    }
    model.selected = id;
    focus_pane(model);
    Vec::new()
}

/// Selects the newest worker with the index of the key; without one, asks.
pub fn worker(model: &mut Model, key: Option<KeyEvent>) -> Vec<Effect> {
    let Some(index) = key.and_then(digit) else {
        model.popups.push(Popup::Field {
            purpose: Purpose::GoTo,
            text: String::new(),
        });
        return Vec::new();
    };
    match model.organization.newest_bearer(ThreadId::ORGANIZER, index) {
        Some(id) => thread(model, id),
        None => {
            model.say(format!("there is no worker {index}"));
            Vec::new()
        }
    }
}

/// The tile to the left or right.
pub fn aside(model: &mut Model, left: bool) -> Vec<Effect> {
    match model.screen().panes {
        Panes::Tiles(tiles) if tiles.len() > 1 => {
            if let Some(id) = neighbour(&tiles, model.selected, left) {
                model.selected = id;
            }
        }
        _ => step(model, !left),
    }
    Vec::new()
}

fn step(model: &mut Model, on: bool) {
    let shown = model.shown();
    let at = shown.iter().position(|t| *t == model.selected).unwrap_or(0);
    let to = at.saturating_add_signed(if on { 1 } else { -1 });
    if let Some(id) = shown.get(to) {
        model.selected = *id;
    }
}

/// The next thread in order, the timeline after the last.
pub fn cycle(model: &mut Model, on: bool) -> Vec<Effect> {
    let shown = model.shown();
    let places = shown.len() + 1;
    let at = match model.focus {
        Focus::Timeline => shown.len(),
        Focus::Pane => shown.iter().position(|t| *t == model.selected).unwrap_or(0),
    };
    let to = if on {
        (at + 1) % places
    } else {
        (at + places - 1) % places
    };
    match shown.get(to) {
        Some(id) => {
            model.selected = *id;
            model.focus = Focus::Pane;
        }
        None => model.focus = Focus::Timeline,
    }
    Vec::new()
}

/// The lane above or below.
pub fn lane(model: &mut Model, down: bool) -> Vec<Effect> {
    step(model, down);
    Vec::new()
}

/// Moves the timeline's cursor by cells.
pub fn cursor(model: &mut Model, by: i32) -> Vec<Effect> {
    let axis = model.axis(model.screen().timeline);
    let length = model.ideal.tracks.length;
    let step = (axis.span / u64::from(axis.width.max(1))).max(1);
    let at = model.timeline.cursor.unwrap_or(length.saturating_sub(1));
    let to = if by < 0 {
        at.saturating_sub(step)
    } else {
        at.saturating_add(step)
    };
    place_cursor(model, to.min(length.saturating_sub(1)));
    Vec::new()
}

/// Puts the cursor on `unit` and keeps it in view.
pub fn place_cursor(model: &mut Model, unit: u64) {
    let axis = model.axis(model.screen().timeline);
    model.timeline.cursor = Some(unit);
    if model.timeline.window != Window::Fit && axis.column(unit).is_none() {
        model.timeline.window = Window::Fixed {
            start: unit.saturating_sub(axis.span / 2),
            span: axis.span,
        };
    }
}

/// Puts the cursor on the Fork, Join, begin or end before or after it.
pub fn cursor_event(model: &mut Model, on: bool) -> Vec<Effect> {
    let tracks = &model.ideal.tracks;
    let at = model.timeline.cursor.unwrap_or(tracks.length);
    let units = tracks.tracks.iter().flat_map(|t| {
        t.flags
            .iter()
            .map(|f| f.at.saturating_sub(1))
            .chain(t.begin())
            .chain(t.finish().map(|f| f.saturating_sub(1)))
    });
    let to = if on {
        units.filter(|u| *u > at).min()
    } else {
        units.filter(|u| *u < at).max()
    };
    if let Some(unit) = to {
        model.focus = Focus::Timeline;
        place_cursor(model, unit);
    }
    Vec::new()
}

/// Begins a search for `text` from the end of the selected thread backwards.
pub fn begin_search(model: &mut Model, text: &str) -> Vec<Effect> {
    if text.is_empty() {
        model.search = None;
        return Vec::new();
    }
    let build = |pattern: &str| -> Option<Regex> {
        RegexBuilder::new(pattern)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .size_limit(1 << 20)
            .build()
            .ok()
    };
    // What is no regular expression is looked for as it stands.
    let Some(pattern) = build(text).or_else(|| build(&regex::escape(text))) else {
        model.say("this pattern is too large");
        return Vec::new();
    };
    model.search = Some(Search {
        text: text.to_owned(),
        pattern,
        current: None,
    });
    search(model, false)
}

/// Goes to the next or previous match in the selected thread, around its ends.
pub fn search(model: &mut Model, on: bool) -> Vec<Effect> {
    let id = model.selected;
    let (Some(search), Some(view)) = (&mut model.search, model.threads.get_mut(&id)) else {
        model.say("nothing was searched for yet: `/` begins a search");
        return Vec::new();
    };
    let text = &view.text;
    let current = search
        .current
        .as_ref()
        .filter(|(thread, _)| *thread == id)
        .map(|(_, span)| span.clone());
    let found = if on {
        let from = current.map_or(text.start(), |span| span.end.max(span.start + 1));
        text.find(&search.pattern, from, Direction::Forward)
            .or_else(|| text.find(&search.pattern, text.start(), Direction::Forward))
    } else {
        let from = current.map_or(text.end(), |span| span.start);
        text.find(&search.pattern, from, Direction::Backward)
            .or_else(|| text.find(&search.pattern, text.end(), Direction::Backward))
    };
    match found {
        Some(span) => {
            view.pane.reveal(span.start);
            search.current = Some((id, span));
        }
        None => {
            let what = search.text.clone();
            model.say(format!("`{what}` is not in {id}"));
        }
    }
    Vec::new()
}
