//! How long something takes: fixed by a distribution, drawn when asked.

use crate::task::rng::Rng;
use serde::Deserialize;

/// Most tokens of one stretch.
pub(super) const MOST_TOKENS: f64 = 1e9;

/// How long something takes, in tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// Any whole number from the first to the second, each as likely.
    Uniform([u64; 2]),
    /// Mean and standard deviation of a normal distribution, cut off at 0.
    Normal([f64; 2]),
    /// Median, and standard deviation of the logarithm.
    Lognormal([f64; 2]),
    /// Mean of an exponential distribution.
    Exponential(f64),
    /// One of these, each as likely.
    Choice(Vec<u64>),
}

impl Length {
    pub(super) fn check(&self) -> Result<(), String> {
        let sound = match self {
            Self::Uniform([low, high]) => low <= high && *high as f64 <= MOST_TOKENS,
            Self::Normal([mean, spread]) => fine(*mean) && fine(*spread),
            Self::Lognormal([median, spread]) => {
                fine(*median) && *median > 0.0 && (0.0..=5.0).contains(spread)
            }
            Self::Exponential(mean) => fine(*mean),
            Self::Choice(of) => !of.is_empty() && of.iter().all(|n| *n as f64 <= MOST_TOKENS),
        };
        if sound {
            return Ok(());
        }
        Err(format!(
            "{self:?} is no length: expected uniform = [low, high], normal = [mean, deviation], lognormal = \
             [median, deviation of the logarithm up to 5], exponential = mean or choice = [n, …], up to 1e9 tokens"
        ))
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let tokens = match self {
            Self::Uniform([low, high]) => {
                let span = usize::try_from(high - low + 1).unwrap_or(usize::MAX);
                return low + rng.below(span) as u64;
            }
            Self::Choice(of) => return rng.choose(of).copied().unwrap_or_default(),
            Self::Normal([mean, spread]) => mean + spread * normal(rng),
            Self::Lognormal([median, spread]) => median * (spread * normal(rng)).exp(),
            Self::Exponential(mean) => -mean * (1.0 - rng.unit()).ln(),
        };
        tokens.round().clamp(0.0, MOST_TOKENS) as u64
    }
}

fn fine(x: f64) -> bool {
    (0.0..=MOST_TOKENS).contains(&x)
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}
