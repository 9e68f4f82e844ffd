//! Next-token loss: logits become their own gradient in place.

use super::simd::{largest, log_sum_exp, vectorized};

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

/// Cross-entropy of rows against one token each.
#[derive(Debug)]
pub struct CrossEntropy<'a> {
    /// The token that each row should have predicted.
    pub targets: &'a [u32],
    /// Weight of each row in the gradient.
    pub weight: f32,
    /// What was seen so far.
    pub tally: Tally,
}

impl CrossEntropy<'_> {
    /// Count one row and replace its logits by the gradient of its weighted loss.
    pub fn row(&mut self, row: usize, logits: &mut [f32]) {
        let target = self.targets[row] as usize;
        let (logit, best) = (logits[target], vectorized(#[inline(always)] || largest(logits)));
        self.tally.right += u64::from(logit >= best);
        self.tally.loss += f64::from(log_sum_exp(logits) - logit);
        self.tally.tokens += 1;
        logits[target] -= 1.0;
        super::scale(logits, self.weight);
    }
}
