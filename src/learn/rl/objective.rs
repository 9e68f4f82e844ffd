//! The objective of stage 2 at one token: a clipped ratio times the unit's advantage, and a leash to the model
//! it started from.

use crate::learn::ops::{log_sum_exp, scale};
use serde::{Deserialize, Serialize};

/// What is known of a token beside the logits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Which was drawn.
    pub token: u32,
    /// Natural log of the probability it was drawn with.
    pub logprob: f32,
    /// The same under the model that training started from; `None` without a leash.
    pub reference: Option<f32>,
    /// Its unit's.
    pub advantage: f32,
}

/// How far one rollout may move the model, and how far all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// A ratio of probabilities is cut at one minus this,
    pub below: f32,
    /// and at one plus this.
    pub above: f32,
    /// Weight of the divergence from the first model; 0: none.
    pub kl: f32,
}

/// What a number of tokens amounted to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Tokens.
    pub tokens: u64,
    /// Of them, those whose ratio was cut.
    pub cut: u64,
    /// Sum of the estimates of the divergence from the first model, nats.
    pub kl: f64,
    /// Sum of how much less likely the tokens were when drawn, nats: the divergence from the rollout's model.
    pub drift: f64,
}

impl Tally {
    /// Adds what another replica or step saw.
    pub fn add(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.cut += other.cut;
        self.kl += other.kl;
        self.drift += other.drift;
    }
}

/// Replaces the logits by the gradient of the loss at this token, times `weight`. With `r` the ratio of the
/// token's probability to that when it was drawn, `A` the advantage and `q` the ratio of the first model's
/// probability to the present one, the loss is `-min(r A, clip(r) A) + kl (q - ln q - 1)`.
pub fn policy_gradient(
    logits: &mut [f32],
    drawn: Drawn,
    bounds: Bounds,
    weight: f32,
    tally: &mut Tally,
) {
    let token = drawn.token as usize;
    let logit = logits[token];
    // leaves probabilities where the logits were
    let logprob = logit - log_sum_exp(logits);
    let ratio = (logprob - drawn.logprob).exp();
    let cut = if drawn.advantage >= 0.0 {
        ratio > 1.0 + bounds.above
    } else {
        ratio < 1.0 - bounds.below
    };
    tally.tokens += 1;
    tally.cut += u64::from(cut);
    tally.drift += f64::from(drawn.logprob - logprob);
    let mut slope = if cut { 0.0 } else { -drawn.advantage * ratio };
    if let Some(reference) = drawn.reference {
        let log_q = reference - logprob;
        tally.kl += f64::from(log_q.exp() - log_q - 1.0);
        slope += bounds.kl * (1.0 - log_q.exp());
    }
    // d logprob / d logits = (is it this token) - probability
    logits[token] -= 1.0;
    scale(logits, -slope * weight);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        below: 0.2,
        above: 0.28,
        kl: 0.3,
    };

    fn loss(logits: &[f64], drawn: Drawn) -> f64 {
        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
        let logprob = logits[drawn.token as usize] - sum.ln();
        let ratio = (logprob - f64::from(drawn.logprob)).exp();
        let (a, cut) = (
            f64::from(drawn.advantage),
            ratio.clamp(1.0 - f64::from(BOUNDS.below), 1.0 + f64::from(BOUNDS.above)),
        );
        let log_q = drawn.reference.map_or(0.0, |r| f64::from(r) - logprob);
        -(ratio * a).min(cut * a) + f64::from(BOUNDS.kl) * (log_q.exp() - log_q - 1.0)
    }

    fn gradient(logits: &[f64], drawn: Drawn) -> (Vec<f32>, Tally) {
        let mut out: Vec<f32> = logits.iter().map(|l| *l as f32).collect();
        let mut tally = Tally::default();
        policy_gradient(&mut out, drawn, BOUNDS, 1.0, &mut tally);
        (out, tally)
    }

    #[test]
    fn it_is_the_slope_of_the_clipped_objective() {
        let logits = [0.3, -1.2, 2.0, 0.1, 0.0];
        for (advantage, logprob, reference) in [
            (1.0, -0.5, Some(-0.9)),
            (-0.7, -0.4, None),
            (1.3, -2.0, Some(-0.1)),
            (-1.3, 0.4, Some(-0.6)),
        ] {
            let drawn = Drawn {
                token: 2,
                logprob,
                reference,
                advantage,
            };
            let (slope, _) = gradient(&logits, drawn);
            for i in 0..logits.len() {
                let moved = |by: f64| {
                    let mut logits = logits;
                    logits[i] += by;
                    loss(&logits, drawn)
                };
                let wanted = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!(
                    (f64::from(slope[i]) - wanted).abs() < 1e-4,
                    "{drawn:?} {i}: {} {wanted}",
                    slope[i]
                );
            }
        }
    }

    #[test]
    fn a_ratio_past_its_bound_in_the_wanted_direction_teaches_nothing_more() {
        let logits = [5.0, 0.0];
        let drawn = |advantage, logprob| Drawn {
            token: 0,
            logprob,
            reference: None,
            advantage,
        };
        let (slope, tally) = gradient(&logits, drawn(1.0, -2.0));
        assert!(slope.iter().all(|s| *s == 0.0) && tally.cut == 1);
        let (slope, tally) = gradient(&logits, drawn(-1.0, -2.0));
        assert!(slope[0] > 0.0 && tally.cut == 0);
    }
}
