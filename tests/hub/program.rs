//! The program itself, with a hub in its environment.

use crate::fake::{Faults, Hub};
use crate::{REPO, fixture};
use std::path::Path;
use std::process::{Command, Output};

fn orgtop(hub: &Hub, home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orgtop"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("ORGTOP_") || name.starts_with("HF_") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .current_dir(home)
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("HF_HOME", home.join("hf"))
        .env("HF_ENDPOINT", &hub.url)
        .env("HF_TOKEN", "hf_secret")
        .env("ORGTOP_LOG", "trace")
        .env("ORGTOP_LOG_FILE", home.join("log"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_pulled_model_is_listed_and_runs_by_its_name() {
    let hub = Hub::of_folder(REPO, &fixture("qwen3"), &[]);
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| orgtop(&hub, home.path(), arguments);

    let before = run(&["run", "--headless", "--no-record", "--model", REPO, "q"]);
    assert_eq!(before.status.code(), Some(1));
    let said = text(&before.stderr);
    assert!(
        said.contains(&format!("`orgtop models pull {REPO}` gets it")),
        "{said}"
    );

    let pulled = run(&["models", "pull", REPO]);
    assert!(pulled.status.success(), "{}", text(&pulled.stderr));
    let path = text(&pulled.stdout).trim().to_owned();
    assert!(Path::new(&path).join("config.json").is_file(), "{path}");
    assert!(text(&pulled.stderr).contains("model.safetensors"));

    let listed = text(&run(&["models"]).stdout);
    assert!(listed.contains(&path), "{listed}");

    let ran = run(&[
        "run",
        "--headless",
        "--json",
        "--no-record",
        "--model",
        REPO,
        "--policy",
        "sequential",
        "--max-organizer",
        "4",
        "--seed",
        "1",
        "--device",
        "cpu",
        "q",
    ]);
    let object: serde_json::Value = serde_json::from_slice(&ran.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", text(&ran.stderr)));
    assert_eq!(object["metrics"]["decoded"], 4, "{object}");

    let again = run(&["models", "pull", "--json", REPO]);
    let object: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(object["path"], path);
    assert_eq!(object["files"][0]["state"], "here");

    for told in [&before, &pulled, &ran, &again] {
        assert!(!text(&told.stdout).contains("secret") && !text(&told.stderr).contains("secret"));
    }
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    assert!(!log.contains("hf_secret"), "the token is in the log");
}

#[test]
fn failing_is_1_and_wrong_names_are_2() {
    let hub = Hub::new();
    let home = tempfile::tempdir().unwrap();
    for (arguments, code, said) in [
        (&["models", "pull", "no/body"][..], 1, "no such model"),
        (&["models", "pull", "../../etc"], 2, "OWNER/NAME"),
        (&["models", "pull", "a/b:../c.gguf"], 2, "begins with a dot"),
        (
            &["models", "pull", "a/b", "--revision", "../x"],
            2,
            "begins with a dot",
        ),
        (
            &["run", "--headless", "--model", "nowhere.gguf", "q"],
            1,
            "no such file or folder",
        ),
    ] {
        let output = orgtop(&hub, home.path(), arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_pull_that_gave_up_says_that_it_goes_on() {
    let hub = Hub::with(REPO, &[("m.gguf", &[7; 1000])]);
    hub.fail(Faults {
        file: Some((403, "GatedRepo")),
        ..Faults::default()
    });
    let home = tempfile::tempdir().unwrap();
    let name = format!("{REPO}:m.gguf");
    let refused = orgtop(&hub, home.path(), &["models", "pull", &name]);
    let said = text(&refused.stderr);
    assert!(said.contains("the token given has no access"), "{said}");

    let unfinished = orgtop(&hub, home.path(), &["doctor", "--model", &name]);
    let said = text(&unfinished.stdout);
    assert!(said.contains("not pulled from the hub"), "{said}");
}
