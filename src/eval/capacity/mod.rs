//! What capacity buys: `T` of one organization, or of many with drawn lengths, under each capacity.
//!
//! Token counts alone, as ideal time has them ([`crate::org::simulate`]): nobody decodes a token more or less
//! because of a slot more or less. [`lengths`] makes organizations from a description.

pub(super) mod lengths;

use crate::eval::statistics::Sample;
use crate::org::{
    DEFAULT_TAU, Link, Schedule, ThreadId, Trace, WaitOn, critical_path, measure, simulate,
};
use serde::Serialize;

/// A Fork that found no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Overflow {
    /// At which step.
    pub step: u64,
    /// Whose Fork: the worker that was to begin.
    pub worker: ThreadId,
}

/// One organization under one capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// Critical-path latency; `None` where some Fork could never be served.
    pub latency: Option<u64>,
    /// Mean number of active workers over the `T` steps.
    pub eta: f64,
    /// The chain that realises `T`.
    pub path: Vec<Link>,
    /// The first Fork that found no slot: an error where Forks may not wait.
    pub first_overflow: Option<Overflow>,
    /// The first Fork that no slot could ever serve: an error even where Forks wait.
    pub first_unserved: Option<Overflow>,
}

/// Simulates `traces` under `capacity`.
#[must_use]
pub fn timed(traces: &[Trace], capacity: u32) -> Timed {
    let schedule = simulate(traces, capacity);
    let work = traces.iter().map(|t| t.tokens).sum();
    let served = schedule.unserved.is_empty();
    Timed {
        latency: served.then_some(schedule.latency),
        eta: measure(&schedule, work, capacity, DEFAULT_TAU, 0, 0).eta,
        path: if served {
            critical_path(&schedule)
        } else {
            Vec::new()
        },
        first_overflow: first_overflow(&schedule),
        first_unserved: schedule
            .unserved
            .iter()
            .min()
            .map(|&(step, worker)| Overflow { step, worker }),
    }
}

/// Up to the first Fork that finds no slot, waiting and not waiting are the same.
fn first_overflow(schedule: &Schedule) -> Option<Overflow> {
    let waits = schedule.lanes.values().flat_map(|lane| &lane.waits);
    waits
        .filter_map(|wait| match wait.on {
            WaitOn::Slot(worker) => Some(Overflow {
                step: wait.from,
                worker,
            }),
            WaitOn::Join(_) => None,
        })
        .min_by_key(|overflow| (overflow.step, overflow.worker))
}

/// One link of a critical path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathLink {
    /// Who decoded.
    pub thread: ThreadId,
    /// Step before its first token here.
    pub from: u64,
    /// Step of its last token here.
    pub to: u64,
}

/// What a capacity comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacityPoint {
    /// Organizer plus workers at once.
    pub capacity: u32,
    /// Mean `T` of the organizations that come to their end.
    #[serde(rename = "T")]
    pub latency: Option<f64>,
    /// `T` that 5 % and 95 % of them do not exceed.
    #[serde(rename = "T_range")]
    pub range: Option<(f64, f64)>,
    /// Mean of `η`.
    pub eta: f64,
    /// Mean of `η / c`.
    pub eta_over_c: f64,
    /// Tokens of all threads, divided by `T`.
    pub speedup: Option<f64>,
    /// Share of organizations in which some Fork could never be served, though it waits.
    pub never_served: f64,
    /// Share in which some Fork finds no slot at once: an error where Forks may not wait.
    pub overflows: f64,
    /// With one organization: the first such Fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_overflow: Option<Overflow>,
    /// With one organization: the first Fork that no slot could ever serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_unserved: Option<Overflow>,
    /// With one organization: its critical path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub critical_path: Vec<PathLink>,
}

/// What each capacity comes to for these organizations.
#[must_use]
pub fn capacity_curve(organizations: &[Vec<Trace>], capacities: &[u32]) -> Vec<CapacityPoint> {
    capacities
        .iter()
        .map(|&capacity| point(organizations, capacity))
        .collect()
}

