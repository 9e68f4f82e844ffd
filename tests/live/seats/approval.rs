//! What waits for a person's word.

use super::*;

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
