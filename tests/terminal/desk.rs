//! A folder with a script, orgtop on it, and what it recorded.

use crate::harness::{Session, Start};
use orgtop::org::ThreadId;
use orgtop::record::{SessionFile, text_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Sequences that switch a mode of the terminal off.
pub const ALTERNATE_SCREEN_OFF: &str = "\x1b[?1049l";
pub const PASTE_OFF: &str = "\x1b[?2004l";
pub const CURSOR_ON: &str = "\x1b[?25h";

pub struct Desk {
    pub folder: TempDir,
    pub script: PathBuf,
    pub record: PathBuf,
}

impl Desk {
    pub fn new(lines: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.jsonl");
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(&script, text.join("\n")).unwrap();
        Self {
            record: folder.path().join("session.jsonl"),
            script,
            folder,
        }
    }

    pub fn run(&self, more: &[&str]) -> Start {
        let mut args = vec![
            "run",
            "--max-organizer",
            "100000",
            "--max-worker",
            "100000",
            "--script",
            self.script.to_str().unwrap(),
            "--record",
            self.record.to_str().unwrap(),
        ];
        args.extend_from_slice(more);
        args.push("what is it?");
        self.at_home(Session::start(&args))
    }

    /// Nothing of the person who runs the tests is read or written.
    pub fn at_home(&self, start: Start) -> Start {
        let home = self.folder.path().to_str().unwrap();
        start.env("HOME", home).size(100, 30)
    }

    pub fn replay(&self, more: &[&str]) -> Start {
        let mut args = vec!["replay", self.record.to_str().unwrap()];
        args.extend_from_slice(more);
        self.at_home(Session::start(&args))
    }

    pub fn inspect(&self) -> Value {
        let output = orgtop(&["inspect", "--json", self.record.to_str().unwrap()]);
        serde_json::from_str(&output.0).unwrap()
    }

    /// What each thread decoded or was given, as the file has it.
    pub fn texts(&self) -> BTreeMap<ThreadId, Vec<u8>> {
        let mut texts: BTreeMap<ThreadId, Vec<u8>> = BTreeMap::new();
        for recorded in SessionFile::open(&self.record).unwrap().events() {
            let event = recorded.unwrap().event;
            if let (Some(text), Some(id)) = (text_in(&event), event.thread) {
                texts.entry(id).or_default().extend_from_slice(text);
            }
        }
        texts
    }

    pub fn verifies(&self) -> bool {
        orgtop(&["verify", self.record.to_str().unwrap()]).1
    }
}

pub fn orgtop(args: &[&str]) -> (String, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_orgtop"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text, output.status.success())
}

pub fn forever(thread: &str, word: &str, tokens_per_s: u32) -> Value {
    serde_json::json!({
        "thread": thread, "tokens": [word], "repeat": true, "tokens_per_s": tokens_per_s
    })
}

/// An organizer that forks two and then thinks slowly for ever; two workers that never stop.
pub fn busy() -> Desk {
    let mut tokens = vec!["<FORK-1>first</FORK-1>", "<FORK-2>second</FORK-2>"];
    tokens.extend(vec![" hm"; 100_000]);
    Desk::new(&[
        serde_json::json!({"thread": "organizer", "tokens": tokens, "tokens_per_s": 100}),
        forever("1", " apple", 100),
        forever("2", " berry", 100),
        serde_json::json!({"thread": "3", "text": " cherry <RETURN>pie</RETURN>", "tokens_per_s": 100}),
    ])
}

pub fn leave(session: &mut Session) {
    session.keys("q");
    session.wait_for("Quit while it runs?");
    // A key that comes sooner is no answer.
    std::thread::sleep(Duration::from_millis(300));
    session.keys("y");
    assert!(session.wait_end().success(), "{}", session.screen());
}

pub fn is_as_before(session: &Session) {
    assert!(session.settings_are_as_before());
    for off in [ALTERNATE_SCREEN_OFF, PASTE_OFF] {
        assert_eq!(session.count(off), 1, "{off:?}");
    }
    assert!(session.count(CURSOR_ON) >= 1);
}
