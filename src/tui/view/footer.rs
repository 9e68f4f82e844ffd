//! The last line: the field being typed, else a notice, else the keys that matter here.

use super::frame::{fit, fit_tail, put, span};
use crate::tui::action::Action;
use crate::tui::demo::Demo;
use crate::tui::model::{Feed, Focus, Model, RunState};
use crate::tui::popup::Popup;
use crate::tui::text::text_width;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

/// Draws the footer.
pub fn draw(model: &Model, area: Rect, frame: &mut Frame<'_>) {
    if area.height == 0 {
        return;
    }
    let look = &model.look;
    frame.buffer_mut().set_style(area, look.ground("ui.footer"));
    if let Some(Popup::Field { purpose, text }) = model.popups.last() {
        let label = format!(" {} ", purpose.label());
        let room = usize::from(area.width).saturating_sub(text_width(&label) + 2);
        let shown = fit_tail(text, room, look.signs.ellipsis);
        let cells = text_width(&label) + text_width(&shown);
        let line = Line::from(vec![
            span(label, look.style("ui.accent")),
            span(shown, look.style("ui.text")),
        ]);
        put(frame.buffer_mut(), area.x, area.y, &line, area.width);
        let x = area.x + u16::try_from(cells).unwrap_or(0);
        frame.set_cursor_position(Position::new(x.min(area.right() - 1), area.y));
        return;
    }
    let buffer = frame.buffer_mut();
    let right = hints(
        model,
        &[Action::Palette, Action::Help],
        usize::from(area.width) / 2,
    );
    let right_cells = width(&right);
    let room = usize::from(area.width).saturating_sub(right_cells + 2);
    let left = match &model.notice {
        Some(notice) => vec![span(
            format!(
                " {}",
                fit(
                    &look.safe(&notice.text),
                    room.saturating_sub(1),
                    look.signs.ellipsis
                )
            ),
            look.style("ui.accent"),
        )],
        None => {
            // With captions they stand above these.
            let mut spans = match model.caption_rows() {
                0 => demo_hints(model, room),
                _ => Vec::new(),
            };
            let used = width(&spans);
            spans.extend(hints(model, &wanted(model), room.saturating_sub(used)));
            spans
        }
    };
    put(buffer, area.x, area.y, &Line::from(left), area.width);
    let x = area
        .right()
        .saturating_sub(u16::try_from(right_cells).unwrap_or(0) + 1);
    put(buffer, x, area.y, &Line::from(right), area.width);
}

fn width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|s| text_width(&s.content)).sum()
}

/// The actions worth a place, most important first.
fn wanted(model: &Model) -> Vec<Action> {
    if model.focus == Focus::Timeline {
        return vec![
            Action::ZoomIn,
            Action::ZoomOut,
            Action::FitTimeline,
            Action::FollowTimeline,
            Action::TimeAxis,
            Action::CriticalPath,
            Action::EventBack,
            Action::EventOn,
            Action::NextPane,
        ];
    }
    match (&model.feed, model.run_state()) {
        (Feed::Replay(_), _) => vec![
            Action::PlayPause,
            Action::ReplayBack,
            Action::ReplayOn,
            Action::PreviousEvent,
            Action::NextEvent,
            Action::ReplaySlower,
            Action::ReplayFaster,
            Action::ReplaySeek,
            Action::TakeOver,
            Action::ReplayLoop,
            Action::NextPane,
            Action::Quit,
        ],
        (_, RunState::Loading | RunState::Failed) => vec![Action::Quit],
        (_, RunState::Over(_)) => vec![
            Action::Again,
            Action::Quit,
            Action::NextPane,
            Action::ZoomPane,
            Action::Inspector,
            Action::WhatIf,
            Action::Branches,
            Action::TimeAxis,
            Action::Copy,
            Action::Pager,
            Action::Search,
        ],
        _ => vec![
            Action::PauseResume,
            Action::Step,
            Action::Next,
            Action::Fork,
            Action::StopMenu,
            Action::Seat,
            Action::Join,
            Action::Answer,
            Action::Undo,
            Action::Branches,
            Action::NextPane,
            Action::ZoomPane,
            Action::Inspector,
            Action::Quit,
            Action::WhatIf,
        ],
    }
}

/// The keys of a demo that is being played.
pub fn demo_hints(model: &Model, room: usize) -> Vec<Span<'static>> {
    let look = &model.look;
    let mut spans = Vec::new();
    let hints = model.demo.as_ref().map_or_else(Vec::new, Demo::hints);
    for (key, word) in hints {
        let cells = width(&spans) + text_width(&key) + text_width(word) + 3;
        if cells <= room {
            spans.push(span(format!(" {key}"), look.style("ui.key")));
            spans.push(span(format!(" {word} "), look.style("ui.accent")));
        }
    }
    spans
}

/// `space pause  . step …`, as many as fit.
fn hints(model: &Model, actions: &[Action], room: usize) -> Vec<Span<'static>> {
    let look = &model.look;
    // What a demo takes for itself now does not do what it always does.
    let taken = model.demo.as_ref().map_or_else(Vec::new, Demo::hints);
    let mut spans = Vec::new();
    let mut used = 0;
    for action in actions {
        let Some(key) = model.keymap.keys_of(*action).into_iter().next() else {
            continue;
        };
        if taken.iter().any(|(taken, _)| *taken == key) {
            continue;
        }
        let word = if *action == Action::PauseResume && model.organization.paused {
            "resume"
        } else {
            action.row().short
        };
        let cells = text_width(&key) + text_width(word) + 3;
        if used + cells > room {
            break;
        }
        used += cells;
        spans.push(span(format!(" {key}"), look.style("ui.key")));
        spans.push(span(format!(" {word} "), look.style("ui.footer")));
    }
    spans
}
