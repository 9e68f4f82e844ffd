//! Whole sessions on the local engine with a tiny checkpoint: what is stopped is gone, and its memory with it.

use crate::harness::config;
use orgtop::engine::local::{DeviceChoice, Options, open};
use orgtop::engine::{Sampling, Wrapped};
use orgtop::live::{Audience, Handle, Phase, Plan, RunConfig, Start, launch, parse_orders};
use orgtop::org::{Body, Command, Event, ThreadId};
use orgtop::record::{Limits, Policy};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pages in use after each step, and who decoded in it.
type Log = Arc<Mutex<Vec<(usize, usize)>>>;

/// Four copies of the query beside the organizer, which never stop by themselves.
fn copies() -> RunConfig {
    RunConfig {
        policy: Policy::Parallel,
        k: 4,
        sampling: Sampling {
            temperature: 1.0,
            seed: 3,
            ..Sampling::default()
        },
        limits: Limits {
            organizer: 200,
            worker: 120,
            ..Limits::default()
        },
        ..config()
    }
}

fn start(config: RunConfig, orders: &str, audience: Audience) -> (Handle, Log) {
    let log = Log::default();
    let noted = Arc::clone(&log);
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parity/llama.gguf");
    let options = Options {
        device: DeviceChoice::Cpu,
        // Prompts take many steps.
        prefill_rows: Some(16),
        ..Options::default()
    };
    let handle = launch(Plan {
        open: Box::new(move || {
            let engine = open(&model, &options)?;
            Ok(Box::new(Wrapped::new(engine, move |engine, ops| {
                let output = engine.advance(ops)?;
                let note = (output.stats.pages_used, output.decoded.len());
                noted.lock().unwrap().push(note);
                Ok(output)
            })))
        }),
        start: Start::Fresh {
            config,
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: parse_orders(orders, "orders").unwrap(),
        audience,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    (handle, log)
}

fn kill(id: u16, at: &str) -> String {
    format!("{{\"at\": {at}, \"do\": \"kill\", \"thread\": \"{id}\"}}")
}

fn tokens(events: &[Event], id: u16) -> usize {
    let id = ThreadId::worker(id);
    let of = |e: &&Event| e.thread == id;
    events
        .iter()
        .filter(of)
        .map(|e| match &e.body {
            Body::Tokens { ids, .. } => ids.len(),
            _ => 0,
        })
        .sum()
}

#[test]
fn killed_workers_decode_no_late_token_and_give_their_pages_back() {
    // One at its fifth token, one while its prompt is taken in, the other two at once.
    let orders = [
        kill(1, r#"{"event": "fork:4"}"#),
        kill(2, r#"{"thread": "2", "tokens": 5}"#),
        kill(3, r#"{"thread": "4", "tokens": 20}"#),
        kill(4, r#"{"thread": "4", "tokens": 20}"#),
    ];
    let (handle, log) = start(copies(), &orders.join("\n"), Audience::Nobody);
    let mailbox = Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    let events = mailbox.take().events;
    assert_eq!(
        tokens(&events, 1),
        0,
        "killed while its prompt was taken in"
    );
    assert_eq!(tokens(&events, 2), 5);
    assert_eq!(tokens(&events, 4), 20);
    for id in 1..=4 {
        let thread = finished.organization.thread(ThreadId::worker(id).unwrap());
        assert_eq!(
            format!("{:?}", thread.unwrap().end()),
            "Some(Killed)",
            "{id}"
        );
    }
    let log = log.lock().unwrap();
    let most = log.iter().map(|(pages, _)| *pages).max().unwrap();
    // From the kill of all on only the organizer and the shared instructions are left.
    let last_together = log.iter().rposition(|(_, decoded)| *decoded > 1).unwrap();
    let (after, _) = log[last_together + 1];
    assert!(after * 2 < most, "{after} pages left of {most}");
    assert_eq!(log.last().unwrap().0, 0, "nothing is left at the end");
}

#[test]
fn when_the_run_is_over_its_memory_is_back_while_a_person_still_looks() {
    let (handle, log) = start(copies(), "", Audience::Person);
    let began = Instant::now();
    let mut busy = 0;
    loop {
        let report = handle.mailbox.take().report;
        busy = busy.max(report.pages.0);
        if busy > 4 && report.phase == Phase::Running {
            let _ = handle.commands.send(Command::Abort);
        }
        if report.phase == Phase::Over && report.pages.0 == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{report:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let steps = log.lock().unwrap().len();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(
        log.lock().unwrap().len(),
        steps,
        "nothing is decoded any more"
    );
    handle.commands.send(Command::Interrupt).unwrap();
    let finished = handle.wait().unwrap();
    for thread in finished.organization.threads() {
        assert!(thread.ended(), "{}", thread.id);
    }
}

#[test]
fn pausing_25_times_changes_no_sampled_token() {
    let ids = |orders: &str| {
        let (handle, _) = start(copies(), orders, Audience::Nobody);
        let mailbox = Arc::clone(&handle.mailbox);
        handle.wait().unwrap();
        let mut ids: std::collections::BTreeMap<ThreadId, Vec<u32>> = Default::default();
        for event in mailbox.take().events {
            if let (Some(thread), Body::Tokens { ids: new, .. }) = (event.thread, event.body) {
                ids.entry(thread).or_default().extend(new);
            }
        }
        ids
    };
    let cycles: Vec<String> = (5..30)
        .map(|step| {
            format!("{{\"at\": {{\"step\": {step}}}, \"do\": \"pause\"}}\n{{\"do\": \"resume\"}}")
        })
        .collect();
    assert_eq!(ids(&cycles.join("\n")), ids(""));
}
