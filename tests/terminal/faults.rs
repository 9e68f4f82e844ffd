//! Inputs that broke other programs, through the whole program on a real terminal.

use crate::desk::{ALTERNATE_SCREEN_OFF, Desk, busy, forever, is_as_before, leave, orgtop};
use crate::harness::Session;
use base64::Engine as _;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// What drives terminals: clipboard, links, reset, clearing, 8-bit controls, bidi, modes, titles.
const HOSTILE: &str = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}]8;;http://x\u{7}c\u{1b}cd\u{1b}[2Je\u{9b}31mf\u{202e}g\
                       \u{2066}h\ri\tj\u{1b}[?1049lk\u{1b}]0;t\u{7}l\u{1b}Pq\u{1b}\\m\u{7f}n\u{8}end";

fn pass(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Nothing in `text` that a terminal would obey or reorder, but line breaks and carriage returns before them.
fn drives(text: &str) -> bool {
    text.replace("\r\n", "\n").chars().any(|c| {
        (c.is_control() && c != '\n')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    })
}

fn assert_nothing_got_through(s: &Session) {
    let log = String::from_utf8_lossy(&s.log()).into_owned();
    for forbidden in [
        "\u{1b}]", "\u{1b}c", "\u{1b}P", "\u{9b}", "\u{202e}", "\u{2066}", "\u{7}", "\t", "\u{7f}",
        "\u{8}",
    ] {
        assert!(!log.contains(forbidden), "{forbidden:?}");
    }
    assert_eq!(s.count(ALTERNATE_SCREEN_OFF), 1, "only the program's own");
    assert!(s.count("\x1b[2J") <= 1);
}

#[test]
fn hostile_text_split_at_every_byte_drives_no_terminal_from_screen_file_replay_or_lines() {
    let split = |thread: &str, text: String| json!({"thread": thread, "text": text, "split": 1});
    let desk = Desk::new(&[
        split(
            "organizer",
            format!(
                "{HOSTILE}<FORK-1>{HOSTILE}</FORK-1><JOIN-1>{HOSTILE}<ANSWER>{HOSTILE}</ANSWER>"
            ),
        ),
        split("1", format!("{HOSTILE}<RETURN>{HOSTILE}</RETURN>")),
    ]);
    let record = desk.record.to_str().unwrap();
    let script = desk.script.to_str().unwrap();
    let run = ["run", "--script", script, "--record", record, HOSTILE];
    let mut live = desk.at_home(Session::start(&run)).spawn();
    live.wait_for("answered");
    for keys in ["i", "i", "w", "w", "1", "i", "i", "z", "v", "v", "v"] {
        live.keys(keys);
        pass(60);
    }
    live.keys("m");
    live.keys("\x1b[200~pasted\x1b]0;x\x07\u{9b}2J\x1b[201~");
    live.wait_for("pasted");
    live.keys("\r");
    live.wait_for("marked");
    live.keys("q");
    live.wait_end();
    assert_nothing_got_through(&live);

    let mut replay = desk.replay(&["--at", "end"]).spawn();
    replay.wait_for("REPLAY");
    replay.wait_for("end⟨/⟩");
    replay.keys("q");
    replay.wait_end();
    assert_nothing_got_through(&replay);

    let file = std::fs::read_to_string(&desk.record).unwrap();
    assert!(!drives(&file), "the file can be looked at with `cat`");
    let texts = desk.texts();
    let worker = String::from_utf8(texts[&"1".parse().unwrap()].clone()).unwrap();
    assert_eq!(worker, format!("{HOSTILE}<RETURN>{HOSTILE}</RETURN>"));
    let object = desk.inspect();
    assert_eq!(object["answer"], HOSTILE);
    assert!(desk.verifies());

    for args in [
        &["replay", "--plain", record][..],
        &["inspect", record],
        &["inspect", "--json", record],
        &["verify", record],
        &["run", "--plain", "--no-record", "--script", script, HOSTILE],
        &[
            "run",
            "--headless",
            "--json",
            "--no-record",
            "--script",
            script,
            HOSTILE,
        ],
    ] {
        let (text, _) = orgtop(args);
        assert!(!text.is_empty() && !drives(&text), "{args:?}: {text:?}");
    }
    // On a terminal the bare answer is made safe too; elsewhere it is data.
    let headless = [
        "run",
        "--headless",
        "--no-record",
        "--script",
        script,
        HOSTILE,
    ];
    assert!(orgtop(&headless).0.contains(HOSTILE));
    let mut s = desk.at_home(Session::start(&headless)).spawn();
    s.wait_for("alone");
    s.wait_end();
    for forbidden in ["\x1b]", "\x1bc", "\u{9b}", "\u{202e}", "\u{7}"] {
        assert_eq!(s.count(forbidden), 0, "{forbidden:?}");
    }
}

#[test]
fn a_character_split_over_tokens_is_shown_whole_and_recorded_exactly() {
    let brain = "🧠".as_bytes();
    let b64 =
        |bytes: &[u8]| json!({"b64": base64::engine::general_purpose::STANDARD.encode(bytes)});
    let mut tokens: Vec<Value> = Vec::new();
    for at in 1..4 {
        tokens.extend([b64(&brain[..at]), b64(&brain[at..]), json!(".")]);
    }
    tokens.extend([
        json!("good\n"),
        b64(&[0x80]),
        json!("bad"),
        b64(&[0xf0, 0x9f]),
        json!("cut"),
    ]);
    tokens.extend(vec![b64(&[0xff]); 20]);
    tokens.push(json!("<ANSWER>there</ANSWER>"));
    let mut expected = "🧠.🧠.🧠.good\n".as_bytes().to_vec();
    expected.extend(b"\x80bad\xf0\x9fcut");
    expected.extend([0xff; 20]);
    expected.extend(b"<ANSWER>there</ANSWER>");
    let desk = Desk::new(&[json!({"thread": "organizer", "tokens": tokens})]);
    let mut s = desk.run(&[]).spawn();
    s.wait_for("🧠.🧠.🧠.good");
    // The emulator drops the signs that stand for bad bytes.
    s.wait_for("badcut");
    assert!(s.count("\u{fffd}") > 0);
    s.wait_for("there⟨/⟩");
    s.keys("q");
    s.wait_end();
    assert_eq!(desk.texts()[&"organizer".parse().unwrap()], expected);
    assert!(desk.verifies());
    let mut replay = desk.replay(&["--at", "end"]).spawn();
    replay.wait_for("🧠.🧠.🧠.good");
    replay.keys("q");
    replay.wait_end();
    let valid = Desk::new(&[json!({"thread": "organizer", "tokens": tokens[..10]})]);
    let mut s = valid.run(&[]).spawn();
    s.wait_for("🧠.🧠.🧠.good");
    s.keys("q");
    s.wait_end();
    assert_eq!(
        s.count("\u{fffd}"),
        0,
        "valid text has no sign for bad bytes"
    );
}

#[test]
fn a_terminal_that_is_closed_leaves_a_saved_session() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    let began = Instant::now();
    s.hang_up();
    s.wait_end();
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "by itself, not by force"
    );
    assert_eq!(desk.inspect()["end"], "interrupted");
    assert!(desk.verifies());
}

