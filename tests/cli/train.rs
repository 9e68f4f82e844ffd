//! `orgtop train`: threads as files, learning from them, what is refused; a killed training goes on.

use crate::harness::{Place, signal, wait_for};
use std::path::Path;

/// Every file is read as it is, so that nothing of it is lost: with bad lines it is told, not changed.
#[test]
fn threads_are_written_checked_and_learned_from() {
    let place = Place::new();
    let written = place.orgtop(&["train", "data", "t.jsonl", "--n", "60", "--json"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(written.object()["threads"], 60);
    let again = place.orgtop(&["train", "data", "t.jsonl", "--n", "5"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(
        place.orgtop(&["train", "data", "t.jsonl", "--check"]).code,
        Some(0)
    );

    let text = place.read("t.jsonl");
    let unfinished = r#"{"role":"worker","query":"x","text":[{"own":"hello"}]}"#;
    place.write("u.jsonl", format!("{text}{unfinished}\n"));
    let checked = place.orgtop(&["train", "data", "u.jsonl", "--check", "--json"]);
    assert_eq!(checked.code, Some(1));
    assert_eq!(checked.object()["refused"][0]["line"], 61);
    place.write("b.jsonl", format!("{text}garbage\n"));
    let broken = place.orgtop(&["train", "sft", "x", "--data", "b.jsonl"]);
    assert_eq!(broken.code, Some(1));
    assert!(
        broken.stderr.contains("b.jsonl: line 61"),
        "{}",
        broken.stderr
    );
    assert!(!place.path("x").exists());

    let baseline = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/baseline");
    let learned = place.orgtop(&[
        "train", "sft", "lora", "--model", baseline, "--data", "t.jsonl", "--lora", "2", "--steps",
        "2", "--json",
    ]);
    assert_eq!(learned.code, Some(0), "{}", learned.stderr);
    let before = std::fs::read(Path::new(baseline).join("model.safetensors")).unwrap();
    let after = std::fs::read(place.path("lora/model/model.safetensors")).unwrap();
    assert!(before != after && before.len() == after.len());
    assert!(place.path("lora/model/chat_template.jinja").is_file());
}

#[test]
fn what_cannot_be_trained_is_refused_with_what_to_do() {
    let place = Place::new();
    place.write("fake/config.json", r#"{"model_type": "llama"}"#);
    for (args, code, says) in [
        (&["train", "rl", "x", "--group", "1"][..], 2, "2..="),
        (
            &["train", "rl", "x", "--model", "nowhere"],
            2,
            "no config.json there",
        ),
        (
            &["train", "rl", "x", "--model", "fake"],
            1,
            "model.safetensors",
        ),
        (&["train", "sft", "x", "--model", "fake"], 1, "hidden_size"),
        (&["train", "sft", "x", "--lora", "4"], 2, "--model"),
        (
            &["train", "sft", "x", "--data", "none.jsonl"],
            1,
            "none.jsonl",
        ),
        (&["train", "data", "d", "--task", "sudoku"], 2, "--teacher"),
    ] {
        let done = place.orgtop(args);
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{args:?}: {}", done.stderr);
        assert!(!done.stderr.contains("panic"), "{args:?}");
    }
}

/// Killed without warning, a training loses at most what came after its last state, and says nothing of it.
#[test]
fn a_killed_training_goes_on() {
    let place = Place::new();
    let args = [
        "train",
        "sft",
        "t",
        "--steps",
        "4",
        "--interval",
        "2",
        "--json",
    ];
    let mut child = place.command(&args).spawn().unwrap();
    wait_for(&place.path("t/log.jsonl"), "held_out_loss");
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let done = place.orgtop(&args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let object = done.object();
    assert_eq!(
        (&object["done"], &object["steps"]),
        (&true.into(), &4.into())
    );
    let log = place.read("t/log.jsonl");
    let steps = log.lines().filter(|l| l.contains("\"loss\"")).count();
    assert_eq!(steps, 4, "{log}");
}
