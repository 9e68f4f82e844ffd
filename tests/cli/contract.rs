//! The object that `run --headless --json` and `inspect --json` print.

use crate::harness::{Place, script, vector_1};
use serde::Deserialize;
use serde_json::Value;

/// Exactly the fields that scripts may count on, with their types; `Option` where `null` is allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Object {
    answer: Option<String>,
    end: Option<End>,
    metrics: Metrics,
    errors: Vec<ErrorRow>,
    threads: Vec<ThreadRow>,
    commands: Vec<CommandRow>,
    branches: Vec<BranchRow>,
    session: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Answered,
    NoAnswer,
    TokenLimit,
    Aborted,
    Interrupted,
    Failed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Metrics {
    #[serde(rename = "T")]
    latency: u64,
    eta: f64,
    eta_over_c: f64,
    r_eta: f64,
    work: u64,
    speedup: f64,
    lived_steps: u64,
    wall_ms: f64,
    decoded: u64,
    tok_per_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct ErrorRow {
    kind: String,
    thread: String,
    step: u64,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct ThreadRow {
    id: String,
    role: String,
    index: Option<u16>,
    parent: Option<String>,
    seat: String,
    tokens: u64,
    begin: Option<u64>,
    finish: Option<u64>,
    end: Option<String>,
    slack: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct BranchRow {
    id: u32,
    parent: Option<u32>,
    at: Option<u64>,
    #[serde(rename = "T")]
    latency: u64,
    eta: f64,
    answer: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct CommandRow {
    #[serde(rename = "do")]
    verb: String,
    step: Option<u64>,
    result: String,
    why: Option<String>,
}

/// Runs headless, checks the object's shape and that the file alone gives the same one and verifies.
fn run(place: &Place, script: &str, orders: &str, more: &[&str]) -> (Option<i32>, Value) {
    place.write("script.jsonl", script);
    place.write("orders.jsonl", orders);
    let _ = std::fs::remove_file(place.path("s.jsonl"));
    let mut arguments = vec![
        "run",
        "--headless",
        "--json",
        "--script",
        "script.jsonl",
        "--commands",
        "orders.jsonl",
        "--record",
        "s.jsonl",
        "q",
    ];
    arguments.extend(more);
    let done = place.orgtop(&arguments);
    let object = done.object();
    serde_json::from_value::<Object>(object.clone()).unwrap_or_else(|e| panic!("{e}: {object:#}"));
    let inspected = place.orgtop(&["inspect", "--json", "s.jsonl"]);
    assert_eq!(inspected.object(), object);
    let verified = place.orgtop(&["verify", "s.jsonl"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    (done.code, object)
}

#[test]
fn vector_1_gives_its_numbers() {
    let (code, object) = run(&Place::new(), &vector_1(), "", &[]);
    assert_eq!(code, Some(0));
    assert_eq!(object["metrics"]["T"], 63);
    assert_eq!(object["metrics"]["eta"], 25.0 / 63.0);
    assert_eq!(object["metrics"]["work"], 78);
    assert_eq!(object["answer"], "42");
    assert_eq!(object["end"], "answered");
    assert_eq!(object["session"], "s.jsonl");
    let worker = &object["threads"][1];
    assert_eq!(worker["id"], "1");
    assert_eq!(worker["parent"], "organizer");
    assert_eq!(
        (&worker["begin"], &worker["finish"]),
        (&18.into(), &43.into())
    );
    assert_eq!(worker["slack"], 0);
}

#[test]
fn the_sessions_that_ship_agree_with_themselves() {
    for shipped in [
        concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/countdown.jsonl"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/parallel.jsonl"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/human-worker.jsonl"),
        concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/sessions/human-organizer.jsonl"
        ),
        concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/retry.jsonl"),
    ] {
        let place = Place::new();
        let verified = place.orgtop(&["verify", shipped]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        let shown = place.orgtop(&["replay", shipped]);
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
        assert!(shown.stdout.contains("the run is over"));
    }
}

#[test]
fn every_end_has_its_word_and_its_exit_code() {
    let place = Place::new();
    let chatter = script(&[("organizer", &["a"; 30])]);
    let failing =
        "{\"thread\": \"organizer\", \"text\": \"a b\", \"split\": \"char\", \"fail_at\": 2}";
    let twice = script(&[("organizer", &["<JOIN-1>", "a"])]);
    for (script, orders, more, end, code) in [
        (chatter.as_str(), "", &[][..], "no_answer", 1),
        (&chatter, "", &["--max-organizer", "9"], "token_limit", 1),
        (
            &chatter,
            r#"{"at": {"step": 5}, "do": "abort"}"#,
            &[],
            "aborted",
            1,
        ),
        (
            &chatter,
            r#"{"at": {"step": 5}, "do": "interrupt"}"#,
            &[],
            "interrupted",
            1,
        ),
        (
            &chatter,
            r#"{"at": {"step": 5}, "do": "pause"}"#,
            &[],
            "interrupted",
            1,
        ),
        (failing, "", &[], "failed", 1),
        (&twice, "", &["--strict"], "failed", 1),
    ] {
        let (got, object) = run(&place, script, orders, more);
        assert_eq!(
            (object["end"].as_str(), got),
            (Some(end), Some(code)),
            "{object:#}"
        );
    }
}

#[test]
fn only_what_was_commanded_is_listed_and_what_never_came_due_is_unfired() {
    let orders = r#"{"at": {"step": 900}, "do": "mark", "name": "never"}
        {"at": {"step": 3}, "do": "pause"}
        {"at": {"step": 3}, "do": "step"}
        {"at": {"step": 4}, "do": "kill", "thread": "7"}
        {"do": "resume"}"#;
    let (code, object) = run(&Place::new(), &vector_1(), orders, &[]);
    assert_eq!(code, Some(0));
    let listed: Vec<(&str, Option<u64>, &str)> = object["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["do"].as_str().unwrap(),
                c["step"].as_u64(),
                c["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            ("pause", Some(3), "done"),
            ("step", Some(3), "done"),
            ("kill", Some(4), "refused"),
            ("resume", Some(4), "done"),
            ("mark", None, "unfired"),
        ]
    );
    assert_eq!(object["metrics"]["T"], 63);
}

#[test]
fn a_pause_with_nothing_due_lists_nothing_that_nobody_asked() {
    let pause = r#"{"at": {"step": 20}, "do": "pause"}"#;
    let (code, object) = run(&Place::new(), &vector_1(), pause, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(object["end"], "interrupted");
    assert_eq!(object["answer"], Value::Null);
    assert_eq!(object["commands"].as_array().unwrap().len(), 1);
    assert_eq!(object["threads"][1]["end"], Value::Null);
}

#[test]
fn text_that_could_drive_a_terminal_is_escaped_in_json_and_unharmed() {
    let answer = "a\u{1b}]52;c;x\u{7}\u{9b}2J\u{202e}b";
    let tokens = ["<ANSWER>", answer, "</ANSWER>"];
    let place = Place::new();
    let (_, object) = run(&place, &script(&[("organizer", &tokens)]), "", &[]);
    assert_eq!(object["answer"], answer);
    let printed = place.orgtop(&["inspect", "--json", "s.jsonl"]).stdout;
    assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']));
}

#[test]
fn every_line_of_history_is_listed_with_its_measures() {
    let orders = r#"{"at": {"event": "answer"}, "do": "branch", "thread": "organizer", "token": 5}
{"do": "edit", "thread": "organizer", "token": 5, "text": "<ANSWER>7</ANSWER>"}
{"do": "undo"}
{"do": "branch", "of": 9}"#;
    let (code, object) = run(&Place::new(), &vector_1(), orders, &[]);
    assert_eq!(code, Some(0));
    let rows = object["branches"].as_array().unwrap();
    let tree: Vec<_> = rows
        .iter()
        .map(|b| {
            (
                b["id"].as_u64().unwrap(),
                b["parent"].as_u64(),
                b["at"].as_u64(),
                b["T"].as_u64().unwrap(),
                b["answer"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        tree,
        [
            (0, None, None, 63, Some("42")),
            (1, Some(0), Some(5), 5, None),
            (2, Some(1), Some(5), 5, Some("7")),
            (3, Some(1), Some(5), 63, Some("42")),
        ]
    );
    assert_eq!(object["commands"][3]["result"], "refused");
}

#[test]
fn bench_measures_decoding_its_limit_and_what_surrounds_it() {
    let place = Place::new();
    let arguments = "bench --rounds 1 --tokens 8 --prompt 8 --widths 1,3 --json";
    let done = place.orgtop(&arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let object = done.object();
    let rows = object["rows"].as_array().expect("rows");
    let widths: Vec<_> = rows.iter().map(|row| row["width"].as_u64()).collect();
    assert_eq!(widths, [Some(1), Some(3)]);
    for row in rows {
        for value in [
            &row["decode"]["median"],
            &row["prefill"]["min"],
            &row["of_limit"],
        ] {
            assert!(value.as_f64().is_some_and(|v| v > 0.0), "{row}");
        }
    }
    assert!(object["copy_bytes_per_s"].as_f64().is_some_and(|v| v > 1e8));
    // every weight of the small model once, two bytes each, and what fills its last tiles
    let weights = object["weights"].as_u64().expect("bytes");
    assert!((1_600_000..1_800_000).contains(&weights), "{weights}");
    if cfg!(target_os = "linux") {
        let parts = ["org", "record", "ui"].map(|part| object["overhead"][part].as_f64());
        let sum: f64 = parts.iter().flatten().sum();
        let total = object["overhead"]["total"].as_f64().expect("in all");
        assert!((total - sum).abs() < 1e-9 && total > 0.0, "{object}");
        assert!(object["overhead"]["tokens"].as_u64().is_some_and(|t| t > 0));
    }
}

#[test]
fn bench_says_what_it_cannot_measure_against() {
    let place = Place::new();
    let done = place.orgtop(&["bench", "--vs", "http://127.0.0.1:1"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("127.0.0.1:1"), "{}", done.stderr);
}
