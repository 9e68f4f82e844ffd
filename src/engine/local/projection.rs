//! Matrices that are multiplied with the same rows, as one matrix where they can be.
//!
//! On a GPU a launch costs as much as the product of a small matrix: queries, keys and values of a block are one
//! product, and so are both inputs of its MLP.

use super::weights::{InTensors, Linear, Matrix};
use candle_core::{Result, Tensor};

/// `N` matrices `[out, in]` of the same width.
#[derive(Debug, Clone)]
pub enum Projection<const N: usize> {
    /// Dense ones of one type, row below row.
    Joined(Linear<InTensors>, [usize; N]),
    /// Each by itself.
    Apart(Box<[Linear<InTensors>; N]>),
}

impl<const N: usize> Projection<N> {
    /// Join matrices where they can be.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn of(parts: [Linear<InTensors>; N]) -> Result<Self> {
        let dense: Vec<&Tensor> = parts.iter().filter_map(|p| p.weight.dense()).collect();
        let biases: Vec<&Tensor> = parts.iter().filter_map(|p| p.bias.as_ref()).collect();
        let alike = dense.iter().all(|w| w.dtype() == dense[0].dtype());
        if dense.len() < N || !alike || !(biases.is_empty() || biases.len() == N) {
            return Ok(Self::Apart(Box::new(parts)));
        }
        let mut widths = [0; N];
        for (width, weight) in widths.iter_mut().zip(&dense) {
            *width = weight.dim(0)?;
        }
        let joined = Linear {
            weight: Matrix::Dense(Tensor::cat(&dense, 0)?),
            bias: match biases.is_empty() {
                true => None,
                false => Some(Tensor::cat(&biases, 0)?),
            },
        };
        Ok(Self::Joined(joined, widths))
    }

    /// Multiply rows with each: `x` `[rows, in]` gives `[rows, out]` for each, not necessarily contiguous, in the type
    /// that `multiply` gives.
    ///
    /// # Errors
    /// When shapes do not fit or the device fails.
    pub fn forward(
        &self,
        x: &Tensor,
        multiply: impl Fn(&Linear<InTensors>, &Tensor) -> Result<Tensor>,
    ) -> Result<[Tensor; N]> {
        let parts: Vec<Tensor> = match self {
            Self::Joined(linear, widths) => {
                let all = multiply(linear, x)?;
                let mut from = 0;
                let part = |width: &usize| {
                    let part = all.narrow(1, from, *width);
                    from += width;
                    part
                };
                widths.iter().map(part).collect::<Result<_>>()?
            }
            Self::Apart(parts) => parts
                .iter()
                .map(|linear| multiply(linear, x))
                .collect::<Result<_>>()?,
        };
        parts
            .try_into()
            .map_err(|_| candle_core::Error::Msg("a part of a product is missing".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::quantized::{GgmlDType, QTensor};
    use candle_core::{DType, Device};
    use std::sync::Arc;

    fn dense(rows: usize, from: f32) -> Tensor {
        let values = (0..rows * 32).map(|i| (from + i as f32).sin());
        Tensor::from_iter(values, &Device::Cpu)
            .and_then(|t| t.reshape((rows, 32)))
            .expect("small")
    }

    fn linear(weight: Tensor, bias: Option<f32>) -> Linear<InTensors> {
        let rows = weight.dim(0).expect("a matrix");
        Linear {
            weight: Matrix::Dense(weight),
            bias: bias.map(|b| Tensor::full(b, rows, &Device::Cpu).expect("small")),
        }
    }

    fn apart(parts: &[Linear<InTensors>; 2], x: &Tensor) -> Vec<Vec<Vec<f32>>> {
        let each = parts.iter().map(|p| p.forward(x).and_then(|y| y.to_vec2()));
        each.collect::<Result<_>>().expect("it multiplies")
    }

    #[test]
    fn joined_matrices_give_what_each_gives_alone() {
        let x = dense(3, 0.5);
        for (biases, joins) in [
            ([None, None], true),
            ([Some(0.5), Some(-2.0)], true),
            ([Some(0.5), None], false),
        ] {
            let parts = [
                linear(dense(5, 1.0), biases[0]),
                linear(dense(2, 9.0), biases[1]),
            ];
            let projection = Projection::of(parts.clone()).expect("small");
            assert_eq!(matches!(projection, Projection::Joined(..)), joins);
            let given = projection
                .forward(&x, Linear::forward)
                .expect("it multiplies");
            let given: Vec<Vec<Vec<f32>>> =
                given.iter().map(|t| t.to_vec2().expect("f32")).collect();
            for (given, expected) in given
                .iter()
                .flatten()
                .flatten()
                .zip(apart(&parts, &x).iter().flatten().flatten())
            {
                assert!((given - expected).abs() < 1e-5, "{given} for {expected}");
            }
        }
    }

    #[test]
    fn matrices_of_different_types_stay_apart() {
        let half = dense(2, 9.0).to_dtype(DType::F16).expect("small");
        let blocks = QTensor::quantize(&dense(2, 9.0), GgmlDType::Q8_0).expect("small");
        let blocks = Linear {
            weight: Matrix::Quantised(Arc::new(blocks)),
            bias: None,
        };
        for other in [linear(half, None), blocks] {
            let projection = Projection::of([linear(dense(5, 1.0), None), other]).expect("small");
            assert!(matches!(projection, Projection::Apart(_)));
        }
    }

    #[test]
    fn half_precision_takes_and_gives_f32() {
        let x = dense(3, 0.5);
        let exact = linear(dense(5, 1.0), None)
            .forward(&x)
            .expect("it multiplies");
        let half = dense(5, 1.0).to_dtype(DType::F16).expect("small");
        let rounded = linear(half, Some(0.0)).forward(&x).expect("it multiplies");
        let apart = (exact - rounded).and_then(|d| d.abs()?.max_all()?.to_scalar::<f32>());
        assert!(apart.expect("f32") < 2e-2);
    }
}
