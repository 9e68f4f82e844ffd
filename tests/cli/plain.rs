//! Steering without a screen: commands as lines on standard input.

use crate::harness::{Place, finish};
use std::io::Write;
use std::process::Stdio;

const FOR_EVER: &str = r#"{"thread": "organizer", "text": "on and ", "split": "word", "repeat": true, "tokens_per_s": 200}"#;

/// What `orgtop run --plain` prints when `lines` come on standard input, which then ends.
fn plain(place: &Place, lines: &str) -> String {
    place.write("ever.jsonl", FOR_EVER);
    let mut command = place.command(&[
        "run",
        "--plain",
        "--script",
        "ever.jsonl",
        "--record",
        "s.jsonl",
        "q",
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_line_is_answered_in_order() {
    let place = Place::new();
    let printed = plain(
        &place,
        "pause\nstep\n\nfork count to seven\nkill 9\ndance\nset guard on\nbreak fork\nabort\n",
    );
    for expected in [
        "pause: done",
        "asked: step",
        "kill: refused: there is no worker 9",
        "refused: `dance` is no command; expected one of pause",
        "set: done",
        "break: done",
        "abort: done",
        "the run is over: aborted",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert_eq!(place.orgtop(&["verify", "s.jsonl"]).code, Some(0));
}

#[test]
fn a_run_that_stands_still_ends_when_nobody_can_speak_any_more() {
    let printed = plain(&Place::new(), "pause\n");
    assert!(
        printed.contains("the run is over: interrupted"),
        "{printed}"
    );
}

#[test]
fn the_schema_names_every_command_with_a_line_that_it_takes() {
    let place = Place::new();
    let done = finish(place.command(&["commands", "--json"]));
    let rows = done.object();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 25);
    for row in rows {
        assert_eq!(row["do"], row["json"]["do"], "{row}");
        assert!(
            row["line"]
                .as_str()
                .unwrap()
                .starts_with(row["do"].as_str().unwrap())
        );
    }
}

#[test]
fn the_help_of_run_names_every_command() {
    let place = Place::new();
    let help = place.orgtop(&["help", "run"]).stdout;
    for form in orgtop::org::COMMANDS {
        let command = form.json().to_string();
        // Lines of the help are broken at spaces.
        let first = command.split(' ').next().unwrap();
        assert!(help.contains(first), "{command}");
    }
}
