//! The model inside the binary, through whole runs.

use crate::harness::config;
use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
use orgtop::live::{Audience, Finished, Order, Phase, Plan, RunConfig, Start, launch};
use orgtop::org::{Body, Command, RunEnd, ThreadId};
use orgtop::record::Limits;
use orgtop::task::{Checked, Task};
use std::collections::{BTreeMap, VecDeque};

fn solve(task: &Task) -> (Finished, Checked) {
    let sampling = Sampling {
        temperature: 0.0,
        ..Sampling::default()
    };
    let handle = launch(Plan {
        open: Box::new(|| {
            let engine = EngineThread::spawn("engine", || embedded::open(&Options::default()))?;
            Ok(Box::new(engine))
        }),
        start: Start::Fresh {
            config: RunConfig {
                query: task.query(),
                task: Some(task.to_string()),
                sampling,
                ..config()
            },
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: VecDeque::new(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let finished = handle.wait().unwrap();
    let answer = finished.organization.answer.clone().unwrap_or_default();
    (finished, task.check(&answer))
}

#[test]
fn it_organizes_and_solves_three_instances() {
    for spec in [
        "countdown 12 6 5 4 = 14",
        "countdown 8 6 4 3 = 24",
        "countdown 10 7 4 2 = 35",
    ] {
        let task = Task::parse(spec, 0).unwrap();
        let (finished, checked) = solve(&task);
        let org = &finished.organization;
        assert_eq!(org.end, Some(RunEnd::Answered), "{spec}");
        assert!(org.errors.is_empty(), "{spec}: {:?}", org.errors);
        assert!(checked.solved(), "{spec}: {:?}", org.answer);
        let metrics = org.metrics();
        assert!(org.threads().len() > 3 && metrics.eta > 1.0, "{spec}");
        assert!(metrics.latency < metrics.work, "{spec}");
    }
}

/// Sub-queries as the small model forks them, all forked by hand before the first step.
const CROWD: usize = 63;

fn crowd() -> VecDeque<Order> {
    let fork = |i: usize| {
        let (a, b, c, d) = (3 + i % 9, 2 + i % 7, 1 + i % 5, 4 + i % 3);
        Command::Fork {
            query: format!("A {a} {b} : {c} {d} -> {}", 10 + i % 20),
            seat: None,
            thread: None,
        }
    };
    // The organizer stands, so that nobody is abandoned.
    let hold = Command::Pause {
        thread: Some(ThreadId::ORGANIZER),
    };
    std::iter::once(hold)
        .chain((0..CROWD).map(fork))
        .map(|command| Order {
            at: None,
            together: true,
            line: None,
            command,
        })
        .collect()
}

/// The token ids of every thread, the run, and the most sequences that waited for pages, with a cache of so
/// many MiB.
fn crowded_into(mib: usize) -> (BTreeMap<ThreadId, Vec<u32>>, Finished, usize) {
    let handle = launch(Plan {
        open: Box::new(move || {
            let options = Options {
                cache_bytes: Some(mib << 20),
                ..Options::default()
            };
            let engine = EngineThread::spawn("engine", move || embedded::open(&options))?;
            Ok(Box::new(engine))
        }),
        start: Start::Fresh {
            config: RunConfig {
                query: "countdown 12 6 5 4 = 14".into(),
                capacity: Some(64),
                sampling: Sampling {
                    temperature: 1.0,
                    seed: 4,
                    ..Sampling::default()
                },
                limits: Limits {
                    worker: 40,
                    ..Limits::default()
                },
                ..config()
            },
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: crowd(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let (mut ids, mut queued) = (BTreeMap::<ThreadId, Vec<u32>>::new(), 0);
    loop {
        let batch = handle.mailbox.take();
        queued = queued.max(batch.report.queued);
        for event in batch.events {
            if let (Body::Tokens { ids: own, .. }, Some(id)) = (event.body, event.thread) {
                ids.entry(id).or_default().extend(own);
            }
        }
        if batch.report.phase == Phase::Over {
            return (ids, handle.wait().unwrap(), queued);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn threads_that_find_no_pages_wait_and_decode_what_they_would_have_decoded() {
    let (roomy, crowded) = (crowded_into(64), crowded_into(1));
    assert_eq!(roomy.2, 0, "room for everybody");
    assert!(crowded.2 > CROWD / 2, "{} waited for pages", crowded.2);
    assert_eq!(roomy.0.len(), CROWD);
    assert_eq!(roomy.0, crowded.0);
    let workers = |finished: &Finished| -> Vec<_> {
        let workers = finished.organization.threads().skip(1);
        workers
            .map(|t| (t.id, t.status, t.result.clone()))
            .collect()
    };
    assert_eq!(workers(&roomy.1), workers(&crowded.1));
    assert!(crowded.1.organization.threads().skip(1).all(|t| t.ended()));
    let steps = |finished: &Finished| finished.organization.now.step.0;
    assert!(steps(&crowded.1) > 2 * steps(&roomy.1));
}
