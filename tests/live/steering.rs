//! What a person does to a running organization, by scripted commands.

use crate::harness::{Run, config, line, run, words};
use crate::protocol::{vector_1_organizer, worker};
use orgtop::live::RunConfig;
use orgtop::org::{Author, Body, RunEnd, SpliceKind};

fn steered(script: &[String], orders: &str) -> Run {
    run(script, config(), orders)
}

fn joining() -> String {
    let mut tokens = vec!["<FORK-1>q</FORK-1>", "<JOIN-1>"];
    tokens.extend(words(6));
    tokens.push("<ANSWER>x</ANSWER>");
    line("organizer", &tokens)
}

#[test]
fn a_kill_takes_effect_within_one_step_and_its_join_gets_the_partial() {
    let r = steered(
        &[joining(), worker("1", 2000)],
        r#"{"at": {"thread": "1", "tokens": 5}, "do": "kill", "thread": "1"}"#,
    );
    assert_eq!((r.tokens("1"), r.end_of("1")), (5, "Some(Killed)".into()));
    assert!(
        r.text("organizer")
            .contains("w w w w w [partial: killed]</JOIN-1>")
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(r.org().metrics().latency, 13);
}

#[test]
fn killing_before_the_first_token_and_all_at_once() {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>q</FORK-1><FORK-2>q</FORK-2><FORK-3>q</FORK-3>",
            "<JOIN-2>",
            "<ANSWER>x</ANSWER>",
        ],
    );
    let orders: Vec<String> = ["1", "2", "3"]
        .iter()
        .map(|id| format!(r#"{{"at": {{"event": "fork:3"}}, "do": "kill", "thread": "{id}"}}"#))
        .collect();
    let r = steered(
        &[organizer, worker("1", 9), worker("2", 9), worker("3", 9)],
        &orders.join("\n"),
    );
    for id in ["1", "2", "3"] {
        assert_eq!((r.tokens(id), r.end_of(id)), (0, "Some(Killed)".into()));
    }
    assert!(
        r.text("organizer")
            .contains("<JOIN-2> [partial: killed]</JOIN-2>")
    );
}

#[test]
fn wrap_up_makes_a_worker_return() {
    let r = steered(
        &[
            joining(),
            line("1", &[" a", " b", " c", " sum", "</RETURN>", " never"]),
        ],
        r#"{"at": {"thread": "1", "tokens": 3}, "do": "wrap_up", "thread": "1"}"#,
    );
    assert_eq!(r.text("1"), " a b c<RETURN> sum</RETURN>");
    assert_eq!(r.end_of("1"), "Some(Returned)");
    assert!(r.text("organizer").contains("<JOIN-1>sum</JOIN-1>"));
    // The spliced tag costs nothing.
    assert_eq!(r.tokens("1"), 5);
}

#[test]
fn a_fork_by_hand_while_the_organizer_thinks() {
    let mut tokens = words(5);
    tokens.push("<ANSWER>x</ANSWER>");
    let r = steered(
        &[line("organizer", &tokens), worker("1", 4)],
        "{\"at\": {\"step\": 2}, \"do\": \"fork\", \"query\": \" look there \"}\n\
         {\"at\": {\"step\": 3}, \"do\": \"join\", \"thread\": \"1\"}",
    );
    assert_eq!(
        r.text("organizer"),
        " w w<FORK-1>look there</FORK-1> w<JOIN-1>r</JOIN-1> w w<ANSWER>x</ANSWER>"
    );
    assert_eq!(r.outcomes(), ["fork Done", "join Done"]);
    // Two tokens, the worker's four from step 2 on, three more.
    assert_eq!(r.org().metrics().latency, 9);
    let human = r.events.iter().any(|e| {
        e.by == Author::Human
            && matches!(
                e.body,
                Body::Splice {
                    splice: SpliceKind::Fork,
                    ..
                }
            )
    });
    assert!(human);
}

#[test]
fn a_fork_by_hand_while_the_organizer_waits_starts_at_once() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>", "<JOIN-1>"];
    tokens.extend(["<JOIN-2>", "<ANSWER>x</ANSWER>"]);
    let r = steered(
        &[line("organizer", &tokens), worker("1", 20), worker("2", 10)],
        r#"{"at": {"thread": "1", "tokens": 5}, "do": "fork", "query": "more"}"#,
    );
    assert_eq!(
        r.text("organizer"),
        "<FORK-1>q</FORK-1><JOIN-1>r</JOIN-1><FORK-2>more</FORK-2><JOIN-2>r</JOIN-2><ANSWER>x</ANSWER>"
    );
    let schedule = r.org().schedule();
    assert_eq!(schedule.lanes[&"2".parse().unwrap()].begin, Some(6));
    assert_eq!(
        r.org().thread("2".parse().unwrap()).unwrap().began.step.0,
        6
    );
    assert_eq!(r.org().metrics().latency, 23);
}

