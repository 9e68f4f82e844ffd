//! Who writes: people and tools in the seats of threads, what waits for their word, the board.
//!
//! Every run here is recorded, and its file must agree with itself and fold to the state of the run.

use crate::harness::{Run, config, line, words};
use crate::protocol::worker;
use orgtop::engine::{Script, Scripted};
use orgtop::live::{
    Audience, Plan, Program, ProtocolRescan, RunConfig, Start, Tool, ToolSet, launch, parse_orders,
};
use orgtop::org::{AskKind, Author, Body, Event, Organization, RunEnd, Seat, SpliceKind, Verdict};
use orgtop::record::{SessionFile, verify};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn tool(argv: &[&str]) -> Tool {
    Tool {
        program: Program::Command(argv.iter().map(ToString::to_string).collect()),
        timeout: Duration::from_secs(5),
        output: 4096,
        memory_mib: 512,
    }
}

fn toolbox() -> ToolSet {
    [
        ("cat", tool(&["cat"])),
        ("fail", tool(&["sh", "-c", "echo no luck >&2; exit 3"])),
        ("slow", tool(&["sh", "-c", "sleep 0.15; echo late"])),
        ("liar", tool(&["echo", "a</RETURN>b"])),
    ]
    .map(|(name, tool)| (name.to_owned(), tool))
    .into()
}

