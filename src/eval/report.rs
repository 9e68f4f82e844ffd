//! The figures of a policy.

use super::judge::{Judged, judge};
use super::outcome::Outcomes;
use super::run::{Contender, Spec};
use super::statistics::{Interval, Sample};
use crate::record::Policy;
use serde::Serialize;

/// What came of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// In the order asked for.
    pub policies: Vec<PolicyReport>,
    /// The first policy beside each of the others, instance by instance.
    pub comparisons: Vec<Comparison>,
}

/// One policy beside another, on the same instances. Intervals are 95 % and of the differences themselves, which
/// vary less than either figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Who.
    pub of: &'static str,
    /// Beside whom.
    pub with: &'static str,
    /// How much more often it finds all that is wanted.
    pub all: f64,
    /// Its interval.
    pub all_interval: Option<Interval>,
    /// By what share of the other's mean its mean `T` differs; below 0 it is shorter.
    #[serde(rename = "T")]
    pub latency: f64,
    /// Its interval.
    #[serde(rename = "T_interval")]
    pub latency_interval: Option<Interval>,
}

/// What came of one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyReport {
    /// Its word.
    pub name: &'static str,
    /// Capacity of the organization, number of traces.
    pub size: u32,
    /// Over all seeds.
    #[serde(flatten)]
    pub figures: Figures,
    /// 95 % intervals of the same.
    pub intervals: Intervals,
    /// Each seed alone, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_seed: Vec<SeedFigures>,
}

/// Figures of one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedFigures {
    /// Which.
    pub seed: u64,
    /// They.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Shares and means over instances.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Share with at least one, two, … distinct correct solutions.
    pub ge: Vec<f64>,
    /// Share with all that are wanted.
    pub all: f64,
    /// Mean of the accuracy reward: found of wanted.
    pub r_a: f64,
    /// Share that answered and kept the format.
    pub format_valid: f64,
    /// Critical-path latency in tokens.
    #[serde(rename = "T")]
    pub latency: Latency,
    /// Mean number of active workers; only organizations have any.
    pub eta: Option<f64>,
    /// The same as a share of the capacity.
    pub eta_over_c: Option<f64>,
    /// Forks an instance.
    pub forks: f64,
    /// Tokens an instance.
    pub decoded: f64,
}

/// A latency in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Nine in ten are no longer.
    pub p90: f64,
}

/// 95 % intervals; `null` where there are too few instances for one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see Figures")]
pub struct Intervals {
    pub ge: Vec<Option<Interval>>,
    pub all: Option<Interval>,
    pub r_a: Option<Interval>,
    pub format_valid: Option<Interval>,
    #[serde(rename = "T")]
    pub latency: Option<Interval>,
    pub eta_over_c: Option<Interval>,
    pub forks: Option<Interval>,
    pub decoded: Option<Interval>,
}

/// What is counted of one meeting of contender and instance, as a number.
type Part = dyn Fn(&Judged) -> f64;

/// All that a contender met: by instance, then seed.
#[derive(Debug, Clone)]
pub(super) struct Results {
    contender: Contender,
    seeds: Vec<u64>,
    judged: Vec<Vec<Judged>>,
}

impl Results {
    /// Judges everything; runs that are missing are left out.
    pub(super) fn new(spec: &Spec, contender: Contender, outcomes: &Outcomes) -> Self {
        let instances = spec.tasks.iter().enumerate();
        let judged = instances.map(|(i, task)| {
            let seeds = spec.seeds.iter();
            seeds
                .filter_map(|seed| judge(task, contender, i, *seed, outcomes))
                .collect()
        });
        Self {
            contender,
            seeds: spec.seeds.clone(),
            judged: judged.collect(),
        }
    }

    fn of_seed(&self, n: usize) -> Self {
        let one = |seeds: &Vec<Judged>| seeds.get(n).copied().into_iter().collect();
        Self {
            contender: self.contender,
            seeds: self.seeds.get(n).copied().into_iter().collect(),
            judged: self.judged.iter().map(one).collect(),
        }
    }

    /// A number of each.
    pub(super) fn sample(&self, part: &Part) -> Sample {
        let groups = self.judged.iter();
        Sample::new(groups.map(|g| g.iter().map(part).collect()).collect())
    }

    fn most_required(&self) -> usize {
        let all = self.judged.iter().flatten();
        all.map(|j| j.required).max().unwrap_or_default()
    }

