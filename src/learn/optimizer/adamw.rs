//! AdamW (Loshchilov and Hutter 2019) without decay, which token vectors and norms do not want.

use crate::learn::ops::vectorized;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.98;
const EPS: f32 = 1e-8;

/// Move `weights`; `steps` counts this one.
pub(super) fn update(
    weights: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    rate: f32,
    steps: u64,
) {
    let power = i32::try_from(steps).unwrap_or(i32::MAX);
    // the averages start at zero: what they lack by that
    let (bias1, bias2) = (1.0 - BETA1.powi(power), 1.0 - BETA2.powi(power));
    vectorized(
        #[inline(always)]
        || {
            let averages = first.iter_mut().zip(second.iter_mut());
            for ((weight, gradient), (first, second)) in
                weights.iter_mut().zip(gradient).zip(averages)
            {
                *first += (1.0 - BETA1) * (gradient - *first);
                *second += (1.0 - BETA2) * (gradient * gradient - *second);
                *weight -= rate * (*first / bias1) / ((*second / bias2).sqrt() + EPS);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_as_long_as_the_rate_whatever_the_gradient() {
        let mut weights = [1.0, 1.0, 1.0];
        let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
        update(
            &mut weights,
            &[1e-3, -100.0, 0.0],
            &mut first,
            &mut second,
            0.1,
            1,
        );
        for (weight, expected) in weights.iter().zip([0.9, 1.1, 1.0]) {
            assert!(
                (weight - expected).abs() < 1e-4,
                "{weight} against {expected}"
            );
        }
    }
}
