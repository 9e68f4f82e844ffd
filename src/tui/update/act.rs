//! What each action does.

use super::select::{self, Move};
use super::{Effect, Place, leave};
use crate::org::{Command, Role, ThreadId};
use crate::tui::action::Action;
use crate::tui::model::{Feed, Focus, Model};
use crate::tui::popup::{Popup, Purpose, Question};
use crate::tui::widget::timeline::geometry::Window;
use crossterm::event::{KeyCode, KeyEvent};

/// Speed limits in tokens a second and thread, slowest first; the last is none.
const LIMITS: [u32; 9] = [1, 2, 5, 10, 20, 40, 80, 160, 0];

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
        | Action::Slower
        | Action::Faster => steer(model, action),
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
        Action::Quit => quit(model),
    }
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if !model.running() {
        return leave(model);
    }
    ask(model, Question::Quit);
    Vec::new()
}

fn ask(model: &mut Model, question: Question) {
    model.popups.push(Popup::Ask {
        question,
        since: model.now,
    });
}

fn field(model: &mut Model, purpose: Purpose) -> Vec<Effect> {
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
    if let Some(Popup::Help { scroll } | Popup::Inspector { scroll } | Popup::WhatIf { scroll }) =
        model.popups.last_mut()
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

fn steer(model: &mut Model, action: Action) -> Vec<Effect> {
    if model.feed != Feed::Live {
        model.say("a recording can be watched, not steered");
        return Vec::new();
    }
    if action == Action::Mark {
        return field(model, Purpose::Mark);
    }
    if !model.steerable() {
        model.popups.retain(|p| !matches!(p, Popup::Stop));
        model.say(match model.organization.end {
            Some(_) => "the run is over",
            None => "the session has not begun yet",
        });
        return Vec::new();
    }
    let selected = model.selected;
    let send = |command| vec![Effect::Send(command)];
    match action {
        Action::PauseResume if model.organization.paused => send(Command::Resume { thread: None }),
        Action::PauseResume => {
            model.pause_asked = true;
            send(Command::Pause { thread: None })
        }
        Action::Step => send(Command::Step),
        Action::Next => send(Command::Next),
        Action::PauseThread => {
            let held = model
                .organization
                .thread(selected)
                .is_some_and(|t| t.paused);
            let thread = Some(selected);
            send(if held {
                Command::Resume { thread }
            } else {
                Command::Pause { thread }
            })
        }
        Action::Fork => {
            model.popups.push(Popup::Composer);
            Vec::new()
        }
        Action::Join => join(model),
        Action::Answer => send(Command::Answer),
        Action::StopMenu => {
            model.popups.push(Popup::Stop);
            Vec::new()
        }
        Action::WrapUp | Action::Kill => stop(model, action),
        Action::Abort => {
            model.popups.retain(|p| !matches!(p, Popup::Stop));
            ask(model, Question::Abort);
            Vec::new()
        }
        Action::Slower | Action::Faster => limit_speed(model, action == Action::Faster),
        _ => Vec::new(),
    }
}

fn stop(model: &mut Model, action: Action) -> Vec<Effect> {
    model.popups.retain(|p| !matches!(p, Popup::Stop));
    let thread = model.selected;
    let Some(worker) = model.organization.thread(thread) else {
        return Vec::new();
    };
    if worker.role == Role::Organizer {
        model.say(
            "only workers can be stopped alone: `a` makes the organizer answer, `A` aborts the run",
        );
        return Vec::new();
    }
    if worker.ended() {
        model.say(format!("worker {thread} has ended already"));
        return Vec::new();
    }
    vec![Effect::Send(if action == Action::Kill {
        Command::Kill { thread }
    } else {
        Command::WrapUp { thread }
    })]
}

fn join(model: &mut Model) -> Vec<Effect> {
    let workers: Vec<ThreadId> = model
        .organization
        .threads()
        .filter(|t| t.id.parent() == Some(ThreadId::ORGANIZER) && !t.joined)
        .map(|t| t.id)
        .collect();
    match workers.as_slice() {
        [] => {
            model.say("there is no worker that was not joined yet");
            Vec::new()
        }
        [thread] => vec![Effect::Send(Command::Join { thread: *thread })],
        _ => {
            let chosen = workers
                .iter()
                .position(|w| *w == model.selected)
                .unwrap_or(0);
            model.popups.push(Popup::Pick { workers, chosen });
            Vec::new()
        }
    }
}

fn limit_speed(model: &mut Model, faster: bool) -> Vec<Effect> {
    let at = LIMITS
        .iter()
        .position(|l| *l == model.speed_limit)
        .unwrap_or(LIMITS.len() - 1);
    let next = if faster {
        (at + 1).min(LIMITS.len() - 1)
    } else {
        at.saturating_sub(1)
    };
    model.speed_limit = LIMITS[next];
    model.say(match model.speed_limit {
        0 => "no speed limit".to_owned(),
        limit => format!("at most {limit} tok/s a thread"),
    });
    vec![Effect::Send(Command::Speed {
        tokens_per_s: model.speed_limit,
    })]
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