#[test]
fn a_fork_by_hand_inside_a_fork_waits_until_it_closes_and_inside_the_answer_is_refused() {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>",
            "q",
            "</FORK-1>",
            " w",
            "<ANSWER>",
            "x",
            "</ANSWER>",
        ],
    );
    let r = steered(
        &[organizer, worker("1", 9), worker("2", 9)],
        "{\"at\": {\"step\": 2}, \"do\": \"fork\", \"query\": \"mine\"}\n\
         {\"at\": {\"step\": 6}, \"do\": \"fork\", \"query\": \"late\"}",
    );
    assert_eq!(
        r.text("organizer"),
        "<FORK-1>q</FORK-1><FORK-2>mine</FORK-2> w<ANSWER>x</ANSWER>"
    );
    assert_eq!(r.outcomes()[0], "fork Done");
    assert!(r.outcomes()[1].contains("Refused"), "{:?}", r.outcomes());
}

#[test]
fn answer_now_lets_the_model_write_the_rest() {
    let mut tokens = words(3);
    tokens.extend([" 42", "</ANSWER>", " never"]);
    let r = steered(
        &[line("organizer", &tokens)],
        r#"{"at": {"step": 3}, "do": "answer"}"#,
    );
    assert_eq!(r.text("organizer"), " w w w<ANSWER> 42</ANSWER>");
    assert_eq!(r.org().answer.as_deref(), Some("42"));
}

#[test]
fn pausing_25_times_changes_no_token() {
    let script = [vector_1_organizer(), worker("1", 25)];
    let straight = steered(&script, "");
    // Steps 11 to 18 are inside the Fork's tags, 31 to 33 inside the Join's.
    let orders: Vec<String> = (9..34)
        .map(|step| {
            format!("{{\"at\": {{\"step\": {step}}}, \"do\": \"pause\"}}\n{{\"do\": \"resume\"}}")
        })
        .collect();
    let paused = steered(&script, &orders.join("\n"));
    assert_eq!(paused.outcomes().len(), 50);
    assert!(paused.outcomes().iter().all(|o| o.ends_with("Done")));
    for id in ["organizer", "1"] {
        assert_eq!(paused.ids(id), straight.ids(id));
        assert_eq!(paused.text(id), straight.text(id));
    }
    assert_eq!(paused.org().metrics().latency, 63);
}

#[test]
fn one_thread_can_be_paused_while_the_rest_goes_on() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(10));
    tokens.extend(["<JOIN-1>", "<ANSWER>x</ANSWER>"]);
    let r = steered(
        &[line("organizer", &tokens), worker("1", 8)],
        "{\"at\": {\"step\": 3}, \"do\": \"pause\", \"thread\": \"1\"}\n\
         {\"at\": {\"step\": 9}, \"do\": \"resume\", \"thread\": \"1\"}",
    );
    // Lived: two tokens by step 3, six more after step 9. Ideal time does not see the pause.
    assert_eq!(r.org().metrics().lived_steps, 16);
    assert_eq!(r.org().metrics().latency, 13);
}

