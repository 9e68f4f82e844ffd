//! The whole program on a real terminal: watched, steered, left, and replayed.

use crate::desk::{ALTERNATE_SCREEN_OFF, Desk, busy, is_as_before, leave, orgtop};
use crate::harness::{Session, kill};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_person_watches_forks_kills_joins_and_leaves() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    s.wait_for("berry");
    s.keys("1x");
    s.wait_for("Stop worker 1");
    std::thread::sleep(std::time::Duration::from_millis(300));
    s.keys("k");
    s.wait_for("killed");
    s.keys("f");
    s.wait_for("COMPOSE");
    s.keys("a third one\x13");
    s.wait_for("cherry");
    s.wait_for("returned");
    s.keys("J");
    s.wait_for("Join which");
    s.keys("3");
    s.wait_for("pie⟨/⟩");
    leave(&mut s);
    is_as_before(&s);
    assert!(desk.verifies());
    let object = desk.inspect();
    assert_eq!(object["end"], "interrupted");
    let thread = |id: &str| {
        let threads = object["threads"].as_array().unwrap();
        threads.iter().find(|t| t["id"] == id).unwrap().clone()
    };
    assert_eq!(thread("1")["end"], "killed");
    assert_eq!(thread("3")["end"], "returned");
}

#[test]
fn the_replay_ends_with_the_screen_that_was_left() {
    let desk = Desk::new(&[
        serde_json::json!({"thread": "organizer", "tokens":
            ["Let", " me", "<FORK-1>see</FORK-1>", " think", "<JOIN-1>", " so", "<ANSWER>42</ANSWER>"]}),
        serde_json::json!({"thread": "1", "text": "It is 42. <RETURN>42</RETURN>"}),
    ]);
    let mut live = desk.run(&[]).spawn();
    live.wait_for("answered");
    let panes = |s: &Session| -> Vec<String> {
        // All but the header and the footer, which say whether it is live.
        let screen = s.screen();
        let rows: Vec<&str> = screen.lines().collect();
        if rows.len() < 3 {
            return Vec::new();
        }
        rows[1..rows.len() - 1]
            .iter()
            .map(|r| (*r).to_owned())
            .collect()
    };
    live.wait_for("42");
    // The last frame may still be on its way.
    let mut expected = panes(&live);
    loop {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let now = panes(&live);
        if now == expected {
            break;
        }
        expected = now;
    }
    live.keys("q");
    assert!(live.wait_end().success());
    let mut replay = desk.replay(&["--at", "end"]).spawn();
    let what = format!("the panes are the same as\n{}\n", expected.join("\n"));
    replay.wait_until(&what, |s| panes(s) == expected);
    replay.keys("q");
    assert!(replay.wait_end().success());
    is_as_before(&replay);
}

#[test]
fn ctrl_c_pauses_then_warns_then_saves_and_leaves() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    s.keys("\x03");
    s.wait_for("PAUSED");
    s.keys("\x03");
    s.wait_for("again");
    s.keys("\x03");
    s.wait_end();
    is_as_before(&s);
    assert_eq!(desk.inspect()["end"], "interrupted");
    assert!(desk.verifies());
}

#[test]
fn escape_stops_nothing() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    s.keys("\x1b");
    std::thread::sleep(std::time::Duration::from_millis(80));
    s.keys("\r");
    s.keys("?");
    s.wait_for("help");
    s.keys("\x1b");
    s.wait_until("the help is gone and text flows", |s| {
        s.screen().contains("LIVE") && s.screen().contains("apple")
    });
    // A key that comes with Escape would be one with Alt.
    std::thread::sleep(std::time::Duration::from_millis(80));
    leave(&mut s);
}

#[test]
fn a_signal_saves_the_session_so_that_it_can_be_resumed() {
    for signal in ["TERM", "HUP"] {
        let desk = busy();
        let mut s = desk.run(&[]).spawn();
        s.wait_for("apple");
        s.signal(signal);
        s.wait_end();
        is_as_before(&s);
        let before = desk.inspect();
        assert_eq!(before["end"], "interrupted");
        let orders = desk.folder.path().join("orders.jsonl");
        let steps = before["metrics"]["lived_steps"].as_u64().unwrap();
        let later = serde_json::json!({"at": {"step": steps + 50}, "do": "abort"});
        std::fs::write(&orders, later.to_string()).unwrap();
        let (text, done) = orgtop(&[
            "resume",
            "--headless",
            "--json",
            "--script",
            desk.script.to_str().unwrap(),
            "--commands",
            orders.to_str().unwrap(),
            desk.record.to_str().unwrap(),
        ]);
        assert!(!done, "an aborted run has no answer: {text}");
        assert!(desk.verifies());
        let after: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(after["end"], "aborted");
        let tokens = |object: &Value| object["metrics"]["decoded"].as_u64().unwrap();
        assert!(tokens(&after) > tokens(&before));
    }
}

