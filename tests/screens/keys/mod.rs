//! Keys to states: what a person presses, and what comes of it.

mod keymap;
mod leaving;
mod looking;
mod recording;
mod writing;

use crate::screen::{Screen, key_event, look};
use crate::story::{self, ORGANIZER, STEP_US, Story, worker};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use orgtop::live::{Batch, Phase, Report};
use orgtop::org::{AskKind, Author, Body, BreakpointState, Command, Outcome, RunEnd, Seat};
use orgtop::tui::action::{Action, Context, TABLE};
use orgtop::tui::keymap::Keymap;
use orgtop::tui::layout::{Choice, Panes, Slot};
use orgtop::tui::model::{Feed, Focus, Leaving, Playback, RunState};
use orgtop::tui::popup::Popup;
use orgtop::tui::update::{Effect, Input, Place, callable};
use orgtop::tui::widget::timeline::geometry::Window;
use std::path::Path;
use std::time::Duration;

fn three() -> Screen {
    Screen::live(120, 36, &story::three_workers())
}

/// Pressing `keys` while three workers run causes exactly these commands.
#[track_caller]
fn sends(keys: &str, commands: &[Command]) {
    let effects = three().keys(keys);
    let expected: Vec<Effect> = commands.iter().cloned().map(Effect::Send).collect();
    assert_eq!(effects, expected, "{keys}");
}

#[test]
fn steering_keys_send_their_commands() {
    sends("space", &[Command::Pause { thread: None }]);
    sends(".", &[Command::Step]);
    sends(">", &[Command::Next]);
    sends(
        "2 p",
        &[Command::Pause {
            thread: Some(worker(2)),
        }],
    );
    sends("a", &[Command::Answer]);
    sends("3 x k", &[Command::Kill { thread: worker(3) }]);
    sends("1 x w", &[Command::WrapUp { thread: worker(1) }]);
    sends("J 2", &[Command::Join { thread: worker(2) }]);
    sends("J down down enter", &[Command::Join { thread: worker(3) }]);
    sends(
        "m h e r e enter",
        &[Command::Mark {
            name: "here".into(),
        }],
    );
    sends(
        "m enter",
        &[Command::Mark {
            name: "step 55".into(),
        }],
    );
    sends(
        "{ { }",
        &[160, 80, 160].map(|tokens_per_s| Command::Speed { tokens_per_s }),
    );
}

#[test]
fn escape_never_stops_anything() {
    for keys in [
        "esc",
        "x esc",
        "x A esc",
        "q esc",
        "f a b esc",
        "J esc",
        "m esc",
        ": esc",
    ] {
        sends(keys, &[]);
        let mut screen = three();
        screen.keys(keys);
        assert!(screen.model.popups.is_empty(), "{keys}");
    }
}

#[test]
fn a_paused_run_goes_on_with_the_same_key() {
    let mut story = story::three_workers();
    story.command(Command::Pause { thread: None }, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    assert_eq!(screen.model.run_state(), RunState::Paused);
    assert_eq!(
        screen.keys("space"),
        [Effect::Send(Command::Resume { thread: None })]
    );
}

#[test]
fn pausing_is_shown_until_the_pause_has_come() {
    let mut screen = three();
    screen.keys("space");
    assert_eq!(screen.model.run_state(), RunState::Pausing);
}

#[test]
fn the_organizer_alone_cannot_be_killed() {
    let mut screen = three();
    assert_eq!(screen.keys("0 x k"), []);
    assert!(screen.model.notice.is_some());
}

#[test]
fn nothing_is_steered_once_the_run_is_over() {
    for keys in ["space", ".", ">", "a", "f", "J", "x"] {
        let mut screen = Screen::live(120, 36, &story::answered());
        assert_eq!(screen.keys(keys), [], "{keys}");
        assert!(screen.model.popups.is_empty(), "{keys}");
    }
}

#[test]
fn a_run_without_news_is_shown_as_frozen_and_one_that_ended_is_not() {
    let mut screen = three();
    screen.now += Duration::from_secs(6);
    screen.input(Input::Tick);
    assert_eq!(screen.model.run_state(), RunState::Frozen);
    assert!(screen.text().contains("FROZEN 6 s"));
    let mut over = Screen::live(120, 36, &story::answered());
    over.now += Duration::from_secs(60);
    over.input(Input::Tick);
    assert_eq!(over.model.run_state(), RunState::Over(RunEnd::Answered));
    assert_eq!(
        over.model.next_change(),
        None,
        "nothing will change by itself"
    );
}

#[test]
fn a_speed_limit_set_elsewhere_is_the_one_that_the_keys_change() {
    let mut story = story::three_workers();
    story.command(Command::Speed { tokens_per_s: 20 }, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    assert_eq!(
        screen.keys("{"),
        [Effect::Send(Command::Speed { tokens_per_s: 10 })]
    );
}

#[test]
fn a_run_without_an_answer_can_be_taken_over_by_an_organizer() {
    let mut story = Story::new("why?", 4);
    story.steps(3, &[(ORGANIZER, &[" so"])]);
    let metrics = story.organization.metrics();
    let end = Body::RunEnd {
        end: RunEnd::NoAnswer,
        answer: None,
        metrics,
    };
    story.push(None, Author::System, None, end);
    let mut screen = Screen::live(80, 24, &story);
    let seat = Command::Seat {
        thread: ORGANIZER,
        to: Seat::Human,
    };
    assert_eq!(screen.keys("0 t"), [Effect::Send(seat)]);
    assert!(screen.keys("f").is_empty());
}
