//! Input rows of products: as they are, turned for dense matrices, and rounded to 8 bits for quantised ones.

use super::tiles::BLOCK;
use crate::simd::vectorized;

/// Rows whose numbers of one column lie next to each other once turned.
pub(super) const BESIDE: usize = 8;

/// Rows `[rows, width]`, f32, beside their rounded form: signed bytes with one scale a block of 32.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) count: usize,
    pub(super) width: usize,
    pub(super) values: Vec<f32>,
    /// `[rows / 8, width, 8]`, the last block with as many as are left; empty until [`Rows::turn`].
    pub(super) turned: Vec<f32>,
    /// Four bytes each, `[rows, width / 4]`; empty until [`Rows::round`].
    pub(super) words: Vec<i32>,
    /// `[rows, width / 32]`.
    pub(super) scales: Vec<f32>,
    /// Sums of the rounded numbers of each half of a block, `[rows, width / 32, 2]`.
    pub(super) sums: Vec<[i32; 2]>,
}

impl Rows {
    /// How many rows there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Make room for `count` rows of `width` numbers and let `fill` write them; what was there before is gone.
    pub fn write(&mut self, count: usize, width: usize, fill: impl FnOnce(&mut [f32])) {
        (self.count, self.width) = (count, width);
        self.words.clear();
        self.turned.clear();
        self.values.resize(count * width, 0.0);
        fill(&mut self.values);
    }

    /// Take over `count` rows.
    ///
    /// # Panics
    /// When the numbers are not as many for each row.
    pub fn take(&mut self, values: &[f32], count: usize) {
        assert!(values.len().is_multiple_of(count), "whole rows");
        self.write(count, values.len() / count, |into| {
            into.copy_from_slice(values)
        });
    }

    /// Put the numbers of a column next to each other, unless that is done already.
    pub(super) fn turn(&mut self) {
        if !self.turned.is_empty() {
            return;
        }
        self.turned.resize(self.values.len(), 0.0);
        let (width, block) = (self.width, BESIDE * self.width);
        let (values, turned) = (&self.values, &mut self.turned);
        vectorized(
            #[inline(always)]
            || {
                for (values, turned) in values.chunks(block).zip(turned.chunks_mut(block)) {
                    if values.len() == block {
                        turn_block(values, width, turned);
                        continue;
                    }
                    let beside = values.len() / width;
                    for (row, values) in values.chunks_exact(width).enumerate() {
                        for (column, value) in turned.chunks_exact_mut(beside).zip(values) {
                            column[row] = *value;
                        }
                    }
                }
            },
        );
    }

    /// Round all rows, unless that is done already.
    ///
    /// # Panics
    /// When the width is no multiple of 32.
    pub(super) fn round(&mut self) {
        if !self.words.is_empty() {
            return;
        }
        assert!(self.width.is_multiple_of(BLOCK), "{} in blocks", self.width);
        let blocks = self.values.len() / BLOCK;
        self.words.resize(blocks * BLOCK / 4, 0);
        self.scales.resize(blocks, 0.0);
        self.sums.resize(blocks, [0; 2]);
        let (values, words) = (&self.values, &mut self.words);
        let (scales, sums) = (&mut self.scales, &mut self.sums);
        vectorized(
            #[inline(always)]
            || {
                let blocks = values
                    .chunks_exact(BLOCK)
                    .zip(words.chunks_exact_mut(BLOCK / 4));
                for ((values, words), (scale, sums)) in
                    blocks.zip(scales.iter_mut().zip(sums.iter_mut()))
                {
                    (*scale, *sums) = round_block(values, words);
                }
            },
        );
    }
}

/// A whole block of rows `[8, width]` becomes `[width, 8]`.
#[inline(always)]
fn turn_block(values: &[f32], width: usize, turned: &mut [f32]) {
    let rows: [&[f32]; BESIDE] = std::array::from_fn(|row| &values[row * width..(row + 1) * width]);
    for (column, turned) in turned.as_chunks_mut::<BESIDE>().0.iter_mut().enumerate() {
        *turned = rows.map(|row| row[column]);
    }
}

/// Largest magnitude becomes 127. A block with a number that is none, or infinite, gets a scale that is none, so that
/// the products of the row show it.
#[inline(always)]
fn round_block(values: &[f32], words: &mut [i32]) -> (f32, [i32; 2]) {
    // adding 1.5 * 2^23 leaves the rounded integer in the low bits
    const ROUND: f32 = 12_582_912.0;
    // without their signs, bits are ordered like the magnitudes they stand for, and what is no number comes last
    let mut magnitudes = [0u32; BLOCK / 2];
    for half in values.chunks_exact(BLOCK / 2) {
        for (magnitude, value) in magnitudes.iter_mut().zip(half) {
            *magnitude = (value.to_bits() & 0x7fff_ffff).max(*magnitude);
        }
    }
    let largest = f32::from_bits(magnitudes.into_iter().max().unwrap_or(0));
    let scale = largest / 127.0 + largest * 0.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let mut rounded = [0i32; BLOCK];
    for (rounded, value) in rounded.iter_mut().zip(values) {
        let value = value * inverse;
        // rounding can take the largest a little beyond; comparisons are false for what is no number
        let value = if value < 127.0 { value } else { 127.0 };
        let value = if value > -127.0 { value } else { -127.0 };
        *rounded = (value + ROUND).to_bits() as i32 - ROUND.to_bits() as i32;
    }
    let bytes = rounded.map(|r| r as u8);
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = i32::from_le_bytes(*bytes);
    }
    let sum = |half: &[i32]| half.iter().sum();
    let (first, second) = rounded.split_at(BLOCK / 2);
    (scale, [sum(first), sum(second)])
}
