//! Going back and comparing, from outside: `diff`, `rerun`, files with branches.

use crate::harness::{Done, Place, vector_1};
use serde_json::Value;

/// Records vector 1 with these orders into `s.jsonl`.
fn record(place: &Place, orders: &str) -> Value {
    place.write("script.jsonl", vector_1());
    place.write("orders.jsonl", orders);
    let done = place.orgtop(&[
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
    ]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.object()
}

const EDITED: &str = r#"{"at": {"event": "answer"}, "do": "edit", "thread": "1", "token": 4, "text": "<RETURN>short</RETURN>"}"#;

fn rerun(place: &Place, more: &[&str]) -> Done {
    let mut arguments = vec!["rerun", "s.jsonl", "--script", "script.jsonl", "--json"];
    arguments.extend(more);
    place.orgtop(&arguments)
}

#[test]
fn a_branch_and_the_line_it_left_part_at_the_edited_token() {
    let place = Place::new();
    record(&place, EDITED);
    let diff = place
        .orgtop(&["diff", "--json", "s.jsonl#0", "s.jsonl"])
        .object();
    assert_eq!((&diff["a"]["T"], &diff["b"]["T"]), (&63.into(), &53.into()));
    assert_eq!(diff["delta"]["T"], -10);
    assert_eq!(diff["delta"]["answer"], false);
    assert_eq!(diff["divergence"]["thread"], "1");
    assert_eq!(diff["divergence"]["token"], 4);
    assert_eq!(diff["divergence"]["a"]["text"], " t");
    assert_eq!(diff["threads"][1]["same"], 4);
    let same = place
        .orgtop(&["diff", "--json", "s.jsonl#1", "s.jsonl"])
        .object();
    assert_eq!(same["divergence"], Value::Null);
    let words = place.orgtop(&["diff", "s.jsonl#0", "s.jsonl#1"]);
    assert!(words.stdout.contains("ΔT -10"), "{}", words.stdout);
    assert!(
        words.stdout.contains("they part in 1 after 4 tokens, step"),
        "{}",
        words.stdout
    );
}

#[test]
fn what_cannot_be_compared_is_explained() {
    let place = Place::new();
    record(&place, "");
    let no_branch = place.orgtop(&["diff", "s.jsonl#3", "s.jsonl"]);
    assert_eq!(no_branch.code, Some(2));
    assert!(
        no_branch
            .stderr
            .contains("there is no branch 3; the last one is 0")
    );
    let no_file = place.orgtop(&["diff", "s.jsonl", "other.jsonl"]);
    assert_eq!(no_file.code, Some(1));
    assert!(no_file.stderr.contains("other.jsonl"), "{}", no_file.stderr);
}

#[test]
fn a_rerun_with_the_same_script_and_commands_is_the_same() {
    let place = Place::new();
    let orders = format!(
        r#"{{"at": {{"step": 20}}, "do": "fork", "query": "more"}}
{{"at": {{"step": 30}}, "do": "branch", "step": 24}}
{{"at": {{"step": 31}}, "do": "undo"}}
{EDITED}"#
    );
    let before = record(&place, &orders);
    let done = rerun(&place, &["--record", "again.jsonl"]);
    let object = done.object();
    assert_eq!(
        (done.code, &object["same"]),
        (Some(0), &Value::Bool(true)),
        "{object:#}"
    );
    assert_eq!(object["session"], "again.jsonl");
    let again = place.orgtop(&["inspect", "--json", "again.jsonl"]).object();
    assert_eq!(again["branches"], before["branches"]);
    assert_eq!(again["threads"], before["threads"]);
    assert_eq!(place.orgtop(&["verify", "again.jsonl"]).code, Some(0));
    let header = place.read("again.jsonl");
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert!(header["parent"]["id"].is_string());
}

#[test]
fn a_rerun_can_begin_at_any_event_and_goes_on_from_there() {
    let place = Place::new();
    record(&place, EDITED);
    let events = place.read("s.jsonl").lines().count() - 1;
    for from in (1..events).step_by(3) {
        let file = format!("from-{from}.jsonl");
        let done = rerun(&place, &["--from", &from.to_string(), "--record", &file]);
        let object = done.object();
        assert_eq!(object["same"], true, "--from {from}: {object:#}");
        let verified = place.orgtop(&["verify", &file]);
        assert_eq!(verified.code, Some(0), "--from {from}: {}", verified.stdout);
    }
    for (from, words) in [("0", "nothing had begun"), ("9999", "its last event is")] {
        let done = rerun(&place, &["--from", from]);
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
}

#[test]
fn a_rerun_with_another_script_parts_where_it_differs() {
    let place = Place::new();
    record(&place, "");
    place.write("script.jsonl", vector_1().replacen("\" x\"", "\" z\"", 1));
    let done = rerun(&place, &["--no-record"]);
    let object = done.object();
    assert_eq!(object["same"], false);
    assert_eq!(object["session"], Value::Null);
    assert_eq!(object["divergence"]["thread"], "organizer");
    assert_eq!(object["divergence"]["token"], 30);
    assert_eq!(object["divergence"]["b"]["text"], " z");
}

#[test]
fn the_model_inside_runs_again_token_by_token_and_a_branch_of_it_is_the_same_run() {
    let place = Place::new();
    place.write(
        "orders.jsonl",
        r#"{"at": {"step": 60}, "do": "branch", "step": 31}"#,
    );
    let done = place.orgtop(&[
        "run",
        "--headless",
        "--json",
        "--seed",
        "5",
        "--task",
        "countdown 10 6 5 3 = 30",
        "--commands",
        "orders.jsonl",
        "--record",
        "s.jsonl",
    ]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let straight = place.orgtop(&[
        "run",
        "--headless",
        "--json",
        "--seed",
        "5",
        "--task",
        "countdown 10 6 5 3 = 30",
        "--record",
        "straight.jsonl",
    ]);
    assert_eq!(straight.code, Some(0), "{}", straight.stderr);
    let diff = place
        .orgtop(&["diff", "--json", "s.jsonl", "straight.jsonl"])
        .object();
    assert_eq!(diff["divergence"], Value::Null, "{diff:#}");
    let again = place
        .orgtop(&["rerun", "s.jsonl", "--json", "--no-record"])
        .object();
    assert_eq!(again["same"], true, "{again:#}");
    let from = place.orgtop(&[
        "rerun",
        "straight.jsonl",
        "--json",
        "--no-record",
        "--from",
        "12",
    ]);
    assert_eq!(from.object()["same"], true, "{}", from.stdout);
    assert_eq!(place.orgtop(&["verify", "s.jsonl"]).code, Some(0));
}
