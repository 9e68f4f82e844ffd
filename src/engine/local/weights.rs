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
                widened(x, *width, blocks)?.apply_op1_no_bwd(blocks.as_ref())
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

impl Linear {
    fn biased(&self, y: Tensor) -> Result<Tensor> {
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl Module for Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.biased(self.weight.forward(x)?)
    }
}

/// Multiply the same rows with several matrices, as `[a.forward(x), b.forward(x), …]`. Where the device has
/// a kernel for it, rows are quantised once and threads meet once for all of them.
///
/// # Errors
/// When shapes do not fit or the device fails.
pub fn forward_each<const N: usize>(linears: [&Linear; N], x: &Tensor) -> Result<[Tensor; N]> {
    let blocks = linears.map(|l| match &l.weight {
        Matrix::Quantised { blocks, width } => Some((blocks.as_ref(), *width)),
        Matrix::Dense(_) => None,
    });
    let fused = match blocks.first() {
        Some(Some((first, width))) if blocks.iter().all(Option::is_some) => {
            let all: Vec<&QTensor> = blocks.iter().flatten().map(|(b, _)| *b).collect();
            QTensor::gemv_fused_shared_lhs(&all, &widened(x, *width, first)?)?
        }
        _ => None,
    };
    let products = match fused {
        Some(products) => products,
        None => linears
            .iter()
            .map(|l| l.weight.forward(x))
            .collect::<Result<_>>()?,
    };
    let biased = linears.iter().zip(products).map(|(l, y)| l.biased(y));
    <[Tensor; N]>::try_from(biased.collect::<Result<Vec<_>>>()?)
        .map_err(|_| candle_core::Error::Msg("one product for each matrix was expected".into()))
}

/// Rows of `width` made as wide as the rows of `blocks`, with zeros.
fn widened(x: &Tensor, width: usize, blocks: &QTensor) -> Result<Tensor> {
    let (_, padded) = blocks.shape().dims2()?;
    if padded == width {
        return Ok(x.clone());
    }
    x.pad_with_zeros(1, 0, padded - width)
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
