//! Which sessions a policy needs, and how each is set up.
//!
//! A policy is made of *runs*: organized ones, of a given capacity, or lone traces, which `sequential` and
//! `parallel` share: `sequential` is the first trace of an instance, `parallel` its first `k`. The draws of a
//! run depend on its seed, instance and trace only, never on what else is evaluated.

use crate::engine::Sampling;
use crate::live::RunConfig;
use crate::record::{Limits, Policy, PoolPolicy};
use crate::task::Task;
use crate::task::rng::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A policy of a certain size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contender {
    /// How the organization is driven.
    pub policy: Policy,
    /// Capacity of an organization, traces of `parallel`; 1 for `sequential`.
    pub size: u32,
}

impl Contender {
    /// `policy` with `capacity` threads at once.
    #[must_use]
    pub fn new(policy: Policy, capacity: u32) -> Self {
        let size = match policy {
            Policy::Asyncthink | Policy::Parallel => capacity.max(1),
            Policy::Sequential => 1,
        };
        Self { policy, size }
    }

    /// The policy's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.policy {
            Policy::Asyncthink => "asyncthink",
            Policy::Sequential => "sequential",
            Policy::Parallel => "parallel",
        }
    }

    /// What it runs on each instance.
    #[must_use]
    pub fn kinds(self) -> Vec<Kind> {
        match self.policy {
            Policy::Asyncthink => vec![Kind::Organized {
                capacity: self.size,
            }],
            Policy::Sequential => vec![Kind::Lone { trace: 0 }],
            Policy::Parallel => (0..self.size).map(|trace| Kind::Lone { trace }).collect(),
        }
    }
}

/// What kind of session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An organizer and up to `capacity - 1` workers.
    Organized {
        /// Threads at once.
        capacity: u32,
    },
    /// One thread alone.
    Lone {
        /// Which of the traces of this seed and instance, from 0.
        trace: u32,
    },
}

/// One session of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Place of the instance in its set, from 0.
    pub instance: usize,
    /// The evaluation's seed.
    pub seed: u64,
    /// What is run.
    pub kind: Kind,
}

/// How sessions are run: what decides the outcome of a run, together with the model and the instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Of an organization's threads.
    pub temperature: f32,
    /// Of lone traces.
    pub baseline_temperature: f32,
    /// Nucleus of both; `None`: everything.
    pub top_p: Option<f32>,
    /// Tokens an organizer may decode.
    pub max_organizer: u64,
    /// Tokens each worker may decode.
    pub max_worker: u64,
    /// Tokens a lone trace may decode.
    pub max_trace: u64,
    /// Whether a checkpoint's thinking mode is on.
    pub thinking: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            temperature: 1.0,
            baseline_temperature: 1.0,
            top_p: None,
            max_organizer: limits.organizer,
            max_worker: limits.worker,
            max_trace: limits.organizer,
            thinking: false,
        }
    }
}

/// An evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The instances.
    pub tasks: Vec<Task>,
    /// Every contender meets every instance with each of these.
    pub seeds: Vec<u64>,
    /// Who is evaluated.
    pub contenders: Vec<Contender>,
    /// How.
    pub settings: Settings,
    /// Sessions at once; decides nothing but the speed.
    pub width: usize,
}

impl Spec {
    /// Everything that has to be run, instance by instance.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let kinds: BTreeSet<Kind> = self.contenders.iter().flat_map(|c| c.kinds()).collect();
        let mut runs = Vec::new();
        for instance in 0..self.tasks.len() {
            for &seed in &self.seeds {
                runs.extend(kinds.iter().map(|&kind| Run {
                    instance,
                    seed,
                    kind,
                }));
            }
        }
        runs
    }

    /// The session of a run; `None` for an instance that does not exist. Rules are kept strictly: the first
    /// format error ends a run, and so does a fork without a free slot.
    #[must_use]
    pub fn config(&self, run: &Run) -> Option<RunConfig> {
        let task = self.tasks.get(run.instance)?;
        let settings = &self.settings;
        let (policy, capacity, temperature, organizer, parts) = match run.kind {
            Kind::Organized { capacity } => (
                Policy::Asyncthink,
                capacity,
                settings.temperature,
                settings.max_organizer,
                [0, u64::from(capacity)],
            ),
            Kind::Lone { trace } => (
                Policy::Sequential,
                1,
                settings.baseline_temperature,
                settings.max_trace,
                [1, u64::from(trace)],
            ),
        };
        let draws = Rng::new(&[run.seed, run.instance as u64, parts[0], parts[1]]).next_u64();
        Some(RunConfig {
            query: task.query(),
            task: Some(task.to_string()),
            policy,
            capacity: Some(capacity),
            pool: PoolPolicy::Error,
            strict: true,
            thinking: settings.thinking,
            sampling: Sampling {
                temperature,
                top_p: settings.top_p,
                seed: draws,
                ..Sampling::default()
            },
            limits: Limits {
                organizer,
                worker: settings.max_worker,
                ..Limits::default()
            },
            ..RunConfig::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::sets::Set;

    fn spec(contenders: &[(Policy, u32)]) -> Spec {
        Spec {
            tasks: Set::CountdownDev.tasks()[..2].to_vec(),
            seeds: vec![1, 2],
            contenders: contenders
                .iter()
                .map(|(policy, size)| Contender::new(*policy, *size))
                .collect(),
            settings: Settings::default(),
            width: 1,
        }
    }

    #[test]
    fn sequential_is_the_first_trace_of_parallel() {
        let both = spec(&[(Policy::Sequential, 4), (Policy::Parallel, 4)]);
        let parallel = spec(&[(Policy::Parallel, 4)]);
        assert_eq!(both.runs(), parallel.runs());
        assert_eq!(both.runs().len(), 2 * 2 * 4);
        assert!(both.runs().contains(&Run {
            instance: 1,
            seed: 2,
            kind: Kind::Lone { trace: 0 }
        }));
    }

    #[test]
    fn draws_depend_on_the_run_alone() {
        let many = spec(&[(Policy::Asyncthink, 4), (Policy::Parallel, 8)]);
        let one = spec(&[(Policy::Asyncthink, 4)]);
        for run in one.runs() {
            assert_eq!(one.config(&run), many.config(&run));
        }
        let seeds: BTreeSet<u64> = many
            .runs()
            .iter()
            .filter_map(|r| many.config(r))
            .map(|c| c.sampling.seed)
            .collect();
        assert_eq!(seeds.len(), many.runs().len());
    }
}
