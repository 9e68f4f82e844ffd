//! Forks, Joins, results, errors and time, as lived and in ideal steps.

use crate::harness::{Run, config, line, run, words};
use orgtop::live::RunConfig;
use orgtop::org::{ActionKind, Body, RunEnd, blame, slack};
use orgtop::record::{Limits, Policy, PoolPolicy};

fn plain(script: &[String]) -> Run {
    run(script, config(), "")
}

/// think 10, FORK-1 (8), think 12, JOIN-1 (3), think 17, ANSWER (3).
pub fn vector_1_organizer() -> String {
    let mut tokens = words(10);
    tokens.extend(["<FORK", "-", "1>", "a", " sub", " query", "</FORK", "-1>"]);
    tokens.extend(words(12));
    tokens.extend(["<JOIN", "-1", ">"]);
    tokens.extend(words(17));
    tokens.extend(["<ANSWER>", "42", "</ANSWER>"]);
    line("organizer", &tokens)
}

pub fn worker(index: &str, tokens: usize) -> String {
    let mut text = words(tokens - 3);
    text.extend(["<RETURN>", "r", "</RETURN>"]);
    line(index, &text)
}

#[test]
fn vector_1_runs_as_the_recursion_says() {
    let r = plain(&[vector_1_organizer(), worker("1", 25)]);
    let metrics = r.org().metrics();
    assert_eq!(metrics.latency, 63);
    assert!((metrics.eta - 25.0 / 63.0).abs() < 1e-12);
    assert_eq!((metrics.work, metrics.lived_steps), (78, 63));
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(r.org().answer.as_deref(), Some("42"));
    assert!(r.text("organizer").contains("<JOIN-1>r</JOIN-1> w"));
    assert!(r.errors().is_empty());
}

#[test]
fn vector_4_waits_for_a_slot_or_overflows() {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>",
            "a",
            "b",
            "c",
            "</FORK-1>",
            "<FORK-2>",
            "a",
            "b",
            "c",
            "</FORK-2>",
            "<JOIN",
            "-1",
            ">",
            "<JOIN",
            "-2",
            ">",
            "<ANSWER>",
            "</ANSWER>",
        ],
    );
    let script = [organizer, worker("1", 20), worker("2", 10)];
    let narrow = |pool, strict| RunConfig {
        capacity: Some(2),
        pool,
        strict,
        ..config()
    };
    let waits = run(&script, narrow(PoolPolicy::Wait, false), "");
    assert_eq!(waits.org().metrics().latency, 37);
    assert_eq!(waits.org().metrics().lived_steps, 37);
    assert!(waits.errors().is_empty());
    let overflows = run(&script, narrow(PoolPolicy::Error, true), "");
    assert_eq!(overflows.errors(), ["PoolOverflow"]);
    assert_eq!(overflows.org().errors[0].step.0, 10);
    assert_eq!(overflows.org().end, Some(RunEnd::Failed));
    let lenient = run(&script, narrow(PoolPolicy::Error, false), "");
    assert_eq!(lenient.errors(), ["PoolOverflow", "JoinUnknown"]);
    assert_eq!(lenient.org().end, Some(RunEnd::Answered));
}

