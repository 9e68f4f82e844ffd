//! What is noted of a step of stage 1, and its curve.

use crate::learn::curves::{Chart, Series};
use crate::learn::training::Stepped;
use serde::{Deserialize, Serialize};

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Steps taken, this one included.
    pub step: u64,
    /// Mean loss of the batch before this step, nats per token.
    pub loss: f64,
    /// Share of right predictions.
    pub accuracy: f64,
    /// Length of the gradient before clipping.
    pub gradient: f64,
    /// Factor of the rates.
    pub rate: f32,
    /// Tokens learned from in all.
    pub tokens: u64,
    /// Speed of this step.
    pub tokens_per_second: f64,
}

impl Stepped for Line {
    fn step(&self) -> u64 {
        self.step
    }
}

/// Mean loss and accuracy over the last `count` steps.
pub(super) fn recent(lines: &[Line], count: usize) -> (f64, f64) {
    let recent = &lines[lines.len().saturating_sub(count)..];
    let mean =
        |of: fn(&Line) -> f64| recent.iter().map(of).sum::<f64>() / recent.len().max(1) as f64;
    (mean(|l| l.loss), mean(|l| l.accuracy))
}

/// Loss over tokens as a picture.
pub(super) fn chart(lines: &[Line]) -> String {
    let points = lines
        .iter()
        .map(|l| (l.tokens as f64 / 1e6, l.loss))
        .collect();
    Chart {
        title: "Stage 1",
        x: "tokens, millions",
        y: "loss, nats per token",
        series: vec![Series {
            name: "training",
            points,
        }],
    }
    .svg()
}