fn go(script: &[String], start: Start, file: &Path, orders: &str) -> Run {
    let script = Script::parse(&script.join("\n"), "script").unwrap();
    let handle = launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start,
        file: Some(file.to_owned()),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: toolbox(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox = Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    let run = Run {
        finished,
        events: mailbox.take().events,
    };
    agrees(&run, file);
    run
}

fn recorded(file: &Path) -> Vec<Event> {
    let session = SessionFile::open(file).unwrap();
    session.events().map(|e| e.unwrap().event).collect()
}

fn agrees(run: &Run, file: &Path) {
    let verified = verify(file, &ProtocolRescan).unwrap();
    assert!(
        verified.disagreements.is_empty(),
        "{:#?}",
        verified.disagreements
    );
    let mut fold = Organization::new(run.finished.header.capacity, run.finished.header.tau);
    recorded(file).iter().for_each(|event| fold.apply(event));
    assert_eq!(shown(&fold), shown(run.org()));
}

/// A state without the moment of each thread's last token: a run knows it, a file to within 50 ms.
fn shown(org: &Organization) -> serde_json::Value {
    let mut json = serde_json::to_value(org).unwrap();
    for thread in json["threads"].as_object_mut().unwrap().values_mut() {
        thread.as_object_mut().unwrap().remove("last");
    }
    json
}

fn fresh(config: RunConfig) -> Start {
    Start::Fresh {
        config,
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

fn play(script: &[String], config: RunConfig, orders: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    go(
        script,
        fresh(config),
        &folder.path().join("s.jsonl"),
        orders,
    )
}

fn seats(given: &[(&str, &str)]) -> RunConfig {
    RunConfig {
        seats: given
            .iter()
            .map(|(id, seat)| (id.parse().unwrap(), seat.parse().unwrap()))
            .collect(),
        ..config()
    }
}

fn asking(what: &[AskKind]) -> RunConfig {
    RunConfig {
        ask: what.to_vec(),
        ..config()
    }
}

fn planned() -> RunConfig {
    RunConfig {
        plan: true,
        ..config()
    }
}

/// Forks 1, thinks `n` tokens, joins it, answers.
fn one_fork(n: usize) -> String {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(n));
    tokens.extend(["<JOIN-1>", " so", "<ANSWER>x</ANSWER>"]);
    line("organizer", &tokens)
}

fn texts_by(run: &Run, id: &str, author: &Author) -> String {
    let id = Some(id.parse().unwrap());
    run.events
        .iter()
        .filter(|e| e.thread == id && e.by == *author)
        .filter_map(|e| match &e.body {
            Body::Tokens { bytes, .. } | Body::Splice { bytes, .. } => {
                Some(String::from_utf8_lossy(&bytes.0).into_owned())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_person_serves_a_sub_query_on_the_critical_path() {
    let mut tokens = vec!["<FORK-1>you</FORK-1>", "<FORK-2>it</FORK-2>", "<JOIN-1>"];
    tokens.extend(words(10));
    tokens.extend(["<JOIN-2>", "<ANSWER>x</ANSWER>"]);
    let r = play(
        &[line("organizer", &tokens), worker("2", 45)],
        seats(&[("1", "human")]),
        r#"{"at": {"thread": "2", "tokens": 40}, "do": "submit", "thread": "1", "text": "seven"}"#,
    );
    assert_eq!(r.outcomes(), ["submit Done"]);
    assert_eq!(r.text("1"), "<RETURN>seven</RETURN>");
    assert_eq!((r.tokens("1"), r.end_of("1")), (0, "Some(Returned)".into()));
    assert!(r.text("organizer").contains("<JOIN-1>seven</JOIN-1>"));
    assert_eq!(texts_by(&r, "1", &Author::Human), "<RETURN>seven</RETURN>");
    // The person wrote from step 1 to step 42; the organizer stood at its Join meanwhile.
    let metrics = r.org().metrics();
    assert_eq!(metrics.latency, 54);
    assert_eq!(metrics.latency_without_people, Some(48));
    assert_eq!((metrics.work, metrics.lived_steps), (60, 54));
    let you = r.org().thread("1".parse().unwrap()).unwrap();
    assert_eq!(you.writing.len(), 1);
    assert_eq!(you.writing[0].steps(r.org().now), 41);
    let path = orgtop::org::critical_path(&r.org().schedule());
    assert!(path.iter().any(|link| link.thread == you.id));
}

#[test]
fn without_people_nothing_is_said_of_a_latency_without_them() {
    let r = play(&[one_fork(3), worker("1", 5)], config(), "");
    assert_eq!(r.org().metrics().latency_without_people, None);
}

#[test]
fn a_person_takes_the_organizer_forks_two_joins_and_hands_back() {
    let mut tokens = words(4);
    tokens.extend([" on", "<ANSWER>x</ANSWER>"]);
    let r = play(
        &[line("organizer", &tokens), worker("1", 6), worker("2", 8)],
        config(),
        r#"{"at": {"step": 4}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": " I see.<FORK-1>one</FORK-1> and <FORK-2>two</FORK-2>"}
           {"at": {"event": "end:2"}, "do": "text", "thread": "organizer", "text": "<JOIN-1> and <JOIN-2>"}
           {"do": "seat", "thread": "organizer", "to": "model"}"#,
    );
    assert_eq!(
        r.text("organizer"),
        " w w w w I see.<FORK-1>one</FORK-1> and <FORK-2>two</FORK-2>\
         <JOIN-1> and <JOIN-2>r</JOIN-1>r</JOIN-2> on<ANSWER>x</ANSWER>"
    );
    assert!(
        r.outcomes().iter().all(|o| o.ends_with("Done")),
        "{:?}",
        r.outcomes()
    );
    assert!(r.errors().is_empty());
    // Four tokens, eight of worker 2 while the person held the seat, two more.
    let metrics = r.org().metrics();
    assert_eq!(metrics.latency, 14);
    assert_eq!(metrics.lived_steps, 14);
    // The person in no time: the Joins wait for worker 2 all the same.
    assert_eq!(metrics.latency_without_people, Some(14));
}

#[test]
fn a_whole_run_without_an_organizer_model() {
    let r = play(
        &[worker("1", 5)],
        seats(&[("organizer", "human")]),
        r#"{"do": "text", "thread": "organizer", "text": "Let me see. <FORK-1>count</FORK-1>"}
           {"at": {"event": "end:1"}, "do": "join", "thread": "1"}
           {"do": "submit", "thread": "organizer", "text": "42"}"#,
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(r.org().answer.as_deref(), Some("42"));
    assert_eq!(
        r.text("organizer"),
        "Let me see. <FORK-1>count</FORK-1><JOIN-1>r</JOIN-1><ANSWER>42</ANSWER>"
    );
    assert_eq!(r.tokens("organizer"), 0);
    assert_eq!(r.org().metrics().latency, 5);
    assert!(r.errors().is_empty());
}

#[test]
fn a_tag_may_be_begun_by_the_model_and_ended_by_a_person_and_the_reverse() {
    let r = play(
        &[
            line(
                "organizer",
                &[
                    "<FORK-",
                    "2>its half",
                    " of it</FORK-1>",
                    "<ANSWER>x</ANSWER>",
                ],
            ),
            worker("1", 4),
        ],
        config(),
        r#"{"at": {"step": 1}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": "1>my half, "}
           {"do": "seat", "thread": "organizer", "to": "model"}"#,
    );
    let q = &r.org().thread("1".parse().unwrap()).unwrap().query;
    assert_eq!(q, "my half, 2>its half of it");
    let forked = r
        .events
        .iter()
        .find(|e| matches!(e.body, Body::Action { .. }));
    assert_eq!(forked.unwrap().by, Author::Model);
}

#[test]
fn the_author_of_an_action_is_who_completed_it() {
    let r = play(
        &[
            line("organizer", &[" w", "<ANSWER>x</ANSWER>"]),
            worker("1", 4),
        ],
        config(),
        r#"{"at": {"step": 1}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": "<FORK-1>q</FORK-1>"}
           {"do": "seat", "thread": "organizer", "to": "model"}"#,
    );
    let forked = r
        .events
        .iter()
        .find(|e| matches!(e.body, Body::Action { .. }));
    assert_eq!(forked.unwrap().by, Author::Human);
}

#[test]
fn a_fork_can_be_addressed_to_a_person_at_once_or_while_a_slot_is_awaited() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(20));
    tokens.push("<ANSWER>x</ANSWER>");
    let r = play(
        &[line("organizer", &tokens), worker("1", 10)],
        RunConfig {
            capacity: Some(2),
            ..config()
        },
        r#"{"at": {"step": 3}, "do": "fork", "query": "mine", "seat": "human"}
           {"at": {"step": 14}, "do": "submit", "thread": "2", "text": "done"}"#,
    );
    assert_eq!(r.outcomes(), ["fork Done", "submit Done"]);
    let two = r.org().thread("2".parse().unwrap()).unwrap();
    assert_eq!((two.seat.clone(), two.began.step.0), (Seat::Human, 11));
    assert_eq!(r.text("2"), "<RETURN>done</RETURN>");
}

#[test]
fn seats_and_texts_that_make_no_sense_are_refused_with_a_reason() {
    let r = play(
        &[one_fork(8), worker("1", 4)],
        config(),
        r#"{"at": {"event": "fork:1"}, "do": "seat", "thread": "9", "to": "human"}
           {"do": "seat", "thread": "1", "to": "model"}
           {"do": "seat", "thread": "1", "to": "tool:nobody"}
           {"do": "seat", "thread": "1", "to": "server:far"}
           {"do": "seat", "thread": "organizer", "to": "tool:cat"}
           {"do": "text", "thread": "1", "text": "mine"}
           {"do": "submit", "thread": "organizer", "text": "mine"}
           {"do": "retry", "thread": "organizer"}
           {"do": "retry", "thread": "7"}
           {"do": "approve"}
           {"do": "deny", "ask": 3}
           {"do": "plan_add", "query": "q"}
           {"do": "plan_drop", "draft": 1}
           {"do": "plan_release"}
           {"at": {"event": "end:1"}, "do": "seat", "thread": "1", "to": "human"}
           {"do": "submit", "thread": "1"}"#,
    );
    assert_eq!(r.outcomes().len(), 16);
    for outcome in r.outcomes() {
        assert!(outcome.contains("Refused"), "{outcome}");
    }
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_held_organizer_can_be_written_only_where_text_makes_sense() {
    let r = play(
        &[line("organizer", &["<FORK-1>", " q"]), worker("1", 4)],
        config(),
        r#"{"at": {"step": 2}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": ""}
           {"do": "submit", "thread": "organizer", "text": "early"}
           {"do": "text", "thread": "organizer", "text": "</FORK-1><JOIN-1>"}
           {"do": "text", "thread": "organizer", "text": "too soon"}
           {"do": "seat", "thread": "1", "to": "human"}
           {"do": "submit", "thread": "1", "text": "a</RETURN>b"}
           {"do": "submit", "thread": "1", "text": "r"}
           {"do": "submit", "thread": "organizer", "text": "x"}"#,
    );
    let refused: Vec<bool> = r.outcomes().iter().map(|o| o.contains("Refused")).collect();
    assert_eq!(
        refused,
        [
            false, true, true, true, false, true, false, true, false, false
        ],
        "{:?}",
        r.outcomes()
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn taking_a_worker_and_giving_it_back_loses_no_token() {
    let straight = play(&[one_fork(3), worker("1", 12)], config(), "");
    let r = play(
        &[one_fork(3), worker("1", 12)],
        config(),
        r#"{"at": {"thread": "1", "tokens": 4}, "do": "seat", "thread": "1", "to": "human"}
           {"do": "text", "thread": "1", "text": " (check!)"}
           {"do": "seat", "thread": "1", "to": "model"}"#,
    );
    assert_eq!(r.ids("1"), straight.ids("1"));
    assert_eq!(r.text("1").replace(" (check!)", ""), straight.text("1"));
    assert_eq!(r.org().metrics().latency, straight.org().metrics().latency);
}

#[test]
fn a_killed_worker_gives_what_its_person_wrote() {
    let r = play(
        &[one_fork(3)],
        seats(&[("1", "human")]),
        r#"{"at": {"event": "fork:1"}, "do": "text", "thread": "1", "text": "half a thought"}
           {"at": {"event": "join:1"}, "do": "kill", "thread": "1"}"#,
    );
    assert!(
        r.text("organizer")
            .contains("half a thought [partial: killed]</JOIN-1>"),
        "{}",
        r.text("organizer")
    );
}

#[test]
fn retry_gives_the_sub_query_to_a_new_bearer_and_the_waiting_join_means_it() {
    let r = play(
        &[
            one_fork(2),
            worker("1", 30),
            line("1", &[" b", "<RETURN>", "second", "</RETURN>"]),
        ],
        config(),
        r#"{"at": {"thread": "1", "tokens": 10}, "do": "retry", "thread": "1"}
           {"do": "retry", "thread": "1"}"#,
    );
    assert_eq!(r.outcomes()[0], "retry Done");
    assert!(
        r.outcomes()[1].contains("a newer worker"),
        "{:?}",
        r.outcomes()
    );
    assert_eq!((r.tokens("1"), r.end_of("1")), (10, "Some(Killed)".into()));
    assert_eq!(r.text("1~2"), " b<RETURN>second</RETURN>");
    assert!(r.text("organizer").contains("<JOIN-1>second</JOIN-1>"));
    let (old, new) = ("1".parse().unwrap(), "1~2".parse().unwrap());
    assert!(!r.org().thread(old).unwrap().joined && r.org().thread(new).unwrap().joined);
    assert_eq!(r.org().thread(new).unwrap().query, "q");
    // Worker 1 stopped at step 11, its next bearer took four more, two tokens followed.
    assert_eq!(r.org().schedule().lanes[&new].begin, Some(11));
    assert_eq!(r.org().metrics().latency, 17);
    assert_eq!(r.org().metrics().lived_steps, 17);
}

#[test]
fn retry_before_the_join_and_of_a_worker_that_has_ended() {
    let again = |text: &'static str| line("1", &["<RETURN>", text, "</RETURN>"]);
    let r = play(
        &[one_fork(12), again("a"), again("b"), again("c")],
        RunConfig {
            capacity: Some(2),
            ..config()
        },
        r#"{"at": {"thread": "1", "tokens": 2}, "do": "retry", "thread": "1"}
           {"at": {"event": "end:1~2"}, "do": "retry", "thread": "1~2"}
           {"at": {"event": "join:1~3"}, "do": "retry", "thread": "1~3"}"#,
    );
    assert_eq!(r.outcomes()[..2], ["retry Done", "retry Done"]);
    assert!(
        r.outcomes()[2].contains("joined already"),
        "{:?}",
        r.outcomes()
    );
    assert!(r.text("organizer").contains("<JOIN-1>c</JOIN-1>"));
    assert_eq!(r.org().free_slots(), 1);
}

#[test]
fn killing_and_forking_again_at_once_shows_no_old_token() {
    let r = play(
        &[
            one_fork(10),
            worker("1", 30),
            line("2", &["new", "<RETURN>n</RETURN>"]),
        ],
        RunConfig {
            capacity: Some(2),
            ..config()
        },
        r#"{"at": {"thread": "1", "tokens": 5}, "do": "kill", "thread": "1"}
           {"do": "fork", "query": "instead"}"#,
    );
    assert_eq!(r.text("2"), "new<RETURN>n</RETURN>");
    assert_eq!(r.tokens("1"), 5);
}

#[test]
fn a_tool_serves_a_sub_query() {
    let r = play(&[one_fork(3)], seats(&[("1", "tool:cat")]), "");
    assert_eq!(r.text("1"), "<RETURN>q</RETURN>");
    assert!(r.text("organizer").contains("<JOIN-1>q</JOIN-1>"));
    assert_eq!(
        texts_by(&r, "1", &Author::Tool("cat".into())),
        "<RETURN>q</RETURN>"
    );
    assert_eq!(r.org().metrics().latency_without_people, None);
    assert!(r.errors().is_empty());
}

#[test]
fn a_slow_tool_is_waited_for_though_nobody_else_is_there() {
    let r = play(&[one_fork(3)], seats(&[("1", "tool:slow")]), "");
    assert!(r.text("organizer").contains("<JOIN-1>late</JOIN-1>"));
    let writing = &r.org().thread("1".parse().unwrap()).unwrap().writing[0];
    assert!(writing.us(r.org().now) >= 150_000, "{writing:?}");
}

#[test]
fn a_tool_that_fails_says_why_and_one_that_lies_about_its_end_is_quoted() {
    let r = play(&[one_fork(3)], seats(&[("1", "tool:fail")]), "");
    assert_eq!(r.errors(), ["Tool"]);
    assert!(
        r.text("organizer")
            .contains("tool `fail`: exit code 3: no luck [partial: failed]</JOIN-1>"),
        "{}",
        r.text("organizer")
    );
    let r = play(&[one_fork(3)], seats(&[("1", "tool:liar")]), "");
    assert!(
        r.text("organizer")
            .contains("<JOIN-1>a</RETURN >b</JOIN-1>")
    );
}

#[test]
fn a_tool_is_killed_with_its_worker() {
    let r = play(
        &[one_fork(3)],
        seats(&[("1", "tool:slow")]),
        r#"{"at": {"event": "join:1"}, "do": "kill", "thread": "1"}"#,
    );
    assert_eq!(r.end_of("1"), "Some(Killed)");
    assert!(!r.text("1").contains("late"));
}

#[test]
fn a_fork_waits_for_approval_and_can_be_changed() {
    let r = play(
        &[one_fork(2), worker("1", 4)],
        asking(&[AskKind::Fork]),
        r#"{"at": {"event": "ask:fork"}, "do": "text", "thread": "organizer", "text": "x"}
           {"do": "approve", "text": "better"}"#,
    );
    assert_eq!(r.outcomes()[1], "approve Done");
    assert_eq!(
        r.org().thread("1".parse().unwrap()).unwrap().query,
        "better"
    );
    assert!(
        r.text("organizer")
            .contains("</FORK-1> [sub-query 1 changed to: better]  w"),
        "{}",
        r.text("organizer")
    );
    assert_eq!(r.org().asks[0].verdict, Some(Verdict::Approved));
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_denied_fork_has_no_effect_and_the_organizer_sees_why() {
    let r = play(
        &[one_fork(2), worker("1", 4)],
        asking(&[AskKind::Fork]),
        r#"{"at": {"event": "ask:fork"}, "do": "deny", "reason": "too vague"}"#,
    );
    assert!(r.org().thread("1".parse().unwrap()).is_none());
    assert!(
        r.text("organizer").starts_with(
            "<FORK-1>q</FORK-1> [sub-query 1 denied: too vague]  w w<JOIN-1></JOIN-1>"
        ),
        "{}",
        r.text("organizer")
    );
    assert_eq!(r.errors(), ["JoinUnknown"]);
}

#[test]
fn a_denied_answer_lets_the_organizer_think_on() {
    let organizer = line(
        "organizer",
        &["<ANSWER>1</ANSWER>", " hm", "<ANSWER>2</ANSWER>"],
    );
    let r = play(
        &[organizer],
        asking(&[AskKind::Answer]),
        r#"{"at": {"event": "ask:answer"}, "do": "deny", "ask": 1, "reason": "wrong"}
           {"at": {"step": 3}, "do": "approve", "ask": 2, "text": "3"}"#,
    );
    assert_eq!(
        r.text("organizer"),
        "<ANSWER>1</ANSWER> [answer denied: wrong]  hm<ANSWER>2</ANSWER>"
    );
    assert_eq!(r.org().answer.as_deref(), Some("3"));
}

#[test]
fn nothing_runs_in_a_tools_seat_before_it_was_approved() {
    let with = |ask: &[AskKind]| RunConfig {
        ask: ask.to_vec(),
        ..seats(&[("1", "tool:cat")])
    };
    let r = play(
        &[one_fork(2)],
        with(&[AskKind::Tool]),
        r#"{"at": {"event": "join:1"}, "do": "approve", "text": "safe"}"#,
    );
    assert!(r.text("organizer").contains("<JOIN-1>safe</JOIN-1>"));
    let r = play(
        &[one_fork(2)],
        with(&[AskKind::Tool]),
        r#"{"at": {"event": "join:1"}, "do": "deny", "reason": "not today"}"#,
    );
    assert!(
        r.text("organizer")
            .contains("<JOIN-1>[denied: not today] [partial: killed]</JOIN-1>"),
        "{}",
        r.text("organizer")
    );
}

#[test]
fn what_waits_for_a_word_that_nobody_can_give_is_an_interruption() {
    let r = play(&[one_fork(2)], asking(&[AskKind::Fork]), "");
    assert!(r.finished.stuck);
    assert_eq!(r.org().end, Some(RunEnd::Interrupted));
}

fn two_forks() -> Vec<String> {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>a</FORK-1>",
            "<FORK-2>b</FORK-2>",
            "<JOIN-2>",
            " so",
            "<ANSWER>x</ANSWER>",
        ],
    );
    let mut script = vec![organizer];
    script.extend(["1", "2", "3"].map(|id| worker(id, 5)));
    script
}

#[test]
fn a_plan_is_edited_and_released_at_once() {
    let r = play(
        &two_forks(),
        planned(),
        r#"{"at": {"event": "ask:plan"}, "do": "plan_edit", "draft": 1, "query": "better"}
           {"do": "fork", "query": "mine", "seat": "tool:cat"}
           {"do": "plan_move", "draft": 3, "to": 1}
           {"do": "plan_edit", "draft": 9, "query": "x"}
           {"do": "plan_edit", "draft": 1}
           {"do": "plan_release"}
           {"do": "plan_release"}"#,
    );
    let refused: Vec<bool> = r.outcomes().iter().map(|o| o.contains("Refused")).collect();
    assert_eq!(
        refused,
        [false, false, false, true, true, false, true],
        "{:?}",
        r.outcomes()
    );
    let forked: Vec<String> = r
        .events
        .iter()
        .filter_map(|e| match (&e.body, e.thread) {
            (Body::Thread { query, .. }, Some(id)) => Some(format!("{id} {query} @{}", e.step)),
            _ => None,
        })
        .skip(1)
        .collect();
    assert_eq!(forked, ["3 mine @3", "1 better @3", "2 b @3"]);
    assert_eq!(
        r.text("organizer"),
        "<FORK-1>a</FORK-1><FORK-2>b</FORK-2><JOIN-2>r</JOIN-2><FORK-3>mine</FORK-3>\
         [sub-query 1 changed to: better]  so<ANSWER>x</ANSWER>"
            .replace("[sub", " [sub")
    );
    let seat = &r.org().thread("3".parse().unwrap()).unwrap().seat;
    assert_eq!(*seat, Seat::Tool("cat".into()));
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_dropped_draft_is_never_forked_and_its_join_finds_nothing() {
    let r = play(
        &two_forks(),
        planned(),
        r#"{"at": {"event": "ask:plan"}, "do": "plan_drop", "draft": 2}
           {"do": "approve"}"#,
    );
    assert!(r.org().thread("2".parse().unwrap()).is_none());
    assert!(r.org().thread("1".parse().unwrap()).is_some());
    assert_eq!(r.errors(), ["JoinUnknown"]);
    assert!(r.text("organizer").contains("[sub-query 2 dropped]"));
}

#[test]
fn a_plan_with_more_drafts_than_slots_forks_as_slots_get_free() {
    let r = play(
        &two_forks(),
        RunConfig {
            capacity: Some(2),
            ..planned()
        },
        r#"{"at": {"event": "ask:plan"}, "do": "plan_release"}"#,
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(
        r.org().thread("2".parse().unwrap()).unwrap().began.step.0,
        8
    );
    assert!(r.text("organizer").contains("<JOIN-2>r</JOIN-2>"));
}

#[test]
fn a_person_plans_alone() {
    let r = play(
        &[worker("1", 4), worker("2", 4)],
        RunConfig {
            plan: true,
            ..seats(&[("organizer", "human")])
        },
        r#"{"do": "plan_add", "query": "one"}
           {"do": "text", "thread": "organizer", "text": "and <FORK-2>two</FORK-2>"}
           {"do": "plan_release"}
           {"at": {"event": "end:2"}, "do": "submit", "thread": "organizer", "text": "done"}"#,
    );
    assert_eq!(r.org().threads().len(), 3);
    assert_eq!(r.org().answer.as_deref(), Some("done"));
}

#[test]
fn a_plan_without_a_fork_holds_nobody_up() {
    let r = play(
        &[line("organizer", &[" w", "<ANSWER>x</ANSWER>"])],
        planned(),
        "",
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_session_with_people_and_tools_in_it_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = vec![
        "<FORK-1>q</FORK-1>",
        "<FORK-2>t</FORK-2>",
        "<FORK-3>p</FORK-3>",
    ];
    tokens.extend(words(12));
    tokens.extend([
        "<JOIN-1>",
        "<JOIN-2>",
        "<JOIN-3>",
        " so",
        "<ANSWER>x</ANSWER>",
    ]);
    let script = [line("organizer", &tokens), worker("1", 9)];
    let config = || RunConfig {
        ask: vec![AskKind::Answer],
        ..seats(&[("2", "tool:cat"), ("3", "human")])
    };
    let first = r#"{"at": {"step": 4}, "do": "seat", "thread": "organizer", "to": "human"}
        {"do": "text", "thread": "organizer", "text": " I say"}
        {"do": "seat", "thread": "organizer", "to": "model"}
        {"at": {"step": 5}, "do": "text", "thread": "3", "text": "hm <RETURN>half"}"#;
    let second = r#"{"at": {"event": "join:3"}, "do": "submit", "thread": "3", "text": " whole"}
        {"at": {"event": "ask:answer"}, "do": "approve"}"#;
    let straight = play(&script, config(), &format!("{first}\n{second}"));
    assert_eq!(straight.org().end, Some(RunEnd::Answered));
    for step in 5..19 {
        let file = folder.path().join(format!("{step}.jsonl"));
        let stop = format!("{first}\n{{\"at\": {{\"step\": {step}}}, \"do\": \"interrupt\"}}");
        go(&script, fresh(config()), &file, &stop);
        let on = go(&script, Start::Resumed(file.clone()), &file, second);
        assert_eq!(on.org().end, Some(RunEnd::Answered), "step {step}");
        for id in ["organizer", "1", "3"] {
            assert_eq!(on.text(id), straight.text(id), "{id}, step {step}");
        }
        assert_eq!(on.text("2"), "<RETURN>t</RETURN>");
    }
}

#[test]
fn a_board_and_a_request_survive_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    go(
        &two_forks(),
        fresh(planned()),
        &file,
        r#"{"at": {"event": "ask:plan"}, "do": "plan_add", "query": "mine"}
           {"do": "interrupt"}"#,
    );
    let on = go(
        &two_forks(),
        Start::Resumed(file.clone()),
        &file,
        r#"{"do": "plan_release"}"#,
    );
    assert_eq!(on.org().end, Some(RunEnd::Answered));
    assert_eq!(on.org().threads().len(), 4);
    assert!(
        on.text("organizer")
            .ends_with("<JOIN-2>r</JOIN-2><FORK-3>mine</FORK-3> so<ANSWER>x</ANSWER>")
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 24,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    #[test]
    fn no_token_is_lost_or_doubled_through_seat_changes(
        changes in proptest::collection::vec((1u64..30, 0usize..3, "[a-z< ]{0,6}", 0u64..4), 0..12),
    ) {
        let names = ["organizer", "1", "2"];
        let mut tokens = vec!["<FORK-1>q</FORK-1>", "<FORK-2>q</FORK-2>"];
        tokens.extend(words(8));
        tokens.extend(["<JOIN-1>", "<JOIN-2>", " so", "<ANSWER>x</ANSWER>"]);
        let script = [line("organizer", &tokens), worker("1", 20), worker("2", 14)];
        let straight = play(&script, config(), "");
        let mut orders = Vec::new();
        let mut due: Vec<_> = changes.iter().collect();
        due.sort_by_key(|(step, ..)| *step);
        for (step, who, text, longer) in due {
            let id = names[*who];
            orders.push(format!(
                "{{\"at\": {{\"step\": {step}}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"human\"}}\n\
                 {{\"do\": \"text\", \"thread\": \"{id}\", \"text\": \"{text}\"}}\n\
                 {{\"at\": {{\"step\": {}}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"model\"}}",
                step + longer
            ));
        }
        // Whoever still holds a seat when nothing decodes gives it back.
        for id in names {
            orders.push(format!(
                "{{\"at\": {{\"step\": 34}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"model\"}}"
            ));
        }
        let r = play(&script, config(), &orders.join("\n"));
        for id in names {
            let (got, want) = (r.ids(id), straight.ids(id));
            proptest::prop_assert!(want.starts_with(&got), "{id}: {got:?}");
            if !r.finished.stuck {
                proptest::prop_assert_eq!(got, want);
            }
        }
        let last: BTreeMap<_, _> = r.events.iter().filter_map(|e| match &e.body {
            Body::Splice { splice: SpliceKind::Text, bytes, .. } => Some((e.seq, bytes.0.len())),
            _ => None,
        }).collect();
        let written: usize = last.values().sum();
        let done = r.org().commands.iter().filter(|c| c.command.name() == "text"
            && c.outcome == Some(orgtop::org::Outcome::Done));
        let asked: usize = done.map(|c| match &c.command {
            orgtop::org::Command::Text { text, .. } => text.len(),
            _ => 0,
        }).sum();
        proptest::prop_assert_eq!(written, asked);
    }
}

/// The model inside the binary on one instance, at temperature 1.
fn embedded_run(orders: &str) -> Run {
    use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
    let task = orgtop::task::Task::parse("countdown 12 6 5 4 = 14", 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let handle = launch(Plan {
        open: Box::new(|| {
            let engine = EngineThread::spawn("engine", || embedded::open(&Options::default()))?;
            Ok(Box::new(engine))
        }),
        start: fresh(RunConfig {
            query: task.query(),
            task: Some(task.to_string()),
            sampling: Sampling {
                temperature: 1.0,
                top_p: None,
                seed: 7,
                ..Sampling::default()
            },
            ..config()
        }),
        file: Some(file.clone()),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: toolbox(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox = Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    let run = Run {
        finished,
        events: mailbox.take().events,
    };
    agrees(&run, &file);
    run
}

#[test]
fn pausing_and_taking_seats_25_times_changes_no_token_of_the_embedded_model() {
    let straight = embedded_run("");
    let ids: Vec<String> = straight.org().threads().map(|t| t.id.to_string()).collect();
    let place = |i: u64| format!("{{\"at\": {{\"step\": {}}}, ", 3 + 2 * i);
    let paused: String = (0..25)
        .map(|i| format!("{}\"do\": \"pause\"}}\n{{\"do\": \"resume\"}}\n", place(i)))
        .collect();
    let seat =
        |to: &str| format!("\"do\": \"seat\", \"thread\": \"organizer\", \"to\": \"{to}\"}}\n");
    let taken: String = (0..25)
        .map(|i| format!("{}{}{{{}", place(i), seat("human"), seat("model")))
        .collect();
    for orders in [paused, taken] {
        let r = embedded_run(&orders);
        assert_eq!(r.outcomes().len(), 50);
        assert!(r.outcomes().iter().all(|o| o.ends_with("Done")));
        for id in &ids {
            assert_eq!(r.ids(id), straight.ids(id), "{id}");
        }
        assert_eq!(r.org().metrics().latency, straight.org().metrics().latency);
    }
}

#[test]
fn undo_takes_a_seat_back_with_everything_that_was_written_in_it() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(6));
    tokens.extend(["<JOIN-1>", "<ANSWER>x</ANSWER>"]);
    let r = play(
        &[line("organizer", &tokens), worker("1", 12)],
        config(),
        r#"{"at": {"step": 4}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": "<FORK-2>mine</FORK-2>"}
           {"do": "undo"}
           {"do": "undo"}"#,
    );
    assert!(
        r.outcomes().iter().all(|o| o.ends_with("Done")),
        "{:?}",
        r.outcomes()
    );
    let organizer = r.org().thread("organizer".parse().unwrap()).unwrap();
    assert_eq!(
        (organizer.seat.clone(), organizer.writing.len()),
        (Seat::Model, 0)
    );
    assert!(r.org().thread("2".parse().unwrap()).is_none());
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(r.org().metrics().latency_without_people, None);
}

fn any_command() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let thread = || proptest::sample::select(vec!["organizer", "1", "2", "1~2", "3", "9"]);
    let seat = || proptest::sample::select(vec!["model", "human", "tool:cat", "tool:none"]);
    let text = || {
        proptest::sample::select(vec![
            "",
            " hm",
            "<FORK-3>by hand</FORK-3>",
            "<FORK-4>",
            "</FORK-4>",
            "<JOIN-1>",
            "<JOIN-7>",
            "<RETURN>",
            "</RETURN>",
            "<ANSWER>",
        ])
    };
    prop_oneof![
        3 => (thread(), seat()).prop_map(|(t, s)| format!(r#""do": "seat", "thread": "{t}", "to": "{s}""#)),
        3 => (thread(), text()).prop_map(|(t, x)| format!(r#""do": "text", "thread": "{t}", "text": "{x}""#)),
        2 => (thread(), text()).prop_map(|(t, x)| format!(r#""do": "submit", "thread": "{t}", "text": "{x}""#)),
        2 => thread().prop_map(|t| format!(r#""do": "retry", "thread": "{t}""#)),
        2 => thread().prop_map(|t| format!(r#""do": "kill", "thread": "{t}""#)),
        1 => thread().prop_map(|t| format!(r#""do": "wrap_up", "thread": "{t}""#)),
        1 => thread().prop_map(|t| format!(r#""do": "join", "thread": "{t}""#)),
        2 => (text(), seat()).prop_map(|(q, s)| format!(r#""do": "fork", "query": "{q}", "seat": "{s}""#)),
        1 => Just(r#""do": "pause""#.to_owned()),
        1 => Just(r#""do": "resume""#.to_owned()),
        1 => Just(r#""do": "step""#.to_owned()),
        1 => Just(r#""do": "answer""#.to_owned()),
        1 => Just(r#""do": "undo""#.to_owned()),
        1 => Just(r#""do": "redo""#.to_owned()),
        3 => Just(r#""do": "approve""#.to_owned()),
        1 => text().prop_map(|x| format!(r#""do": "approve", "text": "{x}""#)),
        2 => Just(r#""do": "deny", "reason": "no""#.to_owned()),
        1 => text().prop_map(|q| format!(r#""do": "plan_add", "query": "{q}""#)),
        1 => (1u32..5, text()).prop_map(|(d, q)| format!(r#""do": "plan_edit", "draft": {d}, "query": "{q}""#)),
        1 => (1u32..5).prop_map(|d| format!(r#""do": "plan_drop", "draft": {d}"#)),
        1 => (1u32..5, 0u32..5).prop_map(|(d, t)| format!(r#""do": "plan_move", "draft": {d}, "to": {t}"#)),
        2 => Just(r#""do": "plan_release""#.to_owned()),
    ]
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 200,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    /// No panic, no command without an effect, a file that agrees with itself and folds to the same state, no
    /// more workers than slots.
    #[test]
    fn every_command_in_every_state_has_an_effect_or_is_refused(
        commands in proptest::collection::vec((0u64..24, any_command()), 1..24),
        capacity in 1u32..5,
        plan in proptest::prelude::any::<bool>(),
        ask in proptest::sample::subsequence(vec![AskKind::Fork, AskKind::Answer, AskKind::Tool], 0..=3),
        human in proptest::prelude::any::<bool>(),
    ) {
        let mut tokens = vec!["<FORK-", "1>q</FORK-1>", "<FORK-2>q</FORK-2> w<JOIN-2>"];
        tokens.extend(words(4));
        tokens.extend(["<JOIN-1>", " so", "<ANSWER>", "x", "</ANSWER>", " w", " w"]);
        let mut script = vec![line("organizer", &tokens)];
        script.extend(["1", "2", "3", "1"].map(|id| worker(id, 8)));
        let orders: Vec<String> = commands
            .iter()
            .map(|(step, command)| format!("{{\"at\": {{\"step\": {step}}}, {command}}}"))
            .collect();
        let config = RunConfig {
            capacity: Some(capacity),
            plan,
            ask,
            ..seats(if human { &[("2", "human")] } else { &[("2", "tool:cat")] })
        };
        let r = play(&script, config, &orders.join("\n"));
        for command in &r.org().commands {
            proptest::prop_assert!(command.outcome.is_some(), "{command:?}");
        }
        proptest::prop_assert!(r.org().active_workers() < capacity.max(1) as usize);
        proptest::prop_assert!(r.org().end.is_some());
    }
}

#[test]
fn a_run_without_an_answer_gets_one_from_a_person_who_takes_the_organizer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let script = [
        line(
            "organizer",
            &["so ", "<FORK-1>q</FORK-1>", "<JOIN-1>", " and", " that"],
        ),
        line("1", &["one ", "<RETURN>1</RETURN>"]),
    ];
    let orders = r#"{"at": {"event": "error:NoAnswer"}, "do": "seat", "thread": "organizer", "to": "human"}
        {"do": "text", "thread": "organizer", "text": " is "}
        {"do": "submit", "thread": "organizer", "text": "42"}"#;
    let run = go(&script, fresh(config()), &file, orders);
    assert_eq!(run.org().end, Some(RunEnd::Answered));
    assert_eq!(run.org().answer.as_deref(), Some("42"));
    // The line on which there was none stays in the file.
    let branches = run.org().branches();
    assert_eq!(branches.len(), 2);
    let left = branches[0].left.as_ref().unwrap();
    assert_eq!((left.end, &left.answer), (Some(RunEnd::NoAnswer), &None));
    assert!(run.org().errors.is_empty());
}

#[test]
fn a_run_that_has_its_answer_is_over_for_whoever_would_organize() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let script = [line("organizer", &["so ", "<ANSWER>1</ANSWER>"])];
    let orders =
        r#"{"at": {"event": "answer"}, "do": "seat", "thread": "organizer", "to": "human"}"#;
    let run = go(&script, fresh(config()), &file, orders);
    assert_eq!(run.org().answer.as_deref(), Some("1"));
    assert_eq!(run.org().branches().len(), 1);
}
