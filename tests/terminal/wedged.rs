//! An engine that never answers can be left, and the terminal is given back.
//!
//! As in `guard`, the program under test is this test binary: [`stuck`] runs a session whose engine hangs.

use crate::harness::Session;
use orgtop::engine::{ChatMessage, Engine, EngineCard, EngineError, SeqOp, StepOutput, TokenId};
use orgtop::live::{Audience, Plan, RunConfig, Start, launch};
use orgtop::tui::keymap::Keymap;
use orgtop::tui::look::Look;
use orgtop::tui::terminal::Modes;
use orgtop::tui::theme::{ColorDepth, Theme};
use orgtop::tui::{Exit, LiveSource, Options, run_live};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ARGS: [&str; 5] = [
    "--exact",
    "wedged::stuck",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

#[derive(Default)]
struct Wedged(EngineCard);

impl Engine for Wedged {
    fn card(&self) -> &EngineCard {
        &self.0
    }
    fn encode(&mut self, _: &str) -> Result<Vec<TokenId>, EngineError> {
        Ok(Vec::new())
    }
    fn prompt(&mut self, _: &[ChatMessage], _: bool) -> Result<Vec<TokenId>, EngineError> {
        Ok(Vec::new())
    }
    fn decode(&mut self, _: &[TokenId]) -> Vec<u8> {
        Vec::new()
    }
    fn advance(&mut self, _: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        // Longer than every test waits, short enough to leave nothing behind.
        std::thread::sleep(Duration::from_secs(60));
        Ok(StepOutput::default())
    }
}

#[test]
#[ignore = "the program under test, run by the others"]
fn stuck() {
    let handle = launch(Plan {
        open: Box::new(|| Ok(Box::new(Wedged::default()))),
        start: Start::Fresh {
            config: RunConfig {
                query: "what is it?".into(),
                ..RunConfig::default()
            },
            id: "stuck".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: std::collections::VecDeque::new(),
        audience: Audience::Person,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let source = LiveSource {
        commands: handle.commands.clone(),
        mailbox: Arc::clone(&handle.mailbox),
    };
    let theme = Theme::load("terminal", &[], ColorDepth::Ansi16).expect("a built-in theme");
    let options = Options {
        look: Look::new(theme, false, false),
        keymap: Keymap::default(),
        modes: Modes::default(),
        loading: "stuck".into(),
        accepts: Box::new(|_| Ok(())),
        themes: None,
        demo: None,
    };
    let exit = run_live(source, options).expect("a terminal");
    assert_eq!(exit, Exit::Forced);
    handle.leave_behind();
    println!("left by force");
    std::process::exit(7);
}

fn program() -> Session {
    let this = std::env::current_exe().expect("this test binary");
    let s = Session::program(this).args(ARGS).size(100, 24).spawn();
    s.wait_for("LIVE");
    s
}

#[test]
fn ctrl_c_climbs_its_ladder_out_of_an_engine_that_never_answers() {
    let mut s = program();
    for (key, answer) in [
        ("\x03", "PAUSING"),
        ("\x03", "again to save and quit"),
        ("\x03", "saving the session"),
    ] {
        s.keys(key);
        s.wait_for(answer);
    }
    let began = Instant::now();
    s.keys("\x03");
    assert_eq!(s.wait_end().exit_code(), 7);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(s.settings_are_as_before());
    assert_eq!(s.count("\x1b[?1049l"), 1);
    assert!(!s.with(vt100::Screen::alternate_screen));
}

#[test]
fn every_key_lives_while_the_engine_hangs_and_escape_stops_nothing() {
    let mut s = program();
    for (key, shown) in [("?", "Keys"), ("i", " sees"), ("f", "COMPOSE")] {
        s.keys(key);
        s.wait_for(shown);
        s.keys("\x1b");
        s.wait_gone(shown);
        std::thread::sleep(Duration::from_millis(80));
    }
    assert!(s.screen().contains("LIVE") || s.screen().contains("FROZEN"));
    s.signal("TERM");
    s.wait_for("saving the session");
    s.wait_end();
    assert!(s.settings_are_as_before());
}
