//! What is noted of a step of stage 2 and of an evaluation, and their curves.

use super::unit::Score;
use crate::learn::curves::{Chart, Series};
use crate::learn::training::Stepped;
use serde::{Deserialize, Serialize};

/// One step. Means are over the units of its rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Steps taken, this one included.
    pub step: u64,
    /// Mean reward and what it was made of.
    pub scores: Means,
    /// Mean of `-ln p` over the tokens drawn, nats: how undecided the model was.
    pub entropy: f64,
    /// Share of tokens whose ratio was cut.
    pub cut: f64,
    /// Divergence from the first model, nats per token; 0 where it is not measured.
    pub kl: f64,
    /// Divergence from the model that decoded, nats per token.
    pub drift: f64,
    /// Mean length of the gradients before clipping.
    pub gradient: f64,
    /// Factor of the rates.
    pub rate: f32,
    /// Tokens decoded in all.
    pub tokens: u64,
    /// Tokens decoded per second by this step's rollout.
    pub tokens_per_second: f64,
    /// Seconds that the step took.
    pub seconds: f64,
}

impl Stepped for Line {
    fn step(&self) -> u64 {
        self.step
    }
}

/// Means over units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Means {
    /// Units.
    pub n: usize,
    /// Reward.
    pub reward: f64,
    /// Accuracy reward.
    pub r_a: f64,
    /// Format reward: 0, or -1 for every unit that broke the format.
    pub r_fe: f64,
    /// Concurrency reward.
    pub r_eta: f64,
    /// Share that has all solutions.
    pub solved: f64,
    /// Share that kept the format.
    pub format_valid: f64,
    /// Critical-path latency in steps.
    #[serde(rename = "T")]
    pub latency: f64,
    /// Mean number of active workers.
    pub eta: f64,
    /// Workers.
    pub forks: f64,
    /// Tokens decoded.
    pub decoded: f64,
}

impl Means {
    /// Of these.
    #[must_use]
    pub fn of<'a>(scores: impl ExactSizeIterator<Item = &'a Score>) -> Self {
        let n = scores.len();
        let mut sum = Self {
            n,
            ..Self::default()
        };
        let each = 1.0 / n.max(1) as f64;
        let share = |yes: bool| if yes { each } else { 0.0 };
        for score in scores {
            sum.reward += score.reward.total * each;
            sum.r_a += score.reward.r_a * each;
            sum.r_fe += score.reward.r_fe * each;
            sum.r_eta += score.reward.r_eta * each;
            sum.solved += share(score.solved);
            sum.format_valid += share(score.outcome.valid);
            sum.latency += score.outcome.latency as f64 * each;
            sum.eta += score.outcome.eta * each;
            sum.forks += score.outcome.forks as f64 * each;
            sum.decoded += score.outcome.decoded as f64 * each;
        }
        sum
    }
}

/// Held-out instances, each tried once at temperature 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Steps taken before.
    pub step: u64,
    /// What they amounted to.
    #[serde(flatten)]
    pub scores: Means,
}

/// A value of every step, over steps.
fn trained(lines: &[Line], value: fn(&Means) -> f64) -> Vec<(f64, f64)> {
    let point = |l: &Line| (l.step as f64, value(&l.scores));
    lines.iter().map(point).collect()
}

/// A value of every evaluation, over steps.
fn tried(held_out: &[HeldOut], value: fn(&Means) -> f64) -> Vec<(f64, f64)> {
    let point = |h: &HeldOut| (h.step as f64, value(&h.scores));
    held_out.iter().map(point).collect()
}

/// Shares and rewards over steps as a picture.
pub(super) fn rewards_chart(lines: &[Line], held_out: &[HeldOut]) -> String {
    Chart {
        title: "Stage 2: rewards",
        x: "steps",
        y: "reward, share",
        series: vec![
            Series {
                name: "R",
                points: trained(lines, |m| m.reward),
            },
            Series {
                name: "R_A",
                points: trained(lines, |m| m.r_a),
            },
            Series {
                name: "R_η",
                points: trained(lines, |m| m.r_eta),
            },
            Series {
                name: "held out: R",
                points: tried(held_out, |m| m.reward),
            },
            Series {
                name: "held out: all solved",
                points: tried(held_out, |m| m.solved),
            },
        ],
    }
    .svg()
}

/// Latency over steps as a picture.
pub(super) fn latency_chart(lines: &[Line], held_out: &[HeldOut]) -> String {
    Chart {
        title: "Stage 2: critical-path latency",
        x: "steps",
        y: "T, steps",
        series: vec![
            Series {
                name: "training",
                points: trained(lines, |m| m.latency),
            },
            Series {
                name: "held out",
                points: tried(held_out, |m| m.latency),
            },
        ],
    }
    .svg()
}
