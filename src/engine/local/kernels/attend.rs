//! Attention of one row: its queries of one key/value head, over the pages of its sequence.
//!
//! Keys lie column by column, so that scores of neighbouring positions are neighbours in a vector and nothing has to be
//! summed across one; values lie row by row. Sums run in the order of columns and of positions, whatever the vector unit.

use super::super::pages::PAGE;
use crate::simd::softmax;
use pulp::{Arch, Simd, WithSimd};

/// Attend: `queries` `[group, dim]` over `blocks`, keys `[dim, 32]` and values `[32, dim]` of one page each, up to and
/// without position `visible`. The result goes to `out` `[group, dim]`; `scores` is working space.
///
/// # Panics
/// When the blocks are fewer or smaller than that.
pub fn attend<'a>(
    queries: &[f32],
    blocks: impl ExactSizeIterator<Item = (&'a [f32], &'a [f32])> + Clone,
    visible: usize,
    scores: &mut Vec<f32>,
    out: &mut [f32],
) {
    let Some((keys, _)) = blocks.clone().next() else {
        out.fill(0.0);
        return;
    };
    let dim = keys.len() / PAGE;
    assert!(visible <= blocks.len() * PAGE && queries.len() == out.len());
    let padded = blocks.len() * PAGE;
    // every number that is read is written before
    scores.resize(queries.len() / dim * padded, 0.0);
    let groups = queries.chunks(MOST * dim).zip(out.chunks_mut(MOST * dim));
    for (queries, out) in groups {
        let work = Attend {
            queries,
            blocks: blocks.clone(),
            dim,
            visible,
            scores: &mut scores[..queries.len() / dim * padded],
            out,
        };
        Arch::new().dispatch(work);
    }
}

/// Queries that share what is read of keys and values: as many as registers hold sums for.
const MOST: usize = 4;

struct Attend<'q, B> {
    queries: &'q [f32],
    blocks: B,
    dim: usize,
    visible: usize,
    scores: &'q mut [f32],
    out: &'q mut [f32],
}

impl<'a, B> WithSimd for Attend<'_, B>
where
    B: ExactSizeIterator<Item = (&'a [f32], &'a [f32])> + Clone,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.queries.len() / self.dim {
            1 => self.all::<S, 1>(simd),
            2 => self.all::<S, 2>(simd),
            3 => self.all::<S, 3>(simd),
            _ => self.all::<S, MOST>(simd),
        }
    }
}

impl<'a, B> Attend<'_, B>
where
    B: ExactSizeIterator<Item = (&'a [f32], &'a [f32])> + Clone,
{
    #[inline(always)]
    fn all<S: Simd, const G: usize>(mut self, simd: S) {
        let padded = self.blocks.len() * PAGE;
        self.score::<S, G>(simd);
        for scores in self.scores.chunks_exact_mut(padded) {
            let _ = softmax(&mut scores[..self.visible]);
        }
        let mut first = 0;
        while first + 4 * S::F32_LANES <= self.dim {
            self.mix::<S, G, 4>(simd, first);
            first += 4 * S::F32_LANES;
        }
        while first + S::F32_LANES <= self.dim {
            self.mix::<S, G, 1>(simd, first);
            first += S::F32_LANES;
        }
        if first < self.dim {
            self.mix_rest(first);
        }
    }

    /// Scaled products of queries and keys, two vectors of positions at a time.
    #[inline(always)]
    fn score<S: Simd, const G: usize>(&mut self, simd: S) {
        let (dim, padded) = (self.dim, self.blocks.len() * PAGE);
        let scale = simd.splat_f32s(1.0 / (dim as f32).sqrt());
        let queries: [&[f32]; G] = std::array::from_fn(|g| &self.queries[g * dim..(g + 1) * dim]);
        let step = 2 * S::F32_LANES;
        for (page, (keys, _)) in self.blocks.clone().enumerate() {
            for first in (0..PAGE).step_by(step) {
                let mut sums = [[simd.splat_f32s(0.0); 2]; G];
                for (column, keys) in keys.chunks_exact(PAGE).enumerate() {
                    let keys = S::as_simd_f32s(&keys[first..first + step]).0;
                    for g in 0..G {
                        let query = simd.splat_f32s(queries[g][column]);
                        for v in 0..2 {
                            sums[g][v] = simd.mul_add_e_f32s(query, keys[v], sums[g][v]);
                        }
                    }
                }
                for (g, sums) in sums.into_iter().enumerate() {
                    let at = g * padded + page * PAGE + first;
                    let into = S::as_mut_simd_f32s(&mut self.scores[at..at + step]).0;
                    for (into, sum) in into.iter_mut().zip(sums) {
                        *into = simd.mul_f32s(sum, scale);
                    }
                }
            }
        }
    }

    /// Sums of values weighted by scores: `V` vectors of columns from `first` on.
    #[inline(always)]
    fn mix<S: Simd, const G: usize, const V: usize>(&mut self, simd: S, first: usize) {
        let (dim, padded) = (self.dim, self.blocks.len() * PAGE);
        let columns = first..first + V * S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); V]; G];
        for (page, (_, values)) in self.blocks.clone().enumerate() {
            let here = page * PAGE..self.visible.min((page + 1) * PAGE);
            let scores: [&[f32]; G] = std::array::from_fn(|g| {
                &self.scores[g * padded + here.start..g * padded + here.end]
            });
            for (position, values) in (0..here.len()).zip(values.chunks_exact(dim)) {
                let values = S::as_simd_f32s(&values[columns.clone()]).0;
                for g in 0..G {
                    let weight = simd.splat_f32s(scores[g][position]);
                    for v in 0..V {
                        sums[g][v] = simd.mul_add_e_f32s(weight, values[v], sums[g][v]);
                    }
                }
            }
        }
        for (out, sums) in self.out.chunks_exact_mut(dim).zip(&sums) {
            S::as_mut_simd_f32s(&mut out[columns.clone()])
                .0
                .copy_from_slice(sums);
        }
    }

    /// The columns from `first` on, too few for a vector.
    #[inline(always)]
    fn mix_rest(&mut self, first: usize) {
        let (dim, padded) = (self.dim, self.blocks.len() * PAGE);
        let rows = self
            .blocks
            .clone()
            .flat_map(|(_, values)| values.chunks_exact(dim));
        for out in self.out.chunks_exact_mut(dim) {
            out[first..].fill(0.0);
        }
        for (position, values) in rows.take(self.visible).enumerate() {
            for (g, out) in self.out.chunks_exact_mut(dim).enumerate() {
                let weight = self.scores[g * padded + position];
                for (out, value) in out[first..].iter_mut().zip(&values[first..]) {
                    *out += weight * value;
                }
            }
        }
    }
}
