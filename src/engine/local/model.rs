//! The forward pass: packed rows of many sequences in, logits of some of them out.
//!
//! One pass serves decoding and prefill alike. Everything but attention works on rows and does not know
//! where a sequence begins; attention finds keys and values through the page tables of [`Batch`].

use super::attention::HostArena;
use super::config::Config;
use super::pages::PageId;
use super::portable::DeviceArena;
use super::weights::{Block, Weights, forward_each};
use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::ops::rms_norm;
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
#[derive(Debug)]
pub struct Rotation {
    /// Cosines.
    pub cos: Vec<f32>,
    /// Sines.
    pub sin: Vec<f32>,
}

/// Keys and values of all pages, where the device wants them.
#[derive(Debug)]
pub enum Arena {
    /// In plain memory, attended over in place.
    Host(HostArena),
    /// In tensors of any device, gathered before each attention.
    Device(DeviceArena),
}

/// A loaded network.
#[derive(Debug)]
pub struct Model {
    /// Its shape.
    pub config: Config,
    weights: Weights,
    device: Device,
}

impl Model {
    /// Put checked weights to work on the device they were loaded onto.
    #[must_use]
    pub fn new(config: Config, weights: Weights, device: Device) -> Self {
        Self {
            config,
            weights,
            device,
        }
    }

    /// Where it computes.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Compute all rows of `batch`, write their keys and values into `arena`, and return the logits of the
    /// wanted rows, `[wanted, vocab]` in f32; nothing where none is wanted.
    ///
    /// # Errors
    /// When the device fails.
    pub fn forward(&self, arena: &mut Arena, batch: &Batch) -> Result<Option<Tensor>> {
        let rotation = self.rotation(batch);
        let eps = self.config.rms_eps;
        let ids = Tensor::new(batch.tokens.as_slice(), &self.device)?;
        let mut x = self.weights.embedding.rows(&ids)?;
        match arena {
            Arena::Host(_) => {}
            Arena::Device(arena) => arena.begin(batch, &rotation)?,
        }
        let last = self.weights.blocks.len() - 1;
        for (layer, block) in self.weights.blocks.iter().enumerate() {
            let h = rms_norm(&x, &block.attention_norm, eps)?;
            let [q, k, v] = forward_each([&block.q, &block.k, &block.v], &h)?;
            let mut attended = match arena {
                Arena::Host(arena) => arena.attend(layer, block, (&q, &k, &v), batch, &rotation)?,
                Arena::Device(arena) => arena.attend(layer, block, (q, k, v), batch)?,
            };
            if layer == last {
                if batch.wanted.is_empty() {
                    return Ok(None);
                }
                // nothing after the last attention looks at other rows
                (x, attended) = self.pick(batch, x, attended)?;
            }
            x = (x + block.o.forward(&attended)?)?;
            x = self.mlp(block, x)?;
        }
        let x = rms_norm(&x, &self.weights.norm, eps)?;
        self.weights
            .head
            .forward(&x)?
            .to_dtype(DType::F32)
            .map(Some)
    }

    fn mlp(&self, block: &Block, x: Tensor) -> Result<Tensor> {
        let h = rms_norm(&x, &block.mlp_norm, self.config.rms_eps)?;
        let [gate, up] = forward_each([&block.gate, &block.up], &h)?;
        let gated = (gate.silu()? * up)?;
        x + block.down.forward(&gated)?
    }

    fn pick(&self, batch: &Batch, x: Tensor, attended: Tensor) -> Result<(Tensor, Tensor)> {
        if batch.wanted.len() == batch.tokens.len() {
            return Ok((x, attended));
        }
        let rows: Vec<u32> = batch.wanted.iter().map(|row| *row as u32).collect();
        let rows = Tensor::new(rows.as_slice(), &self.device)?;
        Ok((x.index_select(&rows, 0)?, attended.index_select(&rows, 0)?))
    }

    fn rotation(&self, batch: &Batch) -> Rotation {
        let size = batch.tokens.len() * self.config.head_dim / 2;
        let (mut cos, mut sin) = (Vec::with_capacity(size), Vec::with_capacity(size));
        for position in batch.positions() {
            for frequency in &self.weights.frequencies {
                let (s, c) = (position as f32 * frequency).sin_cos();
                cos.push(c);
                sin.push(s);
            }
        }
        Rotation { cos, sin }
    }
}
