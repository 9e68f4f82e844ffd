//! Runs the program in a scratch folder that is also its home.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest time that any of these runs may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Vector 1 of the protocol: 53 tokens of the organizer, 25 of worker 1.
pub fn vector_1() -> String {
    let think = |n: usize| vec![" t"; n];
    let organizer: Vec<&str> = [
        think(10),
        vec!["<FORK-1>", "a", "b", "c", "d", "e", "f", "</FORK-1>"],
        think(12),
        vec![" x", " y", "<JOIN-1>"],
        think(17),
        vec!["<ANSWER>", "42", "</ANSWER>"],
    ]
    .concat();
    let worker: Vec<&str> = [think(22), vec!["<RETURN>", "r", "</RETURN>"]].concat();
    script(&[("organizer", &organizer), ("1", &worker)])
}

/// A script of one line a thread.
pub fn script(threads: &[(&str, &[&str])]) -> String {
    threads
        .iter()
        .map(|(thread, tokens)| {
            serde_json::json!({"thread": thread, "tokens": tokens}).to_string() + "\n"
        })
        .collect()
}

/// What a run left behind.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The object it printed.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// A scratch folder.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).unwrap();
        }
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with `arguments`, not started yet: nothing on standard input, nothing of this
    /// machine's settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orgtop"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ORGTOP_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end, which must come.
    pub fn orgtop(&self, arguments: &[&str]) -> Done {
        finish(self.command(arguments))
    }
}

/// Runs `command` to its end, which must come soon.
pub fn finish(mut command: Command) -> Done {
    let child = command.spawn().unwrap();
    let id = child.id();
    let (send, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    match done.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap().into(),
        Err(_) => {
            signal(id, "KILL");
            panic!("still running after {PATIENCE:?}: {command:?}");
        }
    }
}

/// Sends a signal to a process of ours.
pub fn signal(id: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits until a file holds `text`.
pub fn wait_for(path: &Path, text: &str) {
    let began = Instant::now();
    while !std::fs::read_to_string(path).is_ok_and(|t| t.contains(text)) {
        assert!(began.elapsed() < PATIENCE, "no {text} in {path:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
