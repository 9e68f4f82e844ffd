//! The model inside the binary, through whole runs.

use crate::harness::config;
use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
use orgtop::live::{Audience, Finished, Plan, RunConfig, Start, launch};
use orgtop::org::{Metrics, RunEnd};
use orgtop::task::{Checked, Task, sets::Set};
use std::collections::VecDeque;

fn solve(task: &Task, temperature: f32, seed: u64) -> (Finished, Checked) {
    let sampling = Sampling {
        temperature,
        top_p: None,
        seed,
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
        let (finished, checked) = solve(&task, 0.0, 0);
        let org = &finished.organization;
        assert_eq!(org.end, Some(RunEnd::Answered), "{spec}");
        assert!(org.errors.is_empty(), "{spec}: {:?}", org.errors);
        assert!(checked.solved(), "{spec}: {:?}", org.answer);
        let metrics = org.metrics();
        assert!(org.threads().len() > 3 && metrics.eta > 1.0, "{spec}");
        assert!(metrics.latency < metrics.work, "{spec}");
    }
}

/// Prints the figures of the model card.
#[test]
#[ignore = "slow: 400 held-out instances twice; run with --release --nocapture"]
fn held_out_instances() {
    for (name, temperature) in [("greedy", 0.0), ("temperature 1", 1.0)] {
        let mut at_least = [0u32; 5];
        let (mut valid, mut latencies, mut eta, mut decoded, mut forks) = (0, vec![], 0.0, 0, 0);
        let tasks = Set::CountdownTest.tasks();
        for (seed, task) in tasks.iter().enumerate() {
            let (finished, checked) = solve(task, temperature, seed as u64);
            let org = &finished.organization;
            for (a, count) in at_least.iter_mut().enumerate() {
                *count += u32::from(checked.n_correct >= a);
            }
            valid += u32::from(org.errors.is_empty() && org.end == Some(RunEnd::Answered));
            let metrics: Metrics = org.metrics();
            latencies.push(metrics.latency);
            eta += metrics.eta;
            decoded += metrics.decoded;
            forks += org.threads().len() - 1;
        }
        latencies.sort_unstable();
        let n = tasks.len() as f64;
        let share = |count: u32| f64::from(count) / n;
        println!(
            "{name}: n {n} | format {:.3} | ≥1 {:.3} ≥2 {:.3} ≥3 {:.3} all 4 {:.3} | T mean {:.0} p90 {} | η {:.2} | forks {:.1} | tokens {:.0}",
            share(valid),
            share(at_least[1]),
            share(at_least[2]),
            share(at_least[3]),
            share(at_least[4]),
            latencies.iter().sum::<u64>() as f64 / n,
            latencies[latencies.len() * 9 / 10],
            eta / n,
            forks as f64 / n,
            decoded as f64 / n,
        );
        assert!(share(valid) > 0.9);
    }
}
