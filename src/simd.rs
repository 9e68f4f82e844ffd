//! Loops in the shape that compilers turn into vector instructions.
//!
//! Sums run in sixteen lanes whatever the machine, so that they round alike on all of them. Functions marked
//! `inline(always)` are compiled for the vector unit of the [`vectorized`] block they are called from.

/// Lanes of every sum.
const LANES: usize = 16;

/// Run a loop compiled for the widest vector unit that this processor has.
#[inline(always)]
pub fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Sum of `term(a, b)` over two slices of one length.
#[inline(always)]
fn sum(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let b = &b[..a.len()];
    let mut lanes = [0.0f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = (a_chunks.remainder().iter())
        .zip(b_chunks.remainder())
        .map(|(a, b)| term(*a, *b))
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            lanes[i] += term(a[i], b[i]);
        }
    }
    fold(lanes, |a, b| a + b) + rest
}

#[inline(always)]
fn fold(mut lanes: [f32; LANES], both: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = both(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// Scalar product of two slices of one length.
#[inline(always)]
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum(a, b, |a, b| a * b)
}

/// Sum of a slice.
#[inline(always)]
#[must_use]
pub fn sum_of(values: &[f32]) -> f32 {
    sum(values, values, |a, _| a)
}

/// Sum of squares, in f64 across blocks so that it holds for a million numbers.
#[must_use]
pub fn norm_squared(values: &[f32]) -> f64 {
    vectorized(
        #[inline(always)]
        || {
            values
                .chunks(4096)
                .map(|block| f64::from(dot(block, block)))
                .sum()
        },
    )
}

/// `into += from`.
pub fn add(into: &mut [f32], from: &[f32]) {
    vectorized(
        #[inline(always)]
        || {
            for (into, from) in into.iter_mut().zip(from) {
                *into += from;
            }
        },
    );
}

/// `values *= factor`.
pub fn scale(values: &mut [f32], factor: f32) {
    vectorized(
        #[inline(always)]
        || {
            for value in values.iter_mut() {
                *value *= factor;
            }
        },
    );
}

/// Largest of the numbers; negative infinity where there is none.
#[inline(always)]
pub fn largest(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks
        .remainder()
        .iter()
        .copied()
        .fold(f32::NEG_INFINITY, larger);
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    larger(fold(lanes, larger), rest)
}

/// Replace each number by `exp(x - shift)` and return their sum.
#[inline(always)]
pub fn exponentials(values: &mut [f32], shift: f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let mut chunks = values.chunks_exact_mut(LANES);
    for chunk in chunks.by_ref() {
        for i in 0..LANES {
            chunk[i] = exp(chunk[i] - shift);
            lanes[i] += chunk[i];
        }
    }
    let mut rest = 0.0;
    for value in chunks.into_remainder() {
        *value = exp(*value - shift);
        rest += *value;
    }
    fold(lanes, |a, b| a + b) + rest
}

/// `log(sum(exp(x)))`; `values` become their softmax.
#[must_use]
pub fn log_sum_exp(values: &mut [f32]) -> f32 {
    vectorized(
        #[inline(always)]
        || softmax(values),
    )
}

/// Softmax in place; returns the logarithm of the sum of exponentials.
#[inline(always)]
pub fn softmax(values: &mut [f32]) -> f32 {
    let shift = largest(values);
    let total = exponentials(values, shift);
    let inverse = 1.0 / total;
    for value in values.iter_mut() {
        *value *= inverse;
    }
    shift + total.ln()
}

/// `exp(x)` to within two units in the last place, without branches; 0 below -87, and no larger than at 88.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first exact in few bits
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let clamped = if x > 88.0 { 88.0 } else { x };
    let clamped = if clamped < -87.0 { -87.0 } else { clamped };
    let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = clamped - n * LN2_HIGH - n * LN2_LOW;
    // Taylor up to r^7 with |r| <= ln 2 / 2
    let series = 1.0 / 5040.0;
    let series = series * r + 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = (series * r + 1.0) * r + 1.0;
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    let value = series * power;
    if x < -87.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        for i in -8600..8790 {
            let x = i as f32 * 0.01;
            let (fast, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((fast / exact - 1.0).abs() < 4e-7, "{x}: {fast} {exact}");
        }
        assert_eq!(exp(-1000.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn sums_and_maxima_take_every_element_in() {
        for length in [0, 1, 15, 16, 17, 100] {
            let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let ones = vec![1.0; length];
            assert_eq!(
                dot(&values, &ones),
                (length * length.saturating_sub(1) / 2) as f32
            );
            assert_eq!(
                largest(&values),
                values.last().copied().unwrap_or(f32::NEG_INFINITY)
            );
        }
    }

    #[test]
    fn a_softmax_survives_large_logits() {
        let mut values = vec![1000.0, 1000.0, -1000.0];
        let log = log_sum_exp(&mut values);
        assert!((log - 1000.0 - 2f32.ln()).abs() < 1e-3);
        assert_eq!(values, [0.5, 0.5, 0.0]);
    }
}