#[test]
fn leaving_while_a_model_loads_waits_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("slow.gguf");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parity/llama.gguf");
    std::fs::copy(fixture, &model).unwrap();
    // Reading it takes minutes; on disk it takes nothing.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&model)
        .unwrap();
    file.set_len(1 << 38).unwrap();
    for ctrl_c in [true, false] {
        let args = [
            "run",
            "--no-record",
            "--model",
            model.to_str().unwrap(),
            "q",
        ];
        let home = folder.path().to_str().unwrap();
        let mut s = Session::start(&args).env("HOME", home).spawn();
        s.wait_for("Loading the model");
        let began = Instant::now();
        s.keys(if ctrl_c { "\x03" } else { "q" });
        assert!(s.wait_end().success(), "{}", s.screen());
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
        is_as_before(&s);
        s.wait_for("left before the model was loaded");
    }
}

#[test]
fn a_paused_run_is_still_paused_after_ctrl_z_and_goes_on_at_its_pace() {
    let desk = busy();
    let mut shell = Session::shell();
    shell.keys(&format!(
        "HOME={} {} run --script {} --record {} --max-organizer 100000 --max-worker 100000 q\n",
        desk.folder.path().display(),
        env!("CARGO_BIN_EXE_orgtop"),
        desk.script.display(),
        desk.record.display()
    ));
    shell.wait_for("apple");
    shell.keys(" ");
    shell.wait_for("PAUSED");
    shell.keys("\x1a");
    shell.wait_until("the shell is back", |s| s.count(ALTERNATE_SCREEN_OFF) == 1);
    pass(1500);
    shell.keys("fg\n");
    shell.wait_for("PAUSED");
    shell.wait_for("apple");
    shell.keys(" ");
    shell.wait_for("LIVE");
    pass(700);
    shell.keys("\x03");
    shell.wait_for("PAUSED");
    shell.keys("\x03\x03");
    shell.wait_for("recorded in");
    assert!(desk.verifies());
    // At 100 tokens a second nothing is made up for the time in which it stood still.
    let object = desk.inspect();
    let steps = object["metrics"]["lived_steps"].as_f64().unwrap();
    let seconds = object["metrics"]["wall_ms"].as_f64().unwrap() / 1000.0;
    assert!(
        steps < (seconds - 1.4) * 110.0 + 60.0,
        "{steps} steps in {seconds} s"
    );
}

