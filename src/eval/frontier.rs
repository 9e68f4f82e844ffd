//! Accuracy against `T`: how much each policy finds for how much patience.
//!
//! Two things are swept. *Size*: the capacity of an organization, the number of traces of `parallel` (prefixes of
//! the same traces, so they cost one run). *Budget*: a limit `L` on the critical path. Whatever would need more
//! than `L` tokens one after the other is cut off there and has no answer; its `T` is `L`. A cut changes nothing of
//! what comes before it, so budgets cost no further runs: for a lone trace this is exactly a token limit.

use super::outcome::Outcomes;
use super::report::{Results, truth};
use super::run::{Contender, Spec};
use super::statistics::{Interval, Sample};
use crate::record::Policy;
use serde::Serialize;

/// Capacities of an organization that are swept.
const CAPACITIES: std::ops::RangeInclusive<u32> = 2..=7;
/// Most traces of `parallel`.
const TRACES: u32 = 8;
/// Budgets of a curve, as shares of the runs that end within them.
const BUDGETS: u32 = 20;

/// Curves of all policies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frontier {
    /// One a policy: its sizes.
    pub sizes: Vec<Line>,
    /// One a policy, at the size that was asked for: its budgets.
    pub budgets: Vec<Line>,
}

/// The points of one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its word.
    pub name: &'static str,
    /// In order of what is swept.
    pub points: Vec<Point>,
}

/// What a policy reaches in one setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Capacity or number of traces.
    pub size: u32,
    /// The limit on the critical path, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Mean `T`.
    #[serde(rename = "T")]
    pub latency: f64,
    /// Its 95 % interval.
    pub latency_interval: Option<Interval>,
    /// Share with all that is wanted.
    pub all: f64,
    /// Its 95 % interval.
    pub all_interval: Option<Interval>,
    /// Tokens an instance; what lies past a budget is not told apart and counted nowhere, so there it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded: Option<f64>,
}

/// What has to be evaluated for the frontier of these.
#[must_use]
pub fn contenders(asked: &[Contender]) -> Vec<Contender> {
    asked.iter().flat_map(|c| sizes(*c)).collect()
}

fn sizes(contender: Contender) -> Vec<Contender> {
    let sizes: Vec<u32> = match contender.policy {
        Policy::Asyncthink => CAPACITIES.collect(),
        Policy::Sequential => vec![1],
        Policy::Parallel => (1..=TRACES).collect(),
    };
    let of = |size| Contender { size, ..contender };
    sizes.into_iter().map(of).collect()
}

/// The curves of the contenders of `spec`; outcomes for [`contenders`] of them are needed.
#[must_use]
pub fn frontier(spec: &Spec, outcomes: &Outcomes) -> Frontier {
    let results = |c: Contender| Results::new(spec, c, outcomes);
    let line = |c: &Contender, points: Vec<Point>| Line {
        name: c.name(),
        points,
    };
    let by_size = |c: &Contender| {
        let points = sizes(*c).into_iter().map(|c| whole(c, &results(c)));
        line(c, points.collect())
    };
    let by_budget = |c: &Contender| line(c, budgets(*c, &results(*c)));
    Frontier {
        sizes: spec.contenders.iter().map(by_size).collect(),
        budgets: spec.contenders.iter().map(by_budget).collect(),
    }
}

fn whole(contender: Contender, results: &Results) -> Point {
    let latency = results.sample(&|j| j.latency as f64);
    let all = results.sample(&|j| truth(j.solved()));
    Point {
        decoded: Some(results.sample(&|j| j.decoded as f64).mean()),
        ..point(contender, None, &latency, &all)
    }
}

fn budgets(contender: Contender, results: &Results) -> Vec<Point> {
    let latency = results.sample(&|j| j.latency as f64);
    let of = |n: u32| latency.quantile(f64::from(n) / f64::from(BUDGETS)) as u64;
    let mut budgets: Vec<u64> = (1..=BUDGETS).map(of).collect();
    budgets.dedup();
    let cut = |budget: u64| {
        let latency = results.sample(&move |j| j.latency.min(budget) as f64);
        let all = results.sample(&move |j| truth(j.solved() && j.latency <= budget));
        point(contender, Some(budget), &latency, &all)
    };
    budgets.into_iter().map(cut).collect()
}

fn point(contender: Contender, budget: Option<u64>, latency: &Sample, all: &Sample) -> Point {
    Point {
        size: contender.size,
        budget,
        latency: latency.mean(),
        latency_interval: latency.mean_interval(),
        all: all.mean(),
        all_interval: all.share_interval(),
        decoded: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Outcome;
    use super::super::run::{Kind, Run, Settings};
    use super::*;
    use crate::task::Task;

    fn spec() -> Spec {
        let task = Task::parse("countdown 12 9 6 4 = 18 find 2", 0).unwrap();
        Spec {
            tasks: vec![task; 4],
            seeds: vec![1],
            contenders: vec![Contender::new(Policy::Parallel, 2)],
            settings: Settings::default(),
            width: 1,
        }
    }

    /// Trace `t` of every instance finds solution `t % 2` in `10 (instance + 1) + t` tokens.
    fn outcomes(spec: &Spec) -> Outcomes {
        let solutions = spec.tasks[0].solutions(2);
        let all = Spec {
            contenders: contenders(&spec.contenders),
            ..spec.clone()
        };
        let outcome = |run: &Run| {
            let Kind::Lone { trace } = run.kind else {
                panic!("no organization was asked for")
            };
            let tokens = 10 * (run.instance as u64 + 1) + u64::from(trace);
            Outcome {
                valid: true,
                answer: Some(solutions[trace as usize % 2].clone()),
                errors: Vec::new(),
                latency: tokens,
                eta: 0.0,
                forks: 0,
                decoded: tokens,
            }
        };
        all.runs().iter().map(|r| (*r, outcome(r))).collect()
    }

    #[test]
    fn more_traces_find_more_and_take_as_long_as_the_longest() {
        let spec = spec();
        let frontier = frontier(&spec, &outcomes(&spec));
        let points = &frontier.sizes[0].points;
        let shown: Vec<(u32, f64, f64)> =
            points.iter().map(|p| (p.size, p.latency, p.all)).collect();
        assert_eq!(shown.len(), 8);
        assert_eq!(shown[..3], [(1, 25.0, 0.0), (2, 26.0, 1.0), (3, 27.0, 1.0)]);
        assert_eq!(points[1].decoded, Some(51.0));
    }

    #[test]
    fn a_budget_cuts_off_what_takes_longer() {
        let spec = spec();
        let frontier = frontier(&spec, &outcomes(&spec));
        let shown: Vec<(Option<u64>, f64, f64)> = frontier.budgets[0]
            .points
            .iter()
            .map(|p| (p.budget, p.latency, p.all))
            .collect();
        // instances take 11, 21, 31, 41 tokens
        assert_eq!(
            shown,
            [
                (Some(11), 11.0, 0.25),
                (Some(21), 18.5, 0.5),
                (Some(31), 23.5, 0.75),
                (Some(41), 26.0, 1.0)
            ]
        );
    }
}
