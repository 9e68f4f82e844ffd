//! Forward and backward over a packed batch.

use super::layout::Layer;
use super::workspace::{Kept, Workspace};
use super::{Network, Packed};
use crate::learn::ops::{Add, Heads, Scratch, View, ViewMut, add, matmul, swiglu, swiglu_backward};
use std::ops::Range;

/// `out = x w^T` for rows `x` and a weight `[out_width, in_width]`.
fn project(out: &mut [f32], add: Add, x: &[f32], w: &[f32], rows: usize) {
    let (outer, inner) = (out.len() / rows, x.len() / rows);
    let w = View::new(w, outer, inner).transposed();
    matmul(
        ViewMut::new(out, rows, outer),
        add,
        1.0,
        View::new(x, rows, inner),
        w,
    );
}

/// Gradients of [`project`]: `dx = dout w` written, `dw += dout^T x` accumulated.
fn project_backward(
    dx: &mut [f32],
    dw: &mut [f32],
    dout: &[f32],
    x: &[f32],
    w: &[f32],
    rows: usize,
) {
    let (outer, inner) = (dout.len() / rows, x.len() / rows);
    let dout = View::new(dout, rows, outer);
    matmul(
        ViewMut::new(dw, outer, inner),
        Add::Accumulate,
        1.0,
        dout.transposed(),
        View::new(x, rows, inner),
    );
    matmul(
        ViewMut::new(dx, rows, inner),
        Add::Replace,
        1.0,
        dout,
        View::new(w, outer, inner),
    );
}

/// Two weights of one flat vector at once, the first lying before the second.
fn two<'a>(
    values: &'a mut [f32],
    first: &Range<usize>,
    second: &Range<usize>,
) -> (&'a mut [f32], &'a mut [f32]) {
    let (low, high) = values.split_at_mut(second.start);
    (&mut low[first.clone()], &mut high[..second.len()])
}

