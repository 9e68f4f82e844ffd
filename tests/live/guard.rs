//! The guard on a real model that is made to babble.

use crate::harness::config;
use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
use orgtop::live::{Audience, Finished, Plan, RunConfig, Start, launch, parse_orders};
use orgtop::org::{ErrorKind, ErrorRecord, Organization};
use orgtop::record::{Limits, PoolPolicy};
use orgtop::task::Task;
use std::time::{Duration, Instant};

fn decode(temperature: f32, seed: u64, guard: bool, orders: &str) -> (Finished, Duration) {
    decode_at(1, temperature, seed, guard, orders)
}

fn decode_at(
    depth: u8,
    temperature: f32,
    seed: u64,
    guard: bool,
    orders: &str,
) -> (Finished, Duration) {
    let task = Task::parse("countdown 10 6 5 3 = 30", 0).unwrap();
    let begun = Instant::now();
    let handle = launch(Plan {
        open: Box::new(|| {
            let engine = EngineThread::spawn("engine", || embedded::open(&Options::default()))?;
            Ok(Box::new(engine))
        }),
        start: Start::Fresh {
            config: RunConfig {
                query: task.query(),
                sampling: Sampling {
                    temperature,
                    top_p: None,
                    seed,
                    ..Sampling::default()
                },
                pool: if seed.is_multiple_of(2) {
                    PoolPolicy::Wait
                } else {
                    PoolPolicy::Error
                },
                limits: Limits {
                    organizer: 200,
                    worker: if depth == 1 { 40 } else { 160 },
                    depth,
                },
                guard,
                ..config()
            },
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    (handle.wait().unwrap(), begun.elapsed())
}

fn vetoes(org: &Organization) -> u64 {
    org.threads().map(|t| t.vetoes).sum()
}

/// Errors that the guard is there to forbid.
fn forbidden_errors(org: &Organization) -> Vec<ErrorKind> {
    let kinds = org.errors.iter().map(|e| e.kind);
    kinds
        .filter(|k| !matches!(k, ErrorKind::NoAnswer | ErrorKind::TokenLimit))
        .collect()
}

#[test]
fn babbling_makes_errors_without_the_guard_and_none_with_it() {
    let (mut errors, mut refused) = (0, 0);
    for seed in 0..4 {
        let (free, _) = decode(2.0, seed, false, "");
        errors += forbidden_errors(&free.organization).len();
        assert_eq!(vetoes(&free.organization), 0);
        let (guarded, _) = decode(2.0, seed, true, "");
        assert_eq!(forbidden_errors(&guarded.organization), [], "seed {seed}");
        refused += vetoes(&guarded.organization);
    }
    assert!(
        errors > 0 && refused > 0,
        "{errors} errors, {refused} vetoes"
    );
}

#[test]
fn workers_that_organize_are_guarded_too() {
    let (mut errors, mut refused) = (0, 0);
    let of_workers = |org: &Organization| {
        let workers = org.threads().filter(|t| !t.id.is_organizer());
        workers.map(|t| t.vetoes).sum::<u64>()
    };
    // A person begins to organize in a worker's place, and the model goes on.
    let orders = [
        r#"{"do": "fork", "query": "countdown 10 6 5 3 = 30", "seat": "human"}"#,
        r#"{"do": "text", "thread": "1", "text": "<FORK-1>A 10 6 : 5 3 -> 30</FORK-1><FORK-2>B 10 5 : 6 3 -> 30</FORK-2><FORK-3>C 10 3"}"#,
        r#"{"do": "seat", "thread": "1", "to": "model"}"#,
    ]
    .join("\n");
    for seed in 0..6 {
        let (free, _) = decode_at(2, 2.0, seed, false, &orders);
        let by_workers = |e: &&ErrorRecord| !e.thread.is_organizer();
        errors += free.organization.errors.iter().filter(by_workers).count();
        let (guarded, _) = decode_at(2, 2.0, seed, true, &orders);
        assert_eq!(forbidden_errors(&guarded.organization), [], "seed {seed}");
        refused += of_workers(&guarded.organization);
    }
    assert!(
        errors > 0 && refused > 0,
        "{errors} errors, {refused} vetoes"
    );
}

#[test]
fn where_nothing_illegal_is_drawn_the_guard_changes_nothing() {
    let (free, _) = decode(0.0, 0, false, "");
    let (guarded, _) = decode(0.0, 0, true, "");
    assert_eq!(forbidden_errors(&free.organization), []);
    assert_eq!(vetoes(&guarded.organization), 0);
    assert_eq!(
        free.organization.metrics().latency,
        guarded.organization.metrics().latency
    );
    assert_eq!(free.organization.answer, guarded.organization.answer);
}

#[test]
fn it_is_switched_on_in_a_running_session() {
    let on = r#"{"do": "set", "guard": "on"}"#;
    let switched: u64 = (0..3)
        .map(|seed| vetoes(&decode(2.0, seed, false, on).0.organization))
        .sum();
    assert!(switched > 0);
}

/// `cargo test --release --test live guard::overhead -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn overhead() {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..15 {
        for (guard, best) in [false, true].into_iter().zip(&mut best) {
            let (finished, took) = decode(0.0, 0, guard, "");
            let tokens: u64 = finished.organization.threads().map(|t| t.tokens).sum();
            *best = best.min(took.as_secs_f64() / tokens as f64);
        }
    }
    println!(
        "µs a token: {:.1} without, {:.1} with the guard: {:+.2} %",
        best[0] * 1e6,
        best[1] * 1e6,
        (best[1] / best[0] - 1.0) * 100.0
    );
}
