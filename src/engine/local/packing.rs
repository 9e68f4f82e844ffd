//! Laying quantised matrices out so that candle's fast CPU kernels take them.
//!
//! On x86-64 candle multiplies Q8_0 with tiled VNNI kernels, several times faster than row by row, but only
//! where rows are a multiple of 256 long. Small checkpoints have other widths (576 in SmolLM2-135M), and the
//! 4- and 5-bit types of block 32 have no such kernel at all. So rows are padded with blocks of zeros, which
//! add nothing to any product, and those types are rewritten as Q8_0, whose own error is a fraction of
//! theirs.

use super::gguf::TensorInfo;
use candle_core::quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml};
use candle_core::{Device, Result};

/// Row lengths that the tiled kernels take are multiples of this.
const WIDTH: usize = 256;
/// Output rows that they take are multiples of this.
const ROWS: usize = 16;
/// Elements and bytes of a Q8_0 block: a half-precision scale and 32 signed bytes.
const BLOCK: (usize, usize) = (32, 34);
/// Larger matrices of 4 and 5 bits stay what they are: twice the memory would be felt.
const REWRITE_AT_MOST: usize = 1 << 26;

/// Whether this machine has the kernels.
fn has_kernels() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vnni");
        wide || (std::arch::is_x86_feature_detected!("avxvnni")
            && std::arch::is_x86_feature_detected!("avx2"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The matrix as it is best multiplied with on `device`: as it is, or in Q8_0 with padded rows.
///
/// # Errors
/// When candle refuses the data.
pub fn pack(matrix: QTensor, info: &TensorInfo, device: &Device) -> Result<QTensor> {
    let (rows, width) = matrix.shape().dims2()?;
    let narrow = matches!(
        info.dtype,
        GgmlDType::Q4_0 | GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1
    );
    let rewrite = narrow && rows * width <= REWRITE_AT_MOST;
    let fits = matches!(device, Device::Cpu) && rows.is_multiple_of(ROWS) && has_kernels();
    if !fits || !(rewrite || info.dtype == GgmlDType::Q8_0) {
        return Ok(matrix);
    }
    let matrix = if rewrite {
        QTensor::quantize(&matrix.dequantize(device)?, GgmlDType::Q8_0)?
    } else {
        matrix
    };
    if width.is_multiple_of(WIDTH) {
        return Ok(matrix);
    }
    let padded = width.next_multiple_of(WIDTH);
    let row_bytes = |width: usize| width / BLOCK.0 * BLOCK.1;
    let mut data = Vec::with_capacity(rows * row_bytes(padded));
    for row in matrix.data()?.chunks_exact(row_bytes(width)) {
        data.extend_from_slice(row);
        data.resize(data.len() + row_bytes(padded - width), 0);
    }
    qtensor_from_ggml(GgmlDType::Q8_0, &data, vec![rows, padded], device)
}
