//! Next-token loss: logits become their own gradient in place.

use crate::simd::{largest, log_sum_exp, scale, vectorized};

/// What a number of predictions amounted to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Sum of the losses, nats.
    pub loss: f64,
    /// Predictions.
    pub tokens: u64,
    /// Predictions whose most likely token was right.
    pub right: u64,
}

impl Tally {
    /// Add what another replica or step saw.
    pub fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.tokens += other.tokens;
        self.right += other.right;
    }

    /// Mean loss; 0 of nothing.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.loss / self.tokens.max(1) as f64
    }

    /// Share of right predictions; 0 of nothing.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.tokens.max(1) as f64
    }
}

/// Count the prediction of `target` and replace the logits by the gradient of its loss, times `weight`.
pub fn cross_entropy(logits: &mut [f32], target: u32, weight: f32, tally: &mut Tally) {
    let target = target as usize;
    let (logit, best) = (
        logits[target],
        vectorized(
            #[inline(always)]
            || largest(logits),
        ),
    );
    tally.right += u64::from(logit >= best);
    tally.loss += f64::from(log_sum_exp(logits) - logit);
    tally.tokens += 1;
    logits[target] -= 1.0;
    scale(logits, weight);
}
