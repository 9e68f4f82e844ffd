//! What each action does.

use super::breakpoints;
use super::select::{self, Move};
use super::steer::steer;
use super::travel::{self, travel};
use super::{Effect, Place, choices, editor, leave, queue};
use crate::org::ThreadId;
use crate::tui::action::Action;
use crate::tui::app::Next;
use crate::tui::model::{Feed, Focus, Model};
use crate::tui::popup::{Popup, Purpose, Question};
use crate::tui::widget::timeline::geometry::Window;
use crossterm::event::{KeyCode, KeyEvent};

/// Carries out `action`; `key` is what called it, if a key did.
pub fn act(model: &mut Model, action: Action, key: Option<KeyEvent>) -> Vec<Effect> {
    match action {
        Action::PauseResume
        | Action::Step
        | Action::Next
        | Action::PauseThread
        | Action::Fork
        | Action::Join
        | Action::Answer
        | Action::StopMenu
        | Action::WrapUp
        | Action::Kill
        | Action::Abort
        | Action::Mark
        | Action::Seat
        | Action::Write
        | Action::Retry
        | Action::Approvals
        | Action::Board
        | Action::Slower
        | Action::Faster => steer(model, action),
        Action::Breakpoints => breakpoints::open(model),
        Action::BreakSwitch | Action::BreakAdd | Action::BreakDelete => {
            breakpoints::change(model, action)
        }
        Action::Approve | Action::ApproveEdited | Action::Deny => queue::decide(model, action),
        Action::DraftAdd
        | Action::DraftEdit
        | Action::DraftDrop
        | Action::DraftSeat
        | Action::DraftUp
        | Action::DraftDown
        | Action::PlanRelease => queue::plan(model, action),
        Action::BranchGo
        | Action::BranchMark
        | Action::BranchCompare
        | Action::BranchCompareFile => travel::tree(model, action),
        Action::ListUp => choices::list(model, false),
        Action::ListDown | Action::PickNext => choices::list(model, true),
        Action::PickJoin | Action::PickNumber => choices::join(model, action, key),
        Action::Yes | Action::No => choices::answer(model, action == Action::Yes),
        Action::Send | Action::SendOtherwise => editor::act(model, action),
        Action::PanelClose => {
            model.popups.pop_if(|popup| popup.is_panel());
            Vec::new()
        }
        Action::ListClose => {
            model.popups.pop_if(|popup| popup.list().is_some());
            Vec::new()
        }
        Action::Edit
        | Action::Branch
        | Action::Undo
        | Action::Redo
        | Action::Branches
        | Action::TakeOver => travel(model, action),
        Action::PlayPause
        | Action::ReplayBack
        | Action::ReplayOn
        | Action::ReplaySlower
        | Action::ReplayFaster
        | Action::ReplaySeek
        | Action::ReplayLoop
        | Action::ReplayStart
        | Action::ReplayEnd
        | Action::PreviousEvent
        | Action::NextEvent => replay(model, action),
        Action::Up => select::pane(model, Move::Lines(-1)),
        Action::Down => select::pane(model, Move::Lines(1)),
        Action::PageUp => select::pane(model, Move::Pages(-1)),
        Action::PageDown => select::pane(model, Move::Pages(1)),
        Action::Top => select::pane(model, Move::Top),
        Action::Follow => select::pane(model, Move::Follow),
        Action::Left => select::aside(model, true),
        Action::Right => select::aside(model, false),
        Action::Organizer => select::thread(model, ThreadId::ORGANIZER),
        Action::Worker => select::worker(model, key),
        Action::NextPane => select::cycle(model, true),
        Action::PreviousPane => select::cycle(model, false),
        Action::SearchNext => select::search(model, true),
        Action::SearchPrevious => select::search(model, false),
        Action::CursorLeft => select::cursor(model, -1),
        Action::CursorRight => select::cursor(model, 1),
        Action::LaneUp => select::lane(model, false),
        Action::LaneDown => select::lane(model, true),
        Action::EventBack => select::cursor_event(model, false),
        Action::EventOn => select::cursor_event(model, true),
        Action::PanLeft | Action::PanRight | Action::ZoomIn | Action::ZoomOut => {
            scale(model, action)
        }
        Action::FitTimeline => {
            model.timeline.window = Window::Fit;
            Vec::new()
        }
        Action::FollowTimeline => {
            let axis = model.axis(model.screen().timeline);
            model.timeline.cursor = None;
            if model.timeline.window != Window::Fit {
                model.timeline.window = Window::Follow { span: axis.span };
            }
            Vec::new()
        }
        Action::PanelUp => scroll_panel(model, |s| s.saturating_sub(1)),
        Action::PanelDown => scroll_panel(model, |s| s.saturating_add(1)),
        Action::PanelPageUp => scroll_panel(model, |s| s.saturating_sub(10)),
        Action::PanelPageDown => scroll_panel(model, |s| s.saturating_add(10)),
        Action::PanelTop => scroll_panel(model, |_| 0),
        Action::PanelEnd => scroll_panel(model, |_| usize::MAX),
        Action::ZoomPane
        | Action::Layout
        | Action::CriticalPath
        | Action::TimeAxis
        | Action::Mouse => toggle(model, action),
        Action::GoTo => field(model, Purpose::GoTo),
        Action::Search => field(model, Purpose::Search),
        Action::Filter => field(model, Purpose::Filter),
        Action::Inspector => panel(model, Popup::Inspector { scroll: 0 }),
        Action::WhatIf => panel(model, Popup::WhatIf { scroll: 0 }),
        Action::Help => panel(model, Popup::Help { scroll: 0 }),
        Action::Palette => panel(
            model,
            Popup::Palette {
                text: String::new(),
                chosen: 0,
            },
        ),
        Action::Copy => text_of(model).map_or_else(Vec::new, |text| vec![Effect::Copy(text)]),
        Action::Pager => text_of(model).map_or_else(Vec::new, |text| vec![Effect::Pager(text)]),
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Again => {
            model.popups.push(Popup::Again);
            Vec::new()
        }
        Action::AgainInstance => again(model, Next::Instance),
        Action::AgainSeed => again(model, Next::Seed),
        Action::AgainQuery => {
            model.popups.retain(|p| !matches!(p, Popup::Again));
            field(model, Purpose::Query)
        }
        Action::Quit => quit(model),
    }
}