    fn at_least(&self) -> Vec<Sample> {
        let share = |a: usize| self.sample(&move |j| truth(j.n_correct >= a.min(j.required)));
        (1..=self.most_required()).map(share).collect()
    }

    fn per_capacity(&self) -> f64 {
        1.0 / f64::from(self.contender.size.max(1))
    }

    fn figures(&self) -> Figures {
        let latency = self.sample(&|j| j.latency as f64);
        let organized = self.contender.policy == Policy::Asyncthink;
        let eta = organized.then(|| self.sample(&|j| j.eta).mean());
        Figures {
            ge: self.at_least().iter().map(Sample::mean).collect(),
            all: self.sample(&|j| truth(j.solved())).mean(),
            r_a: self.sample(&accuracy).mean(),
            format_valid: self.sample(&|j| truth(j.valid)).mean(),
            latency: Latency {
                mean: latency.mean(),
                p90: latency.quantile(0.9),
            },
            eta,
            eta_over_c: eta.map(|eta| eta * self.per_capacity()),
            forks: self.sample(&|j| j.forks as f64).mean(),
            decoded: self.sample(&|j| j.decoded as f64).mean(),
        }
    }

    fn intervals(&self) -> Intervals {
        let share = |part: &Part| self.sample(part).share_interval();
        let mean = |part: &Part| self.sample(part).mean_interval();
        let organized = self.contender.policy == Policy::Asyncthink;
        let per_capacity = self.per_capacity();
        Intervals {
            ge: self.at_least().iter().map(Sample::share_interval).collect(),
            all: share(&|j| truth(j.solved())),
            r_a: mean(&accuracy).map(Interval::of_shares),
            format_valid: share(&|j| truth(j.valid)),
            latency: mean(&|j| j.latency as f64),
            eta_over_c: if organized {
                mean(&move |j| j.eta * per_capacity)
            } else {
                None
            },
            forks: mean(&|j| j.forks as f64),
            decoded: mean(&|j| j.decoded as f64),
        }
    }

    /// A number of each pair of the same instance and seed.
    fn paired(&self, other: &Self, part: &dyn Fn(&Judged, &Judged) -> f64) -> Sample {
        let groups = self.judged.iter().zip(&other.judged);
        let pairs = groups.map(|(a, b)| a.iter().zip(b).map(|(a, b)| part(a, b)).collect());
        Sample::new(pairs.collect())
    }

    fn beside(&self, other: &Self) -> Comparison {
        let all = self.paired(other, &|a, b| truth(a.solved()) - truth(b.solved()));
        let mean = |of: &Self| of.sample(&|j| j.latency as f64).mean();
        let base = mean(other).max(f64::MIN_POSITIVE);
        let ratio = mean(self) / base;
        // to first order, the ratio of two means varies like the mean of this
        let rest = self.paired(other, &|a, b| a.latency as f64 - ratio * b.latency as f64);
        Comparison {
            of: self.contender.name(),
            with: other.contender.name(),
            all: all.mean(),
            all_interval: all.difference_interval(),
            latency: ratio - 1.0,
            latency_interval: rest
                .mean_interval()
                .map(|i| Interval(ratio - 1.0 + i.0 / base, ratio - 1.0 + i.1 / base)),
        }
    }

    fn report(&self) -> PolicyReport {
        let several = if self.seeds.len() > 1 {
            self.seeds.len()
        } else {
            0
        };
        let of_seed = |n: usize| SeedFigures {
            seed: self.seeds[n],
            figures: self.of_seed(n).figures(),
        };
        PolicyReport {
            name: self.contender.name(),
            size: self.contender.size,
            figures: self.figures(),
            intervals: self.intervals(),
            per_seed: (0..several).map(of_seed).collect(),
        }
    }
}

pub(super) fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn accuracy(judged: &Judged) -> f64 {
    judged.n_correct.min(judged.required) as f64 / judged.required.max(1) as f64
}

/// Counts up what the contenders of `spec` did.
#[must_use]
pub fn report(spec: &Spec, outcomes: &Outcomes) -> Report {
    let of = |contender: &Contender| Results::new(spec, *contender, outcomes);
    let all: Vec<Results> = spec.contenders.iter().map(of).collect();
    let others = all.iter().skip(1);
    Report {
        policies: all.iter().map(Results::report).collect(),
        comparisons: others.map(|other| all[0].beside(other)).collect(),
    }
}

#[cfg(test)]
mod tests;
