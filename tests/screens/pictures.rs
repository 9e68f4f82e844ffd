//! Screens as pictures: characters, then a letter per style.

use crate::screen::{Screen, look};
use crate::story::{self, Story, worker};
use orgtop::live::{Batch, Phase, Report};
use orgtop::org::{Body, Command, ErrorKind, Outcome};
use orgtop::tui::model::{Feed, Playback};
use orgtop::tui::update::Input;

/// One picture at both sizes that matter: the smallest common one and a large one.
fn both(name: &str, story: &Story, keys: &str) {
    for (width, height) in [(80, 24), (160, 48)] {
        let mut screen = Screen::live(width, height, story);
        screen.draw();
        screen.keys(keys);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen.picture());
    }
}

#[test]
fn loading() {
    let mut screen = Screen::new(80, 24, look("terminal", false), Feed::Live);
    insta::assert_snapshot!("loading_80x24", screen.picture());
}

#[test]
fn failed_to_start() {
    let mut screen = Screen::new(80, 24, look("terminal", false), Feed::Live);
    screen.input(Input::Batch(Batch {
        report: Report {
            phase: Phase::Failed("model.gguf: not a GGUF file: expected the letters GGUF".into()),
            ..Report::default()
        },
        ..Batch::default()
    }));
    insta::assert_snapshot!("failed_80x24", screen.picture());
}

#[test]
fn three_workers_running() {
    both("running", &story::three_workers(), "");
}

#[test]
fn the_organizer_waits_at_a_join() {
    both("waiting", &story::waiting(), "2");
}

#[test]
fn a_worker_was_killed() {
    both("killed", &story::killed(), "3");
}

#[test]
fn everything_is_over() {
    both("answered", &story::answered(), "1");
}

#[test]
fn many_workers_as_a_grid() {
    let mut screen = Screen::live(160, 48, &story::many(11));
    insta::assert_snapshot!("grid_160x48", screen.picture());
}

#[test]
fn very_many_workers_as_rows() {
    both("rows", &story::many(64), "7");
}

#[test]
fn help() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys("?");
    insta::assert_snapshot!("help_80x24", screen.picture());
}

#[test]
fn palette() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys(": w r down");
    insta::assert_snapshot!("palette_80x24", screen.picture());
}

#[test]
fn composer_with_a_complaint() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys("f");
    screen.input(Input::Paste("try 5*6\nand </FORK-1>".into()));
    screen.keys("ctrl-s");
    insta::assert_snapshot!("composer_80x24", screen.picture());
}

#[test]
fn stop_menu() {
    both("stop", &story::three_workers(), "2 x");
}

#[test]
fn question() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys("x A");
    insta::assert_snapshot!("abort_80x24", screen.picture());
}

#[test]
fn join_picker() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys("2 J");
    insta::assert_snapshot!("pick_80x24", screen.picture());
}

#[test]
fn inspector() {
    both("inspector", &story::waiting(), "i G");
}

#[test]
fn what_if() {
    both("what_if", &story::answered(), "1 w");
}

#[test]
fn searching() {
    let mut screen = Screen::live(80, 24, &story::killed());
    screen.keys("/ t e n s enter");
    insta::assert_snapshot!("search_80x24", screen.picture());
    screen.keys("/ k e e");
    insta::assert_snapshot!("field_80x24", screen.picture());
}

#[test]
fn timeline_with_cursor_in_lived_time() {
    let mut screen = Screen::live(120, 36, &story::killed());
    screen.keys("1 tab tab tab [ [ [");
    insta::assert_snapshot!("cursor_120x36", screen.picture());
    screen.keys("T");
    insta::assert_snapshot!("lived_120x36", screen.picture());
}

#[test]
fn errors_pauses_and_warnings() {
    let mut story = story::three_workers();
    story.say(
        story::ORGANIZER,
        Body::Error {
            error: ErrorKind::JoinUnknown,
            span: None,
            message: "JOIN-7 names a sub-query that was never forked".into(),
        },
    );
    story.command(
        Command::Pause {
            thread: Some(worker(2)),
        },
        Outcome::Done,
    );
    story.command(Command::Pause { thread: None }, Outcome::Done);
    let mut screen = Screen::live(100, 30, &story);
    screen.input(Input::Warning(
        "the disk is full: 2 MB wait to be recorded".into(),
    ));
    insta::assert_snapshot!("paused_100x30", screen.picture());
}

#[test]
fn replay() {
    let playback = Playback {
        playing: true,
        speed: 2.0,
        looping: true,
        position: 690_000,
        length: 1_500_000,
    };
    let mut screen = Screen::new(120, 36, look("terminal", false), Feed::Replay(playback));
    let story = story::waiting();
    screen.input(Input::Header(Box::new(story.header.clone())));
    screen.input(Input::Events(story.events));
    insta::assert_snapshot!("replay_120x36", screen.picture());
}

#[test]
fn too_small() {
    let mut screen = Screen::live(39, 9, &story::three_workers());
    insta::assert_snapshot!("too_small_39x9", screen.picture());
    let mut screen = Screen::live(40, 10, &story::three_workers());
    insta::assert_snapshot!("smallest_40x10", screen.picture());
}

#[test]
fn without_colour_and_in_ascii() {
    let mut screen = Screen::new(100, 30, look("mono", true), Feed::Live);
    screen.tell(&story::killed());
    screen.keys("2");
    let picture = screen.picture();
    let chars = screen.text();
    assert!(chars.is_ascii(), "{chars}");
    insta::assert_snapshot!("ascii_100x30", picture);
}

#[test]
fn the_mono_theme_sets_no_colour_anywhere() {
    for keys in ["", "?", ": a", "f", "2 x", "i", "w", "/ a", "x A"] {
        let mut screen = Screen::new(100, 30, look("mono", false), Feed::Live);
        screen.tell(&story::killed());
        screen.keys(keys);
        let buffer = screen.draw();
        for cell in &buffer.content {
            assert_eq!(
                (cell.fg, cell.bg),
                (ratatui::style::Color::Reset, ratatui::style::Color::Reset),
                "{keys}: {cell:?}"
            );
        }
    }
}
