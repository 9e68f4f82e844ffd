//! Stage 2: reinforcement learning on whole organizations.
//!
//! A *unit* is one run: the organizer's thread and all its workers'. For each query a group of units is decoded
//! by ordinary sessions with the present weights ([`rollout`]); each unit gets one reward, its advantage is
//! relative to its group, and every token that one of its threads decoded, in either role, shares that advantage
//! ([`mod@unit`], [`objective`]). Text that was spliced in teaches nothing. This is GRPO extended to
//! organizer-worker units, as in the AsyncThink paper.
//!
//! [`train()`] is deterministic and resumes exactly, like stage 1. Besides the files of every training it keeps
//! `best/`, the weights with the highest reward on held-out instances, and `rollout/`, the weights that decode.

mod line;
pub mod objective;
pub mod rollout;
mod train;
pub mod unit;

pub use line::{HeldOut, Line};
pub use objective::Bounds;
pub use rollout::Ride;
pub use train::train;
pub use unit::{RewardShape, Score, Unit};

use super::optimizer::{Rates, Schedule};
use super::training::{End, LowRank, Progress};
use crate::task::Task;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What decides the resulting weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Decides which queries are asked, and every draw.
    pub seed: u64,
    /// What the queries are; noted, so that a run goes on only with its own.
    pub tasks: String,
    /// Weights at the beginning.
    pub start: Start,
    /// Length of the run, in steps of one rollout each.
    pub schedule: Schedule,
    /// Step sizes at their highest.
    pub rates: Rates,
    /// Queries in a step.
    pub queries: usize,
    /// Units for each query.
    pub group: usize,
    /// Optimizer steps for each rollout.
    pub passes: usize,
    /// Organizer plus workers at once.
    pub capacity: u32,
    /// How rewards are put together.
    pub reward: RewardShape,
    /// How far a rollout may move the model.
    pub bounds: Bounds,
    /// Gradients longer than this are shortened.
    pub clip: f64,
    /// Parts of a batch that are computed side by side; a thread each.
    pub replicas: usize,
    /// Learn corrections of low rank instead of all weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_rank: Option<LowRank>,
}

impl Settings {
    /// The recipe for the small model.
    #[must_use]
    pub fn new(tasks: impl Into<String>, start: Start, seed: u64, steps: u64) -> Self {
        Self {
            seed,
            tasks: tasks.into(),
            start,
            schedule: Schedule {
                steps,
                warm_up: 3,
                decay: 0.5,
            },
            rates: Rates {
                matrices: 1e-3,
                others: 1e-4,
            },
            queries: 32,
            group: 8,
            passes: 2,
            capacity: 4,
            reward: RewardShape {
                lambda: 0.5,
                tau: 0.6,
            },
            bounds: Bounds {
                below: 0.2,
                above: 0.28,
                kl: 0.0,
            },
            clip: 1.0,
            replicas: 2,
            low_rank: None,
        }
    }
}

/// Where the first weights come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Drawn from the seed: learning without stage 1.
    Random,
    /// A model folder with weights of this hash.
    Model {
        /// SHA-256 of its weights, hex.
        sha256: String,
    },
}

/// One training.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its folder; made if absent. Training goes on from the state found there.
    pub folder: PathBuf,
    /// The model folder that gives shape, words and, unless the start is random, weights.
    pub model: PathBuf,
    /// What decides the weights.
    pub settings: Settings,
    /// To learn from.
    pub tasks: Vec<Task>,
    /// To choose the best by.
    pub held_out: Vec<Task>,
    /// Steps between two states on disk and evaluations.
    pub interval: u64,
    /// Bar or no bar.
    pub progress: Progress,
}

/// Who is told about a training and may end it.
pub trait Observer {
    /// A step was taken.
    fn stepped(&mut self, _line: &Line) {}

    /// So many of a rollout's runs are over.
    fn decoding(&mut self, _done: usize, _of: usize) {}

    /// Held-out instances were tried.
    fn evaluated(&mut self, _held_out: &HeldOut) {}

    /// Whether to end here. Asked often; a step that is not finished is done again by the next call.
    fn stopping(&mut self) -> bool {
        false
    }
}

/// Nobody.
impl Observer for () {}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// Steps taken, those of earlier calls included.
    pub steps: u64,
    /// Tokens decoded to learn from.
    pub tokens: u64,
    /// Held-out instances before the first step, where they were tried.
    pub first: Option<HeldOut>,
    /// Where their reward was highest.
    pub best: Option<HeldOut>,
    /// The newest weights.
    pub model: PathBuf,
    /// The best.
    pub best_model: PathBuf,
}

#[cfg(test)]
mod tests;
