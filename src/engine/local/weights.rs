//! The numbers of a network: matrices (dense or quantised) and vectors.
//!
//! Where they come from is the business of [`super::load`].

use candle_core::quantized::QTensor;
use candle_core::{DType, Module, Result, Tensor};
use std::sync::Arc;

/// A matrix `[out, in]`, as it is multiplied with.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// f32 on the CPU; as stored (f32, f16, bf16) on other devices.
    Dense(Tensor),
    /// Blocks of a GGUF storage type.
    Quantised {
        /// `[out, in]` or wider: rows may be padded with zeros, see [`super::packing`].
        blocks: Arc<QTensor>,
        /// `in`.
        width: usize,
    },
}

impl Matrix {
    /// Multiply rows: `x` `[rows, in]` in f32 gives `[rows, out]` in f32.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(w) if w.dtype() == DType::F32 => x.matmul(&w.t()?),
            Self::Dense(w) => x.to_dtype(w.dtype())?.matmul(&w.t()?)?.to_dtype(DType::F32),
            Self::Quantised { blocks, width } => {
                let padded = blocks.shape().dims2()?.1;
                if padded == *width {
                    return x.apply_op1_no_bwd(blocks.as_ref());
                }
                x.pad_with_zeros(1, 0, padded - width)?
                    .apply_op1_no_bwd(blocks.as_ref())
            }
        }
    }

    /// Look up rows: `ids` `[n]` gives `[n, in]` in f32.
    ///
    /// # Errors
    /// When an id is out of range or the device fails.
    pub fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(w) => w.index_select(ids, 0)?.to_dtype(DType::F32),
            Self::Quantised { blocks, width } => blocks
                .embedding(ids)?
                .narrow(1, 0, *width)?
                .contiguous()?
                .to_dtype(DType::F32),
        }
    }
}

/// A matrix with an optional bias.
#[derive(Debug, Clone)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Matrix,
    /// `[out]`, f32.
    pub bias: Option<Tensor>,
}

impl Module for Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// One block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Norm before attention, `[hidden]`.
    pub attention_norm: Tensor,
    /// Queries, `[heads * head_dim, hidden]`.
    pub q: Linear,
    /// Keys, `[kv_heads * head_dim, hidden]`.
    pub k: Linear,
    /// Values, `[kv_heads * head_dim, hidden]`.
    pub v: Linear,
    /// Norms of each query and key head, `[head_dim]` (Qwen3).
    pub qk_norm: Option<(Tensor, Tensor)>,
    /// Output of attention, `[hidden, heads * head_dim]`.
    pub o: Linear,
    /// Norm before the MLP, `[hidden]`.
    pub mlp_norm: Tensor,
    /// `[intermediate, hidden]`.
    pub gate: Linear,
    /// `[intermediate, hidden]`.
    pub up: Linear,
    /// `[hidden, intermediate]`.
    pub down: Linear,
}

/// A whole network.
#[derive(Debug, Clone)]
pub struct Weights {
    /// `[vocab, hidden]`.
    pub embedding: Matrix,
    /// The blocks, first to last.
    pub blocks: Vec<Block>,
    /// Last norm, `[hidden]`.
    pub norm: Tensor,
    /// `[vocab, hidden]`; the embedding itself where tied.
    pub head: Matrix,
    /// Radians per position of each rotated pair, `[head_dim / 2]`.
    pub frequencies: Vec<f32>,
}
