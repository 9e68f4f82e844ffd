//! A server as the teacher: `train data --server`.

use crate::fake::{Fake, Kind, Reply, rest_of, said};
use crate::program::{orgtop, told};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const BEFORE: [&str; 3] = ["<FORK-1>add</FORK-1>", "<JOIN-1>", " then I dream"];
const AFTER: [&str; 3] = [" so ", "<ANSWER>42", "</ANSWER>"];

/// Organizes well, and knows the answer to one question only.
fn teacher() -> Fake {
    Fake::new(Kind::Vllm, |prompt| {
        let said = said(prompt);
        if prompt.contains("You are a worker") {
            return rest_of(&["<RETURN>", "42", "</RETURN>"], &said);
        }
        match said.split_once("</JOIN-1>") {
            Some((_, after)) => rest_of(&AFTER, after),
            None => rest_of(&BEFORE, &said),
        }
    })
}

struct Place {
    home: tempfile::TempDir,
}

impl Place {
    /// With two problems, and `fake` as the server `big` of a config file.
    fn new(fake: &Fake) -> Self {
        let home = tempfile::tempdir().unwrap();
        let problems = "{\"question\":\"40 + 2?\",\"answer\":\"42\"}\n\
                        {\"question\":\"40 + 3?\",\"answer\":\"43\"}\n";
        std::fs::write(home.path().join("p.jsonl"), problems).unwrap();
        let config = format!(
            "[servers.big]\nurl = \"{}\"\nmodel = \"qwen-test\"\nretries = 0\n",
            fake.url
        );
        std::fs::write(home.path().join("c.toml"), config).unwrap();
        Self { home }
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let (file, config) = (self.path("t.jsonl"), self.path("c.toml"));
        let task = format!("math {}", self.path("p.jsonl"));
        let fixed = ["--config", &config, "train", "data", &file, "--task", &task];
        fixed.iter().chain(more).map(|s| (*s).to_owned()).collect()
    }

    fn run(&self, more: &[&str]) -> Output {
        let args = self.args(more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        orgtop(self.home.path(), &args)
    }

    fn spawn(&self, more: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_orgtop"))
            .args(self.args(more))
            .env("HOME", self.home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn threads(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.path("t.jsonl")).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }
}

#[test]
fn a_server_of_the_config_file_or_a_url_writes_threads_that_the_check_accepts() {
    let fake = teacher();
    let place = Place::new(&fake);
    for teacher in [["--teacher", "server:big"], ["--server", &fake.url]] {
        let more = [
            &teacher[..],
            &["--n", "6", "--width", "3", "--json", "--force"],
        ]
        .concat();
        let output = place.run(&more);
        assert!(output.status.success(), "{}", told(&output));
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["teacher"], format!("qwen-test at {}", fake.url));
        // every second problem is solved; an organizer and a worker each
        assert_eq!(
            (&object["drawn"], &object["threads"]),
            (&12.into(), &6.into())
        );
        let threads = place.threads();
        let organizer = &threads[0];
        assert_eq!(organizer["role"], "organizer");
        assert_eq!(organizer["text"][0]["own"], "<FORK-1>add</FORK-1><JOIN-1>");
        assert_eq!(organizer["text"][1]["given"], "42</JOIN-1>");
        assert!(
            threads
                .iter()
                .all(|t| !t["text"].to_string().contains("dream"))
        );
        let file = place.path("t.jsonl");
        let checked = orgtop(place.home.path(), &["train", "data", &file, "--check"]);
        assert!(checked.status.success(), "{}", told(&checked));
    }
}

#[test]
fn a_lone_thread_is_taught_by_a_server_too() {
    let fake = Fake::saying(Kind::Llama, &["Hm. ", "<ANSWER>42", "</ANSWER>"]);
    let place = Place::new(&fake);
    let output = place.run(&["--server", &fake.url, "--traces", "alone", "--n", "1"]);
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(place.threads()[0]["role"], "sequential");
}

#[test]
fn a_server_that_is_lost_costs_no_run_that_had_ended() {
    let well = std::iter::repeat_n(Reply::Well, 3);
    let fake =
        teacher().then(well.chain([Reply::Status(500, "", "{\"error\":\"out of memory\"}")]));
    let place = Place::new(&fake);
    let output = place.run(&["--teacher", "server:big", "--n", "3", "--width", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let text = told(&output);
    for expected in ["out of memory", "1 of 3 runs had ended", "2 threads are in"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(place.threads().len(), 2);
}

#[test]
fn a_signal_ends_a_run_in_the_middle_of_an_answer_and_a_file_that_is_there_stays() {
    let fake = teacher().then([Reply::Slowly(Duration::from_secs(30))]);
    let place = Place::new(&fake);
    std::fs::write(place.path("t.jsonl"), "old").unwrap();
    let mut child = place.spawn(&["--teacher", "server:big", "--n", "1", "--force"]);
    let until = Instant::now() + Duration::from_secs(20);
    while fake.asked().is_empty() {
        assert!(Instant::now() < until, "it never asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    let signalled = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("stopped; 0 of 1 runs had ended, nothing is written"));
    assert_eq!(std::fs::read(place.path("t.jsonl")).unwrap(), b"old");
}

#[test]
fn what_is_no_teacher_is_told_before_anything_is_asked() {
    let fake = teacher();
    let place = Place::new(&fake);
    let nowhere = Path::new("/no/such/folder/t.jsonl").display().to_string();
    for (more, code, expected) in [
        (
            &["--teacher", "server:bgi"][..],
            2,
            "the config file names big; write [servers.bgi]",
        ),
        (
            &["--server", "bgi"],
            2,
            "nor a server of the config file; the config file names big",
        ),
        (&["--model", "m"], 2, "give --server URL as well"),
        (
            &["--server", &fake.url, "--teacher", "x"],
            2,
            "cannot be used with",
        ),
        (
            &["--server", &fake.url, "--model", "gpt-9"],
            1,
            "it has `qwen-test`",
        ),
        (&["--teacher", "nowhere"], 1, "no such file or folder"),
    ] {
        let output = place.run(more);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {text}");
        assert!(text.contains(expected), "{more:?}: {text}");
    }
    let output = orgtop(
        place.home.path(),
        &["train", "data", &nowhere, "--server", &fake.url],
    );
    assert!(
        told(&output).contains("there is no folder"),
        "{}",
        told(&output)
    );
    assert!(fake.asked().is_empty());
}
