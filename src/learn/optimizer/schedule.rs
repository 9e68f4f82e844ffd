//! How step sizes change over a run: up, constant, down in a straight line.

use serde::{Deserialize, Serialize};

/// Smallest factor at the end.
const FLOOR: f64 = 0.02;

/// A run's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Steps in all.
    pub steps: u64,
    /// Steps over which the rates rise.
    pub warm_up: u64,
    /// Share of the run, at its end, over which they fall.
    pub decay: f64,
}

impl Schedule {
    /// Factor of the rates at a step, the first being 0.
    #[must_use]
    pub fn factor(&self, step: u64) -> f32 {
        let up = (step + 1) as f64 / self.warm_up.max(1) as f64;
        let left = 1.0 - step as f64 / self.steps.max(1) as f64;
        let down = (left / self.decay.max(f64::EPSILON)).max(FLOOR);
        (up.min(1.0) * down.min(1.0)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_hold_and_fall_over_the_last_half() {
        let schedule = Schedule {
            steps: 1000,
            warm_up: 10,
            decay: 0.5,
        };
        assert_eq!(schedule.factor(0), 0.1);
        assert_eq!(schedule.factor(9), 1.0);
        assert_eq!(schedule.factor(500), 1.0);
        assert!((schedule.factor(750) - 0.5).abs() < 1e-6);
        assert_eq!(schedule.factor(5000), FLOOR as f32);
    }
}