fn again(model: &mut Model, next: Next) -> Vec<Effect> {
    model.popups.retain(|p| !matches!(p, Popup::Again));
    if next == Next::Instance && model.task().is_none() {
        let (seed, query) = (model.key(Action::AgainSeed), model.key(Action::AgainQuery));
        model.say(format!(
            "this query belongs to no task: {seed} runs it with another seed, {query} asks for another"
        ));
        return Vec::new();
    }
    vec![Effect::Again(next)]
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if !model.running() {
        return leave(model);
    }
    ask(model, Question::Quit);
    Vec::new()
}

pub(super) fn ask(model: &mut Model, question: Question) {
    model.popups.push(Popup::Ask {
        question,
        since: model.now,
    });
}

pub(super) fn field(model: &mut Model, purpose: Purpose) -> Vec<Effect> {
    let text = if purpose == Purpose::Filter {
        model.filter.clone()
    } else {
        String::new()
    };
    model.popups.push(Popup::Field { purpose, text });
    Vec::new()
}

/// Opens a panel, or closes it if it is open.
fn panel(model: &mut Model, panel: Popup) -> Vec<Effect> {
    let same = |p: &Popup| std::mem::discriminant(p) == std::mem::discriminant(&panel);
    if model.popups.last().is_some_and(same) {
        model.popups.pop();
    } else {
        model.popups.retain(|p| !same(p));
        model.popups.push(panel);
    }
    Vec::new()
}

fn scroll_panel(model: &mut Model, change: impl Fn(usize) -> usize) -> Vec<Effect> {
    if let Some(
        Popup::Help { scroll }
        | Popup::Inspector { scroll }
        | Popup::WhatIf { scroll }
        | Popup::Compare { scroll },
    ) = model.popups.last_mut()
    {
        *scroll = change(*scroll);
    }
    Vec::new()
}

fn text_of(model: &mut Model) -> Option<String> {
    let text = model.threads.get(&model.selected)?.text.logical_text();
    if text.is_empty() {
        model.say("there is no text yet");
        return None;
    }
    Some(text)
}

fn toggle(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::ZoomPane => model.zoomed = !model.zoomed,
        Action::Layout => {
            model.choice = model.choice.next();
            model.zoomed = false;
            model.say(format!("layout: {}", model.choice.name()));
        }
        Action::CriticalPath => {
            model.timeline.plain = !model.timeline.plain;
        }
        Action::TimeAxis => {
            model.timeline.lived = !model.timeline.lived;
            model.timeline.window = Window::Fit;
            model.timeline.cursor = None;
        }
        Action::Mouse => {
            model.mouse = !model.mouse;
            let whose = if model.mouse { "screen" } else { "terminal" };
            model.say(format!("the mouse belongs to the {whose}"));
            return vec![Effect::Mouse(model.mouse)];
        }
        _ => {}
    }
    Vec::new()
}

fn scale(model: &mut Model, action: Action) -> Vec<Effect> {
    let axis = model.axis(model.screen().timeline);
    let length = model.ideal.tracks.length;
    let timeline = &mut model.timeline;
    timeline.window = match action {
        Action::PanLeft => Window::panned(&axis, false, length),
        Action::PanRight => Window::panned(&axis, true, length),
        _ => {
            let inwards = action == Action::ZoomIn;
            timeline
                .window
                .zoomed(inwards, &axis, length, timeline.cursor)
        }
    };
    Vec::new()
}

fn replay(model: &mut Model, action: Action) -> Vec<Effect> {
    let Feed::Replay(playback) = &model.feed else {
        return Vec::new();
    };
    match action {
        Action::PlayPause => vec![Effect::Play(!playback.playing)],
        Action::ReplayBack => vec![Effect::Seek(Place::Step(-1))],
        Action::ReplayOn => vec![Effect::Seek(Place::Step(1))],
        Action::ReplaySlower => vec![Effect::Speed((playback.speed / 2.0).max(0.125))],
        Action::ReplayFaster => vec![Effect::Speed((playback.speed * 2.0).min(64.0))],
        Action::ReplayLoop => vec![Effect::Loop(!playback.looping)],
        Action::ReplayStart => vec![Effect::Seek(Place::Start)],
        Action::ReplayEnd => vec![Effect::Seek(Place::End)],
        Action::PreviousEvent => vec![Effect::Seek(Place::Event(-1))],
        Action::NextEvent => vec![Effect::Seek(Place::Event(1))],
        Action::ReplaySeek => field(model, Purpose::Seek),
        _ => Vec::new(),
    }
}

/// The digit of a key.
pub(super) fn digit(key: KeyEvent) -> Option<u16> {
    match key.code {
        KeyCode::Char(c) => c.to_digit(10).and_then(|d| u16::try_from(d).ok()),
        _ => None,
    }
}

/// Gives the focus back to the panes after a thread was chosen.
pub(super) fn focus_pane(model: &mut Model) {
    model.focus = Focus::Pane;
}
