//! A sub-query once more: retried, or killed and forked again.

use super::*;

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
