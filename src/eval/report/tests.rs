use super::super::outcome::Outcome;
use super::super::run::{Kind, Run, Settings};
use super::*;
use crate::task::Task;

fn outcome(answer: &str, valid: bool, latency: u64) -> Outcome {
    Outcome {
        valid,
        answer: Some(answer.into()),
        errors: Vec::new(),
        latency,
        eta: 1.0,
        forks: 2,
        decoded: 2 * latency,
    }
}

#[test]
fn figures_are_counted_over_instances_and_seeds() {
    let task = Task::parse("countdown 12 9 6 4 = 18 find 2", 0).unwrap();
    let both = task.solutions(2).join("\n");
    let one = task.solutions(1).join("\n");
    let spec = Spec {
        tasks: vec![task.clone(), task],
        seeds: vec![5, 6],
        contenders: vec![Contender::new(Policy::Asyncthink, 4)],
        settings: Settings::default(),
        width: 1,
    };
    let all = [
        outcome(&both, true, 10),
        outcome(&one, true, 20),
        outcome(&both, false, 30),
        outcome(&both, true, 40),
    ];
    let kind = Kind::Organized { capacity: 4 };
    let runs = [(0, 5), (0, 6), (1, 5), (1, 6)].map(|(instance, seed)| Run {
        instance,
        seed,
        kind,
    });
    let outcomes: Outcomes = runs.into_iter().zip(all).collect();
    let report = report(&spec, &outcomes);
    let policy = &report.policies[0];
    let figures = &policy.figures;
    assert_eq!(figures.ge, [0.75, 0.5]);
    assert_eq!((figures.all, figures.format_valid), (0.5, 0.75));
    assert_eq!((figures.latency.mean, figures.latency.p90), (25.0, 40.0));
    assert_eq!((figures.eta_over_c, figures.r_a), (Some(0.25), 0.625));
    let per_seed: Vec<(u64, f64)> = policy
        .per_seed
        .iter()
        .map(|s| (s.seed, s.figures.all))
        .collect();
    assert_eq!(per_seed, [(5, 0.5), (6, 0.5)]);
    let Interval(low, high) = policy.intervals.all.unwrap();
    assert!(low < 0.2 && high > 0.8);
}
#[test]
fn policies_are_compared_pair_by_pair() {
    let task = Task::parse("countdown 12 9 6 4 = 18 find 2", 0).unwrap();
    let both = task.solutions(2).join("\n");
    let contenders = [Policy::Asyncthink, Policy::Sequential];
    let spec = Spec {
        tasks: vec![task; 4],
        seeds: vec![1],
        contenders: contenders.map(|p| Contender::new(p, 4)).to_vec(),
        settings: Settings::default(),
        width: 1,
    };
    // always half as long as the other, however long that is; once the only one to find anything
    let of = |run: &Run| {
        let long = 100 * (run.instance as u64 + 1);
        match run.kind {
            Kind::Organized { .. } => outcome(&both, true, long / 2),
            Kind::Lone { .. } => outcome(&both, run.instance > 0, long),
        }
    };
    let outcomes: Outcomes = spec.runs().iter().map(|r| (*r, of(r))).collect();
    let report = report(&spec, &outcomes);
    let comparison = &report.comparisons[0];
    assert_eq!(
        (comparison.of, comparison.with),
        ("asyncthink", "sequential")
    );
    assert_eq!((comparison.all, comparison.latency), (0.25, -0.5));
    let Interval(low, high) = comparison.latency_interval.unwrap();
    assert!((low + 0.5).abs() < 1e-9 && (high + 0.5).abs() < 1e-9);
    let Interval(low, high) = comparison.all_interval.unwrap();
    assert!(low < 0.25 && high > 0.25);
}
