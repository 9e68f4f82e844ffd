//! The forward pass in plain memory on the CPU.
//!
//! Every buffer is kept from step to step. A row's numbers do not depend on which rows are computed beside it.

use super::attention::HostArena;
use super::config::Config;
use super::kernels::{Product, Rows, Tiles, multiply};
use super::model::{Batch, Network, Rotation};
use super::weights::{InTiles, Linear, Weights};
use crate::simd::{dot, exp, vectorized};
use candle_core::{Result, bail};

/// A network in plain memory.
#[derive(Debug)]
pub struct HostModel {
    config: Config,
    weights: Weights<InTiles>,
    arena: HostArena,
    buffers: Buffers,
}

/// What one pass works on; all `[rows, …]`.
#[derive(Debug, Default)]
struct Buffers {
    rotation: Rotation,
    /// The residual stream, `hidden`.
    x: Vec<f32>,
    /// What the next matrices are multiplied with.
    input: Rows,
    /// `heads * head_dim`.
    q: Vec<f32>,
    /// `kv_heads * head_dim`.
    k: Vec<f32>,
    v: Vec<f32>,
    /// `intermediate`.
    gate: Vec<f32>,
    up: Vec<f32>,
    logits: Vec<f32>,
}

impl HostModel {
    /// Put checked weights to work, with a cache of `pages` pages.
    #[must_use]
    pub fn new(config: Config, weights: Weights<InTiles>, pages: usize) -> Self {
        Self {
            arena: HostArena::new(&config, pages),
            config,
            weights,
            buffers: Buffers::default(),
        }
    }
}

impl Network for HostModel {
    fn config(&self) -> &Config {
        &self.config
    }

    fn forward(&mut self, batch: &Batch) -> Result<&[f32]> {
        let (b, w) = (&mut self.buffers, &self.weights);
        let (hidden, eps) = (self.config.hidden, self.config.rms_eps);
        b.rotation.turn(batch, &w.frequencies);
        b.embed(&w.embedding, &batch.tokens)?;
        let last = w.blocks.len() - 1;
        for (layer, block) in w.blocks.iter().enumerate() {
            b.norm(&block.attention_norm, eps);
            let outs = [
                (&block.q, &mut b.q),
                (&block.k, &mut b.k),
                (&block.v, &mut b.v),
            ];
            project(outs, &mut b.input);
            let norms = block
                .qk_norm
                .as_ref()
                .map(|(q, k)| (q.as_slice(), k.as_slice()));
            let qkv = (b.q.as_mut_slice(), b.k.as_slice(), b.v.as_slice());
            let attended = self.arena.attend(layer, norms, qkv, batch, &b.rotation);
            if layer < last {
                b.input.take(attended, batch.tokens.len());
            } else {
                // nothing after the last attention looks at other rows
                let width = attended.len() / batch.tokens.len();
                b.input.write(batch.wanted.len(), width, |into| {
                    pick(attended, width, &batch.wanted, into);
                });
                b.keep(&batch.wanted, hidden);
                if batch.wanted.is_empty() {
                    return Ok(&[]);
                }
            }
            add(&block.o, &mut b.x, &mut b.input);
            b.norm(&block.mlp_norm, eps);
            project(
                [(&block.gate, &mut b.gate), (&block.up, &mut b.up)],
                &mut b.input,
            );
            b.activate(self.config.intermediate);
            add(&block.down, &mut b.x, &mut b.input);
        }
        b.norm(&w.norm, eps);
        b.logits.resize(batch.wanted.len() * self.config.vocab, 0.0);
        let product = Product {
            weights: &w.head,
            out: &mut b.logits,
            add: false,
        };
        multiply(&mut [product], &mut b.input);
        Ok(&b.logits)
    }
}

impl Buffers {
    /// Begin the residual stream with the embeddings of `tokens`.
    fn embed(&mut self, embedding: &Tiles, tokens: &[u32]) -> Result<()> {
        let hidden = embedding.width();
        self.x.resize(tokens.len() * hidden, 0.0);
        for (token, row) in tokens.iter().zip(self.x.chunks_exact_mut(hidden)) {
            if *token as usize >= embedding.out() {
                bail!("token {token} of a vocabulary of {}", embedding.out());
            }
            embedding.row(*token as usize, row);
        }
        Ok(())
    }

    /// RMS norm of the residual stream, into what is multiplied next.
    fn norm(&mut self, weight: &[f32], eps: f32) {
        let (x, width) = (&self.x, weight.len());
        self.input.write(x.len() / width, width, |into| {
            vectorized(
                #[inline(always)]
                || {
                    let rows = x.chunks_exact(width).zip(into.chunks_exact_mut(width));
                    for (x, into) in rows {
                        let scale = 1.0 / (dot(x, x) / width as f32 + eps).sqrt();
                        for ((into, x), w) in into.iter_mut().zip(x).zip(weight) {
                            *into = x * scale * w;
                        }
                    }
                },
            );
        });
    }

    /// `silu(gate) * up`, into what is multiplied next.
    fn activate(&mut self, width: usize) {
        let (gate, up) = (&self.gate, &self.up);
        self.input.write(gate.len() / width, width, |into| {
            vectorized(
                #[inline(always)]
                || {
                    for ((into, gate), up) in into.iter_mut().zip(gate).zip(up) {
                        *into = gate / (1.0 + exp(-gate)) * up;
                    }
                },
            );
        });
    }

    /// Keep only some rows of the residual stream.
    fn keep(&mut self, wanted: &[usize], width: usize) {
        // ascending, so that no row is overwritten before it is moved
        for (to, from) in wanted.iter().enumerate() {
            self.x
                .copy_within(from * width..(from + 1) * width, to * width);
        }
        self.x.truncate(wanted.len() * width);
    }
}

fn pick(rows: &[f32], width: usize, wanted: &[usize], into: &mut [f32]) {
    for (row, into) in wanted.iter().zip(into.chunks_exact_mut(width)) {
        into.copy_from_slice(&rows[row * width..(row + 1) * width]);
    }
}

/// Multiply the same rows with several matrices.
fn project<const N: usize>(outs: [(&Linear<InTiles>, &mut Vec<f32>); N], input: &mut Rows) {
    let rows = input.count();
    let mut biases = [None; N];
    let mut at = 0;
    let mut products = outs.map(|(linear, out)| {
        out.resize(rows * linear.weight.out(), 0.0);
        biases[at] = linear.bias.as_deref();
        at += 1;
        Product {
            weights: &linear.weight,
            out,
            add: false,
        }
    });
    multiply(&mut products, input);
    for (product, bias) in products.into_iter().zip(biases) {
        add_bias(product.out, bias);
    }
}

/// Multiply rows and add the result to the residual stream.
fn add(linear: &Linear<InTiles>, x: &mut [f32], input: &mut Rows) {
    let product = Product {
        weights: &linear.weight,
        out: &mut *x,
        add: true,
    };
    multiply(&mut [product], input);
    add_bias(x, linear.bias.as_deref());
}

fn add_bias(rows: &mut [f32], bias: Option<&[f32]>) {
    let Some(bias) = bias else { return };
    for row in rows.chunks_exact_mut(bias.len()) {
        for (x, b) in row.iter_mut().zip(bias) {
            *x += b;
        }
    }
}
