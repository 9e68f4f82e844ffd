//! The forward pass through tensors, on any device that candle knows.

use super::arena::{Attends, Chosen, DeviceArena};
use super::choice::AttentionPath;
use super::config::Config;
use super::model::{Batch, Network, Rotation};
use super::projection::Projection;
use super::weights::{Block, InTensors, Linear, Matrix, Weights};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::rms_norm;

/// A network in tensors of one device.
#[derive(Debug)]
pub struct DeviceModel {
    config: Config,
    embedding: Matrix,
    blocks: Vec<DeviceBlock>,
    norm: Tensor,
    head: Matrix,
    frequencies: Vec<f32>,
    arena: DeviceArena,
    attention: String,
    device: Device,
    rotation: Rotation,
    logits: Vec<f32>,
}

/// One block, with few launches.
#[derive(Debug)]
struct DeviceBlock {
    attention_norm: Tensor,
    qkv: Projection<3>,
    qk_norm: Option<(Tensor, Tensor)>,
    o: Linear<InTensors>,
    mlp_norm: Tensor,
    gate_up: Projection<2>,
    down: Linear<InTensors>,
}

impl DeviceBlock {
    fn new(block: Block<InTensors>) -> Result<Self> {
        Ok(Self {
            attention_norm: block.attention_norm,
            qkv: Projection::of([block.q, block.k, block.v])?,
            qk_norm: block.qk_norm,
            o: block.o,
            mlp_norm: block.mlp_norm,
            gate_up: Projection::of([block.gate, block.up])?,
            down: block.down,
        })
    }

    fn mlp(&self, x: &Tensor, eps: f32) -> Result<Tensor> {
        let h = rms_norm(x, &self.mlp_norm, eps)?;
        let [gate, up] = self.gate_up.forward(&h, Linear::forward_wide)?;
        let gated = (gate.silu()? * up)?;
        x + self.down.forward(&gated)?
    }
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
        path: AttentionPath,
    ) -> Result<Self> {
        let Chosen { arena, attention } =
            DeviceArena::choose(&config, pages, &device, path, &weights.frequencies)?;
        Ok(Self {
            embedding: weights.embedding,
            // each takes the place of what it is made from
            blocks: weights
                .blocks
                .into_iter()
                .map(DeviceBlock::new)
                .collect::<Result<_>>()?,
            norm: weights.norm,
            head: weights.head,
            frequencies: weights.frequencies,
            arena,
            attention,
            config,
            device,
            rotation: Rotation::default(),
            logits: Vec::new(),
        })
    }

    /// How attention is computed: `own kernels`, or `portable`, with the reason where there could be kernels.
    #[must_use]
    pub fn attention(&self) -> &str {
        &self.attention
    }

    /// Have the device compute `batch`, without waiting for it: logits of the wanted rows, `[wanted, vocab]`, if any
    /// are wanted.
    ///
    /// # Errors
    /// When the device fails.
    pub fn launch(&mut self, batch: &Batch) -> Result<Option<Tensor>> {
        self.rotation.turn(batch, &self.frequencies);
        let eps = self.config.rms_eps;
        let ids = Tensor::new(batch.tokens.as_slice(), &self.device)?;
        let mut x = self.embedding.rows(&ids)?;
        self.arena.begin(batch, &self.rotation)?;
        let last = self.blocks.len() - 1;
        for (layer, block) in self.blocks.iter().enumerate() {
            let h = rms_norm(&x, &block.attention_norm, eps)?;
            let qkv = block.qkv.forward(&h, Linear::forward)?;
            let mut attended = self.arena.attend(layer, block.qk_norm.as_ref(), &qkv)?;
            if layer == last {
                if batch.wanted.is_empty() {
                    return Ok(None);
                }
                // nothing after the last attention looks at other rows
                (x, attended) = pick(batch, x, attended, &self.device)?;
            }
            x = (x + block.o.forward(&attended)?)?;
            x = block.mlp(&x, eps)?;
        }
        let x = rms_norm(&x, &self.norm, eps)?;
        let logits = self.head.forward(&x)?;
        logits.to_dtype(DType::F32).map(Some)
    }
}

impl Network for DeviceModel {
    fn config(&self) -> &Config {
        &self.config
    }

    fn forward(&mut self, batch: &Batch) -> Result<&[f32]> {
        self.logits = match self.launch(batch)? {
            Some(logits) => logits.flatten_all()?.to_vec1()?,
            None => Vec::new(),
        };
        Ok(&self.logits)
    }
}

fn pick(batch: &Batch, x: Tensor, attended: Tensor, device: &Device) -> Result<(Tensor, Tensor)> {
    if batch.wanted.len() == batch.tokens.len() {
        return Ok((x, attended));
    }
    let rows: Vec<u32> = batch.wanted.iter().map(|row| *row as u32).collect();
    let rows = Tensor::new(rows.as_slice(), device)?;
    Ok((x.index_select(&rows, 0)?, attended.index_select(&rows, 0)?))
}
