//! The gate of the MLP: `silu(gate) * up`, with gate and up side by side in one row.

use super::simd::{exp, vectorized};

/// `rows` `[n, 2 * width]`, gate first, give `out` `[n, width]`.
pub fn swiglu(rows: &[f32], out: &mut [f32], width: usize) {
    vectorized(|| {
        for (row, out) in rows.chunks_exact(2 * width).zip(out.chunks_exact_mut(width)) {
            let (gate, up) = row.split_at(width);
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = gate / (1.0 + exp(-gate)) * up;
            }
        }
    });
}

/// Replace `rows` by what `dout` means for them.
pub fn swiglu_backward(rows: &mut [f32], dout: &[f32], width: usize) {
    vectorized(|| {
        for (row, dout) in rows.chunks_exact_mut(2 * width).zip(dout.chunks_exact(width)) {
            let (gate, up) = row.split_at_mut(width);
            for ((gate, up), dout) in gate.iter_mut().zip(up).zip(dout) {
                let sigmoid = 1.0 / (1.0 + exp(-*gate));
                let silu = *gate * sigmoid;
                let slope = sigmoid + silu * (1.0 - sigmoid);
                *gate = dout * *up * slope;
                *up = dout * silu;
            }
        }
    });
}