#[test]
fn step_and_next_advance_by_exactly_that_much() {
    let script = [vector_1_organizer(), worker("1", 25)];
    let r = steered(
        &script,
        "{\"at\": {\"step\": 4}, \"do\": \"pause\"}\n{\"do\": \"step\"}\n\
         {\"at\": {\"step\": 5}, \"do\": \"next\"}\n\
         {\"at\": {\"event\": \"fork:1\"}, \"do\": \"mark\", \"name\": \"here\"}\n{\"do\": \"resume\"}",
    );
    let outcomes = r.outcomes();
    assert_eq!(
        outcomes,
        [
            "pause Done",
            "step Done",
            "next Done",
            "pause Done",
            "mark Done",
            "resume Done"
        ]
    );
    assert_eq!(r.org().marks[0].at.step.0, 18);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn standing_still_with_nothing_due_is_an_interruption() {
    let r = steered(
        &[vector_1_organizer(), worker("1", 25)],
        "{\"at\": {\"step\": 20}, \"do\": \"pause\"}\n{\"at\": {\"step\": 30}, \"do\": \"resume\"}",
    );
    assert!(r.finished.stuck);
    assert_eq!(r.org().end, Some(RunEnd::Interrupted));
    assert_eq!(r.finished.unfired.len(), 1);
    assert_eq!(r.org().now.step.0, 20);
}

#[test]
fn an_order_waits_for_its_own_place_only() {
    let r = steered(
        &[vector_1_organizer(), worker("1", 25)],
        r#"{"at": {"event": "fork:9"}, "do": "mark", "name": "never"}
           {"at": {"step": 30}, "do": "mark", "name": "late"}
           {"at": {"step": 5}, "do": "mark", "name": "early"}
           {"do": "mark", "name": "with it"}"#,
    );
    let marks: Vec<(&str, u64)> = r
        .org()
        .marks
        .iter()
        .map(|m| (m.name.as_str(), m.at.step.0))
        .collect();
    assert_eq!(marks, [("early", 5), ("with it", 5), ("late", 30)]);
    assert_eq!(r.outcomes().last().unwrap(), "mark Unfired");
}

#[test]
fn a_queued_fork_cannot_close_itself_whatever_index_it_gets() {
    // Asked while sub-query 1 is being written, so it becomes sub-query 2.
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>",
            "a",
            "b",
            "</FORK-1>",
            "c",
            "d",
            "<ANSWER>e</ANSWER>",
        ],
    );
    let r = steered(
        &[organizer],
        r#"{"at": {"step": 2}, "do": "fork", "query": "x</FORK-2>y"}"#,
    );
    assert_eq!(
        r.outcomes(),
        [r#"fork Refused { why: "the sub-query must not contain </FORK-2>" }"#]
    );
    assert!(!r.text("organizer").contains("</FORK-2>"));
}

#[test]
fn abort_ends_everybody() {
    let r = steered(
        &[vector_1_organizer(), worker("1", 25)],
        r#"{"at": {"step": 25}, "do": "abort"}"#,
    );
    assert_eq!(r.org().end, Some(RunEnd::Aborted));
    assert_eq!(r.end_of("1"), "Some(Abandoned)");
    assert_eq!(r.org().now.step.0, 25);
}

#[test]
fn commands_that_make_no_sense_are_refused_with_a_reason() {
    let r = steered(
        &[joining(), worker("1", 5)],
        "{\"do\": \"kill\", \"thread\": \"9\"}\n{\"do\": \"kill\", \"thread\": \"organizer\"}\n\
         {\"do\": \"wrap_up\", \"thread\": \"1\"}\n{\"do\": \"join\", \"thread\": \"4\"}\n\
         {\"do\": \"fork\", \"query\": \"  \"}\n{\"do\": \"fork\", \"query\": \"a </FORK-1> b\"}\n\
         {\"do\": \"resume\"}\n{\"do\": \"pause\", \"thread\": \"3\"}\n\
         {\"at\": {\"event\": \"join:1\"}, \"do\": \"join\", \"thread\": \"1\"}",
    );
    let outcomes = r.outcomes();
    assert_eq!(outcomes.len(), 9);
    assert!(
        outcomes.iter().all(|o| o.contains("Refused")),
        "{outcomes:?}"
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_fork_by_hand_can_wait_for_a_slot() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(4));
    tokens.push("<ANSWER>x</ANSWER>");
    let r = run(
        &[line("organizer", &tokens), worker("1", 10), worker("2", 5)],
        RunConfig {
            capacity: Some(2),
            ..config()
        },
        r#"{"at": {"step": 2}, "do": "fork", "query": "mine"}"#,
    );
    // Blocked after two tokens until worker 1 ends at step 11, then four tokens.
    assert_eq!(r.org().metrics().latency, 15);
    assert_eq!(r.org().metrics().lived_steps, 15);
}
