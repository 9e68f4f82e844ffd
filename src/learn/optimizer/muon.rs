//! Muon (Jordan 2024): momentum whose singular values are all brought near one by Newton and Schulz's
//! iteration, so that every direction of a matrix is learnt at one speed.

use crate::learn::ops::{Add, View, ViewMut, matmul, norm_squared, scale, vectorized};

const MOMENTUM: f32 = 0.95;
const DECAY: f32 = 0.01;
const ITERATIONS: usize = 5;
/// The quintic `a x + b x^3 + c x^5` that moves singular values in (0, 1] towards 1 fastest.
const QUINTIC: (f32, f32, f32) = (3.4445, -4.7750, 2.0315);

/// Move a matrix of this shape.
pub(super) fn update(
    weights: &mut [f32],
    gradient: &[f32],
    momentum: &mut [f32],
    shape: (usize, usize),
    rate: f32,
) {
    let mut direction = vec![0.0; weights.len()];
    vectorized(
        #[inline(always)]
        || {
            let average = momentum.iter_mut().zip(gradient);
            for (direction, (momentum, gradient)) in direction.iter_mut().zip(average) {
                *momentum += (1.0 - MOMENTUM) * (gradient - *momentum);
                // Nesterov's: where the average is about to be
                *direction = gradient + MOMENTUM * (*momentum - gradient);
            }
        },
    );
    orthogonalize(&mut direction, shape);
    let (rows, columns) = shape;
    let step = rate * (rows as f32 / columns as f32).max(1.0).sqrt();
    let keep = 1.0 - rate * DECAY;
    vectorized(
        #[inline(always)]
        || {
            for (weight, direction) in weights.iter_mut().zip(&direction) {
                *weight = *weight * keep - step * direction;
            }
        },
    );
}

/// Replace `x`, row-major of this shape, by a matrix of the same singular vectors with values near one.
fn orthogonalize(x: &mut [f32], (rows, columns): (usize, usize)) {
    scale(x, 1.0 / (norm_squared(x).sqrt() as f32 + 1e-7));
    let small = rows.min(columns);
    let (a, b, c) = QUINTIC;
    let (mut gram, mut power, mut next) = (
        vec![0.0; small * small],
        vec![0.0; small * small],
        vec![0.0; x.len()],
    );
    for _ in 0..ITERATIONS {
        let view = View::new(x, rows, columns);
        let (left, right) = if rows > columns {
            (view.transposed(), view)
        } else {
            (view, view.transposed())
        };
        matmul(
            ViewMut::new(&mut gram, small, small),
            Add::Replace,
            1.0,
            left,
            right,
        );
        let square = View::new(&gram, small, small);
        power.copy_from_slice(&gram);
        scale(&mut power, b);
        matmul(
            ViewMut::new(&mut power, small, small),
            Add::Accumulate,
            c,
            square,
            square,
        );
        next.copy_from_slice(x);
        scale(&mut next, a);
        let power = View::new(&power, small, small);
        let (left, right) = if rows > columns {
            (view, power)
        } else {
            (power, view)
        };
        matmul(
            ViewMut::new(&mut next, rows, columns),
            Add::Accumulate,
            1.0,
            left,
            right,
        );
        x.copy_from_slice(&next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_gets_singular_values_near_one_in_either_shape() {
        for (rows, columns) in [(6, 20), (20, 6)] {
            let mut x: Vec<f32> = (0..120)
                .map(|i| ((i * 31 + i * i) % 17) as f32 - 8.0)
                .collect();
            orthogonalize(&mut x, (rows, columns));
            let short = rows.min(columns);
            let at = |i: usize, j: usize| match rows < columns {
                true => x[i * columns + j],
                false => x[j * columns + i],
            };
            for i in 0..short {
                for k in 0..short {
                    let product: f32 = (0..20).map(|j| at(i, j) * at(k, j)).sum();
                    let wanted = if i == k { 0.5..1.6 } else { -0.4..0.4 };
                    assert!(
                        wanted.contains(&product),
                        "{rows}x{columns} {i},{k}: {product}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_zero_gradient_only_decays() {
        let mut weights = vec![1.0; 6];
        update(&mut weights, &[0.0; 6], &mut [0.0; 6], (2, 3), 0.1);
        assert!(weights.iter().all(|w| (w - 0.999).abs() < 1e-6));
    }
}
