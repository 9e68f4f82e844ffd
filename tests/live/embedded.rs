//! The model inside the binary, through whole runs.

use crate::harness::config;
use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
use orgtop::live::{Audience, Finished, Plan, RunConfig, Start, launch};
use orgtop::org::RunEnd;
use orgtop::task::{Checked, Task};
use std::collections::VecDeque;

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
