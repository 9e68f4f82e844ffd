//! Memory of one replica, reused from batch to batch.

use super::super::ops::Scratch;
use crate::engine::local::config::Config;

/// What one layer keeps from the forward pass for the backward pass; rows of the packed batch each.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Residual stream on entry, `[hidden]`.
    pub input: Vec<f32>,
    pub input_factors: Vec<f32>,
    pub normed: Vec<f32>,
    /// Projections.
    pub qkv: Vec<f32>,
    pub head_factors: Vec<f32>,
    /// Queries and keys after norm and rotation.
    pub qk: Vec<f32>,
    pub logs: Vec<f32>,
    pub attended: Vec<f32>,
    /// Residual stream between attention and MLP, `[hidden]`.
    pub middle: Vec<f32>,
    pub middle_factors: Vec<f32>,
    pub middle_normed: Vec<f32>,
    pub gate_up: Vec<f32>,
    pub gated: Vec<f32>,
}

/// Memory of one replica.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) layers: Vec<Kept>,
    /// Residual stream on leaving the last layer, then the gradient of the residual stream.
    pub(super) stream: Vec<f32>,
    /// Gradient of what a norm gave.
    pub(super) dnormed: Vec<f32>,
    /// Gradient of what a gate or the attention gave.
    pub(super) dinner: Vec<f32>,
    pub(super) dqk: Vec<f32>,
    pub(super) dqkv: Vec<f32>,
    /// Wanted rows: residual stream, factors, normed.
    pub(super) last: Vec<f32>,
    pub(super) last_factors: Vec<f32>,
    pub(super) last_normed: Vec<f32>,
    pub(super) logits: Vec<f32>,
    pub(super) scratch: Scratch,
}

fn fit(buffer: &mut Vec<f32>, size: usize) {
    // every element is written before it is read, so old numbers may stay
    buffer.resize(size, 0.0);
}

impl Workspace {
    pub(super) fn fit(&mut self, c: &Config, rows: usize, wanted: usize) {
        let (heads, keys) = (c.heads, c.kv_heads);
        self.layers.resize_with(c.layers, Kept::default);
        for kept in &mut self.layers {
            for buffer in [
                &mut kept.input,
                &mut kept.normed,
                &mut kept.middle,
                &mut kept.middle_normed,
            ] {
                fit(buffer, rows * c.hidden);
            }
            fit(&mut kept.input_factors, rows);
            fit(&mut kept.middle_factors, rows);
            fit(&mut kept.qkv, rows * (heads + 2 * keys) * c.head_dim);
            fit(&mut kept.qk, rows * (heads + keys) * c.head_dim);
            fit(&mut kept.head_factors, rows * (heads + keys));
            fit(&mut kept.logs, rows * heads);
            fit(&mut kept.attended, rows * heads * c.head_dim);
            fit(&mut kept.gate_up, rows * 2 * c.intermediate);
            fit(&mut kept.gated, rows * c.intermediate);
        }
        fit(&mut self.stream, rows * c.hidden);
        fit(&mut self.dnormed, rows * c.hidden);
        fit(
            &mut self.dinner,
            rows * c.intermediate.max(heads * c.head_dim),
        );
        fit(&mut self.dqk, rows * (heads + keys) * c.head_dim);
        fit(&mut self.dqkv, rows * (heads + 2 * keys) * c.head_dim);
        fit(&mut self.last, wanted * c.hidden);
        fit(&mut self.last_factors, wanted);
        fit(&mut self.last_normed, wanted * c.hidden);
        fit(&mut self.logits, wanted * c.vocab);
    }
}
