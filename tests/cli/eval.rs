//! `orgtop eval`: its object, going on after an end of any kind, what it refuses.

use crate::harness::{Done, Place, finish, signal, wait_for};
use serde::Deserialize;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Exactly the fields that scripts may count on; `Option` where `null` is allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Object {
    task: String,
    n: usize,
    seeds: usize,
    seed: u64,
    capacity: u32,
    settings: Settings,
    model: Option<Model>,
    baseline: Option<Model>,
    policies: Vec<Policy>,
    comparisons: Vec<Comparison>,
    frontier: Option<Frontier>,
    seconds: f64,
    tokens: u64,
    tokens_per_s: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Settings {
    temperature: f64,
    baseline_temperature: f64,
    top_p: Option<f64>,
    max_organizer: u64,
    max_worker: u64,
    max_trace: u64,
    thinking: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Model {
    name: String,
    weights_sha256: String,
    parameters: u64,
    dtype: String,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Policy {
    name: String,
    size: u32,
    ge: Vec<f64>,
    all: f64,
    r_a: f64,
    format_valid: f64,
    #[serde(rename = "T")]
    latency: Latency,
    eta: Option<f64>,
    eta_over_c: Option<f64>,
    forks: f64,
    decoded: f64,
    intervals: Value,
    #[serde(default)]
    per_seed: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Latency {
    mean: f64,
    p90: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by serde to check names and types")]
struct Comparison {
    of: String,
    with: String,
    all: f64,
    all_interval: Option<(f64, f64)>,
    #[serde(rename = "T")]
    latency: f64,
    #[serde(rename = "T_interval")]
    latency_interval: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frontier {
    sizes: Vec<Line>,
    budgets: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    points: Vec<Value>,
}

/// Three problems, of which the script below solves two.
fn place() -> Place {
    let place = Place::new();
    let problem = |answer| format!("{{\"question\": \"q\", \"answer\": \"{answer}\"}}\n");
    place.write(
        "p.jsonl",
        [problem("7"), problem("8"), problem("14/2")].concat(),
    );
    write_script(&place, "s.jsonl", "");
    place
}

fn write_script(place: &Place, name: &str, more: &str) {
    let tokens = r#"[" t", " t", " t", " t", " t", "<ANSWER>", "7", "</ANSWER>"]"#;
    place.write(
        name,
        format!("{{\"thread\": \"organizer\", \"tokens\": {tokens}{more}}}"),
    );
}

const CALL: [&str; 6] = ["eval", "math", "p.jsonl", "--script", "s.jsonl", "--json"];

fn call(place: &Place, more: &[&str]) -> Done {
    place.orgtop(&[&CALL[..], more].concat())
}

fn object(done: &Done) -> Object {
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.stdout))
}

#[test]
fn it_prints_one_object_with_every_policy() {
    let object = object(&call(&place(), &["--seeds", "2", "--capacity", "3"]));
    assert_eq!(
        (object.task.as_str(), object.n, object.seeds),
        ("math p.jsonl", 3, 2)
    );
    assert_eq!(object.model.unwrap().name, "s.jsonl");
    let names: Vec<(&str, u32)> = object
        .policies
        .iter()
        .map(|p| (p.name.as_str(), p.size))
        .collect();
    assert_eq!(
        names,
        [("asyncthink", 3), ("sequential", 1), ("parallel", 3)]
    );
    for policy in &object.policies {
        let share = 2.0 / 3.0;
        assert!(
            (policy.all - share).abs() < 1e-9 && policy.ge == [policy.all],
            "{policy:?}"
        );
        assert_eq!((policy.format_valid, policy.latency.mean), (1.0, 8.0));
        assert_eq!(
            policy.decoded,
            f64::from(if policy.name == "parallel" { 24 } else { 8 })
        );
        assert_eq!(policy.eta.is_some(), policy.name == "asyncthink");
        assert_eq!(policy.per_seed.len(), 2);
        let (low, high) = (&policy.intervals["all"][0], &policy.intervals["all"][1]);
        assert!(low.as_f64().unwrap() < share && share < high.as_f64().unwrap());
    }
    assert_eq!(object.comparisons.len(), 2);
    // an organization and three traces, one of them shared, on three instances with two seeds
    assert_eq!(object.tokens, 8 * 4 * 3 * 2);
}

#[test]
fn the_model_inside_is_evaluated_by_itself() {
    let place = Place::new();
    let object = object(&place.orgtop(&["eval", "countdown", "--n", "2", "--json"]));
    let names: Vec<&str> = object.policies.iter().map(|p| p.name.as_str()).collect();
    assert_eq!((names, object.n), (vec!["asyncthink"], 2));
}

#[test]
fn the_frontier_is_drawn_and_printed() {
    let place = place();
    let object = object(&call(&place, &["--frontier", "f.svg"]));
    let frontier = object.frontier.unwrap();
    let sizes: Vec<(&str, usize)> = frontier
        .sizes
        .iter()
        .map(|l| (l.name.as_str(), l.points.len()))
        .collect();
    assert_eq!(
        sizes,
        [("asyncthink", 6), ("sequential", 1), ("parallel", 8)]
    );
    assert!(frontier.budgets.iter().all(|l| l.points[0]["budget"] == 8));
    let svg = place.read("f.svg");
    assert!(svg.starts_with("<svg") && svg.contains(">c=7</text>") && svg.contains(">k=8</text>"));
    // one that is there is told before the work, and kept
    let again = call(&place, &["--frontier", "f.svg"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(1), ""));
    assert!(
        again.stderr.contains("there is such a file already"),
        "{}",
        again.stderr
    );
    assert_eq!(place.read("f.svg"), svg);
}

#[test]
fn the_table_names_what_was_measured() {
    let done = place().orgtop(&CALL[..5]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    for word in [
        "math p.jsonl, 3 instances, capacity 4",
        "asyncthink",
        "parallel",
        "0.667",
    ] {
        assert!(done.stdout.contains(word), "{word}: {}", done.stdout);
    }
}

#[test]
fn a_later_call_goes_on_and_may_ask_for_more() {
    let place = place();
    let one = ["--out", "o", "--n", "1", "--policies", "asyncthink"];
    assert_eq!(object(&call(&place, &one)).tokens, 8);
    let all = ["--out", "o"];
    assert_eq!(object(&call(&place, &all)).tokens, 8 * (5 * 3 - 1));
    let again = call(&place, &all);
    assert_eq!(object(&again).tokens, 0);
    let fresh = call(&place, &["--engines", "3", "--width", "2"]);
    let policies = |done: &Done| done.object()["policies"].clone();
    assert_eq!(policies(&again), policies(&fresh));

    for (change, named) in [
        (
            &["--temperature", "0.5"],
            "temperature is 1.0 there and 0.5 here",
        ),
        (&["--max-trace", "9"], "max_trace is 2048 there and 9 here"),
    ] {
        let done = call(&place, &[&all[..], &change[..]].concat());
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains(named), "{}", done.stderr);
    }
    place.write("p.jsonl", "{\"question\": \"other\", \"answer\": \"1\"}");
    let done = call(&place, &all);
    assert!(
        done.stderr.contains("instances_sha256 is"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_cut_line_is_done_again_and_a_damaged_one_is_named() {
    let place = place();
    let all = ["--out", "o"];
    assert_eq!(call(&place, &all).code, Some(0));
    let text = place.read("o/runs.jsonl");
    place.write("o/runs.jsonl", &text[..text.len() - 9]);
    assert_eq!(object(&call(&place, &all)).tokens, 8);
    assert_eq!(place.read("o/runs.jsonl"), text);
    place.write("o/runs.jsonl", text.replacen("\"run\"", "\"nur\"", 1));
    let done = call(&place, &all);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("runs.jsonl, line 1: "),
        "{}",
        done.stderr
    );
}

#[test]
fn what_ended_before_a_signal_is_kept() {
    let place = place();
    write_script(&place, "slow.jsonl", ", \"tokens_per_s\": 20");
    let slow = [
        "eval",
        "math",
        "p.jsonl",
        "--script",
        "slow.jsonl",
        "--out",
        "o",
        "--width",
        "1",
    ];
    for name in ["INT", "KILL"] {
        let lines = || {
            let text = std::fs::read_to_string(place.path("o/runs.jsonl"));
            text.map_or(0, |t| t.lines().count())
        };
        let before = lines();
        let child = place.command(&slow).spawn().unwrap();
        let (id, began) = (child.id(), Instant::now());
        while lines() == before {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(id, name);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if name == "INT" {
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(
                said.contains("of 15 runs are in o; the same call goes on there"),
                "{said}"
            );
        } else {
            assert_eq!(output.status.code(), None);
        }
    }
    let kept = place.read("o/runs.jsonl").lines().count() as u64;
    write_script(&place, "slow.jsonl", "");
    let done = place.orgtop(&[&slow[..], &["--json"]].concat());
    assert_eq!(object(&done).tokens, 8 * (15 - kept));
}

#[test]
fn one_evaluation_at_a_time_in_a_folder() {
    let place = place();
    write_script(&place, "slow.jsonl", ", \"tokens_per_s\": 2");
    let slow = [
        "eval",
        "math",
        "p.jsonl",
        "--script",
        "slow.jsonl",
        "--out",
        "o",
    ];
    let child = place.command(&slow).spawn().unwrap();
    wait_for(&place.path("o/settings.json"), "slow.jsonl");
    let done = call(&place, &["--out", "o"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("another evaluation is at work in o"),
        "{}",
        done.stderr
    );
    signal(child.id(), "KILL");
    drop(child.wait_with_output());
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let place = place();
    place.write("empty.jsonl", "");
    place.write("broken.jsonl", "{}\n");
    for (arguments, expected) in [
        (
            &["eval", "chess"][..],
            "unknown task \"chess\": expected `countdown`",
        ),
        (
            &["eval", "countdown", "large"],
            "`run --task` takes single instances",
        ),
        (
            &["eval", "countdown", "--policies", "chaos"],
            "invalid value 'chaos'",
        ),
        (
            &["eval", "countdown", "--policies", "sequential,sequential"],
            "each policy once",
        ),
        (&["eval", "countdown", "--n", "0"], "0 is not in 1.."),
        (
            &["eval", "countdown", "--n", "401"],
            "countdown test has 400 instances",
        ),
        (
            &["eval", "countdown-large", "--set", "dev"],
            "only --set test",
        ),
        (&["eval", "math"], "needs a file"),
        (
            &["eval", "math", "nowhere.jsonl"],
            "nowhere.jsonl: No such file",
        ),
        (&["eval", "math", "empty.jsonl"], "no problems in it"),
        (
            &["eval", "math", "broken.jsonl"],
            "line 1: there is no `question`",
        ),
        (
            &["eval", "countdown", "--policies", "parallel"],
            "give --baseline PATH",
        ),
        (
            &["eval", "sudoku", "--policies", "asyncthink"],
            "only knows small countdowns",
        ),
        (
            &["eval", "countdown", "--baseline", "b", "--temperature", "0"],
            "all traces of parallel are the same",
        ),
        (
            &[
                "eval",
                "countdown",
                "--policies",
                "asyncthink",
                "--temperature",
                "0",
                "--seeds",
                "2",
            ],
            "every seed gives the same",
        ),
        (
            &[
                "eval",
                "countdown",
                "--policies",
                "asyncthink",
                "--frontier",
                "no/f.svg",
            ],
            "there is no folder no",
        ),
    ] {
        let done = place.orgtop(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(
            done.stderr.contains(expected),
            "{arguments:?}: {}",
            done.stderr
        );
    }
    // a baseline that is none is told before the organizations run
    place.write("model/model.safetensors", "no weights");
    place.write("model/config.json", "{}");
    let model = [
        "eval",
        "countdown",
        "--policies",
        "sequential",
        "--baseline",
        "model",
    ];
    let done = place.orgtop(&model);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("model"), "{}", done.stderr);
}

#[test]
fn the_model_inside_organizes_what_it_is_measured_on() {
    let place = place();
    let call = "eval countdown --policies asyncthink --set dev --n 2 --temperature 0 --json";
    let mut command = place.command(&call.split(' ').collect::<Vec<_>>());
    command.env("RUST_BACKTRACE", "0");
    let object = object(&finish(command));
    let policy = &object.policies[0];
    assert_eq!((policy.format_valid, policy.ge.len()), (1.0, 4));
    assert!(
        policy.forks > 3.0 && policy.eta_over_c.unwrap() > 0.3,
        "{policy:?}"
    );
}
