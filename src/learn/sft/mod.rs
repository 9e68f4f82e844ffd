//! Stage 1: format fine-tuning on examples of organizer and worker threads.
//!
//! [`train()`] is deterministic: the same settings give the same weights bit for bit, whether run at once, in
//! parts, or killed and started again (on one kind of processor; matrix products round differently on
//! others). Its folder is described in [`super::training`].
//!
//! What an example is about, it does not know; how good the model is at its task, an [`Observer`] tells.

mod batches;
mod line;
mod train;

pub use batches::Examples;
pub use line::Line;
pub use train::{evaluate, train};

pub use super::training::{End, Error, LowRank, Progress};

use super::checkpoint::Precision;
use super::network::Network;
use super::optimizer::{Rates, Schedule};
use crate::engine::local::config::Config;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What decides the resulting weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Of initial weights.
    pub seed: u64,
    /// What the examples are, with their seed; noted, so that a run goes on only with its own.
    pub examples: String,
    /// Length of the run.
    pub schedule: Schedule,
    /// Step sizes at their highest.
    pub rates: Rates,
    /// A batch is the next examples up to about this many tokens.
    pub batch_tokens: usize,
    /// Gradients longer than this are shortened.
    pub clip: f64,
    /// Parts of a batch that are computed side by side; a thread each.
    pub replicas: usize,
    /// First weights.
    pub start: Start,
    /// Learn corrections of low rank instead of all weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_rank: Option<LowRank>,
}

impl Settings {
    /// The recipe for the small model.
    #[must_use]
    pub fn new(examples: impl Into<String>, seed: u64, steps: u64) -> Self {
        Self {
            seed,
            examples: examples.into(),
            schedule: Schedule {
                steps,
                warm_up: 60,
                decay: 0.5,
            },
            rates: Rates {
                matrices: 0.02,
                others: 3e-3,
            },
            batch_tokens: 3072,
            clip: 1.0,
            replicas: 2,
            start: Start::Random,
            low_rank: None,
        }
    }
}

/// Weights to begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Drawn from the seed.
    Random,
    /// Those of a model folder of the same shape.
    Model(PathBuf),
}

/// One training.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its folder; made if absent. Training goes on from the state found there.
    pub folder: PathBuf,
    /// Shape of the network.
    pub config: Config,
    /// `tokenizer.json` that the model is saved with.
    pub tokenizer: Value,
    /// What decides the weights.
    pub settings: Settings,
    /// Steps between two states on disk: what a crash loses at most.
    pub interval: u64,
    /// Of the saved model.
    pub precision: Precision,
    /// Bar or no bar.
    pub progress: Progress,
}

/// A model in training, at an interval.
#[derive(Debug)]
pub struct Moment<'a> {
    /// Steps taken.
    pub step: u64,
    /// The network.
    pub network: &'a Network,
    /// Its weights, in f32.
    pub weights: &'a [f32],
    /// The folder to which they were just saved.
    pub model: &'a Path,
}

/// Who is told about a training and may end it.
pub trait Observer {
    /// A step was taken.
    fn stepped(&mut self, _line: &Line) {}

    /// Weights were saved; what is returned goes to the log. Called at every interval and at the end.
    ///
    /// # Errors
    /// A sentence; training ends with it.
    fn evaluate(&mut self, _moment: &Moment<'_>) -> Result<Option<Value>, String> {
        Ok(None)
    }

    /// Whether to save and end after this step.
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
    /// Tokens learned from, prompts included.
    pub tokens: u64,
    /// Mean loss per step over the last hundred.
    pub loss: f64,
    /// Mean share of right predictions over the last hundred steps.
    pub accuracy: f64,
    /// Tokens per second of this call, evaluations and saving aside.
    pub tokens_per_second: f64,
    /// The saved model.
    pub model: PathBuf,
    /// The log.
    pub log: PathBuf,
}

#[cfg(test)]
mod tests;
