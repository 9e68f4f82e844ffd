//! The numbers of a network: matrices (dense or quantised) and vectors, kept as the forward pass wants them.
//!
//! Where they come from is the business of [`super::load`].

use super::kernels::Tiles;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use std::fmt::Debug;
use std::sync::Arc;

/// A way to keep the numbers of a network.
pub trait Kept: Debug + Clone {
    /// A matrix `[out, in]`.
    type Matrix: Debug + Clone;
    /// A vector of f32.
    type Vector: Debug + Clone;

    /// Keep a matrix of f32, f16 or bf16.
    ///
    /// # Errors
    /// When the device fails.
    fn dense(matrix: Tensor) -> Result<Self::Matrix>;

    /// Keep a matrix of a GGUF storage type.
    ///
    /// # Errors
    /// When the device fails.
    fn quantised(matrix: QTensor, device: &Device) -> Result<Self::Matrix>;

    /// Bytes that a product with the matrix reads.
    fn bytes(matrix: &Self::Matrix) -> usize;

    /// Keep a vector of f32.
    ///
    /// # Errors
    /// When the device fails.
    fn vector(vector: Tensor) -> Result<Self::Vector>;
}

/// In plain memory, for this crate's own kernels.
#[derive(Debug, Clone)]
pub struct InTiles;

impl Kept for InTiles {
    type Matrix = Arc<Tiles>;
    type Vector = Vec<f32>;

    fn dense(matrix: Tensor) -> Result<Arc<Tiles>> {
        Tiles::dense(&matrix).map(Arc::new)
    }

    fn quantised(matrix: QTensor, _device: &Device) -> Result<Arc<Tiles>> {
        Tiles::quantised(&matrix).map(Arc::new)
    }

    fn bytes(matrix: &Arc<Tiles>) -> usize {
        matrix.bytes()
    }

    fn vector(vector: Tensor) -> Result<Vec<f32>> {
        vector.to_dtype(DType::F32)?.to_vec1()
    }
}

/// In tensors of any device that candle knows.
#[derive(Debug, Clone)]
pub struct InTensors;

impl Kept for InTensors {
    type Matrix = Matrix;
    type Vector = Tensor;

    fn dense(matrix: Tensor) -> Result<Matrix> {
        if matrix.device().is_cpu() {
            // candle's CPU backend multiplies f16 serially and bf16 not at all
            return matrix.to_dtype(DType::F32).map(Matrix::Dense);
        }
        Ok(Matrix::Dense(matrix))
    }

    fn quantised(matrix: QTensor, device: &Device) -> Result<Matrix> {
        match matrix.dtype() {
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => {
                matrix.dequantize(device).map(Matrix::Dense)
            }
            _ => Ok(Matrix::Quantised(Arc::new(matrix))),
        }
    }

    fn bytes(matrix: &Matrix) -> usize {
        match matrix {
            Matrix::Dense(tensor) => tensor.elem_count() * tensor.dtype().size_in_bytes(),
            Matrix::Quantised(blocks) => blocks.storage_size_in_bytes(),
        }
    }

    fn vector(vector: Tensor) -> Result<Tensor> {
        vector.to_dtype(DType::F32)
    }
}

/// A matrix `[out, in]` in tensors.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// f32 on the CPU; as stored (f32, f16, bf16) on other devices.
    Dense(Tensor),
    /// Blocks of a GGUF storage type.
    Quantised(Arc<QTensor>),
}

impl Matrix {
    /// The numbers, where they are dense.
    #[must_use]
    pub fn dense(&self) -> Option<&Tensor> {
        match self {
            Self::Dense(tensor) => Some(tensor),
            Self::Quantised(_) => None,
        }
    }

    /// Multiply rows: `x` `[rows, in]` in any type gives `[rows, out]` in f32.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_wide(x)?.to_dtype(DType::F32)
    }

    /// The same in any type that has the range of f32: as the matrix is stored, where that is bf16.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward_wide(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(w) => match x.to_dtype(w.dtype())?.matmul(&w.t()?)? {
                // its range is too small for a product of products
                y if y.dtype() == DType::F16 => y.to_dtype(DType::F32),
                y => Ok(y),
            },
            Self::Quantised(blocks) => x.to_dtype(DType::F32)?.apply_op1_no_bwd(blocks.as_ref()),
        }
    }

    /// Look up rows: `ids` `[n]` gives `[n, in]` in f32.
    ///
    /// # Errors
    /// When an id is out of range or the device fails.
    pub fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(w) => w.index_select(ids, 0)?.to_dtype(DType::F32),
            Self::Quantised(blocks) => blocks.embedding(ids)?.to_dtype(DType::F32),
        }
    }
}

/// A matrix with an optional bias.
#[derive(Debug, Clone)]
pub struct Linear<K: Kept> {
    /// `[out, in]`.
    pub weight: K::Matrix,
    /// `[out]`, f32.
    pub bias: Option<K::Vector>,
}

impl Linear<InTensors> {
    /// Multiply rows and add the bias; f32 as [`Matrix::forward`] gives it.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }

    /// Multiply rows and add the bias; in the type of [`Matrix::forward_wide`] where there is no bias.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward_wide(&self, x: &Tensor) -> Result<Tensor> {
        match &self.bias {
            Some(_) => self.forward(x),
            None => self.weight.forward_wide(x),
        }
    }
}

/// One block.
#[derive(Debug, Clone)]
pub struct Block<K: Kept> {
    /// Norm before attention, `[hidden]`.
    pub attention_norm: K::Vector,
    /// Queries, `[heads * head_dim, hidden]`.
    pub q: Linear<K>,
    /// Keys, `[kv_heads * head_dim, hidden]`.
    pub k: Linear<K>,
    /// Values, `[kv_heads * head_dim, hidden]`.
    pub v: Linear<K>,
    /// Norms of each query and key head, `[head_dim]` (Qwen3).
    pub qk_norm: Option<(K::Vector, K::Vector)>,
    /// Output of attention, `[hidden, heads * head_dim]`.
    pub o: Linear<K>,
    /// Norm before the MLP, `[hidden]`.
    pub mlp_norm: K::Vector,
    /// `[intermediate, hidden]`.
    pub gate: Linear<K>,
    /// `[intermediate, hidden]`.
    pub up: Linear<K>,
    /// `[hidden, intermediate]`.
    pub down: Linear<K>,
}

/// A whole network.
#[derive(Debug, Clone)]
pub struct Weights<K: Kept> {
    /// `[vocab, hidden]`.
    pub embedding: K::Matrix,
    /// The blocks, first to last.
    pub blocks: Vec<Block<K>>,
    /// Last norm, `[hidden]`.
    pub norm: K::Vector,
    /// `[vocab, hidden]`; the embedding itself where tied.
    pub head: K::Matrix,
    /// Radians per position of each rotated pair, `[head_dim / 2]`.
    pub frequencies: Vec<f32>,
}

impl<K: Kept> Weights<K> {
    /// Bytes of matrices that one step of decoding reads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let block = |b: &Block<K>| -> usize {
            let linears = [&b.q, &b.k, &b.v, &b.o, &b.gate, &b.up, &b.down];
            linears.map(|l| K::bytes(&l.weight)).iter().sum()
        };
        K::bytes(&self.head) + self.blocks.iter().map(block).sum::<usize>()
    }
}