impl Network {
    /// Logits of the wanted rows, `[wanted, vocab]`.
    ///
    /// # Panics
    /// Where `weights` is not of this layout, a token is outside the vocabulary or a sequence longer than the
    /// context; [`Network::fits`] tells beforehand.
    pub fn logits<'w>(
        &self,
        weights: &[f32],
        batch: &Packed,
        workspace: &'w mut Workspace,
    ) -> &'w mut [f32] {
        assert_eq!(
            weights.len(),
            self.layout.size(),
            "weights of another layout"
        );
        workspace.fit(&self.config, batch.rows(), batch.wanted().len());
        if batch.wanted().is_empty() {
            return &mut [];
        }
        let hidden = self.config.hidden;
        let embedding = &weights[self.layout.embedding.clone()];
        let Workspace {
            layers,
            stream,
            scratch,
            ..
        } = workspace;
        for (row, token) in stream.chunks_exact_mut(hidden).zip(batch.tokens()) {
            row.copy_from_slice(&embedding[*token as usize * hidden..][..hidden]);
        }
        for (layer, kept) in self.layout.layers.iter().zip(layers) {
            kept.input.copy_from_slice(stream);
            self.attend(layer, weights, batch, kept, scratch);
            self.mlp(layer, weights, kept, stream, batch.rows());
        }
        for (last, row) in workspace.last.chunks_exact_mut(hidden).zip(batch.wanted()) {
            last.copy_from_slice(&workspace.stream[row * hidden..][..hidden]);
        }
        let norm = self.norm(&weights[self.layout.norm.clone()]);
        norm.forward(
            &workspace.last,
            &mut workspace.last_normed,
            &mut workspace.last_factors,
        );
        let wanted = batch.wanted().len();
        project(
            &mut workspace.logits,
            Add::Replace,
            &workspace.last_normed,
            embedding,
            wanted,
        );
        &mut workspace.logits
    }

    fn heads<'a>(&'a self, layer: &Layer, weights: &'a [f32]) -> Heads<'a> {
        Heads {
            query_norm: self.norm(&weights[layer.query_norm.clone()]),
            key_norm: self.norm(&weights[layer.key_norm.clone()]),
            heads: self.config.heads,
            kv_heads: self.config.kv_heads,
            rotation: &self.rotation,
        }
    }

    /// Elements of a row of projections.
    fn qkv_width(&self) -> usize {
        (self.config.heads + 2 * self.config.kv_heads) * self.config.head_dim
    }

    fn attend(
        &self,
        layer: &Layer,
        weights: &[f32],
        batch: &Packed,
        kept: &mut Kept,
        scratch: &mut Scratch,
    ) {
        let rows = batch.rows();
        let norm = self.norm(&weights[layer.input_norm.clone()]);
        norm.forward(&kept.input, &mut kept.normed, &mut kept.input_factors);
        project(
            &mut kept.qkv,
            Add::Replace,
            &kept.normed,
            &weights[layer.qkv.clone()],
            rows,
        );
        let stride = self.qkv_width();
        self.heads(layer, weights).forward(
            &kept.qkv,
            stride,
            batch.positions(),
            &mut kept.qk,
            &mut kept.head_factors,
        );
        self.attention().forward(
            batch.sequences(),
            &kept.qk,
            &kept.qkv,
            &mut kept.attended,
            &mut kept.logs,
            scratch,
        );
        kept.middle.copy_from_slice(&kept.input);
        project(
            &mut kept.middle,
            Add::Accumulate,
            &kept.attended,
            &weights[layer.o.clone()],
            rows,
        );
    }

    fn mlp(
        &self,
        layer: &Layer,
        weights: &[f32],
        kept: &mut Kept,
        stream: &mut [f32],
        rows: usize,
    ) {
        let norm = self.norm(&weights[layer.mlp_norm.clone()]);
        norm.forward(
            &kept.middle,
            &mut kept.middle_normed,
            &mut kept.middle_factors,
        );
        project(
            &mut kept.gate_up,
            Add::Replace,
            &kept.middle_normed,
            &weights[layer.gate_up.clone()],
            rows,
        );
        swiglu(&kept.gate_up, &mut kept.gated, self.config.intermediate);
        stream.copy_from_slice(&kept.middle);
        project(
            stream,
            Add::Accumulate,
            &kept.gated,
            &weights[layer.down.clone()],
            rows,
        );
    }

    /// Compute the batch, let `objective` replace the logits of each wanted row (by number, in order) by their
    /// gradient, and accumulate the gradient of all weights into `gradient`.
    ///
    /// # Panics
    /// As [`Network::logits`].
    pub fn gradient(
        &self,
        weights: &[f32],
        batch: &Packed,
        objective: &mut dyn FnMut(usize, &mut [f32]),
        gradient: &mut [f32],
        workspace: &mut Workspace,
    ) {
        let (rows, wanted, hidden) = (batch.rows(), batch.wanted().len(), self.config.hidden);
        let logits = self.logits(weights, batch, workspace);
        if wanted == 0 {
            return;
        }
        for (row, logits) in logits.chunks_exact_mut(self.config.vocab).enumerate() {
            objective(row, logits);
        }
        self.head_backward(weights, batch, gradient, workspace);
        for layer in (0..self.config.layers).rev() {
            self.mlp_backward(layer, weights, gradient, workspace, rows);
            self.attend_backward(layer, weights, batch, gradient, workspace);
        }
        let embedding = &mut gradient[self.layout.embedding.clone()];
        for (row, token) in workspace.stream.chunks_exact(hidden).zip(batch.tokens()) {
            add(&mut embedding[*token as usize * hidden..][..hidden], row);
        }
    }

    /// From the gradient of the logits to that of the residual stream.
    fn head_backward(
        &self,
        weights: &[f32],
        batch: &Packed,
        gradient: &mut [f32],
        w: &mut Workspace,
    ) {
        let (wanted, hidden) = (batch.wanted().len(), self.config.hidden);
        let embedding = self.layout.embedding.clone();
        let dnormed = &mut w.dnormed[..wanted * hidden];
        project_backward(
            dnormed,
            &mut gradient[embedding.clone()],
            &w.logits,
            &w.last_normed,
            &weights[embedding],
            wanted,
        );
        // the rows lie close together at the front first, then move to their places, last to first
        w.stream.fill(0.0);
        let norm = self.norm(&weights[self.layout.norm.clone()]);
        let dweight = &mut gradient[self.layout.norm.clone()];
        norm.backward(
            &w.last,
            &w.last_factors,
            dnormed,
            &mut w.stream[..wanted * hidden],
            dweight,
        );
        for (from, to) in batch.wanted().iter().enumerate().rev() {
            if from != *to {
                w.stream
                    .copy_within(from * hidden..(from + 1) * hidden, to * hidden);
                w.stream[from * hidden..(from + 1) * hidden].fill(0.0);
            }
        }
    }

    fn mlp_backward(
        &self,
        layer: usize,
        weights: &[f32],
        gradient: &mut [f32],
        w: &mut Workspace,
        rows: usize,
    ) {
        let (kept, layer) = (&mut w.layers[layer], &self.layout.layers[layer]);
        let width = self.config.intermediate;
        let dgated = &mut w.dinner[..rows * width];
        let (down, gate_up) = (layer.down.clone(), layer.gate_up.clone());
        project_backward(
            dgated,
            &mut gradient[down.clone()],
            &w.stream,
            &kept.gated,
            &weights[down],
            rows,
        );
        swiglu_backward(&mut kept.gate_up, dgated, width);
        project_backward(
            &mut w.dnormed,
            &mut gradient[gate_up.clone()],
            &kept.gate_up,
            &kept.middle_normed,
            &weights[gate_up],
            rows,
        );
        self.norm(&weights[layer.mlp_norm.clone()]).backward(
            &kept.middle,
            &kept.middle_factors,
            &w.dnormed,
            &mut w.stream,
            &mut gradient[layer.mlp_norm.clone()],
        );
    }

    fn attend_backward(
        &self,
        layer: usize,
        weights: &[f32],
        batch: &Packed,
        gradient: &mut [f32],
        w: &mut Workspace,
    ) {
        let rows = batch.rows();
        let (kept, layer) = (&mut w.layers[layer], &self.layout.layers[layer]);
        let (o, qkv, stride) = (layer.o.clone(), layer.qkv.clone(), self.qkv_width());
        let dattended = &mut w.dinner[..kept.attended.len()];
        project_backward(
            dattended,
            &mut gradient[o.clone()],
            &w.stream,
            &kept.attended,
            &weights[o],
            rows,
        );
        self.attention().backward(
            batch.sequences(),
            (&kept.qk, &kept.qkv, &kept.attended, &kept.logs),
            dattended,
            &mut w.dqk,
            &mut w.dqkv,
            &mut w.scratch,
        );
        self.heads(layer, weights).backward(
            &kept.qkv,
            stride,
            batch.positions(),
            &kept.head_factors,
            &mut w.dqk,
            &mut w.dqkv,
            two(gradient, &layer.query_norm, &layer.key_norm),
        );
        project_backward(
            &mut w.dnormed,
            &mut gradient[qkv.clone()],
            &w.dqkv,
            &kept.normed,
            &weights[qkv],
            rows,
        );
        self.norm(&weights[layer.input_norm.clone()]).backward(
            &kept.input,
            &kept.input_factors,
            &w.dnormed,
            &mut w.stream,
            &mut gradient[layer.input_norm.clone()],
        );
    }

    /// Whether a sequence can be computed: its tokens are in the vocabulary and it fits the context.
    #[must_use]
    pub fn fits(&self, tokens: &[u32]) -> bool {
        tokens.len() <= self.config.context
            && tokens.iter().all(|t| (*t as usize) < self.config.vocab)
    }
}
