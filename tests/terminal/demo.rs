//! Demos and the tour, on a real terminal.

use crate::desk::{Desk, busy, is_as_before, leave, orgtop};
use crate::harness::Session;
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;

fn with_demo(desk: &Desk, text: &str) -> Session {
    let path = desk.folder.path().join("talk.demo");
    std::fs::write(&path, text).unwrap();
    desk.run(&["--demo", path.to_str().unwrap()]).spawn()
}

#[test]
fn a_demo_steers_presses_types_and_speaks_and_the_speaker_sets_its_pace() {
    let desk = busy();
    let mut s = with_demo(
        &desk,
        "until fork 2\n\
         say Two workers decode at once.\n\
         wait key n\n\
         say Now a third.\n\
         key f\n\
         type a third one\n\
         wait key\n\
         key ctrl-s\n\
         until return 3\n\
         kill 1\n\
         say Worker 1 is gone.\n\
         wait 100ms\n\
         say That is all.\n",
    );
    s.wait_for("Two workers decode at once.");
    s.wait_for("n go on");
    s.wait_for("apple");
    // The speaker's own keys work while it waits.
    s.keys("?");
    s.wait_for("Keys");
    s.keys("\x1b");
    s.wait_gone("Keys");
    assert!(s.screen().contains("Two workers decode at once."));
    s.keys("n");
    s.wait_for("COMPOSE");
    s.wait_for("a third one");
    s.wait_for("space go on");
    s.keys(" ");
    s.wait_for("pie⟨/⟩");
    s.wait_for("killed");
    s.wait_for("That is all.");
    s.keys("\x1b");
    s.wait_gone("That is all.");
    leave(&mut s);
    is_as_before(&s);
    assert!(desk.verifies());
    let recorded = std::fs::read_to_string(&desk.record).unwrap();
    for command in [r#""do":"fork","query":"a third one""#, r#""do":"kill""#] {
        assert!(recorded.contains(command), "{command}");
    }
}

#[test]
fn escape_stops_the_demo_and_nothing_else() {
    let desk = busy();
    let mut s = with_demo(&desk, "say one\nwait 1m\nsay two\nabort\n");
    s.wait_for("one");
    s.wait_for("apple");
    s.keys("\x1b");
    s.wait_for("the demo is stopped");
    s.wait_until("the session goes on", |s| s.screen().contains("LIVE"));
    assert!(!s.screen().contains("demo 1/2"));
    leave(&mut s);
    assert_eq!(desk.inspect()["end"], "interrupted");
}

#[test]
fn what_a_demo_begins_with_is_asked_before_the_first_step() {
    let desk = busy();
    let mut s = with_demo(
        &desk,
        "pause\nsay Nothing has happened yet.\nwait key\nresume\n",
    );
    s.wait_for("Nothing has happened yet.");
    s.wait_for("PAUSED");
    assert!(s.screen().contains("step 0"), "{}", s.screen());
    s.keys(" ");
    s.wait_for("apple");
    leave(&mut s);
}

#[test]
fn captions_leave_the_panes_and_panels_visible_at_every_size() {
    let desk = busy();
    let text = "say A caption that is long enough to need more than one line on a screen of eighty columns, \
                and says so.\nkey i\nwait key\n";
    let mut s = with_demo(&desk, text);
    for (columns, rows) in [(80, 24), (100, 30), (160, 48), (40, 10), (100, 30)] {
        s.resize(columns, rows);
        std::thread::sleep(Duration::from_millis(200));
        s.wait_for("A caption that is long");
        s.wait_for("What organizer sees");
    }
    s.wait_for("demo 1/1");
    s.keys(" i");
    leave(&mut s);
}

