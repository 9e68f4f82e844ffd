//! The program itself: flags, exit codes, messages, and where a key does not go.

use crate::fake::{Fake, Kind, Reply, rest_of, said};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn fake() -> Fake {
    Fake::new(Kind::Vllm, |prompt| {
        rest_of(&["Hm.", "<ANSWER>", "42", "</ANSWER>"], &said(prompt))
    })
}

pub fn orgtop(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("ORGTOP_MODEL")
        .env_remove("ORGTOP_SERVER")
        .env("ORGTOP_API_KEY", "sk-very-secret")
        .output()
        .unwrap()
}

pub fn told(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn a_run_on_a_server_answers_and_its_key_is_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let (session, log) = (home.path().join("s.jsonl"), home.path().join("log"));
    let fake = fake();
    let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(["run", "--server", &fake.url, "--headless", "--record"])
        .arg(&session)
        .arg("--log")
        .arg(&log)
        .arg("what is it?")
        .env("HOME", home.path())
        .env("ORGTOP_LOG", "trace")
        .env("ORGTOP_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(output.stdout, b"42\n");
    let sent = fake.asked()[0].authorization.clone();
    assert_eq!(sent.as_deref(), Some("Bearer sk-very-secret"));
    for file in [&session, &log] {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.contains("very-secret"), "{}", file.display());
    }
    assert!(!told(&output).contains("very-secret"));
}

#[test]
fn what_is_wrong_with_a_server_is_one_message_and_an_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let gone = fake().url.clone();
    let fake = fake();
    let script = home.path().join("script");
    std::fs::write(&script, "").unwrap();
    let script = script.display().to_string();
    for (args, code, expected) in [
        (vec!["--server", &gone], 1, "is the server running"),
        (
            vec!["--server", &fake.url, "--model", "gpt-9"],
            1,
            "it has `qwen-test`",
        ),
        (
            vec!["--server", "bgi"],
            2,
            "nor a server of the config file",
        ),
        (
            vec!["--server", "http://me:hunter2@x"],
            2,
            "keys do not belong into a URL",
        ),
        (
            vec!["--server", &fake.url, "--script", &script],
            2,
            "--script plays instead of a server",
        ),
        (
            vec!["--server", &fake.url, "--workers", "server:big"],
            2,
            "[servers.big]",
        ),
        (
            vec!["--server", &fake.url, "--seat", "2=server:big"],
            2,
            "[servers.big]",
        ),
        (
            vec!["--server", &fake.url, "--roster", "/no/such"],
            1,
            "cannot read the roster",
        ),
    ] {
        let all = [&["run", "--headless", "--no-record", "q"], args.as_slice()].concat();
        let output = orgtop(home.path(), &all);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(
            !text.contains("hunter2") && !text.contains("panicked"),
            "{text}"
        );
    }
}

#[test]
fn a_session_goes_on_at_the_recorded_server_without_being_told_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let session = home.path().join("s.jsonl").display().to_string();
    let orders = home.path().join("orders");
    std::fs::write(&orders, r#"{"at":{"step":2},"do":"interrupt"}"#).unwrap();
    let orders = orders.display().to_string();
    let fake = fake();
    let run = [
        "run",
        "--server",
        &fake.url,
        "--headless",
        "--record",
        &session,
        "--commands",
        &orders,
        "q",
    ];
    orgtop(home.path(), &run);
    let revive = fake.die();
    let dead = orgtop(home.path(), &["resume", &session, "--headless"]);
    assert_eq!(dead.status.code(), Some(1));
    assert!(
        told(&dead).contains("is the server running"),
        "{}",
        told(&dead)
    );
    let fake = revive();
    let output = orgtop(home.path(), &["resume", &session, "--headless"]);
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(output.stdout, b"42\n");
    drop(fake);
}

#[test]
fn a_person_chooses_a_worker_by_name_from_a_roster_file() {
    let home = tempfile::tempdir().unwrap();
    let (own, other) = (
        fake(),
        Fake::saying(Kind::Ollama, &["<RETURN>", "six", "</RETURN>"]),
    );
    let roster = home.path().join("roster.toml");
    let text = format!(
        "[seats.big]\nabout = \"careful\"\nurl = \"{}\"\n",
        other.url
    );
    std::fs::write(&roster, text).unwrap();
    let orders = home.path().join("orders");
    let lines =
        "{\"do\":\"fork\",\"query\":\"@big how many?\"}\n{\"do\":\"join\",\"thread\":\"1\"}\n";
    std::fs::write(&orders, lines).unwrap();
    let (roster, orders) = (roster.display().to_string(), orders.display().to_string());
    let args = [
        "run",
        "--server",
        &own.url,
        "--roster",
        &roster,
        "--headless",
        "--json",
        "--no-record",
        "--commands",
        &orders,
        "q",
    ];
    let output = orgtop(home.path(), &args);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        summary["end"], "no_answer",
        "the fake goes by what it reads"
    );
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert_eq!(summary["threads"][1]["seat"], "server:big", "{summary}");
    let sent = other.asked()[0].prompt();
    assert!(
        sent.contains("how many?") && !sent.contains("@big"),
        "{sent}"
    );
}

#[test]
fn one_signal_leaves_a_server_that_is_silent_from_the_first_token_on() {
    let home = tempfile::tempdir().unwrap();
    let session = home.path().join("s.jsonl").display().to_string();
    let fake = fake().then([Reply::Stall(0)]);
    let child = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(["run", "--headless", "--server", &fake.url])
        .args(["--record", &session, "q"])
        .env("HOME", home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while fake.asked().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    let signalled = Instant::now();
    let kill = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = told(&output);
    assert!(signalled.elapsed() < Duration::from_secs(5), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
    let expected = format!(
        "orgtop: stopping after this step\ninterrupted at step 0; orgtop resume {session} goes on\n"
    );
    assert!(text.starts_with(&expected), "{text}");
    let output = orgtop(home.path(), &["resume", &session, "--headless"]);
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(output.stdout, b"42\n");
}

#[test]
fn doctor_says_what_a_server_is() {
    let home = tempfile::tempdir().unwrap();
    let fake = fake();
    let output = orgtop(home.path(), &["doctor", "--server", &fake.url]);
    let text = told(&output);
    assert!(output.status.success(), "{text}");
    for expected in [
        "vLLM 0.32.0",
        "qwen-test",
        "context 4096",
        "template `chatml`",
        "42",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("very-secret"), "{text}");
}
