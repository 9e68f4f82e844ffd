//! How a run without a screen says that it has no answer: exit code 1, one line on stderr.

use crate::harness::{Done, Place, script, signal, vector_1};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const RUN: [&str; 7] = [
    "run",
    "--headless",
    "--script",
    "script.jsonl",
    "--record",
    "s.jsonl",
    "q",
];

/// Runs a script with orders, recorded in `s.jsonl`.
fn run(place: &Place, script: &str, orders: &str, more: &[&str]) -> Done {
    place.write("script.jsonl", script);
    place.write("orders.jsonl", orders);
    let _ = std::fs::remove_file(place.path("s.jsonl"));
    let orders = ["--commands", "orders.jsonl"];
    place.orgtop(&[&RUN[..], &orders, more].concat())
}

fn says(done: &Done, line: &str) {
    assert!(
        done.stderr.lines().any(|l| l == line),
        "no `{line}` in: {}",
        done.stderr
    );
}

#[test]
fn a_run_without_a_whole_answer_fails_and_says_why_in_one_line() {
    let place = Place::new();
    let chatter = script(&[("organizer", &["a"; 30])]);
    let cut = script(&[("organizer", &["<ANSWER>", "4"])]);
    for (script, orders, more, line) in [
        (
            chatter.as_str(),
            r#"{"at": {"step": 5}, "do": "interrupt"}"#,
            &[][..],
            "interrupted at step 5; orgtop resume s.jsonl goes on",
        ),
        (
            &chatter,
            r#"{"at": {"step": 5}, "do": "abort"}"#,
            &[],
            "aborted at step 5; orgtop replay s.jsonl shows it",
        ),
        (
            &chatter,
            "",
            &[],
            "no answer: stopped without an ANSWER; another --seed may answer; orgtop replay s.jsonl shows it",
        ),
        (
            &cut,
            "",
            &[],
            "no whole answer: stopped inside the ANSWER; another --seed may answer; orgtop replay s.jsonl shows it",
        ),
        (
            &chatter,
            "",
            &["--max-organizer", "9"],
            "no answer: the organizer stopped: used up its 9 tokens; more room: --max-organizer, --context; \
             orgtop replay s.jsonl shows it",
        ),
    ] {
        for json in [&[][..], &["--json"]] {
            let done = run(&place, script, orders, &[more, json].concat());
            assert_eq!(done.code, Some(1), "{line}: {}", done.stderr);
            says(&done, line);
        }
    }
    let done = run(&place, &vector_1(), "", &["--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_run_that_stands_says_where_and_what_it_waits_for() {
    let place = Place::new();
    for (orders, more, words) in [
        (
            r#"{"at": {"step": 5}, "do": "pause"}"#,
            &[][..],
            "stands paused at step 5 (by a command)",
        ),
        (
            "",
            &["--break", "step:5"],
            "stands paused at step 5 (breakpoint step:5)",
        ),
        (
            "",
            &["--ask", "fork"],
            "stands still at step 18 (waits for approval of fork 1)",
        ),
        (
            "",
            &["--seat", "1=human"],
            "stands still at step 33 (waits for text from the person in seat 1)",
        ),
        (
            "",
            &["--plan"],
            "stands still at step 33 (waits for the plan to be released)",
        ),
        (
            r#"{"at": {"step": 5}, "do": "pause", "thread": "organizer"}"#,
            &[],
            "stands still at step 5 (organizer is paused)",
        ),
    ] {
        let done = run(&place, &vector_1(), orders, more);
        assert_eq!(done.code, Some(1), "{words}: {}", done.stderr);
        says(&done, &format!("{words}; orgtop resume s.jsonl goes on"));
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn orders_that_did_nothing_are_told_by_their_line() {
    let place = Place::new();
    let orders = r#"{"at": {"step": 900}, "do": "mark", "name": "never"}

{"at": {"step": 3}, "do": "kill", "thread": "7"}
{"at": {"step": 4}, "do": "mark", "name": "here"}"#;
    let done = run(&place, &vector_1(), orders, &[]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "42\n"));
    let told: Vec<&str> = done
        .stderr
        .lines()
        .filter(|l| l.starts_with("orders.jsonl"))
        .collect();
    assert_eq!(
        told,
        [
            "orders.jsonl, line 1: mark never came due",
            "orders.jsonl, line 3: kill refused: there is no worker 7",
        ]
    );
}

#[test]
fn the_first_signal_leaves_a_server_that_never_answers() {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let place = Place::new();
    for name in ["INT", "TERM"] {
        let arguments = ["run", "--headless", "--no-record", "--server", &url, "q"];
        let mut command = place.command(&arguments);
        let child = command.spawn().unwrap();
        // It has asked, so it listens to signals.
        let (_connection, _) = mute.accept().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        signal(child.id(), name);
        let since = Instant::now();
        let done: Done = child.wait_with_output().unwrap().into();
        assert!(since.elapsed() < Duration::from_secs(2), "{name}");
        assert_eq!(done.code, Some(1), "{name}: {}", done.stderr);
        says(
            &done,
            "orgtop: stopped before anything began; nothing is lost",
        );
    }
}
