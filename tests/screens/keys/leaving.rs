//! Aborting, leaving, and being told to leave.

use super::*;

#[test]
fn aborting_asks_and_a_key_too_soon_is_no_answer() {
    let mut screen = three();
    screen.keys("x A");
    screen.now += Duration::from_millis(100);
    let effects = screen.input(Input::Key(key_event("y")));
    assert_eq!(effects, [], "100 ms after the question appeared");
    assert_eq!(screen.keys("y"), [Effect::Send(Command::Abort)]);
    assert_eq!(three().keys("x A enter"), [], "enter is no");
    assert_eq!(three().keys("x A n"), []);
}

#[test]
fn ctrl_c_pauses_then_warns_then_saves_then_forces() {
    let mut screen = three();
    assert_eq!(
        screen.keys("ctrl-c"),
        [Effect::Send(Command::Pause { thread: None })]
    );
    assert_eq!(screen.keys("ctrl-c"), []);
    assert_eq!(screen.model.leaving, Leaving::Warned);
    assert_eq!(screen.keys("ctrl-c"), [Effect::Send(Command::Interrupt)]);
    assert_eq!(screen.keys("ctrl-c"), [Effect::ForceQuit]);
}

#[test]
fn another_key_takes_the_warning_back() {
    let mut screen = three();
    screen.keys("ctrl-c ctrl-c j");
    assert_eq!(screen.model.leaving, Leaving::No);
    assert_eq!(screen.keys("ctrl-c"), []);
}

#[test]
fn quitting_a_running_session_asks_then_waits_until_it_is_saved() {
    let mut screen = three();
    assert_eq!(screen.keys("q"), []);
    assert_eq!(screen.keys("y"), [Effect::Send(Command::Interrupt)]);
    let report = Report {
        phase: Phase::Over,
        ..Report::default()
    };
    let batch = Batch {
        report,
        ..Batch::default()
    };
    assert_eq!(screen.input(Input::Batch(batch)), [Effect::Quit]);
}

#[test]
fn quitting_a_finished_session_needs_no_question() {
    let mut screen = Screen::live(120, 36, &story::answered());
    assert_eq!(screen.keys("q"), [Effect::Quit]);
    assert_eq!(
        Screen::live(120, 36, &story::answered()).keys("ctrl-c"),
        [Effect::Quit]
    );
}

#[test]
fn a_signal_saves_a_running_session_once() {
    let mut screen = three();
    assert_eq!(
        screen.input(Input::Terminate),
        [Effect::Send(Command::Interrupt)]
    );
    assert_eq!(screen.input(Input::Terminate), []);
}

#[test]
fn going_into_the_background_works_everywhere() {
    for keys in [
        "ctrl-z",
        "f ctrl-z",
        "/ ctrl-z",
        ": ctrl-z",
        "x A ctrl-z",
        "? ctrl-z",
    ] {
        assert_eq!(three().keys(keys), [Effect::Suspend], "{keys}");
    }
}