#[test]
fn the_picker_goes_into_the_background_and_ends_by_a_signal_with_the_terminal_given_back() {
    let desk = busy();
    let mut shell = Session::shell();
    let home = desk.folder.path().display();
    let program = env!("CARGO_BIN_EXE_orgtop");
    shell.keys(&format!("HOME={home} {program} replay\n"));
    shell.wait_for("Sessions (");
    shell.keys("\x1a");
    shell.wait_until("it is stopped", |s| {
        !s.with(vt100::Screen::alternate_screen)
    });
    shell.keys("fg\n");
    shell.wait_until("it is back", |s| {
        s.with(vt100::Screen::alternate_screen) && s.screen().contains("Sessions (")
    });
    shell.keys("\x1b");
    shell.wait_until("it has left", |s| !s.with(vt100::Screen::alternate_screen));

    let mut s = desk.at_home(Session::start(&["replay"])).spawn();
    s.wait_for("Sessions (");
    s.signal("TERM");
    s.wait_end();
    is_as_before(&s);
}

#[test]
fn what_stands_still_writes_nothing_to_the_terminal() {
    let quiet = |s: &Session, what: &str| {
        // Until short messages have gone.
        pass(4500);
        let before = s.log().len();
        pass(1000);
        assert_eq!(s.log().len(), before, "{what}");
    };
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    s.keys(" ");
    s.wait_for("PAUSED");
    quiet(&s, "a paused run");
    leave(&mut s);
    let mut s = desk.replay(&["--at", "end"]).spawn();
    s.wait_for("REPLAY");
    quiet(&s, "a recording at its end");
    s.keys("q");
    s.wait_end();
    let over = Desk::new(&[json!({"thread": "organizer", "tokens": ["<ANSWER>x</ANSWER>"]})]);
    let mut s = over.run(&[]).spawn();
    s.wait_for("answered");
    quiet(&s, "a finished run");
    s.keys("q");
    s.wait_end();
}

