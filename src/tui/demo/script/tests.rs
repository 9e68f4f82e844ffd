use super::*;
use crate::org::{COMMANDS, ThreadId};

fn one(text: &str) -> Line {
    let script = Script::parse(text, "d").unwrap();
    assert_eq!(script.lines.len(), 1, "{text}");
    script.lines[0].1.clone()
}

#[test]
fn lines_are_waits_keys_text_captions_and_commands() {
    let seconds = |s| Some(Duration::from_secs(s));
    let go_on = keys(GO_ON.into_iter()).unwrap();
    let both = |keys: &[Key], time| Line::Wait {
        keys: keys.to_vec(),
        time,
    };
    assert_eq!(one("wait 2s"), both(&[], seconds(2)));
    assert_eq!(one("wait 1m"), both(&[], seconds(60)));
    assert_eq!(one("wait key"), both(&go_on, None));
    assert_eq!(one("wait 5s or key"), both(&go_on, seconds(5)));
    let n = parse_key("n").unwrap();
    assert_eq!(one("wait key n"), both(&[n], None));
    assert_eq!(one("key n ctrl-s"), {
        Line::Keys(vec![n, parse_key("ctrl-s").unwrap()])
    });
    assert_eq!(one("type a  b"), Line::Type("a  b".into()));
    assert_eq!(one("say one\n  two\n\tthree"), {
        Line::Say("one two three".into())
    });
    assert_eq!(one("say"), Line::Say(String::new()));
    let kill = Command::Kill {
        thread: ThreadId::worker(2).unwrap(),
    };
    assert_eq!(one("kill 2"), Line::Ask(kill.clone()));
    assert_eq!(
        one(r#"{"do": "kill", "thread": "2"}"#),
        Line::Ask(kill.clone())
    );
    assert_eq!(
        one("until return 2 within 20s"),
        Line::Until {
            what: Condition::parse("return 2").unwrap(),
            within: seconds(20)
        }
    );
    assert_eq!(
        one("unless return 2: kill 2"),
        Line::Unless {
            what: Condition::parse("return 2").unwrap(),
            then: Box::new(Line::Ask(kill))
        }
    );
}

#[test]
fn the_example_that_ships_is_one() {
    let text = include_str!("../../../../examples/talk.demo");
    let script = Script::parse(text, "talk.demo").unwrap();
    assert!(script.captions().count() >= 5);
}

#[test]
fn no_command_has_the_name_of_something_else_that_a_demo_does() {
    for form in COMMANDS {
        assert!(matches!(one(form.example), Line::Ask(_)), "{}", form.name);
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_what_was_expected() {
    for (text, line, why) in [
        ("say a\n\n# b\ndance", 4, "expected say, wait, until"),
        ("wait", 1, "expected a time, `key`"),
        ("wait soon", 1, "`soon` is no time like 2s"),
        ("wait 2s or tea", 1, "`tea` is not `key`"),
        ("wait 2h", 1, "no time like 2s"),
        ("wait 61m", 1, "longer than an hour"),
        ("wait -1s", 1, "no time like 2s"),
        ("key", 1, "expected keys"),
        ("key hyper-x", 1, "`hyper-x` is not a key"),
        ("type", 1, "expected text"),
        ("until sneeze", 1, "expected one like `fork 1`"),
        ("until fork 1 within now", 1, "no time like 2s"),
        ("unless fork 1", 1, "a colon and what to do then"),
        ("say a\n  b\nunless fork 1: dance", 3, "expected say, wait"),
        ("kill", 1, "thread is missing; expected `kill THREAD`"),
    ] {
        let error = Script::parse(text, "d.demo").unwrap_err();
        assert_eq!(error.line, line, "{text}");
        let message = error.to_string();
        assert!(message.starts_with("d.demo, line "), "{message}");
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn a_faster_pace_shortens_what_takes_time() {
    let mut script = Script::parse(
        "speed 10\nspeed 0\nwait 10s or key\nunless over: until fork 1 within 1s\nkey x",
        "d",
    )
    .unwrap();
    script.hasten(10.0);
    let faster = Script::parse(
        "speed 100\nspeed 0\nwait 1s or key\nunless over: until fork 1 within 100ms\nkey x",
        "d",
    );
    assert_eq!(Ok(script), faster);
}

#[test]
fn what_it_begins_with_is_asked_before_the_first_step() {
    let mut script = Script::parse("pause\nspeed 5\nsay a\nstep", "d").unwrap();
    assert_eq!(script.steers(), Some((1, "pause")));
    let names: Vec<_> = script.take_opening().iter().map(Command::name).collect();
    assert_eq!(names, ["pause", "speed"]);
    assert_eq!(script.lines.len(), 2);
}
