//! Files that are missing, damaged, of another kind, or in the way.

use crate::harness::{Place, finish, script, vector_1};
use std::process::Command;

fn recorded(place: &Place) -> String {
    place.write("v1.jsonl", vector_1());
    let done = place.orgtop(&[
        "run",
        "--headless",
        "--script",
        "v1.jsonl",
        "--record",
        "good.jsonl",
        "q",
    ]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    place.read("good.jsonl")
}

fn pipe(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.path(name)).status();
    assert!(made.unwrap().success());
}

#[test]
fn files_that_are_no_session_fail_with_their_name_and_a_reason() {
    let place = Place::new();
    let good = recorded(&place);
    place.write("empty.jsonl", "");
    place.write(
        "noise.jsonl",
        [0xff, 0x00, 0x1b, b'[', b'2', b'J', b'\n'].repeat(99),
    );
    place.write("half-header.jsonl", &good.as_bytes()[..100]);
    std::fs::create_dir(place.path("folder.jsonl")).unwrap();
    pipe(&place, "pipe.jsonl");
    for (name, reason) in [
        ("missing.jsonl", "No such file"),
        ("empty.jsonl", "0 bytes"),
        ("noise.jsonl", "not a session"),
        ("half-header.jsonl", "bad header"),
        ("folder.jsonl", "is a folder"),
        ("pipe.jsonl", "is a pipe"),
    ] {
        for verb in ["inspect", "verify", "replay", "resume", "recover"] {
            let mut arguments = vec![verb, name];
            if verb == "resume" {
                arguments.extend(["--headless", "--script", "v1.jsonl"]);
            }
            let done = place.orgtop(&arguments);
            assert_eq!(done.code, Some(1), "{verb} {name}");
            assert!(
                done.stderr.contains(name) && done.stderr.contains(reason),
                "{verb} {name}: {}",
                done.stderr
            );
            assert!(!done.stderr.contains('\u{1b}'), "{verb} {name}");
        }
    }
}

#[test]
fn damage_is_always_told_and_the_rest_is_shown() {
    let place = Place::new();
    let good = recorded(&place);
    let mut lines: Vec<&str> = good.lines().collect();
    lines[5] = "{\"garbage";
    place.write("middle.jsonl", lines.join("\n"));
    place.write("torn.jsonl", &good.as_bytes()[..good.len() - 30]);
    let newer = good.replacen("\"major\":1", "\"major\":9", 1);
    place.write("newer.jsonl", newer);
    for (name, told) in [
        ("middle.jsonl", "line 6"),
        ("torn.jsonl", "torn"),
        ("newer.jsonl", "newer than this program's"),
    ] {
        for verb in ["inspect", "replay", "simulate"] {
            let done = place.orgtop(&[verb, name]);
            assert_eq!(done.code, Some(0), "{verb} {name}");
            assert!(done.stderr.contains(told), "{verb} {name}: {}", done.stderr);
            assert!(done.stdout.contains("organizer"), "{verb} {name}");
        }
        let verified = place.orgtop(&["verify", name]);
        assert_eq!(verified.code, Some(1), "{name}");
        assert!(
            verified.stdout.contains(told),
            "{name}: {}",
            verified.stdout
        );
    }
}

#[test]
fn a_session_without_a_beginning_is_not_resumed() {
    let place = Place::new();
    let good = recorded(&place);
    let header = good.lines().next().unwrap().to_owned() + "\n";
    place.write("header.jsonl", &header);
    let done = place.orgtop(&[
        "resume",
        "header.jsonl",
        "--headless",
        "--script",
        "v1.jsonl",
    ]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("before its organizer began"),
        "{}",
        done.stderr
    );
    assert_eq!(place.read("header.jsonl"), header);
}

#[test]
fn a_finished_session_is_not_resumed_and_no_file_is_overwritten() {
    let place = Place::new();
    let good = recorded(&place);
    let done = place.orgtop(&["resume", "good.jsonl", "--headless", "--script", "v1.jsonl"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("this session is over (answered)"),
        "{}",
        done.stderr
    );
    place.write("notes.txt", "mine");
    for name in ["good.jsonl", "notes.txt"] {
        let done = place.orgtop(&[
            "run",
            "--headless",
            "--script",
            "v1.jsonl",
            "--record",
            name,
            "q",
        ]);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("never overwritten"), "{}", done.stderr);
    }
    assert_eq!(
        (place.read("good.jsonl"), place.read("notes.txt")),
        (good, "mine".into())
    );
}

