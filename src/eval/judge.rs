//! What a policy got right on one instance.

use super::outcome::{Outcome, Outcomes};
use super::run::{Contender, Run};
use crate::record::Policy;
use crate::task::{Task, merge};

/// One instance, met once by one contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Distinct correct solutions among those that count.
    pub n_correct: usize,
    /// Solutions wanted.
    pub required: usize,
    /// The format was kept; of several traces, by at least one.
    pub valid: bool,
    /// Critical-path latency; of several traces, the longest.
    pub latency: u64,
    /// Mean number of active workers, in an organization.
    pub eta: f64,
    /// Forks.
    pub forks: u64,
    /// Tokens decoded.
    pub decoded: u64,
}

impl Judged {
    /// Whether everything wanted was found.
    #[must_use]
    pub fn solved(&self) -> bool {
        self.n_correct >= self.required
    }
}

/// Judges a contender on an instance; `None` while a run of it is missing.
///
/// The same rule holds for all policies: of what was written in valid runs, the first `required` distinct
/// solutions count, right or wrong (see [`merge`]).
#[must_use]
pub fn judge(
    task: &Task,
    contender: Contender,
    instance: usize,
    seed: u64,
    outcomes: &Outcomes,
) -> Option<Judged> {
    let of = |kind| {
        outcomes.get(&Run {
            instance,
            seed,
            kind,
        })
    };
    let traces: Vec<&Outcome> = contender
        .kinds()
        .into_iter()
        .map(of)
        .collect::<Option<_>>()?;
    let organized = contender.policy == Policy::Asyncthink;
    let sum = |part: fn(&Outcome) -> u64| traces.iter().map(|t| part(t)).sum();
    Some(Judged {
        n_correct: count_correct(task, &traces),
        required: task.required(),
        valid: traces.iter().any(|t| t.valid),
        latency: traces.iter().map(|t| t.latency).max().unwrap_or_default(),
        eta: traces.first().filter(|_| organized).map_or(0.0, |t| t.eta),
        forks: sum(|t| t.forks),
        decoded: sum(|t| t.decoded),
    })
}

fn count_correct(task: &Task, traces: &[&Outcome]) -> usize {
    let (mut keys, mut verdicts) = (Vec::new(), Vec::new());
    for trace in traces {
        let written = task.written(trace.counted_answer()).into_iter();
        let (own, correct): (Vec<_>, Vec<bool>) = written.map(|w| (w.key, w.found.correct)).unzip();
        keys.push(own);
        verdicts.push(correct);
    }
    let counted = merge(&keys, task.required()).into_iter();
    counted.filter(|(t, i)| verdicts[*t][*i]).count()
}

#[cfg(test)]
mod tests {
    use super::super::run::Kind;
    use super::*;

    fn trace(answer: &str, valid: bool, tokens: u64) -> Outcome {
        Outcome {
            valid,
            answer: Some(answer.into()),
            errors: Vec::new(),
            latency: tokens,
            eta: 0.0,
            forks: 0,
            decoded: tokens,
        }
    }

    fn judged(traces: &[Outcome], contender: Contender) -> Option<Judged> {
        let task = Task::parse("countdown 12 9 6 4 = 18 find 2", 0).unwrap();
        let lone = |trace| Run {
            instance: 0,
            seed: 1,
            kind: Kind::Lone { trace },
        };
        let outcomes = (0..).map(lone).zip(traces.iter().cloned()).collect();
        judge(&task, contender, 0, 1, &outcomes)
    }

    const RIGHT: &str = "(12 - 9) * 4 + 6";
    const WRONG: &str = "12 + 9 + 6 + 4";

    #[test]
    fn wrong_solutions_take_a_place_and_repetitions_none() {
        let other = Task::parse("countdown 12 9 6 4 = 18 find 2", 0)
            .unwrap()
            .solutions(9)
            .into_iter()
            .find(|s| !s.contains("- 9") && !s.contains("9 - 12"))
            .unwrap();
        let parallel = |n| Contender::new(Policy::Parallel, n);
        let traces = [
            trace(RIGHT, true, 10),
            trace("6 + 4 * (12 - 9)", true, 30),
            trace(&other, true, 20),
        ];
        let all = judged(&traces, parallel(3)).unwrap();
        assert_eq!((all.n_correct, all.latency, all.decoded), (2, 30, 60));
        assert_eq!(judged(&traces, parallel(2)).unwrap().n_correct, 1);
        let alone = judged(&traces, Contender::new(Policy::Sequential, 4)).unwrap();
        assert_eq!((alone.n_correct, alone.latency), (1, 10));
        let spoiled = [
            trace(&format!("{RIGHT}\n{WRONG}"), true, 10),
            traces[2].clone(),
        ];
        assert_eq!(judged(&spoiled, parallel(2)).unwrap().n_correct, 1);
    }

    #[test]
    fn broken_traces_write_nothing_and_missing_ones_are_no_verdict() {
        let parallel = Contender::new(Policy::Parallel, 2);
        let traces = [trace(RIGHT, false, 9), trace(RIGHT, true, 5)];
        let both = judged(&traces, parallel).unwrap();
        assert_eq!((both.valid, both.n_correct, both.latency), (true, 1, 9));
        let first = judged(&traces, Contender::new(Policy::Sequential, 1)).unwrap();
        assert_eq!((first.valid, first.n_correct), (false, 0));
        assert_eq!(judged(&traces[..1], parallel), None);
    }
}
