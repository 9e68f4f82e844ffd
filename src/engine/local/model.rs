//! The forward pass: packed rows of many sequences in, logits of some of them out.
//!
//! One pass serves decoding and prefill alike. Everything but attention works on rows and does not know
//! where a sequence begins; attention finds keys and values through the page tables of [`Batch`]. There are two
//! ways to compute it: [`super::host`] in plain memory on the CPU, [`super::device`] through tensors anywhere.

use super::config::Config;
use super::pages::PageId;
use candle_core::Result;
use std::ops::Range;

/// Rows of one sequence within a batch, at consecutive positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Which rows of the batch.
    pub rows: Range<usize>,
    /// Position of the first of them in its sequence.
    pub start: usize,
    /// Pages of the sequence, covering every position up to the last row.
    pub pages: Vec<PageId>,
}

/// What one forward pass computes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Token of each row.
    pub tokens: Vec<u32>,
    /// Whose rows they are, in order and without gaps.
    pub segments: Vec<Segment>,
    /// Rows that logits are wanted of, ascending.
    pub wanted: Vec<usize>,
}

impl Batch {
    /// Position of each row in its sequence.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.segments
            .iter()
            .flat_map(|s| (0..s.rows.len()).map(move |i| s.start + i))
    }
}

/// Cosines and sines of each row, `[rows, head_dim / 2]` row-major.
#[derive(Debug, Default)]
pub struct Rotation {
    /// Cosines.
    pub cos: Vec<f32>,
    /// Sines.
    pub sin: Vec<f32>,
}

impl Rotation {
    /// Turn to the positions of `batch`; `frequencies` are radians per position of each pair.
    pub fn turn(&mut self, batch: &Batch, frequencies: &[f32]) {
        self.cos.clear();
        self.sin.clear();
        for position in batch.positions() {
            for frequency in frequencies {
                let (sin, cos) = (position as f32 * frequency).sin_cos();
                self.cos.push(cos);
                self.sin.push(sin);
            }
        }
    }
}

/// A loaded network with its cache of keys and values.
pub trait Network {
    /// Its shape.
    fn config(&self) -> &Config;

    /// Compute all rows of `batch`, keep their keys and values, and return the logits of the wanted rows,
    /// `[wanted, vocab]`; nothing where none is wanted.
    ///
    /// # Errors
    /// When the device fails.
    fn forward(&mut self, batch: &Batch) -> Result<&[f32]>;
}
