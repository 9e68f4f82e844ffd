//! Text of threads on a real terminal: hostile, wide, at any size.
//!
//! As in `guard`, the program under test is this test binary: [`shown`] draws one bordered pane and
//! pushes a text byte by byte, one frame each.

use crate::harness::{Session, Start};
use crossterm::event::{Event, poll, read};
use orgtop::org::Author;
use orgtop::tui::terminal::{Modes, Screen};
use orgtop::tui::text::{PaneState, Piece, TextPane, TextStyles, Transcript};
use orgtop::tui::theme::{ColorDepth, Theme};
use ratatui::widgets::Block;
use std::time::{Duration, Instant};

const ARGS: [&str; 5] = [
    "--exact",
    "text::shown",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

const HOSTILE: &str = "\u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x\u{7}link\u{1b}c\u{1b}[2J\u{9b}31m\u{202e}evil\rtab\there\u{1b}[?1049l\u{1b}[?25h";

const WIDE: &str = "ascii only 123\n北京上海广州深\n👩‍👩‍👧‍👦🇨🇭❤\u{fe0f}👍🏽🧠x\ne\u{301}e\u{301}각 ok\n";

fn program(text: &str) -> Start {
    let this = std::env::current_exe().expect("this test binary");
    Session::program(this).args(ARGS).env("SHOWN", text)
}

#[test]
#[ignore = "the program under test, run by the others"]
fn shown() {
    let text = match std::env::var("SHOWN").as_deref() {
        Ok("hostile") => HOSTILE,
        _ => WIDE,
    };
    let depth = ColorDepth::detect(&orgtop::tui::theme::TermEnv::read());
    let theme = Theme::load("ember", &[], depth).expect("a built-in theme");
    let styles = TextStyles::new(&theme);
    let mut screen = Screen::enter(Modes::default()).expect("a terminal");
    let mut transcript = Transcript::new();
    let mut state = PaneState::new();
    let piece = Piece::Decoded {
        ids: &[],
        lens: &[],
    };
    let text = format!("{text}<JOIN-1>end.");
    let mut rest = text.bytes();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if let Some(byte) = rest.next() {
            transcript.push(&[byte], &Author::Model, piece);
        }
        screen
            .draw(|frame| {
                let block = Block::bordered();
                let inner = block.inner(frame.area());
                frame.render_widget(block, frame.area());
                frame.render_stateful_widget(
                    TextPane::new(&transcript, &styles),
                    inner,
                    &mut state,
                );
            })
            .expect("a terminal");
        let wait = if rest.len() == 0 { 20 } else { 0 };
        if poll(Duration::from_millis(wait)).expect("a terminal")
            && matches!(read().expect("a terminal"), Event::Key(_))
        {
            break;
        }
    }
}

/// Every row ends with the border.
fn assert_borders_hold(session: &Session) {
    session.with(|screen| {
        let (rows, columns) = screen.size();
        for row in 1..rows - 1 {
            for column in [0, columns - 1] {
                let cell = screen.cell(row, column).expect("a cell");
                assert_eq!(cell.contents(), "│", "row {row}:\n{}", screen.contents());
            }
        }
    });
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let mut session = program("hostile").size(60, 12).spawn();
    session.wait_for("end.");
    session.keys("q");
    session.wait_end();
    for forbidden in ["\x1b]", "\x1bc", "\u{9b}", "\u{202e}", "\x07", "\t"] {
        assert_eq!(session.count(forbidden), 0, "{forbidden:?}");
    }
    assert_eq!(session.count("\x1b[?1049l"), 1, "only the program's own");
    assert_eq!(session.count("\u{1b}[31m"), 0);
}

#[test]
fn wide_characters_shift_no_border() {
    for columns in [17, 18, 40] {
        let session = program("wide").size(columns, 16).spawn();
        session.wait_for("end.");
        assert_borders_hold(&session);
    }
}

#[test]
fn any_size_is_survived() {
    let mut session = program("wide").size(80, 24).spawn();
    session.wait_for("end.");
    session.resize(4, 3);
    session.wait_gone("end.");
    for (columns, rows) in [(1, 1), (681, 180), (80, 3), (2, 50), (0, 0), (33, 7)] {
        session.resize(columns, rows);
        std::thread::sleep(Duration::from_millis(20));
    }
    for n in 0..50 {
        session.resize(20 + n, 30 - n % 20);
    }
    session.resize(50, 12);
    session.wait_until("it is drawn again", |s| {
        s.screen().contains("end.") && s.screen().lines().count() == 12
    });
    session.wait_until("the corner is in place", |s| {
        s.with(|screen| screen.cell(11, 49).is_some_and(|c| c.contents() == "┘"))
    });
    assert_borders_hold(&session);
}

#[test]
fn no_colour_means_no_colour() {
    let session = program("wide").env("NO_COLOR", "1").spawn();
    session.wait_for("end.");
    let log = String::from_utf8_lossy(&session.log()).into_owned();
    let colours =
        regex::Regex::new("\x1b\\[(3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;)").expect("a pattern");
    let found: Vec<&str> = colours.find_iter(&log).map(|m| m.as_str()).collect();
    assert!(found.is_empty(), "{found:?}");
}
