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
mod tests;