#[test]
fn every_popup_survives_fifty_sizes_a_second_while_text_streams() {
    let desk = busy();
    let mut s = desk.run(&[]).spawn();
    s.wait_for("apple");
    for keys in [
        "?", "i", "w", ":a", "f text", "1x", "J", "/ap", "\\1", "'1", "mx", "q",
    ] {
        s.keys(keys);
        for i in 0..20_u16 {
            s.resize(
                [100, 7, 40, 150, 1][usize::from(i % 5)],
                [30, 3, 12, 50, 1][usize::from(i % 5)],
            );
            pass(20);
        }
        s.resize(100, 30);
        for _ in 0..3 {
            s.keys("\x1b");
            pass(60);
        }
    }
    s.wait_for("LIVE");
    s.wait_for("berry");
    leave(&mut s);
    is_as_before(&s);
    assert!(desk.verifies());
}

#[test]
fn the_top_line_stays_through_5000_tokens_and_two_resizes() {
    let lines: Vec<String> = (0..20_000).map(|n| format!("line {n:05}\n")).collect();
    let desk = Desk::new(&[json!({"thread": "organizer", "tokens": lines, "tokens_per_s": 2000})]);
    let mut s = desk.run(&["--capacity", "1"]).spawn();
    s.wait_for("line 0");
    s.keys("kkkkkkkk");
    s.wait_for("new");
    let top = |s: &Session| s.screen().lines().nth(2).unwrap_or_default().to_owned();
    let word = |line: &str| {
        line.split_whitespace()
            .find(|w| w.len() == 5)
            .map(str::to_owned)
    };
    let before = word(&top(&s)).expect("a numbered line");
    let step = |s: &Session| {
        let screen = s.screen();
        let after = screen.split("step ").nth(1).unwrap_or_default();
        let digits: String = after
            .chars()
            .take_while(|c| !c.is_whitespace())
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse::<u64>().unwrap_or(0)
    };
    let began = step(&s);
    s.resize(80, 20);
    s.wait_until("5000 more tokens came", |s| step(s) > began + 5000);
    assert_eq!(word(&top(&s)).as_ref(), Some(&before));
    s.resize(100, 30);
    s.wait_until("it is large again", |s| s.screen().lines().count() == 30);
    pass(200);
    assert_eq!(word(&top(&s)).as_ref(), Some(&before));
    leave(&mut s);
}

#[test]
fn a_token_a_minute_keeps_the_keys_alive_and_is_shown_as_slow() {
    let mut fork = vec!["<FORK-1>q</FORK-1>"];
    fork.extend([" hm"; 5000]);
    let desk = Desk::new(&[
        json!({"thread": "organizer", "tokens": fork, "tokens_per_s": 50}),
        json!({"thread": "1", "tokens": [" drip"], "repeat": true, "tokens_per_s": 0.016}),
    ]);
    let mut s = desk.run(&[]).spawn();
    s.wait_for("slow");
    s.keys("1p");
    s.wait_for("paused");
    s.keys("p");
    s.wait_gone("paused");
    leave(&mut s);
    let alone = Desk::new(&[
        json!({"thread": "organizer", "tokens": ["first"], "repeat": true, "tokens_per_s": 0.016}),
    ]);
    let mut s = alone.run(&[]).spawn();
    s.wait_for("LIVE");
    for _ in 0..3 {
        let painted = s.time_to_paint("?", |screen| screen.contents().contains("Keys"));
        assert!(painted < Duration::from_secs(2), "{painted:?}");
        s.keys("?");
        s.wait_gone("Keys");
    }
    s.wait_for("FROZEN");
    leave(&mut s);
}

#[test]
fn loops_and_silence_are_shown_as_such() {
    let desk = Desk::new(&[
        json!({"thread": "organizer", "tokens": ["<FORK-1>q</FORK-1>", "<FORK-2>q</FORK-2>", "<JOIN-1>"]}),
        forever("1", " again", 200),
        forever("2", "", 200),
    ]);
    let mut s = desk.run(&[]).spawn();
    s.wait_for("looping");
    s.wait_for("silent");
    s.keys("1x");
    s.wait_for("Stop worker 1");
    s.keys("k");
    s.wait_for("killed");
    s.keys("q");
    s.wait_end();
    let object = desk.inspect();
    assert_eq!(object["threads"][1]["end"], "killed");
    assert_eq!(object["threads"][2]["end"], "abandoned");
}