#[test]
fn without_any_slot_a_fork_is_an_overflow_even_if_it_could_wait() {
    let organizer = line("organizer", &["<FORK-1>q</FORK-1>", "<ANSWER>a</ANSWER>"]);
    let r = run(
        &[organizer],
        RunConfig {
            capacity: Some(1),
            ..config()
        },
        "",
    );
    assert_eq!(r.errors(), ["PoolOverflow"]);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn the_rest_of_a_joining_token_counts_after_the_result() {
    let r = plain(&[
        line(
            "organizer",
            &[
                "<FORK-1>q</FORK-1>",
                "<JOIN-1>so <FORK-2>q</FORK-2><JOIN-2>",
                "<ANSWER>x</ANSWER>",
            ],
        ),
        worker("1", 6),
        worker("2", 9),
    ]);
    // Fork at 1, Join at 2 waits until 7; FORK-2 and JOIN-2 in the same token then wait until 16.
    assert_eq!(r.org().metrics().latency, 17);
    assert_eq!(
        r.text("organizer"),
        "<FORK-1>q</FORK-1><JOIN-1>so <FORK-2>q</FORK-2><JOIN-2>r</JOIN-1>r</JOIN-2><ANSWER>x</ANSWER>"
    );
}

#[test]
fn a_worker_without_a_line_returns_nothing_at_once() {
    let r = plain(&[line(
        "organizer",
        &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
    )]);
    assert_eq!(r.end_of("1"), "Some(Returned)");
    assert_eq!(r.org().metrics().latency, 3);
    assert!(r.text("organizer").contains("<JOIN-1></JOIN-1>"));
}

#[test]
fn what_the_model_does_wrong_is_recorded_and_goes_on() {
    let r = plain(&[line(
        "organizer",
        &[
            "<FORK-1> </FORK-1>",
            "<JOIN-7>",
            "<FORK-2>q</FORK-2>",
            "<FORK-2>again</FORK-2>",
            "<JOIN-2>",
            "<JOIN-2>",
            "<FORK-2>third</FORK-2>",
            "<JOIN-2>",
            "<ANSWER>ok</ANSWER>",
        ],
    )]);
    assert_eq!(
        r.errors(),
        [
            "EmptyQuery",
            "JoinUnknown",
            "DuplicateIndex",
            "JoinTwice",
            "DuplicateIndex"
        ]
    );
    assert_eq!(r.org().answer.as_deref(), Some("ok"));
    let ids: Vec<String> = r.org().threads().map(|t| t.id.to_string()).collect();
    assert_eq!(ids, ["organizer", "2", "2~2"]);
    assert!(r.text("organizer").contains("<JOIN-7></JOIN-7>"));
}

#[test]
fn a_strict_run_ends_at_the_first_error() {
    let strict = RunConfig {
        strict: true,
        ..config()
    };
    for (tokens, error, end) in [
        (vec!["<JOIN-1>", "x"], "JoinUnknown", RunEnd::Failed),
        (vec!["<FORK-1></FORK-1>", "x"], "EmptyQuery", RunEnd::Failed),
        (vec!["no answer"], "NoAnswer", RunEnd::NoAnswer),
    ] {
        let r = run(&[line("organizer", &tokens)], strict.clone(), "");
        assert_eq!(r.errors(), [error]);
        assert_eq!(r.org().end, Some(end));
    }
}

#[test]
fn stopping_inside_a_tag_is_told_apart() {
    let fork = plain(&[line("organizer", &["<FORK-1>q", " and"])]);
    assert_eq!(fork.errors(), ["UnclosedFork", "NoAnswer"]);
    let answer = plain(&[line("organizer", &["<ANSWER>", " half"])]);
    assert_eq!(answer.errors(), ["NoAnswer"]);
    assert_eq!(answer.org().answer.as_deref(), Some("half"));
}

#[test]
fn tags_in_other_places_are_text() {
    let r = plain(&[
        line(
            "organizer",
            &[
                "```<FORK-x> <FORK-01> <FORK-99999999999> <fork-1> </RETURN> <RETURN>```",
                "<FORK-1>do <FORK-2>x</FORK-2> <JOIN-9></FORK-1>",
                "<JOIN-1>",
                "<ANSWER><JOIN-3></ANSWER>",
            ],
        ),
        line(
            "1",
            &[
                "<FORK-5>q</FORK-5><JOIN-5><ANSWER>a</ANSWER>",
                "<RETURN></JOIN-1><JOIN-8></RETURN>",
            ],
        ),
    ]);
    assert!(r.errors().is_empty(), "{:?}", r.errors());
    assert_eq!(r.org().threads().len(), 2);
    // The worker's text is never scanned, whatever it holds.
    assert!(
        r.text("organizer")
            .contains("<JOIN-1></JOIN-1><JOIN-8></JOIN-1>")
    );
    assert_eq!(r.org().answer.as_deref(), Some("<JOIN-3>"));
}

#[test]
fn limits_hold_for_a_model_that_never_stops() {
    let limits = RunConfig {
        limits: Limits {
            organizer: 50,
            worker: 20,
            ..Limits::default()
        },
        ..config()
    };
    let forever = |thread: &str, text: &str| {
        serde_json::json!({"thread": thread, "tokens": [text], "repeat": true}).to_string()
    };
    let r = run(
        &[
            line(
                "organizer",
                &[
                    "<FORK-1>q</FORK-1><FORK-2>q</FORK-2>",
                    "<JOIN-1>",
                    "<JOIN-2>",
                    "<ANSWER>x</ANSWER>",
                ],
            ),
            forever("1", " again"),
            forever("2", ""),
        ],
        limits.clone(),
        "",
    );
    assert_eq!((r.tokens("1"), r.end_of("1")), (20, "Some(Limit)".into()));
    assert_eq!((r.tokens("2"), r.end_of("2")), (20, "Some(Limit)".into()));
    assert!(
        r.text("organizer")
            .contains("again [partial: limit]</JOIN-1>")
    );
    let r = run(&[forever("organizer", "um ")], limits, "");
    assert_eq!(r.errors(), ["TokenLimit"]);
    assert_eq!(r.org().end, Some(RunEnd::TokenLimit));
    assert_eq!(r.tokens("organizer"), 50);
}

#[test]
fn a_return_cut_by_the_limit_gives_its_partial_text() {
    let limits = RunConfig {
        limits: Limits {
            organizer: 500,
            worker: 4,
            ..Limits::default()
        },
        ..config()
    };
    let r = run(
        &[
            line(
                "organizer",
                &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
            ),
            line(
                "1",
                &["think", "<RETURN>", "first", " part", " rest", "</RETURN>"],
            ),
        ],
        limits,
        "",
    );
    assert!(
        r.text("organizer")
            .contains("<JOIN-1>first part [partial: limit]</JOIN-1>")
    );
}

#[test]
fn without_a_return_the_last_128_tokens_stand_in() {
    let tokens: Vec<String> = (0..200).map(|i| format!(" t{i}")).collect();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let r = plain(&[
        line(
            "organizer",
            &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
        ),
        line("1", &tokens),
    ]);
    assert_eq!(r.end_of("1"), "Some(Eos)");
    assert!(r.text("organizer").contains("<JOIN-1>t72 t73"));
}

#[test]
fn a_failing_worker_does_not_hang_its_join() {
    let failing =
        serde_json::json!({"thread": "1", "tokens": ["a", "b", "c"], "fail_at": 2}).to_string();
    let r = plain(&[
        line(
            "organizer",
            &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
        ),
        failing,
    ]);
    assert_eq!(r.errors(), ["Engine"]);
    assert_eq!(r.end_of("1"), "Some(Failed)");
    assert!(
        r.text("organizer")
            .contains("<JOIN-1>ab [partial: failed]</JOIN-1>")
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn workers_still_running_at_the_answer_are_abandoned() {
    let r = plain(&[
        line(
            "organizer",
            &[
                "<FORK-1>q</FORK-1><FORK-2>q</FORK-2><FORK-3>q</FORK-3>",
                " w",
                "<ANSWER>x</ANSWER>",
            ],
        ),
        worker("1", 50),
        worker("2", 50),
        worker("3", 50),
    ]);
    for id in ["1", "2", "3"] {
        assert_eq!((r.end_of(id), r.tokens(id)), ("Some(Abandoned)".into(), 2));
    }
    let m = r.org().metrics();
    assert_eq!(m.latency, 3);
    assert!((m.eta - 2.0).abs() < 1e-12);
}

#[test]
fn parallel_is_forks_of_the_query_joined_in_order() {
    let parallel = RunConfig {
        policy: Policy::Parallel,
        k: 3,
        ..config()
    };
    let r = run(
        &[
            line("organizer", &["so", "<ANSWER>x</ANSWER>"]),
            worker("1", 30),
            worker("2", 50),
            worker("3", 20),
        ],
        parallel,
        "",
    );
    assert_eq!(r.finished.header.capacity, 4);
    assert_eq!(r.org().metrics().latency, 52);
    assert!(r.org().threads().all(|t| t.query == "the question"));
    let text = r.text("organizer");
    let places: Vec<usize> = [
        "</FORK-3>",
        "<JOIN-1>r</JOIN-1>",
        "<JOIN-2>r</JOIN-2>",
        "<JOIN-3>r</JOIN-3>so",
    ]
    .iter()
    .map(|piece| text.find(piece).unwrap())
    .collect();
    assert!(places.is_sorted());
}

#[test]
fn sequential_is_one_thread() {
    let sequential = RunConfig {
        policy: Policy::Sequential,
        ..config()
    };
    let r = run(
        &[line("organizer", &["a", "b", "<ANSWER>x</ANSWER>"])],
        sequential,
        "",
    );
    assert_eq!(
        (r.org().metrics().latency, r.finished.header.capacity),
        (3, 1)
    );
}

#[test]
fn an_organizer_that_says_nothing_has_no_answer() {
    let r = plain(&[worker("1", 5)]);
    assert_eq!(r.org().end, Some(RunEnd::NoAnswer));
    assert_eq!(r.org().metrics().latency, 0);
}

#[test]
fn the_screen_is_told_every_byte() {
    let brain = "🧠".as_bytes();
    use base64::Engine as _;
    let b64 = |b: &[u8]| base64::engine::general_purpose::STANDARD.encode(b);
    let organizer = serde_json::json!({"thread": "organizer", "tokens": [
        {"b64": b64(&brain[..1])}, {"b64": b64(&brain[1..])}, {"b64": b64(&[0xff])}, "\u{1b}[2J",
        "<ANSWER>x</ANSWER>"
    ]})
    .to_string();
    let r = plain(&[organizer]);
    assert_eq!(r.text("organizer"), "🧠\u{fffd}\u{1b}[2J<ANSWER>x</ANSWER>");
}

/// Every action with its place in the text, its worker and its text.
fn actions(run: &Run) -> Vec<(ActionKind, (u64, u64), String, String)> {
    run.events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Action {
                action,
                span,
                child,
                text,
                ..
            } => {
                let child = child.map(|c| c.to_string()).unwrap_or_default();
                Some((*action, *span, child, text.clone()))
            }
            _ => None,
        })
        .collect()
}

/// What the organizer decoded, without splices.
fn decoded(run: &Run) -> String {
    let bytes: Vec<u8> = run
        .events
        .iter()
        .filter(|e| e.thread.is_some_and(|id| id.is_organizer()))
        .flat_map(|e| match &e.body {
            Body::Tokens { bytes, .. } => bytes.0.clone(),
            _ => vec![],
        })
        .collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn tags_split_anywhere_over_tokens_give_the_same_actions_spans_and_text() {
    let organizer = "think <FORK-12>a <b sub-query</FORK-12> meanwhile <FORK-1>second</FORK-1> and then \
                     again <JOIN-12> so much for this <JOIN-1> and now for it <ANSWER>a < b</ANSWER>";
    let worker = "hm <RETURN>r</RETURN>";
    let play = |split: usize| {
        let line = |thread: &str, text: &str| {
            serde_json::json!({"thread": thread, "text": text, "split": split}).to_string()
        };
        plain(&[
            line("organizer", organizer),
            line("12", worker),
            line("1", worker),
        ])
    };
    let expected = play(1);
    assert_eq!(expected.org().answer.as_deref(), Some("a < b"));
    assert_eq!(actions(&expected).len(), 7);
    for split in 2..=14 {
        let run = play(split);
        let sorted = |run: &Run| {
            let mut actions = actions(run);
            actions
                .sort_by_key(|(kind, span, child, _)| (*span, child.clone(), format!("{kind:?}")));
            actions
        };
        assert_eq!(sorted(&run), sorted(&expected), "tokens of {split} bytes");
        assert_eq!(decoded(&run), organizer);
        assert!(run.errors().is_empty());
    }
}

#[test]
fn an_index_goes_on_in_the_next_token() {
    let r = plain(&[line(
        "organizer",
        &[
            "<FORK-1",
            "2>q</FORK-1",
            "2>",
            "<JOIN-1",
            "2> so",
            "<ANSWER>x</ANSWER>",
        ],
    )]);
    assert!(r.errors().is_empty(), "{:?}", r.errors());
    assert_eq!(
        r.text("organizer"),
        "<FORK-12>q</FORK-12><JOIN-12> so</JOIN-12><ANSWER>x</ANSWER>"
    );
}

#[test]
fn three_forks_in_one_step_joined_out_of_order_and_one_never() {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>q</FORK-1><FORK-2>q</FORK-2><FORK-3>q</FORK-3>",
            "<JOIN-3>",
            "<JOIN-1>",
            "<ANSWER>x</ANSWER>",
        ],
    );
    let r = plain(&[organizer, worker("1", 10), worker("2", 50), worker("3", 6)]);
    // All begin after step 1. Join 3 at 2 waits until 7, Join 1 at 8 until 11, the answer is step 12.
    let metrics = r.org().metrics();
    assert_eq!((metrics.latency, metrics.lived_steps), (12, 12));
    // Worker 2 counts up to T: 11 of its tokens.
    assert!((metrics.eta - f64::from(10 + 6 + 11) / 12.0).abs() < 1e-12);
    let schedule = r.org().schedule();
    let id = |text: &str| text.parse().unwrap();
    let slack = slack(&r.org().traces(), 4, &schedule);
    assert_eq!(slack.get(&id("1")), Some(&0));
    assert_eq!(slack.get(&id("2")), None, "nobody joins it");
    assert_eq!(slack.get(&id("3")), Some(&3));
    let blame = blame(&schedule);
    assert_eq!(blame.get(&(id("organizer"), id("3"))), Some(&5));
    assert_eq!(blame.get(&(id("organizer"), id("1"))), Some(&3));
    for worker in ["1", "2", "3"] {
        let lane = &schedule.lanes[&id(worker)];
        assert_eq!(
            (lane.begin, lane.begun_by),
            (Some(1), Some(id("organizer")))
        );
    }
    assert_eq!(r.end_of("2"), "Some(Abandoned)");
}

#[test]
fn a_thread_of_empty_tokens_is_cut_by_its_limit_and_joined_without_text() {
    let limits = RunConfig {
        limits: Limits {
            organizer: 60,
            worker: 30,
            ..Limits::default()
        },
        ..config()
    };
    let empty = |thread: &str| {
        serde_json::json!({"thread": thread, "tokens": [""], "repeat": true}).to_string()
    };
    let joins = line(
        "organizer",
        &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
    );
    let r = run(&[joins, empty("1")], limits.clone(), "");
    assert_eq!((r.tokens("1"), r.end_of("1")), (30, "Some(Limit)".into()));
    assert!(
        r.text("organizer")
            .contains("<JOIN-1> [partial: limit]</JOIN-1>")
    );
    let r = run(&[empty("organizer")], limits, "");
    assert_eq!(
        (r.tokens("organizer"), r.org().end),
        (60, Some(RunEnd::TokenLimit))
    );
}
