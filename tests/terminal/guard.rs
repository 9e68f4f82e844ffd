//! The terminal is given back, whatever ends the program.
//!
//! The program under test is this test binary itself: [`guarded`] takes the terminal with the
//! library's `Screen` and ends in the way that `GUARDED` names.

use crate::harness::{Session, Start};
use crossterm::event::{Event, KeyCode, KeyModifiers, read};
use orgtop::tui::terminal::signals::{GRACE, Notice, end_by, watch};
use orgtop::tui::terminal::{Modes, Screen};
use ratatui::widgets::Paragraph;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What is switched on, and its counterpart.
const MODES: [(&str, &str); 6] = [
    ("\x1b[?1049h", "\x1b[?1049l"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[>1u", "\x1b[<1u"),
];

const ARGS: [&str; 5] = [
    "--exact",
    "guard::guarded",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

fn program(ending: &str) -> Start {
    let this = std::env::current_exe().expect("this test binary");
    Session::program(this).args(ARGS).env("GUARDED", ending)
}

#[test]
#[ignore = "the program under test, run by the others"]
fn guarded() {
    let ending = std::env::var("GUARDED").unwrap_or_default();
    let (tell, told) = mpsc::channel();
    let _watch = watch(move |notice| {
        let _ = tell.send(notice);
    })
    .expect("signals");
    let mut screen = Screen::enter(Modes {
        mouse: true,
        keyboard: true,
    })
    .expect("a terminal");
    // As the application does: on a terminal that is gone, reading may never return.
    let (type_key, typed) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(event) = read() {
            let _ = type_key.send(event);
        }
    });
    let began = Instant::now();
    let mut frames = 0;
    // Long enough for every test, short enough to leave nothing behind.
    while began.elapsed() < Duration::from_secs(30) {
        frames += 1;
        let drawn = screen.draw(|frame| {
            frame.render_widget(
                Paragraph::new(format!("in the screen, frame {frames}")),
                frame.area(),
            );
            assert!(!(ending == "panic" && frames == 3), "a fault while drawing");
        });
        if let Err(error) = drawn {
            drop(screen);
            eprintln!("ended by: {error}");
            std::process::exit(3);
        }
        match told.try_recv() {
            Ok(Notice::End(signal)) if ending != "stuck" => {
                drop(screen);
                println!("ended by {}", signal.name());
                end_by(signal);
                return;
            }
            Ok(Notice::Continued) => screen.repaint().expect("a terminal"),
            _ => {}
        }
        match (ending.as_str(), frames) {
            ("quit", 3) => {
                drop(screen);
                println!("good bye");
                std::process::exit(0);
            }
            ("thread", 3) => {
                let _ = std::thread::spawn(|| panic!("a fault in a thread")).join();
            }
            ("copy", 3) => screen.copy("hello").expect("a terminal"),
            _ => {}
        }
        if let Ok(Event::Key(key)) = typed.recv_timeout(Duration::from_millis(10))
            && key.code == KeyCode::Char('z')
            && key.modifiers == KeyModifiers::CONTROL
        {
            screen.suspend().expect("a terminal");
        }
    }
}

/// Everything that was switched on was switched off once, and line settings are as before.
fn assert_given_back(session: &Session) {
    for (on, off) in MODES {
        assert_eq!(session.count(on), 1, "{on:?}");
        assert_eq!(session.count(off), 1, "{off:?}");
    }
    assert!(session.settings_are_as_before());
    assert!(!session.with(vt100::Screen::alternate_screen));
    assert!(!session.with(vt100::Screen::hide_cursor));
    assert!(!session.with(vt100::Screen::bracketed_paste));
}

/// `message` was written after the alternate screen was left.
fn assert_printed_after(session: &Session, message: &str) {
    let log = String::from_utf8_lossy(&session.log()).into_owned();
    let left = log
        .rfind("\x1b[?1049l")
        .expect("the alternate screen was left");
    let printed = log.find(message).expect("the message was printed");
    assert!(printed > left, "{message:?} went into the alternate screen");
}

#[test]
fn a_normal_end_gives_the_terminal_back() {
    let mut session = program("quit").spawn();
    assert_eq!(session.wait_end().exit_code(), 0);
    assert_given_back(&session);
    assert_printed_after(&session, "good bye");
}

#[test]
fn a_panic_while_drawing_gives_it_back_before_the_message() {
    let mut session = program("panic").spawn();
    assert_ne!(session.wait_end().exit_code(), 0);
    assert_given_back(&session);
    assert_printed_after(&session, "a fault while drawing");
}

#[test]
fn a_panic_in_a_thread_gives_it_back_and_ends_the_drawing() {
    let mut session = program("thread").spawn();
    assert_eq!(session.wait_end().exit_code(), 3);
    assert_given_back(&session);
    assert_printed_after(&session, "a fault in a thread");
    assert_printed_after(&session, "ended by: the terminal was given back");
}

#[test]
fn signals_give_it_back() {
    for name in ["TERM", "HUP", "INT"] {
        let mut session = program("wait").spawn();
        session.wait_for("in the screen");
        session.signal(name);
        let status = session.wait_end();
        assert!(!status.success(), "{name}: {status:?}");
        assert_given_back(&session);
        assert_printed_after(&session, &format!("ended by SIG{name}"));
    }
}

#[test]
fn a_stuck_program_is_ended_by_the_second_signal() {
    let mut session = program("stuck").spawn();
    session.wait_for("in the screen");
    session.signal("TERM");
    std::thread::sleep(Duration::from_millis(200));
    session.signal("TERM");
    session.wait_end();
    assert_given_back(&session);
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let mut session = program("wait").spawn();
    session.wait_for("in the screen");
    let began = Instant::now();
    session.hang_up();
    session.wait_end();
    assert!(began.elapsed() < GRACE, "by itself, not by force");
}

#[test]
fn ctrl_z_stops_with_a_restored_terminal_and_fg_repaints() {
    let this = std::env::current_exe().expect("this test binary");
    let mut shell = Session::shell();
    shell.keys(&format!(
        "GUARDED=wait RUST_BACKTRACE=0 {} {}\r",
        this.display(),
        ARGS.join(" ")
    ));
    shell.wait_for("in the screen");
    assert!(shell.with(vt100::Screen::alternate_screen));
    shell.keys("\x1a");
    shell.wait_until("it is stopped", |s| {
        !s.with(vt100::Screen::alternate_screen) && s.screen().contains("Stopped")
    });
    for (_, off) in MODES {
        assert_eq!(shell.count(off), 1, "{off:?}");
    }
    shell.keys("fg\r");
    shell.wait_for("in the screen");
    assert!(shell.with(vt100::Screen::alternate_screen));
    assert!(shell.with(vt100::Screen::bracketed_paste));
    shell.keys("\x1a");
    shell.wait_until("it is stopped again", |s| {
        !s.with(vt100::Screen::alternate_screen)
    });
    shell.keys("kill %1; fg\r");
    shell.wait_for("ended by SIGTERM");
    assert!(!shell.with(vt100::Screen::alternate_screen));
}

#[test]
fn ctrl_z_where_nobody_could_continue_it_goes_on() {
    let mut session = program("wait").spawn();
    session.wait_for("in the screen");
    session.keys("\x1a");
    session.wait_until("it took the terminal again", |s| {
        s.count("\x1b[?1049h") == 2
    });
    session.wait_for("in the screen");
    assert!(session.with(vt100::Screen::alternate_screen));
}

#[test]
fn the_clipboard_is_the_only_thing_that_leaves_the_grid() {
    let session = program("copy").spawn();
    session.wait_until("the text was copied", |s| {
        s.count("\x1b]52;c;aGVsbG8=\x1b\\") == 1
    });
}

#[test]
fn help_leaves_the_terminal_alone() {
    let mut session = Session::spawn(&["--help"]);
    session.wait_end();
    assert_eq!(session.count("\x1b[?"), 0);
    assert!(session.settings_are_as_before());
}
