//! Places at which a run stops by itself.

use crate::harness::{Run, config, line, run, words};
use orgtop::org::{Author, Body, RunEnd};

fn script() -> Vec<String> {
    let mut organizer = words(3);
    organizer.extend([
        "<FORK-1>q</FORK-1>",
        " w",
        "<JOIN-1>",
        " so",
        "<ANSWER>",
        "x",
        "</ANSWER>",
    ]);
    let mut worker = words(4);
    worker.extend(["<RET", "URN>it is wr", "ong</RETURN>"]);
    vec![line("organizer", &organizer), line("1", &worker)]
}

/// Stops at `spec`, marks where that is, and goes on.
fn stopped(spec: &str) -> Run {
    let orders = format!(
        r#"{{"do": "break", "on": "{spec}"}}
           {{"at": {{"event": "break:{spec}"}}, "do": "mark", "name": "here"}}
           {{"do": "resume"}}"#
    );
    run(&script(), config(), &orders)
}

/// The step at which it stopped, and what the mark says.
fn place(run: &Run) -> (u64, String) {
    let marks = &run.org().marks;
    assert_eq!(marks[1].name, "here", "stopped and waited: {marks:?}");
    (marks[0].at.step.0, marks[0].name.clone())
}

#[test]
fn every_kind_stops_where_it_happens_and_the_run_ends_as_without() {
    for (spec, step, whose) in [
        ("fork", 4, ", organizer"),
        ("fork:1", 4, ", organizer"),
        ("join", 6, ", organizer"),
        ("return", 11, ", 1"),
        ("answer", 13, ", organizer"),
        ("step:8", 8, ""),
        ("tokens:5", 10, ", 1"),
        ("tokens@organizer:1", 2, ", organizer"),
        ("text:wr[o]ng", 11, ", 1"),
    ] {
        let r = stopped(spec);
        assert_eq!(
            place(&r),
            (step, format!("breakpoint {spec}{whose}")),
            "{spec}"
        );
        assert_eq!(r.org().end, Some(RunEnd::Answered), "{spec}");
        assert_eq!(r.tokens("organizer"), 10, "{spec}");
        assert_eq!(
            r.outcomes(),
            ["break Done", "pause Done", "mark Done", "resume Done"],
            "{spec}"
        );
    }
}

#[test]
fn an_error_stops_the_run_and_another_kind_does_not() {
    let script = [line(
        "organizer",
        &[" w", "<JOIN-3>", " w", "<ANSWER>x</ANSWER>"],
    )];
    let orders = |spec: &str| {
        format!(
            r#"{{"do": "break", "on": "{spec}"}}
               {{"at": {{"event": "break"}}, "do": "resume"}}"#
        )
    };
    let r = run(&script, config(), &orders("error:JoinUnknown"));
    assert_eq!(r.outcomes(), ["break Done", "pause Done", "resume Done"]);
    let r = run(&script, config(), &orders("error:JoinTwice"));
    assert_eq!(r.outcomes(), ["break Done", "resume Unfired"]);
}

#[test]
fn the_mark_names_the_command_that_set_the_breakpoint() {
    let r = stopped("join");
    let asked = r
        .events
        .iter()
        .find(|e| matches!(e.body, Body::Command { .. }))
        .unwrap();
    let mark = r
        .events
        .iter()
        .find(|e| matches!(e.body, Body::Mark { .. }))
        .unwrap();
    assert_eq!((mark.cause, &mark.by), (Some(asked.seq), &Author::System));
}

#[test]
fn switched_off_and_deleted_ones_stop_nothing() {
    for set in ["off", "deleted"] {
        let orders = format!(
            r#"{{"do": "break", "on": "fork"}}
               {{"do": "break", "on": "fork", "set": "{set}"}}
               {{"do": "break", "on": "join", "set": "{set}"}}"#
        );
        let r = run(&script(), config(), &orders);
        assert_eq!(r.org().end, Some(RunEnd::Answered));
        assert_eq!(r.org().breakpoints.len(), usize::from(set == "off"));
        assert!(r.outcomes()[2].contains("there is no breakpoint join"));
        assert!(r.org().marks.is_empty());
    }
}

#[test]
fn nobody_to_say_resume_leaves_a_session_that_can_go_on() {
    let r = run(&script(), config(), r#"{"do": "break", "on": "return"}"#);
    assert!(r.finished.stuck);
    assert_eq!(r.org().end, Some(RunEnd::Interrupted));
    assert_eq!(r.org().stopped_at.len(), 1);
}

#[test]
fn going_back_keeps_the_breakpoints_and_meets_them_again() {
    let orders = r#"{"do": "break", "on": "step:7"}
        {"at": {"event": "break"}, "do": "resume"}
        {"at": {"step": 9}, "do": "branch", "step": 5}
        {"at": {"branch": 1, "step": 7}, "do": "mark", "name": "again"}
        {"do": "resume"}"#;
    let r = run(&script(), config(), orders);
    let marks: Vec<&str> = r.org().marks.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(marks, ["breakpoint step:7", "again"]);
    assert_eq!(r.org().breakpoints.len(), 1);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}
