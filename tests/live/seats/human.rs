//! People in seats: what they write acts like decoded text, and costs steps.

use super::*;

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
