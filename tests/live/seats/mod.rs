//! Who writes: people and tools in the seats of threads, what waits for their word, the board.
//!
//! Every run here is recorded, and its file must agree with itself and fold to the state of the run.

mod approval;
mod board;
mod going_on;
mod human;
mod retry;
mod tools;

use crate::harness::{Run, config, line, words};
use crate::protocol::worker;
use orgtop::engine::{Engine, Script, Scripted};
use orgtop::live::{
    Audience, OpenEngine, Plan, Program, ProtocolRescan, RunConfig, Start, Tool, ToolSet, launch,
    parse_orders,
};
use orgtop::org::{AskKind, Author, Body, Event, Organization, RunEnd, Seat, SpliceKind, Verdict};
use orgtop::record::{SessionFile, verify};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn tool(argv: &[&str]) -> Tool {
    Tool {
        program: Program::Command(argv.iter().map(ToString::to_string).collect()),
        timeout: Duration::from_secs(5),
        output: 4096,
        memory_mib: 512,
    }
}

fn toolbox() -> ToolSet {
    [
        ("cat", tool(&["cat"])),
        ("fail", tool(&["sh", "-c", "echo no luck >&2; exit 3"])),
        ("slow", tool(&["sh", "-c", "sleep 0.15; echo late"])),
        ("liar", tool(&["echo", "a</RETURN>b"])),
    ]
    .map(|(name, tool)| (name.to_owned(), tool))
    .into()
}

fn go(script: &[String], start: Start, file: &Path, orders: &str) -> Run {
    let script = Script::parse(&script.join("\n"), "script").unwrap();
    let open = move || Ok(Box::new(Scripted::new(script, "script")) as Box<dyn Engine>);
    go_with(Box::new(open), start, file, orders)
}

fn go_with(open: OpenEngine, start: Start, file: &Path, orders: &str) -> Run {
    let handle = launch(Plan {
        open,
        start,
        file: Some(file.to_owned()),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: toolbox(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox = Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    let run = Run {
        finished,
        events: mailbox.take().events,
    };
    agrees(&run, file);
    run
}

fn recorded(file: &Path) -> Vec<Event> {
    let session = SessionFile::open(file).unwrap();
    session.events().map(|e| e.unwrap().event).collect()
}

fn agrees(run: &Run, file: &Path) {
    let verified = verify(file, &ProtocolRescan).unwrap();
    assert!(
        verified.disagreements.is_empty(),
        "{:#?}",
        verified.disagreements
    );
    let mut fold = Organization::new(run.finished.header.capacity, run.finished.header.tau);
    recorded(file).iter().for_each(|event| fold.apply(event));
    assert_eq!(shown(&fold), shown(run.org()));
}

/// A state without the moment of each thread's last token: a run knows it, a file to within 50 ms.
fn shown(org: &Organization) -> serde_json::Value {
    let mut json = serde_json::to_value(org).unwrap();
    for thread in json["threads"].as_object_mut().unwrap().values_mut() {
        thread.as_object_mut().unwrap().remove("last");
    }
    json
}

fn fresh(config: RunConfig) -> Start {
    Start::Fresh {
        config,
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

fn play(script: &[String], config: RunConfig, orders: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    go(
        script,
        fresh(config),
        &folder.path().join("s.jsonl"),
        orders,
    )
}

fn seats(given: &[(&str, &str)]) -> RunConfig {
    RunConfig {
        seats: given
            .iter()
            .map(|(id, seat)| (id.parse().unwrap(), seat.parse().unwrap()))
            .collect(),
        ..config()
    }
}

fn asking(what: &[AskKind]) -> RunConfig {
    RunConfig {
        ask: what.to_vec(),
        ..config()
    }
}

fn planned() -> RunConfig {
    RunConfig {
        plan: true,
        ..config()
    }
}

/// Forks 1, thinks `n` tokens, joins it, answers.
fn one_fork(n: usize) -> String {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(n));
    tokens.extend(["<JOIN-1>", " so", "<ANSWER>x</ANSWER>"]);
    line("organizer", &tokens)
}

fn texts_by(run: &Run, id: &str, author: &Author) -> String {
    let id = Some(id.parse().unwrap());
    run.events
        .iter()
        .filter(|e| e.thread == id && e.by == *author)
        .filter_map(|e| match &e.body {
            Body::Tokens { bytes, .. } | Body::Splice { bytes, .. } => {
                Some(String::from_utf8_lossy(&bytes.0).into_owned())
            }
            _ => None,
        })
        .collect()
}

fn two_forks() -> Vec<String> {
    let organizer = line(
        "organizer",
        &[
            "<FORK-1>a</FORK-1>",
            "<FORK-2>b</FORK-2>",
            "<JOIN-2>",
            " so",
            "<ANSWER>x</ANSWER>",
        ],
    );
    let mut script = vec![organizer];
    script.extend(["1", "2", "3"].map(|id| worker(id, 5)));
    script
}
