//! Means and shares with 95 % intervals.
//!
//! Observations come in groups, one an instance, one observation a seed: the same instance met again is no new
//! instance. Means get normal intervals over the groups' means; shares get Wilson's, with as many observations
//! as the spread between the groups says there really are.

use serde::Serialize;

/// Of the standard normal distribution, for 95 %.
const Z: f64 = 1.959_964;

/// From, to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval(pub f64, pub f64);

impl Interval {
    /// The part of it where a mean of shares can lie.
    #[must_use]
    pub fn of_shares(self) -> Self {
        Self(self.0.max(0.0), self.1.min(1.0))
    }
}

/// Observations, by instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample(Vec<Vec<f64>>);

impl Sample {
    /// Of groups; empty ones are left out.
    #[must_use]
    pub fn new(mut groups: Vec<Vec<f64>>) -> Self {
        groups.retain(|g| !g.is_empty());
        Self(groups)
    }

    fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The mean of all; 0 of nothing.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().flatten().sum::<f64>() / self.count().max(1) as f64
    }

    /// The least observation that at least `share` of all do not exceed; 0 of nothing.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let mut all: Vec<f64> = self.0.iter().flatten().copied().collect();
        all.sort_unstable_by(f64::total_cmp);
        let rank = (share * all.len() as f64).ceil() as usize;
        all.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Variance of the mean, from the groups' means; `None` of fewer than two groups.
    fn variance_of_mean(&self) -> Option<f64> {
        let groups = self.0.len();
        if groups < 2 {
            return None;
        }
        let means = self
            .0
            .iter()
            .map(|g| g.iter().sum::<f64>() / g.len() as f64);
        let means: Vec<f64> = means.collect();
        let centre = means.iter().sum::<f64>() / groups as f64;
        let squares: f64 = means.iter().map(|m| (m - centre).powi(2)).sum();
        Some(squares / ((groups - 1) * groups) as f64)
    }

    /// Where the mean lies; `None` of fewer than two instances.
    #[must_use]
    pub fn mean_interval(&self) -> Option<Interval> {
        let half = Z * self.variance_of_mean()?.sqrt();
        Some(Interval(self.mean() - half, self.mean() + half))
    }

    /// Where a difference of shares lies, of observations that are -1, 0 or 1, one a pair: Wald's interval with two
    /// more pairs, one of which differs, half in each direction (Agresti and Min 2005), so that pairs that all agree
    /// prove no equality. `None` of nothing.
    #[must_use]
    pub fn difference_interval(&self) -> Option<Interval> {
        if self.0.is_empty() {
            return None;
        }
        let mut more = self.0.clone();
        more.extend([vec![0.5f64.sqrt()], vec![-(0.5f64.sqrt())]]);
        Self(more).mean_interval()
    }

    /// Where the share lies, of observations that are 0 or 1; `None` of nothing.
    #[must_use]
    pub fn share_interval(&self) -> Option<Interval> {
        let (groups, all) = (self.0.len() as f64, self.count() as f64);
        let share = self.mean();
        let spread = share * (1.0 - share);
        let real = match self.variance_of_mean() {
            _ if all <= groups => all,
            Some(variance) if variance > 0.0 => (spread / variance).clamp(groups, all),
            _ => groups,
        };
        (real > 0.0).then(|| wilson(share, real))
    }
}

/// Wilson's score interval.
fn wilson(share: f64, count: f64) -> Interval {
    let z2 = Z * Z / count;
    let centre = (share + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (share * (1.0 - share) / count + z2 / (4.0 * count)).sqrt();
    Interval((centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn singles(values: impl IntoIterator<Item = f64>) -> Sample {
        Sample::new(values.into_iter().map(|v| vec![v]).collect())
    }

    fn shares(right: usize, of: usize) -> Sample {
        singles((0..of).map(|i| if i < right { 1.0 } else { 0.0 }))
    }

    #[test]
    fn wilsons_interval_is_the_one_of_the_books() {
        // Newcombe 1998, method 3: 81 of 263, and none of 20
        for (right, of, low, high) in [(81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611)] {
            let Interval(from, to) = shares(right, of).share_interval().unwrap();
            assert!(
                (from - low).abs() < 1e-4 && (to - high).abs() < 1e-4,
                "{from} {to}"
            );
        }
        assert_eq!(shares(0, 0).share_interval(), None);
    }

    #[test]
    fn repeating_instances_that_always_come_out_alike_teaches_nothing_new() {
        let once: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i < 30))).collect();
        let alike = Sample::new(once.iter().map(|v| vec![*v; 5]).collect());
        let width = |s: &Sample| s.share_interval().map(|i| i.1 - i.0).unwrap();
        assert!((width(&alike) - width(&singles(once))).abs() < 0.01);
        let mixed = Sample::new((0..40).map(|_| vec![1.0, 1.0, 1.0, 0.0, 1.0]).collect());
        assert!(width(&mixed) < width(&alike));
    }

    #[test]
    fn pairs_that_agree_prove_no_equality() {
        let Interval(low, high) = singles([0.0; 100]).difference_interval().unwrap();
        assert!(low < -0.015 && high > 0.015 && high < 0.03, "{low} {high}");
        // 10 pairs one way and 2 the other of 100: 8 points
        let pairs = (0..100).map(|i| {
            if i < 10 {
                1.0
            } else if i < 12 {
                -1.0
            } else {
                0.0
            }
        });
        let Interval(low, high) = singles(pairs).difference_interval().unwrap();
        assert!(
            (low - 0.0105).abs() < 1e-3 && (high - 0.1464).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(singles([]).difference_interval(), None);
    }

    #[test]
    fn means_and_quantiles() {
        let sample = singles((1..=10).map(f64::from));
        assert!((sample.mean() - 5.5).abs() < 1e-12);
        assert_eq!((sample.quantile(0.9), sample.quantile(0.91)), (9.0, 10.0));
        let Interval(from, to) = sample.mean_interval().unwrap();
        assert!((from - 3.623).abs() < 1e-2 && (to - 7.377).abs() < 1e-2);
        assert_eq!(singles([3.0]).mean_interval(), None);
        assert_eq!((singles([]).mean(), singles([]).quantile(0.9)), (0.0, 0.0));
    }
}
