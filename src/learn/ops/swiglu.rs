//! The gate of the MLP: `silu(gate) * up`, with gate and up side by side in one row.

use crate::simd::{exp, vectorized};

/// `rows` `[n, 2 * width]`, gate first, give `out` `[n, width]`.
pub fn swiglu(rows: &[f32], out: &mut [f32], width: usize) {
    vectorized(
        #[inline(always)]
        || {
            for (row, out) in rows
                .chunks_exact(2 * width)
                .zip(out.chunks_exact_mut(width))
            {
                let (gate, up) = row.split_at(width);
                for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                    *out = gate / (1.0 + exp(-gate)) * up;
                }
            }
        },
    );
}

/// Replace `rows` by what `dout` means for them.
pub fn swiglu_backward(rows: &mut [f32], dout: &[f32], width: usize) {
    const LANES: usize = 16;
    vectorized(
        #[inline(always)]
        || {
            for (row, dout) in rows
                .chunks_exact_mut(2 * width)
                .zip(dout.chunks_exact(width))
            {
                let (gate, up) = row.split_at_mut(width);
                let (mut gates, mut ups, mut douts) = (
                    gate.chunks_exact_mut(LANES),
                    up.chunks_exact_mut(LANES),
                    dout.chunks_exact(LANES),
                );
                for ((gates, ups), douts) in gates.by_ref().zip(ups.by_ref()).zip(douts.by_ref()) {
                    // results go to arrays first: through the slices alone the compiler sees overlaps to fear
                    let (mut dgate, mut dup) = ([0.0; LANES], [0.0; LANES]);
                    for i in 0..LANES {
                        (dgate[i], dup[i]) = pair_backward(gates[i], ups[i], douts[i]);
                    }
                    gates.copy_from_slice(&dgate);
                    ups.copy_from_slice(&dup);
                }
                let rest = gates.into_remainder().iter_mut().zip(ups.into_remainder());
                for ((gate, up), dout) in rest.zip(douts.remainder()) {
                    (*gate, *up) = pair_backward(*gate, *up, *dout);
                }
            }
        },
    );
}

#[inline(always)]
fn pair_backward(gate: f32, up: f32, dout: f32) -> (f32, f32) {
    let sigmoid = 1.0 / (1.0 + exp(-gate));
    let silu = gate * sigmoid;
    (dout * up * (sigmoid + silu * (1.0 - sigmoid)), dout * silu)
}