#[test]
fn a_pipe_among_the_sessions_holds_nothing_up() {
    let place = Place::new();
    place.write("data/orgtop/sessions/good.jsonl", recorded(&place));
    pipe(&place, "data/orgtop/sessions/pipe.jsonl");
    let listed = place.orgtop(&["sessions", "list"]);
    assert_eq!(listed.code, Some(0));
    assert!(listed.stdout.contains("good.jsonl") && listed.stdout.contains("is a pipe"));
    let pruned = place.orgtop(&["sessions", "prune", "--keep", "0"]);
    assert_eq!(pruned.code, Some(0));
    assert!(place.path("data/orgtop/sessions/pipe.jsonl").exists());
    assert!(!place.path("data/orgtop/sessions/good.jsonl").exists());
}

#[test]
fn pruning_by_count_and_age_removes_only_what_is_both() {
    let place = Place::new();
    let good = recorded(&place);
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        place.write(&format!("folder/{name}"), &good);
    }
    let done = place.orgtop(&[
        "sessions",
        "prune",
        "--folder",
        "folder",
        "--keep",
        "1",
        "--older-than",
        "30",
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    assert!(place.path("folder/a.jsonl").exists());
    let done = place.orgtop(&["sessions", "prune", "--folder", "folder"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("--older-than"), "{}", done.stderr);
}

#[test]
fn models_that_are_none_say_why() {
    let place = Place::new();
    place.write("empty.gguf", "");
    place.write("noise.gguf", [7; 4096]);
    place.write(
        "huge.gguf",
        [b"GGUF\x03\0\0\0".as_slice(), &[0xff; 64]].concat(),
    );
    place.write("text.txt", "no model");
    place.write(
        "gpt2/config.json",
        r#"{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}"#,
    );
    place.write("gpt2/model.safetensors", "");
    std::fs::create_dir(place.path("nothing")).unwrap();
    pipe(&place, "pipe.gguf");
    for (name, reason) in [
        ("missing.gguf", "no such file or folder"),
        ("empty.gguf", "ends early"),
        ("noise.gguf", "not a GGUF file"),
        ("huge.gguf", "cannot fit"),
        ("text.txt", "expected a folder"),
        ("gpt2", "not supported"),
        ("nothing", "neither .safetensors nor .gguf"),
        ("pipe.gguf", "neither a file nor a folder"),
    ] {
        let done = place.orgtop(&["run", "--headless", "--no-record", "--model", name, "q"]);
        assert_eq!(done.code, Some(1), "{name}");
        assert!(
            done.stderr.contains(name) && done.stderr.contains(reason),
            "{name}: {}",
            done.stderr
        );
    }
}

#[test]
fn checkpoints_in_a_folder_named_models_are_listed() {
    let place = Place::new();
    let baseline = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/baseline");
    std::fs::create_dir_all(place.path("models/small")).unwrap();
    for entry in std::fs::read_dir(baseline).unwrap() {
        let entry = entry.unwrap();
        let to = place.path("models/small").join(entry.file_name());
        std::fs::copy(entry.path(), to).unwrap();
    }
    std::fs::create_dir(place.path("models/nothing")).unwrap();
    let done = place.orgtop(&["models"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.starts_with("models/small "), "{}", done.stdout);
    assert!(!done.stdout.contains("nothing"), "{}", done.stdout);
}

#[test]
fn scripts_that_are_none_say_where_and_what_was_expected() {
    let place = Place::new();
    for (line, expected) in [
        ("nonsense", "line 1"),
        (r#"{"thread": "organizer"}"#, "either `tokens` or `text`"),
        (
            r#"{"thread": "organizer", "tokens": [5]}"#,
            "a token is a string",
        ),
        (
            r#"{"thread": "organizer", "tokens": [{"b64": "!"}]}"#,
            "not base64",
        ),
        (
            r#"{"thread": "organizer", "text": "a", "split": "verse"}"#,
            "`split` is",
        ),
        (
            r#"{"thread": "organizer", "text": "a", "split": 0}"#,
            "at least 1 byte",
        ),
        (
            r#"{"thread": "organizer", "text": "a", "tokens_per_s": 0}"#,
            "above 0",
        ),
        (r#"{"thread": "99999", "text": "a"}"#, "no thread"),
        (
            r#"{"thread": "organizer", "text": "a", "colour": 1}"#,
            "unknown field",
        ),
    ] {
        place.write("bad.jsonl", line);
        let done = place.orgtop(&["run", "--headless", "--script", "bad.jsonl", "q"]);
        assert_eq!(done.code, Some(1), "{line}");
        assert!(
            done.stderr.contains("bad.jsonl") && done.stderr.contains(expected),
            "{line}: {}",
            done.stderr
        );
    }
    assert!(
        !place.path("data").exists(),
        "nothing ran, nothing is recorded"
    );
}

#[test]
fn a_model_in_the_environment_does_not_forbid_scripts() {
    let place = Place::new();
    place.write(
        "s.jsonl",
        script(&[("organizer", &["<ANSWER>yes</ANSWER>"])]),
    );
    let arguments = [
        "run",
        "--headless",
        "--no-record",
        "--script",
        "s.jsonl",
        "q",
    ];
    let mut command = place.command(&arguments);
    command.env("ORGTOP_MODEL", "some.gguf");
    let done = finish(command);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "yes\n"),
        "{}",
        done.stderr
    );
    let done = place.orgtop(&["run", "--script", "s.jsonl", "--model", "some.gguf", "q"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("cannot be used with --model"),
        "{}",
        done.stderr
    );
}

#[test]
fn config_mistakes_are_named_with_file_and_line() {
    let place = Place::new();
    for (text, expected) in [
        ("[run]\ncapacity = 0", "expected 1 to 1024"),
        ("[run]\ntop_k = 0", "expected 1 or more"),
        ("[run]\ncapcity = 3", "line 2: unknown field `capcity`"),
        ("[screen]\ntheme = 5", "line 2"),
        ("not toml", "line 1"),
    ] {
        place.write("config/orgtop/config.toml", text);
        let done = place.orgtop(&["sessions", "list"]);
        assert_eq!(done.code, Some(1), "{text}");
        assert!(
            done.stderr.contains("config.toml") && done.stderr.contains(expected),
            "{text}: {}",
            done.stderr
        );
    }
}

#[test]
fn doctor_names_a_config_mistake_and_checks_the_rest() {
    let place = Place::new();
    place.write("bad.toml", "x = [[");
    let done = place.orgtop(&["doctor", "--config", "bad.toml"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let lines: Vec<&str> = done.stdout.lines().collect();
    let config = lines.iter().find(|l| l.contains("config")).unwrap();
    assert!(config.starts_with("BAD") && config.contains("bad.toml"));
    for rest in ["machine", "device", "sessions"] {
        assert!(lines.iter().any(|l| l.contains(rest)), "{rest}: {lines:?}");
    }
}

#[test]
fn a_recovered_copy_is_judged() {
    let place = Place::new();
    let good = recorded(&place);
    let lines: Vec<&str> = good.lines().collect();
    place.write("torn.jsonl", good.trim_end().to_owned() + "\n{\"torn");
    let mut gone = lines.clone();
    gone.remove(5);
    place.write("gone.jsonl", gone.join("\n") + "\n");
    place.write("bare.jsonl", lines[0].to_owned() + "\n{\"torn\n");
    for (name, code, said) in [
        ("torn.jsonl", 0, "the copy agrees with itself"),
        ("gone.jsonl", 0, "the copy still DISAGREES: line "),
        ("bare.jsonl", 1, "nothing was recovered"),
    ] {
        let done = place.orgtop(&["recover", name]);
        assert_eq!(done.code, Some(code), "{name}: {}", done.stderr);
        let all = done.stdout + &done.stderr;
        assert!(all.contains(said), "{name}: {all}");
    }
}

/// A text that never ends, and a pipe that nobody writes to.
#[cfg(unix)]
#[test]
fn texts_that_never_end_or_never_begin_are_refused() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    pipe(&place, "pipe");
    let run = |more: &[&str]| {
        let all = [&["run", "--headless", "--no-record"], more].concat();
        let done = place.orgtop(&all);
        assert_ne!(done.code, Some(0), "{more:?}");
        done.stderr
    };
    let script = ["--script", "v1.jsonl", "q"];
    for flag in ["--roster", "--config"] {
        for path in ["/dev/zero", "pipe"] {
            let said = run(&[&[flag, path], script.as_slice()].concat());
            assert!(
                said.contains("is a pipe or device"),
                "{flag} {path}: {said}"
            );
        }
    }
    for path in ["/dev/zero", "pipe"] {
        let said = run(&["--script", "v1.jsonl", "--task", &format!("math {path}#1")]);
        assert!(said.contains("is a pipe or device"), "{path}: {said}");
    }
    let said = run(&[&["--commands", "/dev/zero"], script.as_slice()].concat());
    assert!(said.contains("longer than 4 MiB"), "{said}");
    let said = run(&["--script", "/dev/zero", "q"]);
    assert!(said.contains("longer than 64 MiB"), "{said}");
    std::fs::create_dir_all(place.path("config/orgtop")).unwrap();
    pipe(&place, "config/orgtop/config.toml");
    let said = run(&script);
    assert!(said.contains("is a pipe or device"), "{said}");
}

#[cfg(unix)]
#[test]
fn commands_come_through_a_pipe() {
    let place = Place::new();
    place.write("v1.jsonl", vector_1());
    pipe(&place, "pipe");
    let orders = place.path("pipe");
    let writer = std::thread::spawn(move || std::fs::write(orders, "{\"do\": \"abort\"}\n"));
    let done = place.orgtop(&[
        "run",
        "--headless",
        "--json",
        "--no-record",
        "--script",
        "v1.jsonl",
        "--commands",
        "pipe",
        "q",
    ]);
    writer.join().unwrap().unwrap();
    assert_eq!(
        done.object()["commands"][0]["do"],
        "abort",
        "{}",
        done.stderr
    );
}
