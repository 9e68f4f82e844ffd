//! Signals, interrupted sessions that go on, standard input and output that are not there.

use crate::harness::{Place, finish, signal, vector_1, wait_for};
use std::fs::File;
use std::process::Stdio;

const FOR_EVER: &str = r#"{"thread": "organizer", "text": "on and ", "split": "word", "repeat": true, "tokens_per_s": 100}"#;

#[test]
fn every_stop_signal_saves_a_session_that_can_be_resumed() {
    let place = Place::new();
    place.write("ever.jsonl", FOR_EVER);
    place.write("abort.jsonl", r#"{"at": {"step": 1}, "do": "abort"}"#);
    for name in ["INT", "TERM", "HUP"] {
        let file = format!("{name}.jsonl");
        let arguments = [
            "run",
            "--headless",
            "--json",
            "--script",
            "ever.jsonl",
            "--record",
            &file,
            "q",
        ];
        let child = place.command(&arguments).spawn().unwrap();
        wait_for(&place.path(&file), "\"tokens\"");
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let goes_on = format!("; orgtop resume {file} goes on\n");
        assert!(
            told.contains("orgtop: stopping") || told.starts_with("interrupted at"),
            "{told}"
        );
        assert!(
            told.contains("interrupted at step ") && told.contains(&goes_on),
            "{told}"
        );
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["end"], "interrupted", "{name}");
        assert_eq!(object["commands"][0]["do"], "interrupt", "{name}");
        assert_eq!(place.orgtop(&["verify", &file]).code, Some(0), "{name}");
        let resumed = place.orgtop(&[
            "resume",
            &file,
            "--headless",
            "--json",
            "--script",
            "ever.jsonl",
            "--commands",
            "abort.jsonl",
        ]);
        assert_eq!(resumed.object()["end"], "aborted", "{name}");
        assert_eq!(place.orgtop(&["verify", &file]).code, Some(0), "{name}");
    }
}

#[test]
fn a_resumed_session_knows_what_happened_before() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    place.write("stop.jsonl", r#"{"at": {"step": 25}, "do": "interrupt"}"#);
    let stopped = place.orgtop(&[
        "run",
        "--headless",
        "--script",
        "v1.jsonl",
        "--commands",
        "stop.jsonl",
        "--record",
        "s.jsonl",
        "q",
    ]);
    assert_eq!(stopped.code, Some(1), "{}", stopped.stderr);
    place.write(
        "kill.jsonl",
        r#"{"at": {"event": "fork:1"}, "do": "kill", "thread": "1"}"#,
    );
    let resumed = place.orgtop(&[
        "resume",
        "s.jsonl",
        "--headless",
        "--json",
        "--script",
        "v1.jsonl",
        "--commands",
        "kill.jsonl",
    ]);
    let object = resumed.object();
    assert_eq!(object["threads"][1]["end"], "killed", "{object:#}");
    assert_eq!(object["end"], "answered");
    assert_eq!(
        place.orgtop(&["inspect", "--json", "s.jsonl"]).object(),
        object
    );
}

#[test]
fn a_session_has_one_writer_and_many_readers() {
    let place = Place::new();
    place.write("ever.jsonl", FOR_EVER);
    let arguments = [
        "run",
        "--headless",
        "--script",
        "ever.jsonl",
        "--record",
        "s.jsonl",
        "q",
    ];
    let child = place.command(&arguments).spawn().unwrap();
    wait_for(&place.path("s.jsonl"), "\"tokens\"");
    for verb in ["inspect", "verify", "replay"] {
        assert_eq!(place.orgtop(&[verb, "s.jsonl"]).code, Some(0), "{verb}");
    }
    let second = place.orgtop(&["resume", "s.jsonl", "--headless", "--script", "ever.jsonl"]);
    assert_eq!(second.code, Some(1));
    assert!(
        second.stderr.contains("being written by another orgtop"),
        "{}",
        second.stderr
    );
    signal(child.id(), "TERM");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
}

#[test]
fn the_log_tells_what_the_program_did_and_never_what_a_model_wrote() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    let arguments = [
        "--log",
        "log.txt",
        "run",
        "--headless",
        "--script",
        "v1.jsonl",
        "--no-record",
        "q",
    ];
    let done = place.orgtop(&arguments);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "42\n"));
    let log = place.read("log.txt");
    assert!(
        log.contains("engine ready") && log.contains("session over"),
        "{log}"
    );
    assert!(!log.contains('\u{1b}') && !log.contains("FORK"), "{log}");
    let mut command = place.command(&arguments);
    command.env("ORGTOP_LOG", "orgtop=shout");
    let done = finish(command);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("ORGTOP_LOG is `orgtop=shout`"),
        "{}",
        done.stderr
    );
}

#[test]
fn the_query_comes_from_standard_input_too() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    place.write("query.txt", "  how many?\n");
    place.write("latin1.txt", [0xe9, b'?']);
    place.write("huge.txt", "a".repeat((4 << 20) + 1));
    let arguments = [
        "run",
        "--headless",
        "--script",
        "v1.jsonl",
        "--record",
        "s.jsonl",
    ];
    let with = |name: &str| {
        let mut command = place.command(&arguments);
        command.stdin(File::open(place.path(name)).unwrap());
        finish(command)
    };
    for (name, told) in [
        ("latin1.txt", "not UTF-8"),
        ("huge.txt", "longer than 4 MiB"),
    ] {
        let done = with(name);
        assert_eq!(done.code, Some(2), "{name}");
        assert!(done.stderr.contains(told), "{name}: {}", done.stderr);
    }
    assert_eq!(
        place.orgtop(&arguments).code,
        Some(2),
        "nothing on standard input"
    );
    assert_eq!(with("query.txt").stdout, "42\n");
    assert!(
        place
            .orgtop(&["inspect", "s.jsonl"])
            .stdout
            .contains("query   how many?\n")
    );
}

#[test]
fn an_output_that_takes_nothing_is_no_crash() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    let run = [
        "run",
        "--headless",
        "--script",
        "v1.jsonl",
        "--no-record",
        "q",
    ];
    for arguments in [
        &run[..],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["doctor"],
        &[
            "replay",
            concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/parallel.jsonl"),
        ],
    ] {
        let mut command = place.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(Stdio::from(writer));
        let done = finish(command);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        assert!(!done.stderr.contains("panicked"), "{arguments:?}");
    }
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let mut command = place.command(&["man"]);
        command.stdout(full);
        let done = finish(command);
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.contains("cannot write to standard output"),
            "{}",
            done.stderr
        );
    }
}
