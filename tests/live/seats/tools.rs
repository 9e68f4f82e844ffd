//! Programs in seats.

use super::*;

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
