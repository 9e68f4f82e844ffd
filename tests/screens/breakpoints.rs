//! The list of breakpoints, and what the header says where one stopped the run.

use crate::screen::Screen;
use crate::story;
use orgtop::org::{Author, Body, BreakpointState, Command, Outcome, Seq};
use orgtop::tui::popup::Popup;
use orgtop::tui::update::Effect;

fn set(on: &str, set: BreakpointState) -> Command {
    let on = on.parse().unwrap();
    Command::Break { on, set }
}

fn sends(screen: &mut Screen, keys: &str, command: Command) {
    assert_eq!(screen.keys(keys), [Effect::Send(command)], "{keys}");
}

#[test]
fn the_list_sets_switches_adds_and_deletes() {
    let mut story = story::three_workers();
    story.command(set("step:90", BreakpointState::On), Outcome::Done);
    story.command(set("join", BreakpointState::On), Outcome::Done);
    story.command(set("join", BreakpointState::Off), Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    sends(&mut screen, "B space", set("fork", BreakpointState::On));
    sends(&mut screen, "down enter", set("join", BreakpointState::On));
    sends(
        &mut screen,
        "down down down down space",
        set("step:90", BreakpointState::Off),
    );
    sends(&mut screen, "d", set("step:90", BreakpointState::Deleted));
    assert!(
        screen.keys("up d").is_empty(),
        "what is not set cannot be deleted"
    );
    sends(
        &mut screen,
        "a t e x t : o h enter",
        set("text:oh", BreakpointState::On),
    );
    assert!(screen.keys("a t e x t : ( enter").is_empty());
    assert!(screen.text().contains("unclosed group"));
    screen.keys("esc");
    assert!(screen.model.popups.is_empty());
}

#[test]
fn the_list_opens_in_a_small_terminal_and_shows_what_is_set() {
    let mut story = story::three_workers();
    story.command(set("tokens@2:200", BreakpointState::On), Outcome::Done);
    let mut screen = Screen::live(80, 24, &story);
    screen.keys("B");
    assert!(matches!(
        screen.model.popups.last(),
        Some(Popup::Breakpoints { .. })
    ));
    let text = screen.text();
    for wanted in [
        "the organizer begins its answer",
        "tokens@2:200",
        "2 has over 200 tokens",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn the_header_says_where_a_breakpoint_stopped_the_run() {
    let mut story = story::three_workers();
    let cause = Seq(story.events.len() as u64);
    story.command(set("return:2", BreakpointState::On), Outcome::Done);
    let name = "breakpoint return:2, 2".to_owned();
    story.push(None, Author::System, Some(cause), Body::Mark { name });
    story.command(Command::Pause { thread: None }, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    assert!(screen.text().contains("PAUSED at return:2"));
}
