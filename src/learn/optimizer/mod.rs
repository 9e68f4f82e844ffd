//! From gradients to new weights: Muon for the matrices of the blocks, AdamW for the rest.
//!
//! Each weight is updated on its own, so that weights can be shared out over threads without changing a bit of
//! the result.

mod adamw;
mod muon;
mod schedule;

pub use schedule::Schedule;

use super::network::{Kind, Slot};
use super::ops::{norm_squared, scale};
use std::thread;

/// Step sizes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rates {
    /// Of Muon.
    pub matrices: f32,
    /// Of AdamW.
    pub others: f32,
}

impl Rates {
    /// All of them times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f32) -> Self {
        Self {
            matrices: self.matrices * factor,
            others: self.others * factor,
        }
    }
}

/// Averages of past gradients, as long as the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimizer {
    /// Averages of gradients.
    pub first: Vec<f32>,
    /// Averages of squared gradients; used for AdamW's weights only.
    pub second: Vec<f32>,
    /// Steps taken.
    pub steps: u64,
}

/// One weight with everything that belongs to it.
struct Job<'a> {
    slot: &'a Slot,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
}

impl Job<'_> {
    fn cost(&self) -> usize {
        match self.slot.kind {
            Kind::Embedding | Kind::Norm | Kind::Correction => self.weights.len(),
            Kind::Inner | Kind::Output => {
                let (rows, columns) = self.slot.shape;
                self.weights.len() * rows.min(columns)
            }
        }
    }

    fn run(self, rates: Rates, steps: u64) {
        match self.slot.kind {
            Kind::Embedding | Kind::Norm | Kind::Correction => {
                adamw::update(
                    self.weights,
                    self.gradient,
                    self.first,
                    self.second,
                    rates.others,
                    steps,
                );
            }
            Kind::Inner | Kind::Output => {
                muon::update(
                    self.weights,
                    self.gradient,
                    self.first,
                    self.slot.shape,
                    rates.matrices,
                );
            }
        }
    }
}

impl Optimizer {
    /// Before the first step over `size` weights.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            first: vec![0.0; size],
            second: vec![0.0; size],
            steps: 0,
        }
    }

    /// Move all weights, on as many threads as told.
    pub fn step(
        &mut self,
        slots: &[Slot],
        weights: &mut [f32],
        gradient: &[f32],
        rates: Rates,
        threads: usize,
    ) {
        self.steps += 1;
        let steps = self.steps;
        let (mut weights, mut first, mut second) =
            (weights, &mut self.first[..], &mut self.second[..]);
        let mut jobs = Vec::new();
        for slot in slots {
            let mut job = Job {
                slot,
                weights: &mut [],
                gradient: &gradient[slot.range.clone()],
                first: &mut [],
                second: &mut [],
            };
            (job.weights, weights) = weights.split_at_mut(slot.range.len());
            (job.first, first) = first.split_at_mut(slot.range.len());
            (job.second, second) = second.split_at_mut(slot.range.len());
            jobs.push(job);
        }
        let mut shares: Vec<(usize, Vec<Job<'_>>)> =
            (0..threads.max(1)).map(|_| (0, Vec::new())).collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.cost()));
        for job in jobs {
            let least = shares
                .iter_mut()
                .min_by_key(|(cost, _)| *cost)
                .expect("there is a share");
            least.0 += job.cost();
            least.1.push(job);
        }
        thread::scope(|scope| {
            let mut shares = shares.into_iter().map(|(_, jobs)| jobs);
            let own = shares.next().expect("there is a share");
            for jobs in shares {
                scope.spawn(move || jobs.into_iter().for_each(|job| job.run(rates, steps)));
            }
            own.into_iter().for_each(|job| job.run(rates, steps));
        });
    }
}

/// Shorten a gradient to at most `longest`; returns the length it had.
pub fn clip(gradient: &mut [f32], longest: f64) -> f64 {
    let length = norm_squared(gradient).sqrt();
    if length > longest {
        scale(gradient, (longest / length) as f32);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_gradient_is_shortened_and_a_short_one_kept() {
        let mut gradient = vec![3.0, 4.0];
        assert_eq!(clip(&mut gradient, 10.0), 5.0);
        assert_eq!(gradient, [3.0, 4.0]);
        assert_eq!(clip(&mut gradient, 1.0), 5.0);
        assert!((norm_squared(&gradient) - 1.0).abs() < 1e-6);
    }
}
