//! The forward pass through tensors, on any device that candle knows.

use super::config::Config;
use super::model::{Batch, Network, Rotation};
use super::portable::DeviceArena;
use super::weights::{Block, InTensors, Weights};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::rms_norm;

/// A network in tensors of one device.
#[derive(Debug)]
pub struct DeviceModel {
    config: Config,
    weights: Weights<InTensors>,
    arena: DeviceArena,
    device: Device,
    rotation: Rotation,
    logits: Vec<f32>,
}

impl DeviceModel {
    /// Put checked weights to work on the device they were loaded onto, with a cache of `pages` pages.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn new(
        config: Config,
        weights: Weights<InTensors>,
        pages: usize,
        device: Device,
    ) -> Result<Self> {
        Ok(Self {
            arena: DeviceArena::new(&config, pages, &device)?,
            config,
            weights,
            device,
            rotation: Rotation::default(),
            logits: Vec::new(),
        })
    }

    fn compute(&mut self, batch: &Batch) -> Result<Option<Tensor>> {
        self.rotation.turn(batch, &self.weights.frequencies);
        let eps = self.config.rms_eps;
        let ids = Tensor::new(batch.tokens.as_slice(), &self.device)?;
        let mut x = self.weights.embedding.rows(&ids)?;
        self.arena.begin(batch, &self.rotation)?;
        let last = self.weights.blocks.len() - 1;
        for (layer, block) in self.weights.blocks.iter().enumerate() {
            let h = rms_norm(&x, &block.attention_norm, eps)?;
            let (q, k, v) = (
                block.q.forward(&h)?,
                block.k.forward(&h)?,
                block.v.forward(&h)?,
            );
            let mut attended = self.arena.attend(layer, block, (q, k, v), batch)?;
            if layer == last {
                if batch.wanted.is_empty() {
                    return Ok(None);
                }
                // nothing after the last attention looks at other rows
                (x, attended) = pick(batch, x, attended, &self.device)?;
            }
            x = (x + block.o.forward(&attended)?)?;
            x = mlp(block, x, eps)?;
        }
        let x = rms_norm(&x, &self.weights.norm, eps)?;
        let logits = self.weights.head.forward(&x)?;
        logits.to_dtype(DType::F32).map(Some)
    }
}

impl Network for DeviceModel {
    fn config(&self) -> &Config {
        &self.config
    }

    fn forward(&mut self, batch: &Batch) -> Result<&[f32]> {
        self.logits = match self.compute(batch)? {
            Some(logits) => logits.flatten_all()?.to_vec1()?,
            None => Vec::new(),
        };
        Ok(&self.logits)
    }
}

fn mlp(block: &Block<InTensors>, x: Tensor, eps: f32) -> Result<Tensor> {
    let h = rms_norm(&x, &block.mlp_norm, eps)?;
    let gated = (block.gate.forward(&h)?.silu()? * block.up.forward(&h)?)?;
    x + block.down.forward(&gated)?
}

fn pick(batch: &Batch, x: Tensor, attended: Tensor, device: &Device) -> Result<(Tensor, Tensor)> {
    if batch.wanted.len() == batch.tokens.len() {
        return Ok((x, attended));
    }
    let rows: Vec<u32> = batch.wanted.iter().map(|row| *row as u32).collect();
    let rows = Tensor::new(rows.as_slice(), device)?;
    Ok((x.index_select(&rows, 0)?, attended.index_select(&rows, 0)?))
}