fn point(organizations: &[Vec<Trace>], capacity: u32) -> CapacityPoint {
    let all: Vec<Timed> = organizations
        .iter()
        .map(|traces| timed(traces, capacity))
        .collect();
    let count = all.len().max(1) as f64;
    let share = |is: &dyn Fn(&Timed) -> bool| all.iter().filter(|t| is(t)).count() as f64 / count;
    let sample = |values: Vec<f64>| Sample::new(values.into_iter().map(|v| vec![v]).collect());
    let latencies: Vec<f64> = all
        .iter()
        .filter_map(|t| t.latency)
        .map(|l| l as f64)
        .collect();
    let ends = !latencies.is_empty();
    let latency = sample(latencies);
    let of_those_that_end = |value: &dyn Fn(&Timed, f64, u64) -> f64| -> f64 {
        let each = all.iter().zip(organizations).filter_map(|(t, traces)| {
            let work = traces.iter().map(|t| t.tokens).sum();
            Some(value(t, t.latency? as f64, work))
        });
        sample(each.collect()).mean()
    };
    let eta = of_those_that_end(&|t, _, _| t.eta);
    let speedup = of_those_that_end(&|_, latency, work| work as f64 / latency.max(1.0));
    let only = match all.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    CapacityPoint {
        capacity,
        latency: ends.then(|| latency.mean()),
        range: ends.then(|| (latency.quantile(0.05), latency.quantile(0.95))),
        eta,
        eta_over_c: eta / f64::from(capacity.max(1)),
        speedup: ends.then_some(speedup),
        never_served: share(&|t| t.latency.is_none()),
        overflows: share(&|t| t.first_overflow.is_some()),
        first_overflow: only.and_then(|t| t.first_overflow),
        first_unserved: only.and_then(|t| t.first_unserved),
        critical_path: only
            .map(|t| t.path.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|link| PathLink {
                thread: link.thread,
                from: link.from,
                to: link.to,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Op, OpKind};

    fn worker(index: u16) -> ThreadId {
        ThreadId::worker(index).unwrap()
    }

    /// The protocol's fourth test vector: two Forks, two Joins.
    fn vector_4() -> Vec<Trace> {
        let fork = |at, i| Op {
            at,
            kind: OpKind::Fork {
                child: worker(i),
                anchor: None,
            },
        };
        let join = |at, i| Op {
            at,
            kind: OpKind::Join { child: worker(i) },
        };
        let trace = |id, tokens, ops| Trace {
            id,
            tokens,
            ended: true,
            ops,
        };
        vec![
            trace(
                ThreadId::ORGANIZER,
                18,
                vec![fork(5, 1), fork(10, 2), join(13, 1), join(16, 2)],
            ),
            trace(worker(1), 20, vec![]),
            trace(worker(2), 10, vec![]),
        ]
    }

    #[test]
    fn a_slot_more_takes_the_wait_off_the_path_and_none_serves_nobody() {
        let points = capacity_curve(&[vector_4()], &[1, 2, 3, 9]);
        let latencies: Vec<_> = points.iter().map(|p| p.latency).collect();
        assert_eq!(latencies, [None, Some(37.0), Some(30.0), Some(30.0)]);
        let first: Vec<_> = points.iter().map(|p| p.first_overflow).collect();
        let at = |step, i| {
            Some(Overflow {
                step,
                worker: worker(i),
            })
        };
        assert_eq!(first, [at(5, 1), at(10, 2), None, None]);
        assert_eq!(points[0].never_served, 1.0);
        assert_eq!(points[1].critical_path.last().unwrap().to, 37);
    }

    #[test]
    fn many_organizations_give_means_and_shares() {
        let mut short = vector_4();
        short[1].tokens = 2;
        let points = capacity_curve(&[vector_4(), short], &[2]);
        let point = &points[0];
        // With 2 tokens worker 1 has ended before the second Fork: 10, then JOIN-2 waits until 20.
        assert_eq!(point.latency, Some(f64::midpoint(37.0, 22.0)));
        assert_eq!(point.range, Some((22.0, 37.0)));
        assert_eq!((point.overflows, point.never_served), (0.5, 0.0));
        assert!(point.critical_path.is_empty());
    }
}