#[test]
fn without_a_terminal_lines_are_printed() {
    let desk = Desk::new(&[
        serde_json::json!({"thread": "organizer", "tokens": ["ok", "<ANSWER>42 \u{1b}[2J</ANSWER>"]}),
    ]);
    let (text, done) = orgtop(&[
        "run",
        "--script",
        desk.script.to_str().unwrap(),
        "--no-record",
        "what?",
    ]);
    assert!(done);
    assert!(text.contains("42"));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_dumb_terminal_gets_lines_without_any_escape() {
    let desk = Desk::new(&[
        serde_json::json!({"thread": "organizer", "tokens": ["ok", "<ANSWER>42</ANSWER>"]}),
    ]);
    let mut s = desk.run(&[]).env("TERM", "dumb").spawn();
    s.wait_for("42");
    assert!(s.wait_end().success());
    assert_eq!(s.count("\x1b"), 0);
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let desk = Desk::new(&[serde_json::json!({"thread": "organizer", "tokens": [
        "\u{1b}]52;c;ZXZpbA==\u{7}", "\u{1b}]8;;http://x\u{7}", "\u{1b}", "c", "\u{9b}2J", "\u{202e}rtl",
        "\r", "\t", "safe", "<ANSWER>\u{1b}]0;title\u{7}end</ANSWER>"
    ]})]);
    let mut s = desk.run(&[]).spawn();
    s.wait_for("safe");
    s.wait_for("answered");
    s.keys("q");
    s.wait_end();
    for forbidden in [
        "\x1b]52", "\x1b]8;;", "\x1bc", "\u{9b}", "\u{202e}", "\x1b]0;",
    ] {
        assert_eq!(s.count(forbidden), 0, "{forbidden:?}");
    }
    let recorded = std::fs::read_to_string(&desk.record).unwrap();
    assert!(recorded.contains("\\u001b]52;c;ZXZpbA=="));
    assert!(desk.verifies());
}

#[test]
fn it_survives_every_size_while_text_streams() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    for (columns, rows) in [(1, 1), (20, 3), (681, 180), (80, 3), (3, 40), (100, 30)] {
        s.resize(columns, rows);
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    for i in 0..50 {
        s.resize(40 + i, 12 + i % 20);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    s.resize(100, 30);
    // The terminal library reads a key that comes in the same instant as a resize only with the next key.
    std::thread::sleep(std::time::Duration::from_millis(300));
    s.wait_for("apple");
    leave(&mut s);
    is_as_before(&s);
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let desk = busy();
    let mut shell = Session::shell();
    let command = format!(
        "HOME={} {} run --script {} --record {} q\n",
        desk.folder.path().display(),
        env!("CARGO_BIN_EXE_orgtop"),
        desk.script.display(),
        desk.record.display()
    );
    shell.keys(&command);
    shell.wait_for("apple");
    shell.keys("\x1a");
    shell.wait_until("the shell is back", |s| s.count(ALTERNATE_SCREEN_OFF) == 1);
    shell.keys("echo he''re\n");
    shell.wait_for("here");
    shell.keys("fg\n");
    shell.wait_for("apple");
    shell.keys("\x03");
    shell.wait_for("PAUSED");
    shell.keys("\x03\x03");
    shell.wait_until("it has left", |s| s.count(ALTERNATE_SCREEN_OFF) == 2);
    shell.wait_for("recorded in");
    assert!(desk.verifies());
}

#[test]
fn killing_it_loses_nothing_that_was_synced() {
    let desk = busy();
    let s = desk.run(&[]).spawn();
    s.wait_for("apple");
    s.wait_for("berry");
    let id = s.process_id();
    kill("KILL", id);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let object = desk.inspect();
    assert_eq!(object["end"], Value::Null);
    assert_eq!(object["threads"].as_array().unwrap().len(), 3);
}

#[test]
fn a_missing_model_is_said_before_anything_is_drawn() {
    let missing = Path::new("/no/such/model");
    let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(["run", "--model", missing.to_str().unwrap(), "q"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("/no/such/model"), "{message}");
}
