//! Workers that organize workers of their own, as lived.

use crate::harness::{Run, config, line, run, words};
use crate::protocol::worker;
use crate::resuming::{play, read};
use orgtop::live::{ProtocolRescan, RunConfig, Start};
use orgtop::org::{Body, RunEnd, Step, ThreadEnd, ThreadId, blame};
use orgtop::record::{Limits, PoolPolicy, verify};

fn deep(capacity: u32) -> RunConfig {
    RunConfig {
        capacity: Some(capacity),
        limits: Limits {
            depth: 2,
            ..Limits::default()
        },
        ..config()
    }
}

fn id(text: &str) -> ThreadId {
    text.parse().unwrap()
}

/// FORK-1 (5), think 5, JOIN-1 (3), ANSWER (3).
fn organizer() -> String {
    let mut tokens = vec!["<FORK-1>", "a", " b", " c", "</FORK-1>"];
    tokens.extend(words(5));
    tokens.extend(["<JOIN", "-1", ">", "<ANSWER>", "42", "</ANSWER>"]);
    line("organizer", &tokens)
}

/// FORK-1 (5), think 10, JOIN-1 (3), RETURN (4).
fn middle(name: &str) -> String {
    let mut tokens = vec!["<FORK-1>", "a", " b", " c", "</FORK-1>"];
    tokens.extend(words(10));
    tokens.extend(["<JOIN", "-1", ">", "<RETURN>", "it", " is", "</RETURN>"]);
    line(name, &tokens)
}

fn chain() -> Vec<String> {
    vec![organizer(), middle("1"), worker("1.1", 20)]
}

fn chained(orders: &str) -> Run {
    run(&chain(), deep(4), orders)
}

/// Without pauses, lived time is ideal time.
fn on_time(r: &Run, steps: u64) {
    let metrics = r.org().metrics();
    assert_eq!((metrics.latency, metrics.lived_steps), (steps, steps));
}

#[test]
fn vector_6_runs_as_the_simulation_says() {
    let r = chained("");
    on_time(&r, 37);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert!(r.errors().is_empty());
    assert!(
        r.text("1")
            .contains("<JOIN-1>r</JOIN-1><RETURN>it is</RETURN>")
    );
    assert!(
        r.text("organizer")
            .contains("<JOIN-1>it is</JOIN-1><ANSWER>")
    );
    let org = r.org();
    let blame = blame(&org.schedule());
    assert_eq!(
        (
            blame[&(id("1"), id("1.1"))],
            blame[&(id("organizer"), id("1"))]
        ),
        (7, 21)
    );
}

