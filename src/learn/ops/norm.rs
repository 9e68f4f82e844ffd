//! RMS norm of rows: `y = x * r * weight` with `r = 1 / sqrt(mean(x^2) + eps)`.

use crate::simd::{dot, vectorized};

/// A norm over rows as long as its weight.
#[derive(Debug, Clone, Copy)]
pub struct Norm<'a> {
    /// `[width]`.
    pub weight: &'a [f32],
    /// Added under the root.
    pub eps: f32,
}

impl Norm<'_> {
    /// Normalise each row of `x` into `y`; the factors `r` of each row go to `factors`.
    pub fn forward(&self, x: &[f32], y: &mut [f32], factors: &mut [f32]) {
        let width = self.weight.len();
        vectorized(
            #[inline(always)]
            || {
                let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width));
                for ((x, y), factor) in rows.zip(factors) {
                    *factor = self.row(x, y);
                }
            },
        );
    }

    /// One row; returns its factor.
    #[inline(always)]
    pub(super) fn row(&self, x: &[f32], y: &mut [f32]) -> f32 {
        let factor = 1.0 / (dot(x, x) / self.weight.len() as f32 + self.eps).sqrt();
        for ((y, x), weight) in y.iter_mut().zip(x).zip(self.weight) {
            *y = x * factor * weight;
        }
        factor
    }

    /// Accumulate into `dx` what `dy` means for `x`, and into `dweight` what it means for the weight.
    pub fn backward(
        &self,
        x: &[f32],
        factors: &[f32],
        dy: &[f32],
        dx: &mut [f32],
        dweight: &mut [f32],
    ) {
        let width = self.weight.len();
        vectorized(
            #[inline(always)]
            || {
                let rows = x.chunks_exact(width).zip(dy.chunks_exact(width));
                for (((x, dy), factor), dx) in rows.zip(factors).zip(dx.chunks_exact_mut(width)) {
                    self.row_backward(x, *factor, dy, dx, dweight);
                }
            },
        );
    }

    #[inline(always)]
    pub(super) fn row_backward(
        &self,
        x: &[f32],
        factor: f32,
        dy: &[f32],
        dx: &mut [f32],
        dweight: &mut [f32],
    ) {
        let width = self.weight.len();
        let (x, dy, dx, dweight) = (
            &x[..width],
            &dy[..width],
            &mut dx[..width],
            &mut dweight[..width],
        );
        for i in 0..width {
            dweight[i] += dy[i] * x[i] * factor;
        }
        let along = weighted_dot(x, dy, self.weight) * factor * factor * factor / width as f32;
        for i in 0..width {
            dx[i] += factor * self.weight[i] * dy[i] - along * x[i];
        }
    }
}

#[inline(always)]
fn weighted_dot(x: &[f32], dy: &[f32], weight: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0.0f32; LANES];
    let whole = x.len() / LANES * LANES;
    for at in (0..whole).step_by(LANES) {
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane += x[at + i] * dy[at + i] * weight[at + i];
        }
    }
    let rest: f32 = (whole..x.len()).map(|i| x[i] * dy[i] * weight[i]).sum();
    lanes.iter().sum::<f32>() + rest
}
