//! Causal attention within sequences, in blocks of queries, so that scores stay in the cache.
//!
//! The forward pass keeps one number per query and head, the logarithm of its sum of exponentials; the
//! backward pass computes the scores anew from it.

use super::matmul::{Add, View, ViewMut, matmul};
use crate::simd::{dot, exponentials, softmax, vectorized};
use std::ops::Range;

/// Queries whose scores are computed together.
const BLOCK: usize = 64;

/// Shape of an attention. Rows hold heads side by side; each key head serves `heads / kv_heads` query heads.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub width: usize,
}

/// Room for the scores of one block; grows to the longest sequence seen.
#[derive(Debug, Default)]
pub struct Scratch {
    scores: Vec<f32>,
    gradients: Vec<f32>,
}

impl Scratch {
    fn room(&mut self, keys: usize) -> (&mut [f32], &mut [f32]) {
        let size = BLOCK * keys;
        if self.scores.len() < size {
            self.scores.resize(size, 0.0);
            self.gradients.resize(size, 0.0);
        }
        (&mut self.scores, &mut self.gradients)
    }
}

/// One block of queries of one head, and where its numbers lie.
struct Block {
    /// Rows of the queries.
    rows: Range<usize>,
    /// Position of the first query in its sequence.
    first: usize,
    /// Keys visible to the last query.
    keys: usize,
    /// First row of the sequence.
    start: usize,
    head: usize,
    kv_head: usize,
}

impl Attention {
    fn blocks(self, sequences: &[Range<usize>]) -> impl Iterator<Item = Block> {
        let group = self.heads / self.kv_heads;
        sequences.iter().cloned().flat_map(move |sequence| {
            (0..self.heads).flat_map(move |head| {
                let sequence = sequence.clone();
                sequence.clone().step_by(BLOCK).map(move |row| {
                    let end = (row + BLOCK).min(sequence.end);
                    Block {
                        rows: row..end,
                        first: row - sequence.start,
                        keys: end - sequence.start,
                        start: sequence.start,
                        head,
                        kv_head: head / group,
                    }
                })
            })
        })
    }

    /// Width of a row of queries and keys.
    fn qk_stride(self) -> usize {
        (self.heads + self.kv_heads) * self.width
    }

    /// Width of a row of projections: queries, keys, values.
    fn qkv_stride(self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.width
    }

    fn queries(self, block: &Block) -> usize {
        block.rows.start * self.qk_stride() + block.head * self.width
    }

    fn keys(self, block: &Block) -> usize {
        block.start * self.qk_stride() + (self.heads + block.kv_head) * self.width
    }

    fn values(self, block: &Block) -> usize {
        block.start * self.qkv_stride() + (self.heads + self.kv_heads + block.kv_head) * self.width
    }

    fn scores(self, block: &Block, qk: &[f32], scores: &mut [f32]) {
        let count = block.rows.len();
        matmul(
            ViewMut::new(scores, count, block.keys),
            Add::Replace,
            1.0 / (self.width as f32).sqrt(),
            View::strided(
                &qk[self.queries(block)..],
                count,
                self.width,
                self.qk_stride(),
            ),
            View::strided(
                &qk[self.keys(block)..],
                block.keys,
                self.width,
                self.qk_stride(),
            )
            .transposed(),
        );
    }

    /// `qk` `[n, heads + kv_heads, width]`, values in the last heads of `qkv`; gives `out` `[n, heads, width]`
    /// and `logs` `[n, heads]`.
    pub fn forward(
        self,
        sequences: &[Range<usize>],
        qk: &[f32],
        qkv: &[f32],
        out: &mut [f32],
        logs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        for block in self.blocks(sequences) {
            let (count, keys) = (block.rows.len(), block.keys);
            let (scores, _) = scratch.room(keys);
            self.scores(&block, qk, scores);
            vectorized(
                #[inline(always)]
                || {
                    for (i, row) in scores[..count * keys].chunks_exact_mut(keys).enumerate() {
                        let (seen, hidden) = row.split_at_mut(block.first + i + 1);
                        logs[(block.rows.start + i) * self.heads + block.head] = softmax(seen);
                        hidden.fill(0.0);
                    }
                },
            );
            let stride = self.heads * self.width;
            matmul(
                ViewMut::strided(
                    &mut out[block.rows.start * stride + block.head * self.width..],
                    count,
                    self.width,
                    stride,
                ),
                Add::Replace,
                1.0,
                View::new(scores, count, keys),
                View::strided(
                    &qkv[self.values(&block)..],
                    keys,
                    self.width,
                    self.qkv_stride(),
                ),
            );
        }
    }

    /// What `dout` means for queries and keys, written to `dqk`, and for values, written to the last heads of
    /// `dqkv`.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        self,
        sequences: &[Range<usize>],
        (qk, qkv, out, logs): (&[f32], &[f32], &[f32], &[f32]),
        dout: &[f32],
        dqk: &mut [f32],
        dqkv: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let (stride, width) = (self.heads * self.width, self.width);
        let (qk_stride, qkv_stride) = (self.qk_stride(), self.qkv_stride());
        for row in dqk.chunks_exact_mut(qk_stride) {
            row[stride..].fill(0.0);
        }
        for row in dqkv.chunks_exact_mut(qkv_stride) {
            row[qk_stride..].fill(0.0);
        }
        let factor = 1.0 / (width as f32).sqrt();
        for block in self.blocks(sequences) {
            let (count, keys) = (block.rows.len(), block.keys);
            let (scores, gradients) = scratch.room(keys);
            self.scores(&block, qk, scores);
            let at = block.rows.start * stride + block.head * width;
            let douts = View::strided(&dout[at..], count, width, stride);
            let values = self.values(&block);
            matmul(
                ViewMut::new(gradients, count, keys),
                Add::Replace,
                1.0,
                douts,
                View::strided(&qkv[values..], keys, width, qkv_stride).transposed(),
            );
            vectorized(
                #[inline(always)]
                || {
                    let rows = scores[..count * keys].chunks_exact_mut(keys);
                    let rows = rows.zip(gradients[..count * keys].chunks_exact_mut(keys));
                    for (i, (scores, gradients)) in rows.enumerate() {
                        let (scores, hidden) = scores.split_at_mut(block.first + i + 1);
                        let (gradients, hidden_gradients) =
                            gradients.split_at_mut(block.first + i + 1);
                        exponentials(
                            scores,
                            logs[(block.rows.start + i) * self.heads + block.head],
                        );
                        let range = at + i * stride..at + i * stride + width;
                        let mean = dot(&dout[range.clone()], &out[range]);
                        for (gradient, score) in gradients.iter_mut().zip(scores) {
                            *gradient = (*gradient - mean) * *score;
                        }
                        hidden.fill(0.0);
                        hidden_gradients.fill(0.0);
                    }
                },
            );
            matmul(
                ViewMut::strided(&mut dqkv[values..], keys, width, qkv_stride),
                Add::Accumulate,
                1.0,
                View::new(scores, count, keys).transposed(),
                douts,
            );
            let (queries, key) = (self.queries(&block), self.keys(&block));
            matmul(
                ViewMut::strided(&mut dqk[queries..], count, width, qk_stride),
                Add::Replace,
                factor,
                View::new(gradients, count, keys),
                View::strided(&qk[key..], keys, width, qk_stride),
            );
            matmul(
                ViewMut::strided(&mut dqk[key..], keys, width, qk_stride),
                Add::Accumulate,
                factor,
                View::new(gradients, count, keys).transposed(),
                View::strided(&qk[queries..], count, width, qk_stride),
            );
        }
    }
}
