//! `eval --server`: what is reported, what is kept when the server is lost.

use crate::fake::{Fake, Kind, Reply};
use crate::program::{orgtop, told};
use std::path::Path;
use std::process::Output;

fn eval(home: &Path, fake: &Fake, more: &[&str]) -> Output {
    let problems = home.join("p.jsonl");
    let text = "{\"question\":\"40 + 2?\",\"answer\":\"42\"}\n{\"question\":\"40 + 3?\",\"answer\":\"43\"}\n";
    std::fs::write(&problems, text).unwrap();
    let config = home.join("c.toml");
    let text = format!("[servers.big]\nurl = \"{}\"\nretries = 0\n", fake.url);
    std::fs::write(&config, text).unwrap();
    let (problems, config) = (problems.display().to_string(), config.display().to_string());
    let fixed = [
        "--config",
        &config,
        "eval",
        "math",
        &problems,
        "--server",
        "big",
        "--policies",
        "sequential",
    ];
    orgtop(home, &[&fixed, more].concat())
}

fn answers() -> Fake {
    Fake::saying(Kind::Vllm, &["Hm. ", "<ANSWER>42", "</ANSWER>"])
}

#[test]
fn the_report_says_which_model_of_which_server_it_was() {
    let (home, fake) = (tempfile::tempdir().unwrap(), answers());
    let output = eval(home.path(), &fake, &[]);
    assert!(output.status.success(), "{}", told(&output));
    let expected = format!("baseline: qwen-test at {}, vLLM 0.32.0", fake.url);
    assert!(told(&output).contains(&expected), "{}", told(&output));
    let output = eval(home.path(), &fake, &["--json"]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let server = &object["baseline"]["server"];
    assert_eq!(
        (&server["url"], &server["kind"]),
        (&fake.url.as_str().into(), &"vllm".into())
    );
    assert_eq!(object["policies"][0]["all"], 0.5, "{object}");
}

#[test]
fn a_lost_server_leaves_what_had_ended_and_the_same_call_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let broken = Reply::Status(500, "", "{\"error\":\"out of memory\"}");
    let fake = answers().then([Reply::Well, broken]);
    let folder = home.path().join("out").display().to_string();
    let more = ["--out", &folder, "--width", "1"];
    let lost = eval(home.path(), &fake, &more);
    assert_eq!(lost.status.code(), Some(1));
    for expected in [
        "out of memory",
        "1 of 2 runs are in",
        "the same call goes on there",
    ] {
        assert!(
            told(&lost).contains(expected),
            "{expected}: {}",
            told(&lost)
        );
    }
    let asked = fake.asked().len();
    let finished = eval(home.path(), &fake, &more);
    assert!(finished.status.success(), "{}", told(&finished));
    assert_eq!(fake.asked().len(), asked + 1, "only what was missing");
}
