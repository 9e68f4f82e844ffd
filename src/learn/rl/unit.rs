//! A unit: the organizer's thread and those of all its workers, with one reward for all of them.

use crate::live::Arrival;

use crate::eval::Outcome;
use crate::org::{Author, Body, Event, ThreadId, concurrency_reward};
use crate::task::{Format, Reward, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thread to learn from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Prompt, decoded tokens and splices, in the order of its context.
    pub tokens: Vec<u32>,
    /// Beside each token, whether the thread decoded it.
    pub decoded: Vec<bool>,
    /// Natural log of the probability with which each decoded token was drawn.
    pub logprobs: Vec<f32>,
}

/// What a unit amounts to.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// What it is worth.
    pub reward: Reward,
    /// Whether it has as many solutions as wanted.
    pub solved: bool,
    /// How it went.
    pub outcome: Outcome,
}

/// How rewards are put together (paper: `R_FE`, or `R_A + λ R_η` with `R_η = min(η / c, τ) / τ`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RewardShape {
    /// Weight of the concurrency reward; 0 leaves it out.
    pub lambda: f64,
    /// Cap of the concurrency reward.
    pub tau: f64,
}

/// All threads of one run, and what the run is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The organizer's first.
    pub traces: Vec<Trace>,
    /// One reward for all.
    pub score: Score,
}

impl Unit {
    /// From a run on `task` whose events were kept.
    ///
    /// # Errors
    /// What the engine said, where it broke down: that teaches nothing.
    pub fn new(arrival: &Arrival, task: &Task, shape: RewardShape) -> Result<Self, String> {
        Ok(Self {
            traces: traces(&arrival.events),
            score: score(arrival, task, shape)?,
        })
    }

    /// Tokens that its threads decoded.
    #[must_use]
    pub fn decoded(&self) -> usize {
        self.traces.iter().map(|t| t.logprobs.len()).sum()
    }
}

/// Judges a run.
///
/// # Errors
/// What the engine said, where it broke down.
pub fn score(arrival: &Arrival, task: &Task, shape: RewardShape) -> Result<Score, String> {
    let org = &arrival.finished.organization;
    let outcome = Outcome::of(org)?;
    let checked = task.check(outcome.counted_answer());
    let format = if outcome.valid {
        Format::Valid
    } else {
        Format::Broken
    };
    let r_eta = concurrency_reward(outcome.eta, org.capacity, shape.tau);
    Ok(Score {
        reward: Reward::new(&checked, format, r_eta, shape.lambda),
        solved: checked.solved(),
        outcome,
    })
}

/// The contexts of all threads, from what happened. Text that returned from a worker, and any other splice, is
/// context only; the organizer's own Join tag is decoded like everything else it wrote.
fn traces(events: &[Event]) -> Vec<Trace> {
    let mut traces: BTreeMap<ThreadId, Trace> = BTreeMap::new();
    for event in events {
        let Some(id) = event.thread else { continue };
        let trace = traces.entry(id).or_default();
        match &event.body {
            Body::Thread { prompt, .. } => trace.given(prompt),
            Body::Splice { ids, .. } => trace.given(ids),
            // without a probability for each there is no ratio to learn by
            Body::Tokens { ids, logprobs, .. }
                if event.by == Author::Model && logprobs.len() == ids.len() =>
            {
                trace.tokens.extend(ids);
                trace.decoded.resize(trace.tokens.len(), true);
                trace.logprobs.extend(logprobs);
            }
            Body::Tokens { ids, .. } => trace.given(ids),
            _ => {}
        }
    }
    traces.into_values().collect()
}

impl Trace {
    fn given(&mut self, tokens: &[u32]) {
        self.tokens.extend(tokens);
        self.decoded.resize(self.tokens.len(), false);
    }
}

/// The group-relative advantage of each reward: how far it lies from the mean, in standard deviations.
/// Rewards that are all alike teach nothing.
#[must_use]
pub fn advantages(rewards: &[f64]) -> Vec<f32> {
    /// Below this spread (rewards lie in -1..=2) differences are noise and are not blown up.
    const LEAST_SPREAD: f64 = 0.02;
    let n = rewards.len().max(1) as f64;
    let mean = rewards.iter().sum::<f64>() / n;
    let variance = rewards.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
    let spread = variance.sqrt() + LEAST_SPREAD;
    rewards
        .iter()
        .map(|r| ((r - mean) / spread) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advantages_are_relative_to_the_group() {
        let a = advantages(&[1.0, 0.0, 1.0, 0.0]);
        assert!((a[0] - 0.96).abs() < 0.01 && (a[0] + a[1]).abs() < 1e-6);
        assert_eq!(advantages(&[0.7; 5]), [0.0; 5]);
        assert!(advantages(&[]).is_empty());
    }
}
