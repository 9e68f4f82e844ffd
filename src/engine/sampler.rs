//! Choosing the next token from logits.
//!
//! Draws are counter-based: the random number at a position depends on the seed, the sequence's key and the
//! position, and on nothing else. So a sequence that was paused, cut, evicted or batched with others decodes
//! what it would have decoded alone.

use super::contract::{Sampling, TokenId};
use crate::simd::{exp, largest, sum_of, vectorized};
use std::cmp::Ordering;

/// Hash of a sequence's key, made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// Hash a key.
    #[must_use]
    pub fn new(key: &str) -> Self {
        // FNV-1a, then mixed: keys differ in their last characters
        let fnv = key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mix(fnv))
    }

    /// The key of draw `attempt` at a position, where an earlier one was refused.
    #[must_use]
    pub fn again(self, attempt: usize) -> Self {
        Self(mix(self.0 ^ mix(attempt as u64)))
    }

    /// The number in `[0, 1)` that belongs to `seed` and `position`.
    #[must_use]
    pub fn draw(self, seed: u64, position: usize) -> f64 {
        let bits = mix(mix(seed ^ self.0).wrapping_add(mix(position as u64)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A chosen token.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The token.
    pub token: TokenId,
    /// Natural log of its probability after penalty and temperature (temperature 1 for greedy), before
    /// top-k, top-p and min-p took other tokens out.
    pub logprob: f32,
    /// The most likely tokens and their log probabilities, best first, as many as asked for.
    pub alternatives: Vec<(TokenId, f32)>,
}

/// Choose a token.
///
/// `position` is the index that the token will have in its sequence; `decoded` are the tokens that the
/// sequence decoded before (for the repetition penalty; order and repeats do not matter). `None` when no
/// logit is a number.
#[must_use]
pub fn sample(
    logits: &[f32],
    sampling: &Sampling,
    key: Key,
    position: usize,
    decoded: impl Iterator<Item = TokenId>,
) -> Option<Choice> {
    let penalized = penalize(logits, sampling.repetition_penalty, decoded);
    let logits = penalized.as_deref().unwrap_or(logits);
    let greedy = sampling.temperature.partial_cmp(&0.0) != Some(Ordering::Greater);
    let scale = if greedy {
        1.0
    } else {
        1.0 / sampling.temperature
    };
    let (weights, total) = weigh(logits, scale)?;
    let log_of = |weight: f32| (f64::from(weight) / total).ln() as f32;
    let token = if greedy {
        weights.iter().position(|w| *w == 1.0)?
    } else {
        pick(&weights, total, sampling, key.draw(sampling.seed, position))
    };
    Some(Choice {
        token: token as TokenId,
        logprob: log_of(weights[token]),
        alternatives: best(&weights, usize::from(sampling.alternatives))
            .into_iter()
            .map(|id| (id as TokenId, log_of(weights[id])))
            .collect(),
    })
}

/// Probabilities before they are divided by their sum, and that sum. The most likely token has 1; what is no
/// number has 0. `None` when no logit is a number.
fn weigh(logits: &[f32], scale: f32) -> Option<(Vec<f32>, f64)> {
    let mut weights = vec![0.0f32; logits.len()];
    let mut total = 0.0;
    let max = vectorized(
        #[inline(always)]
        || {
            let max = largest(logits);
            // sums of short stretches in f32, of all of them in f64
            for (weights, logits) in weights.chunks_mut(1024).zip(logits.chunks(1024)) {
                for (weight, logit) in weights.iter_mut().zip(logits) {
                    let value = exp((logit - max) * scale);
                    let value = if *logit == max { 1.0 } else { value };
                    // false for what is no number
                    *weight = if value <= 1.0 { value } else { 0.0 };
                }
                total += f64::from(sum_of(weights));
            }
            max
        },
    );
    (max > f32::NEG_INFINITY).then_some((weights, total))
}

/// Logits in which tokens that were decoded before are less likely; `None` where that changes nothing.
fn penalize(
    logits: &[f32],
    penalty: f32,
    decoded: impl Iterator<Item = TokenId>,
) -> Option<Vec<f32>> {
    if penalty == 1.0 || penalty.partial_cmp(&0.0) != Some(Ordering::Greater) {
        return None;
    }
    let mut logits = logits.to_vec();
    let mut seen: Vec<TokenId> = decoded.collect();
    seen.sort_unstable();
    seen.dedup();
    for token in seen {
        if let Some(logit) = logits.get_mut(token as usize) {
            *logit = if *logit > 0.0 {
                *logit / penalty
            } else {
                *logit * penalty
            };
        }
    }
    Some(logits)
}

/// Draw among the tokens that the filters leave.
fn pick(weights: &[f32], total: f64, sampling: &Sampling, draw: f64) -> usize {
    let top_p = sampling
        .top_p
        .filter(|p| *p < 1.0)
        .map(|p| f64::from(p.max(0.0)));
    let top_k = sampling.top_k.filter(|k| *k > 0).map(|k| k as usize);
    let min_p = sampling.min_p.filter(|p| *p > 0.0).unwrap_or(0.0);
    if top_p.is_none() && top_k.is_none() && min_p == 0.0 {
        return walk(weights.iter().copied().enumerate(), total, draw);
    }
    // tokens below this floor cannot be in the nucleus: all of them together weigh less than what it leaves out
    let floor = top_p.map_or(0.0, |p| (1.0 - p) * total / weights.len() as f64) as f32;
    let floor = floor.max(min_p.min(1.0)).min(1.0);
    let mut kept = above(weights, floor);
    kept.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if let Some(k) = top_k {
        kept.truncate(k);
    }
    if let Some(p) = top_p {
        let mut sum = 0.0;
        let reached = kept.iter().position(|(_, w)| {
            sum += f64::from(*w);
            sum >= p * total
        });
        kept.truncate(reached.map_or(kept.len(), |at| at + 1));
    }
    let sum = kept.iter().map(|(_, w)| f64::from(*w)).sum();
    walk(kept.iter().copied(), sum, draw)
}

/// Tokens that weigh anything, and no less than `floor`, in order.
fn above(weights: &[f32], floor: f32) -> Vec<(usize, f32)> {
    const STRETCH: usize = 64;
    let mut kept = Vec::new();
    vectorized(
        #[inline(always)]
        || {
            for (at, stretch) in weights.chunks(STRETCH).enumerate() {
                // nearly all tokens are in stretches without a likely one
                if largest(stretch) < floor {
                    continue;
                }
                let numbered = stretch.iter().copied().enumerate();
                let numbered = numbered.filter(|(_, w)| *w > 0.0 && *w >= floor);
                kept.extend(numbered.map(|(i, w)| (at * STRETCH + i, w)));
            }
        },
    );
    kept
}

/// The token at share `draw` of the cumulated weight.
fn walk(weights: impl Iterator<Item = (usize, f32)>, total: f64, draw: f64) -> usize {
    let mut left = draw * total;
    let mut last = 0;
    for (token, weight) in weights {
        if weight > 0.0 {
            last = token;
            left -= f64::from(weight);
            if left < 0.0 {
                break;
            }
        }
    }
    last
}

fn best(weights: &[f32], count: usize) -> Vec<usize> {
    let mut ids: Vec<usize> = Vec::with_capacity(count + 1);
    if count == 0 {
        return ids;
    }
    for (id, weight) in weights.iter().enumerate() {
        if ids.len() == count && *weight <= weights[ids[count - 1]] {
            continue;
        }
        let at = ids.partition_point(|other| weights[*other] >= *weight);
        ids.insert(at, id);
        ids.truncate(count);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(temperature: f32) -> Sampling {
        Sampling {
            temperature,
            top_p: None,
            ..Sampling::default()
        }
    }

    /// Share of each token among many draws.
    fn shares(logits: &[f32], sampling: &Sampling) -> Vec<f64> {
        let mut counts = vec![0.0; logits.len()];
        let draws = 20_000;
        for position in 0..draws {
            let choice = sample(
                logits,
                sampling,
                Key::new("k"),
                position,
                std::iter::empty(),
            )
            .expect("logits are numbers");
            counts[choice.token as usize] += 1.0 / f64::from(draws as u32);
        }
        counts
    }

    #[test]
    fn the_same_seed_key_and_position_draw_the_same() {
        let key = Key::new("worker-1");
        assert_eq!(key.draw(7, 100), Key::new("worker-1").draw(7, 100));
        let others = [
            key.draw(8, 100),
            key.draw(7, 101),
            Key::new("worker-2").draw(7, 100),
        ];
        assert!(others.iter().all(|u| *u != key.draw(7, 100)));
    }

    #[test]
    fn draws_follow_the_softmax() {
        let logits = [0.0, 1.0, 2.0, -1.0];
        let total: f64 = logits.iter().map(|l: &f32| f64::from(*l).exp()).sum();
        for (share, logit) in shares(&logits, &plain(1.0)).iter().zip(logits) {
            assert!((share - f64::from(logit).exp() / total).abs() < 0.015);
        }
    }

    #[test]
    fn greedy_takes_the_first_of_the_best() {
        let choice = sample(
            &[0.0, 3.0, 3.0],
            &plain(0.0),
            Key::new(""),
            0,
            std::iter::empty(),
        );
        assert_eq!(choice.map(|c| c.token), Some(1));
    }

    #[test]
    fn filters_leave_out_what_they_promise() {
        // probabilities 0.5, 0.3, 0.15, 0.05
        let logits: Vec<f32> = [0.5f32, 0.3, 0.15, 0.05].iter().map(|p| p.ln()).collect();
        let reached = |sampling: &Sampling| -> Vec<usize> {
            let shares = shares(&logits, sampling);
            (0..4).filter(|i| shares[*i] > 0.0).collect()
        };
        let base = plain(1.0);
        assert_eq!(
            reached(&Sampling {
                top_k: Some(2),
                ..base.clone()
            }),
            [0, 1]
        );
        assert_eq!(
            reached(&Sampling {
                top_p: Some(0.79),
                ..base.clone()
            }),
            [0, 1]
        );
        assert_eq!(
            reached(&Sampling {
                top_p: Some(0.81),
                ..base.clone()
            }),
            [0, 1, 2]
        );
        assert_eq!(
            reached(&Sampling {
                min_p: Some(0.4),
                ..base.clone()
            }),
            [0, 1]
        );
        assert_eq!(reached(&base), [0, 1, 2, 3]);
    }

    #[test]
    fn a_penalty_makes_decoded_tokens_less_likely_once_however_often_they_came() {
        let sampling = Sampling {
            repetition_penalty: 2.0,
            ..plain(0.0)
        };
        let choose = |decoded: Vec<TokenId>| {
            sample(
                &[3.0, 2.0, -1.0],
                &sampling,
                Key::new(""),
                0,
                decoded.into_iter(),
            )
            .map(|c| c.token)
        };
        assert_eq!(choose(vec![]), Some(0));
        assert_eq!(choose(vec![0]), Some(1));
        assert_eq!(choose(vec![0, 0, 0, 1]), Some(0));
    }

    #[test]
    fn alternatives_are_the_best_in_order_with_their_log_probabilities() {
        let sampling = Sampling {
            alternatives: 2,
            ..plain(0.0)
        };
        let logits: Vec<f32> = [0.2f32, 0.5, 0.3].iter().map(|p| p.ln()).collect();
        let choice =
            sample(&logits, &sampling, Key::new(""), 0, std::iter::empty()).expect("numbers");
        assert_eq!(
            choice.alternatives.iter().map(|a| a.0).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!((choice.logprob - 0.5f32.ln()).abs() < 1e-5);
        assert!((choice.alternatives[1].1 - 0.3f32.ln()).abs() < 1e-5);
    }

    #[test]
    fn logits_that_are_no_numbers_choose_nothing() {
        let none = sample(
            &[f32::NAN; 3],
            &plain(1.0),
            Key::new(""),
            0,
            std::iter::empty(),
        );
        assert_eq!(none, None);
    }

    proptest! {
        #[test]
        fn some_token_of_finite_logit_is_always_chosen(
            logits in prop::collection::vec(prop_oneof![-50f32..50.0, Just(f32::NAN), Just(f32::NEG_INFINITY), Just(f32::INFINITY)], 1..40),
            temperature in 0f32..3.0,
            top_k in prop::option::of(0u32..5),
            top_p in prop::option::of(0f32..1.2),
            min_p in prop::option::of(0f32..1.2),
            position in 0usize..1000,
        ) {
            let sampling = Sampling { temperature, top_k, top_p, min_p, ..Sampling::default() };
            let chosen = sample(&logits, &sampling, Key::new("p"), position, std::iter::empty());
            match chosen {
                Some(choice) => prop_assert!(logits[choice.token as usize] > f32::NEG_INFINITY),
                None => prop_assert!(logits.iter().all(|l| l.is_nan() || *l == f32::NEG_INFINITY)),
            }
        }
    }
}
