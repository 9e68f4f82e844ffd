//! Norm and rotary embedding of each query and key head, fused: a head is read once and written once.

use super::norm::Norm;
use crate::simd::vectorized;

/// Cosines and sines of positions, `[positions, head_dim / 2]`.
#[derive(Debug, Clone)]
pub struct Rotation {
    cos: Vec<f32>,
    sin: Vec<f32>,
    half: usize,
}

impl Rotation {
    /// For positions below `positions`; `frequencies` are radians per position of each pair.
    #[must_use]
    pub fn new(frequencies: &[f32], positions: usize) -> Self {
        let angles = (0..positions).flat_map(|p| frequencies.iter().map(move |f| p as f32 * f));
        let (sin, cos) = angles.map(f32::sin_cos).unzip();
        Self {
            cos,
            sin,
            half: frequencies.len(),
        }
    }

    #[inline(always)]
    fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let range = position * self.half..(position + 1) * self.half;
        (&self.cos[range.clone()], &self.sin[range])
    }
}

/// Queries and keys of rows: `[heads * head_dim]` queries, then `[kv_heads * head_dim]` keys.
#[derive(Debug, Clone, Copy)]
pub struct Heads<'a> {
    /// Norm of a query head.
    pub query_norm: Norm<'a>,
    /// Norm of a key head.
    pub key_norm: Norm<'a>,
    /// Query heads in a row.
    pub heads: usize,
    /// Key heads in a row.
    pub kv_heads: usize,
    /// By position.
    pub rotation: &'a Rotation,
}

impl Heads<'_> {
    #[inline(always)]
    fn norm(&self, head: usize) -> Norm<'_> {
        if head < self.heads {
            self.query_norm
        } else {
            self.key_norm
        }
    }

    /// From rows `[.., stride]` of projections (queries and keys first) to `out` `[n, heads + kv_heads,
    /// head_dim]`; factors of the norms, one per head and row, to `factors`.
    pub fn forward(
        &self,
        rows: &[f32],
        stride: usize,
        positions: &[u32],
        out: &mut [f32],
        factors: &mut [f32],
    ) {
        let (width, count) = (self.query_norm.weight.len(), self.heads + self.kv_heads);
        vectorized(
            #[inline(always)]
            || {
                let outs = out
                    .chunks_exact_mut(count * width)
                    .zip(factors.chunks_exact_mut(count));
                for ((row, (out, factors)), position) in
                    rows.chunks_exact(stride).zip(outs).zip(positions)
                {
                    let (cos, sin) = self.rotation.at(*position as usize);
                    let heads = row.chunks_exact(width).zip(out.chunks_exact_mut(width));
                    for (head, ((x, y), factor)) in heads.zip(factors).enumerate() {
                        *factor = self.norm(head).row(x, y);
                        let (low, high) = y.split_at_mut(width / 2);
                        for i in 0..width / 2 {
                            let (a, b) = (low[i], high[i]);
                            low[i] = a * cos[i] - b * sin[i];
                            high[i] = b * cos[i] + a * sin[i];
                        }
                    }
                }
            },
        );
    }

    /// What `dout`, which is used up, means for the projections: written to the queries and keys of `drows`
    /// and accumulated into the weights of the norms.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &self,
        rows: &[f32],
        stride: usize,
        positions: &[u32],
        factors: &[f32],
        dout: &mut [f32],
        drows: &mut [f32],
        (dquery, dkey): (&mut [f32], &mut [f32]),
    ) {
        let (width, count) = (self.query_norm.weight.len(), self.heads + self.kv_heads);
        vectorized(
            #[inline(always)]
            || {
                let inputs = rows
                    .chunks_exact(stride)
                    .zip(factors.chunks_exact(count))
                    .zip(positions);
                let outputs = dout
                    .chunks_exact_mut(count * width)
                    .zip(drows.chunks_exact_mut(stride));
                for (((row, factors), position), (dout, drow)) in inputs.zip(outputs) {
                    let (cos, sin) = self.rotation.at(*position as usize);
                    for (head, factor) in factors.iter().enumerate() {
                        let range = head * width..(head + 1) * width;
                        let dy = &mut dout[range.clone()];
                        let (low, high) = dy.split_at_mut(width / 2);
                        for i in 0..width / 2 {
                            let (a, b) = (low[i], high[i]);
                            low[i] = a * cos[i] + b * sin[i];
                            high[i] = b * cos[i] - a * sin[i];
                        }
                        let dx = &mut drow[range.clone()];
                        dx.fill(0.0);
                        let dweight = if head < self.heads {
                            &mut *dquery
                        } else {
                            &mut *dkey
                        };
                        self.norm(head)
                            .row_backward(&row[range], *factor, dy, dx, dweight);
                    }
                }
            },
        );
    }
}