#[test]
fn at_depth_1_a_worker_that_writes_tags_writes_text() {
    let r = run(&chain(), config(), "");
    assert!(r.org().thread(id("1.1")).is_none());
    assert_eq!(r.text("1").matches("<FORK-1>").count(), 1);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_worker_at_the_limit_of_depth_writes_text_and_an_answer_is_text_in_any_worker() {
    let script = [
        organizer(),
        line(
            "1",
            &[
                "<ANSWER>no</ANSWER>",
                "<FORK-1>q</FORK-1>",
                "<JOIN-1>",
                "<RETURN>r</RETURN>",
            ],
        ),
        line(
            "1.1",
            &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<RETURN>deep</RETURN>"],
        ),
    ];
    let r = run(&script, deep(4), "");
    assert!(r.errors().is_empty());
    assert_eq!(
        r.text("1.1"),
        "<FORK-1>q</FORK-1><JOIN-1><RETURN>deep</RETURN>"
    );
    assert!(r.text("1").contains("<JOIN-1>deep</JOIN-1>"));
    assert!(r.org().thread(id("1.1.1")).is_none());
}

#[test]
fn vector_7_a_fork_that_no_slot_can_ever_serve_overflows() {
    let r = run(&chain(), deep(2), "");
    assert_eq!(r.errors(), ["PoolOverflow", "JoinUnknown"]);
    assert_eq!(
        (r.org().errors[0].thread, r.org().errors[0].step),
        (id("1"), Step(10))
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    let strict = RunConfig {
        strict: true,
        ..deep(2)
    };
    assert_eq!(run(&chain(), strict, "").org().end, Some(RunEnd::Failed));
}

#[test]
fn vector_8_who_ends_takes_along_who_works_below() {
    let mut tokens = vec![];
    for fork in ["1", "2", "3"] {
        let tags = [format!("<FORK-{fork}>"), format!("</FORK-{fork}>")];
        tokens.extend([
            tags[0].clone(),
            "a".into(),
            " b".into(),
            " c".into(),
            tags[1].clone(),
        ]);
    }
    tokens.extend(
        [
            "<JOIN",
            "-1",
            ">",
            "<JOIN",
            "-3",
            ">",
            "<ANSWER>",
            "</ANSWER>",
        ]
        .map(String::from),
    );
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let one = [
        "<FORK-1>",
        "a",
        " b",
        "</FORK-1>",
        " w",
        "<RETURN>",
        "r",
        "</RETURN>",
    ];
    let script = [
        line("organizer", &tokens),
        line("1", &one),
        worker("1.1", 50),
        worker("2", 6),
        worker("3", 10),
    ];
    let r = run(&script, deep(3), "");
    on_time(&r, 30);
    assert!(r.errors().is_empty());
    assert_eq!(
        (r.tokens("1.1"), r.end_of("1.1")),
        (4, "Some(Abandoned)".into())
    );
    assert!((r.org().metrics().eta - 28.0 / 30.0).abs() < 1e-12);
}

#[test]
fn vector_9_in_one_step_the_smaller_path_gets_the_slot() {
    let four = ["<FORK-1>", "q", "</FORK-1>", "<JOIN-1>"];
    let mut tokens = four.to_vec();
    tokens.extend(words(2));
    tokens.extend(["<RETURN>", "r", "</RETURN>"]);
    let script = [
        line(
            "organizer",
            &[
                "<FORK-1>q</FORK-1><FORK-2>q</FORK-2>",
                "<JOIN-1><JOIN-2>",
                "<ANSWER>x",
                "</ANSWER>",
            ],
        ),
        line("1", &tokens),
        line("2", &tokens),
        worker("1.1", 10),
        worker("2.1", 10),
    ];
    on_time(&run(&script, deep(4), ""), 31);
    let strict = RunConfig {
        pool: PoolPolicy::Error,
        ..deep(4)
    };
    let r = run(&script, strict, "");
    assert_eq!(r.errors(), ["PoolOverflow", "JoinUnknown"]);
    assert_eq!(r.org().errors[0].thread, id("2"));
}

/// 2 stands at a blocked Fork while 1 still runs; then 1 joins its worker, which stands too.
fn in_vain() -> (Vec<String>, RunConfig) {
    let script = vec![
        line(
            "organizer",
            &[
                "<FORK-1>q</FORK-1><FORK-2>q</FORK-2>",
                "<JOIN-1><JOIN-2>",
                "<ANSWER>x</ANSWER>",
            ],
        ),
        line(
            "1",
            &[
                "<FORK-1>q</FORK-1>",
                " w",
                " w",
                " w",
                " w",
                "<JOIN-1>",
                "<RETURN>one</RETURN>",
            ],
        ),
        line(
            "1.1",
            &[" w", "<FORK-1>q</FORK-1>", " w", "<RETURN>deep</RETURN>"],
        ),
        line(
            "2",
            &[
                " w",
                " w",
                "<FORK-1>q</FORK-1>",
                " w",
                "<RETURN>two</RETURN>",
            ],
        ),
    ];
    let mut config = deep(4);
    config.limits.depth = 3;
    (script, config)
}

#[test]
fn where_a_join_leaves_nobody_who_can_end_the_latest_blocked_fork_overflows() {
    let (script, config) = in_vain();
    let r = run(&script, config, "");
    assert_eq!(r.errors(), ["PoolOverflow"]);
    // Forks at 1; 1 forks at 2; 1.1 and 2 come to their Forks at 4; 1 joins at 7; then 2 goes on, ends
    // at 9, and 1.1.1 begins; it has no words and ends at once. 1.1 ends at 11, 1 at 12.
    let error = &r.org().errors[0];
    assert_eq!((error.thread, error.step), (id("2"), Step(7)));
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    on_time(&r, 13);
    assert!(r.text("organizer").contains("one</JOIN-1>two</JOIN-2>"));
}

#[test]
fn killing_a_worker_kills_its_subtree() {
    let r = chained(r#"{"at": {"thread": "1.1", "tokens": 5}, "do": "kill", "thread": "1"}"#);
    assert_eq!(
        (r.end_of("1"), r.end_of("1.1")),
        ("Some(Killed)".into(), "Some(Killed)".into())
    );
    assert_eq!(r.tokens("1.1"), 5);
    assert!(r.text("organizer").contains("[partial: killed]</JOIN-1>"));
    on_time(&r, r.org().metrics().lived_steps);
}

#[test]
fn killing_a_worker_of_a_worker_hands_its_partial_to_whoever_joins_it() {
    let r = chained(r#"{"at": {"thread": "1.1", "tokens": 15}, "do": "kill", "thread": "1.1"}"#);
    assert!(
        r.text("1")
            .contains("w w [partial: killed]</JOIN-1><RETURN>")
    );
    on_time(&r, 32);
}

#[test]
fn what_follows_a_fork_in_its_token_follows_it() {
    let script = [
        organizer(),
        line("1", &[" w", "<FORK-1>q</FORK-1><RETURN>r</RETURN>"]),
        worker("1.1", 9),
    ];
    let r = run(&script, deep(4), "");
    assert_eq!(r.end_of("1.1"), "Some(Abandoned)");
    assert_eq!(r.end_of("1"), "Some(Returned)");
    let script = [
        organizer(),
        line("1", &[" w", "<FORK-1>q</FORK-1><JOIN-1><RETURN>r</RETURN>"]),
        worker("1.1", 9),
    ];
    let r = run(&script, deep(4), "");
    assert_eq!(
        (r.end_of("1"), r.end_of("1.1")),
        ("Some(Returned)".into(), "Some(Returned)".into())
    );
    // Fork at 5, both tags at 7, the result at 16.
    on_time(&r, 19);
}

#[test]
fn errors_are_counted_for_each_who_organizes() {
    let script = [
        line(
            "organizer",
            &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
        ),
        line(
            "1",
            &[
                "<FORK-1>a</FORK-1>",
                "<FORK-1>b</FORK-1>",
                "<FORK-2> </FORK-2>",
                "<JOIN-3>",
                "<JOIN-1>",
                "<JOIN-1>",
                "<RETURN>r</RETURN>",
            ],
        ),
        worker("1.1", 4),
    ];
    let r = run(&script, deep(4), "");
    assert_eq!(
        r.errors(),
        ["DuplicateIndex", "EmptyQuery", "JoinUnknown", "JoinTwice"]
    );
    assert!(r.org().errors.iter().all(|e| e.thread == id("1")));
}

#[test]
fn the_limit_of_a_worker_ends_it_and_whoever_works_below() {
    let mut config = deep(4);
    config.limits.worker = 10;
    let r = run(&chain(), config, "");
    assert_eq!(
        (r.end_of("1"), r.end_of("1.1")),
        ("Some(Limit)".into(), "Some(Abandoned)".into())
    );
    assert_eq!(r.tokens("1.1"), 5);
}

#[test]
fn a_person_forks_and_joins_for_a_worker() {
    let script = [organizer(), worker("1", 20), worker("1.1", 9)];
    let orders = [
        r#"{"at": {"step": 8}, "do": "fork", "query": "by hand", "thread": "1"}"#,
        r#"{"at": {"step": 10}, "do": "join", "thread": "1.1"}"#,
    ];
    let r = run(&script, deep(4), &orders.join("\n"));
    assert_eq!(r.outcomes(), ["fork Done", "join Done"]);
    assert!(
        r.text("1")
            .contains("<FORK-1>by hand</FORK-1> w w<JOIN-1>r</JOIN-1>")
    );
    // Made by hand, the Fork costs nothing: 1 waits from 10 to 17.
    on_time(&r, 5 + 20 + 7 + 3);
    let refused = run(&script, config(), orders[0]);
    assert!(
        refused.outcomes()[0].contains("worker 1 cannot fork"),
        "{:?}",
        refused.outcomes()
    );
}

#[test]
fn a_fork_by_hand_while_a_worker_waits_starts_at_once() {
    let script = [
        organizer(),
        middle("1"),
        worker("1.1", 20),
        worker("1.2", 4),
    ];
    let r = run(
        &script,
        deep(4),
        r#"{"at": {"step": 25}, "do": "fork", "query": "more", "thread": "1"}"#,
    );
    assert_eq!(r.org().thread(id("1.2")).unwrap().began.step, Step(25));
    assert!(
        r.text("1")
            .contains("r</JOIN-1><FORK-2>more</FORK-2><RETURN>")
    );
    on_time(&r, 37);
}

#[test]
fn wrapping_up_a_worker_that_waits_comes_after_the_result() {
    let r = chained(r#"{"at": {"step": 25}, "do": "wrap_up", "thread": "1"}"#);
    let outcomes: Vec<String> = r
        .events
        .iter()
        .filter_map(|e| match &e.body {
            Body::Effect { outcome } => Some(format!("{outcome:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        outcomes,
        ["Queued { why: \"until worker 1 decodes again\" }", "Done"]
    );
    assert!(r.text("1").contains("<JOIN-1>r</JOIN-1><RETURN>"));
}

#[test]
fn a_command_for_a_worker_that_ended_meanwhile_is_refused() {
    let r = chained(concat!(
        r#"{"at": {"step": 25}, "do": "wrap_up", "thread": "1"}"#,
        "\n",
        r#"{"at": {"step": 27}, "do": "kill", "thread": "1"}"#
    ));
    assert!(
        r.outcomes()[0].contains("worker 1 has ended"),
        "{:?}",
        r.outcomes()
    );
}

#[test]
fn a_retried_worker_begins_without_the_workers_it_had() {
    let script = [organizer(), middle("1"), worker("1.1", 20), worker("1", 6)];
    let r = run(
        &script,
        deep(4),
        r#"{"at": {"step": 15}, "do": "retry", "thread": "1"}"#,
    );
    for (name, end) in [("1", "Killed"), ("1.1", "Killed"), ("1~2", "Returned")] {
        assert_eq!(r.end_of(name), format!("Some({end})"), "{name}");
    }
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_person_in_a_workers_seat_organizes_by_writing() {
    let mut config = deep(4);
    config.seats.insert(id("1"), orgtop::org::Seat::Human);
    let orders = [
        r#"{"at": {"step": 8}, "do": "text", "thread": "1", "text": "<FORK-1>typed</FORK-1><JOIN-1>"}"#,
        r#"{"at": {"event": "return:1.1"}, "do": "submit", "thread": "1", "text": "mine"}"#,
    ];
    let r = run(&[organizer(), worker("1.1", 9)], config, &orders.join("\n"));
    assert_eq!(r.outcomes(), ["text Done", "submit Done"]);
    assert_eq!(
        r.text("1"),
        "<FORK-1>typed</FORK-1><JOIN-1>r</JOIN-1><RETURN>mine</RETURN>"
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn the_guard_keeps_a_worker_from_errors_as_it_does_the_organizer() {
    let script = [
        line(
            "organizer",
            &["<FORK-1>q</FORK-1>", "<JOIN-1>", "<ANSWER>x</ANSWER>"],
        ),
        line(
            "1",
            &["<FORK-1>a</FORK-1>", "<JOIN-1>", "<RETURN>r</RETURN>"],
        ),
        worker("1.1", 4),
    ];
    let guarded = RunConfig {
        guard: true,
        ..deep(4)
    };
    let r = run(&script, guarded, "");
    assert!(r.errors().is_empty());
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

fn start(config: RunConfig) -> Start {
    Start::Fresh {
        config,
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

#[test]
fn a_nested_session_interrupted_at_any_step_goes_on_as_if_it_never_was() {
    let folder = tempfile::tempdir().unwrap();
    for (name, (script, config)) in [("chain", (chain(), deep(4))), ("vain", in_vain())] {
        let whole = folder.path().join(format!("{name}.jsonl"));
        play(&script, start(config.clone()), Some(&whole), "");
        let expected = read(&whole);
        assert_eq!(expected.organization.end, Some(RunEnd::Answered));
        let steps = expected.organization.now.step.0;
        for step in 0..steps {
            let path = folder.path().join(format!("{name}-{step}.jsonl"));
            let order = format!("{{\"at\": {{\"step\": {step}}}, \"do\": \"interrupt\"}}");
            play(&script, start(config.clone()), Some(&path), &order);
            play(&script, Start::Resumed(path.clone()), Some(&path), "");
            let again = read(&path);
            assert_eq!(again.texts, expected.texts, "{name}, step {step}");
            let (a, b) = (
                again.organization.metrics(),
                expected.organization.metrics(),
            );
            assert_eq!(
                (a.latency, a.lived_steps),
                (b.latency, b.lived_steps),
                "{name}, step {step}"
            );
            let verified = verify(&path, &ProtocolRescan).unwrap();
            assert_eq!(verified.disagreements, vec![], "{name}, step {step}");
        }
    }
}

#[test]
fn a_nested_session_goes_back_with_everybody_and_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let orders = concat!(
        r#"{"at": {"step": 28}, "do": "edit", "thread": "1.1", "token": 4, "text": "<RETURN>mine</RETURN>"}"#,
        "\n",
        r#"{"at": {"event": "return:1"}, "do": "undo"}"#
    );
    let finished = play(&chain(), start(deep(4)), Some(&path), orders);
    let org = &finished.organization;
    assert_eq!(org.branches().len(), 3);
    let left = org.branches()[1].left.clone().unwrap();
    assert!(left.step < Step(37));
    assert_eq!(
        org.thread(id("1.1")).unwrap().end(),
        Some(ThreadEnd::Returned)
    );
    assert_eq!(org.metrics().latency, 37);
    let verified = verify(&path, &ProtocolRescan).unwrap();
    assert_eq!(verified.disagreements, vec![]);
    assert_eq!(read(&path).organization.metrics(), org.metrics());
}