#[test]
fn a_demo_with_a_mistake_is_refused_before_anything_is_drawn() {
    let desk = busy();
    let path = desk.folder.path().join("talk.demo");
    std::fs::write(&path, "say one\nuntil sneeze\n").unwrap();
    for verb in [&["run", "--script", desk.script.to_str().unwrap()][..], &[]] {
        let mut args = verb.to_vec();
        args.extend(["--demo", path.to_str().unwrap()]);
        if !verb.is_empty() {
            args.push("q");
        }
        let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
            .args(&args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("talk.demo, line 2: "), "{message}");
        assert!(message.contains("expected one like `fork 1`"), "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_recording_can_be_talked_over_but_not_steered() {
    let desk = Desk::new(&[
        json!({"thread": "organizer", "tokens": ["a", "<FORK-1>b</FORK-1>", "<JOIN-1>", "<ANSWER>c</ANSWER>"]}),
        json!({"thread": "1", "text": "d <RETURN>e</RETURN>"}),
    ]);
    let mut s = desk.run(&[]).spawn();
    s.wait_for("answered");
    s.keys("q");
    s.wait_end();
    let path = desk.folder.path().join("talk.demo");
    std::fs::write(
        &path,
        "until return 1\nsay It has returned.\nkey w\nwait key\nkey w\n",
    )
    .unwrap();
    let mut s = desk.replay(&["--demo", path.to_str().unwrap()]).spawn();
    s.wait_for("It has returned.");
    s.wait_for("What if");
    s.keys(" ");
    s.wait_gone("What if");
    s.keys("q");
    assert!(s.wait_end().success());
    std::fs::write(&path, "say one\npause\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args([
            "replay",
            desk.record.to_str().unwrap(),
            "--demo",
            path.to_str().unwrap(),
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("line 2: `pause` steers"), "{message}");
}

#[test]
fn the_tour_runs_to_its_end_by_itself_and_records_nothing() {
    let desk = Desk::new(&[]);
    let start = desk.at_home(Session::start(&["tour"]));
    let mut s = start.env("ORGTOP_DEMO_PACE", "6").size(80, 24).spawn();
    s.wait_for("This is an organization");
    s.wait_for("FORK 1: the organizer");
    s.wait_for("Now you.");
    s.wait_for("the tour takes the seat");
    s.wait_for("Worker 2 has returned");
    s.wait_for("What if?");
    let patience = Duration::from_secs(120);
    s.wait_until_within(patience, "it is at its end", |s| {
        let screen = s.screen();
        screen.contains("ANSWERED") && screen.contains("That is an organization: fork")
    });
    s.keys("q");
    assert!(s.wait_end().success());
    is_as_before(&s);
    assert_eq!(s.count("recorded in"), 0);
    assert!(!desk.folder.path().join(".local").exists());
}

#[test]
fn a_person_takes_part_in_the_tour_and_skips_its_pauses() {
    let desk = Desk::new(&[]);
    let mut s = desk.at_home(Session::start(&["tour"])).spawn();
    s.wait_for("This is an organization");
    for caption in ["FORK 1: the organizer", "JOIN 1: the organizer", "Now you."] {
        s.keys(" ");
        s.wait_for(caption);
    }
    s.keys("2t");
    s.wait_for("you write");
    s.keys("\r");
    s.wait_for("YOU ARE WORKER 2");
    s.keys("B1 ( 6 - 4 ) * ( 12 - 5 )\x13");
    s.wait_for("Worker 2 has returned");
    s.keys("q");
    assert!(s.wait_end().success());
    is_as_before(&s);
}

#[test]
fn escape_ends_the_tour_and_leaves_the_run_going() {
    let desk = Desk::new(&[]);
    let mut s = desk.at_home(Session::start(&["tour"])).spawn();
    s.wait_for("This is an organization");
    s.wait_for("PAUSED");
    s.keys("\x1b");
    s.wait_for("LIVE");
    s.wait_for("the tour is over");
    leave(&mut s);
}

#[test]
fn without_a_terminal_the_tour_is_told_in_lines() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("tour.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(["tour", "--record", record.to_str().unwrap()])
        .env("ORGTOP_DEMO_PACE", "30")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for said in [
        "| This is an organization",
        "[organizer] step 10: forks 1: A 12 6 : 5 4 -> 14",
        "| Worker 2 has returned",
        "the run is over: answered",
        "| That is an organization: fork",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    let object: serde_json::Value =
        serde_json::from_str(&orgtop(&["inspect", "--json", record.to_str().unwrap()]).0).unwrap();
    assert_eq!(object["end"], "answered");
    assert_eq!(object["threads"][2]["id"], "2");
    assert!(object["commands"].to_string().contains("submit"));
}
