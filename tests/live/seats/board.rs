//! The board of drafts.

use super::*;

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
