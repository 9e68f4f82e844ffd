//! GGUF's blocks of quantised numbers, taken apart.
//!
//! The layouts are those of <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>.

use super::lanes::Line;
use super::tiles::BLOCK;
use candle_core::quantized::GgmlDType;
use half::f16;

/// 32 columns of one row, as [`super::tiles`] keeps them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Weights, stored as the kind of the matrix says.
    pub stored: [u8; BLOCK],
    /// For the whole block, or for each half.
    pub scales: [f16; 2],
    pub min: f16,
}

/// Lines in which every weight is zero.
pub(super) fn lines(count: usize, centre: u8, nibbles: bool) -> Vec<Line> {
    let zero = if nibbles {
        centre | centre << 4
    } else {
        centre
    };
    vec![Line([zero; 64]); count]
}

/// Hand over the blocks of one row in order, by number.
pub(super) fn of_row(dtype: GgmlDType, bytes: &[u8], mut take: impl FnMut(usize, &Block)) {
    let large =
        |bytes: &[u8], each: fn(&[u8], usize) -> Block, take: &mut dyn FnMut(usize, &Block)| {
            for (i, super_block) in bytes.chunks_exact(dtype.type_size()).enumerate() {
                for part in 0..8 {
                    take(i * 8 + part, &each(super_block, part));
                }
            }
        };
    let small = |bytes: &[u8], each: fn(&[u8]) -> Block, take: &mut dyn FnMut(usize, &Block)| {
        for (i, block) in bytes.chunks_exact(dtype.type_size()).enumerate() {
            take(i, &each(block));
        }
    };
    match dtype {
        GgmlDType::Q4_0 => small(
            bytes,
            |b| four(f16_at(b, 0), f16::ZERO, &b[2..18]),
            &mut take,
        ),
        GgmlDType::Q4_1 => small(
            bytes,
            |b| four(f16_at(b, 0), f16_at(b, 2), &b[4..20]),
            &mut take,
        ),
        // 16 below what is stored; the tiles take off 128
        GgmlDType::Q5_0 => small(
            bytes,
            |b| five(f16_at(b, 0), f16::ZERO, &b[2..6], &b[6..22], 128 - 16),
            &mut take,
        ),
        GgmlDType::Q5_1 => small(
            bytes,
            |b| five(f16_at(b, 0), f16_at(b, 2), &b[4..8], &b[8..24], 0),
            &mut take,
        ),
        GgmlDType::Q8_0 => small(bytes, eight, &mut take),
        GgmlDType::Q4K => large(bytes, q4_k, &mut take),
        GgmlDType::Q5K => large(bytes, q5_k, &mut take),
        GgmlDType::Q6K => large(bytes, q6_k, &mut take),
        other => unreachable!("{other:?} has no kind of tiles and is rewritten before"),
    }
}

fn f16_at(bytes: &[u8], at: usize) -> f16 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Low halves of bytes first, then high halves.
fn halves(bytes: &[u8]) -> [u8; BLOCK] {
    std::array::from_fn(|e| {
        if e < BLOCK / 2 {
            bytes[e] & 15
        } else {
            bytes[e - BLOCK / 2] >> 4
        }
    })
}

fn four(scale: f16, min: f16, quants: &[u8]) -> Block {
    Block {
        stored: halves(quants),
        scales: [scale; 2],
        min,
    }
}

fn five(scale: f16, min: f16, fifth: &[u8], quants: &[u8], raise: u8) -> Block {
    let mut stored = halves(quants);
    for (e, q) in stored.iter_mut().enumerate() {
        *q = (*q | (fifth[e / 8] >> (e % 8) & 1) << 4) + raise;
    }
    Block {
        stored,
        scales: [scale; 2],
        min,
    }
}

fn eight(bytes: &[u8]) -> Block {
    Block {
        stored: std::array::from_fn(|e| bytes[2 + e] ^ 128),
        scales: [f16_at(bytes, 0); 2],
        min: f16::ZERO,
    }
}

/// Scale and minimum of part `part` of a block of 256: 6 bits each, packed into 12 bytes.
fn six_bits(packed: &[u8], part: usize) -> (f32, f32) {
    let (scale, min) = if part < 4 {
        (packed[part] & 63, packed[part + 4] & 63)
    } else {
        (
            packed[part + 4] & 15 | packed[part - 4] >> 6 << 4,
            packed[part + 4] >> 4 | packed[part] >> 6 << 4,
        )
    };
    (f32::from(scale), f32::from(min))
}

fn with_min(bytes: &[u8], part: usize, stored: [u8; BLOCK]) -> Block {
    let (scale, min) = six_bits(&bytes[4..16], part);
    let scale = f16_at(bytes, 0).to_f32() * scale;
    Block {
        stored,
        scales: [f16::from_f32(scale); 2],
        min: f16::from_f32(-f16_at(bytes, 2).to_f32() * min),
    }
}

/// 32 bytes hold two parts: low halves one, high halves the next.
fn nibbles_of_part(quants: &[u8], part: usize) -> [u8; BLOCK] {
    let bytes = &quants[part / 2 * BLOCK..];
    std::array::from_fn(|e| {
        if part.is_multiple_of(2) {
            bytes[e] & 15
        } else {
            bytes[e] >> 4
        }
    })
}

fn q4_k(bytes: &[u8], part: usize) -> Block {
    with_min(bytes, part, nibbles_of_part(&bytes[16..144], part))
}

fn q5_k(bytes: &[u8], part: usize) -> Block {
    let mut stored = nibbles_of_part(&bytes[48..176], part);
    for (q, fifth) in stored.iter_mut().zip(&bytes[16..48]) {
        *q |= (fifth >> part & 1) << 4;
    }
    with_min(bytes, part, stored)
}

fn q6_k(bytes: &[u8], part: usize) -> Block {
    // each half of 128 has 64 bytes of low bits and 32 of high bits
    let (half, quarter) = (part / 4, part % 4);
    let low = &bytes[half * 64 + quarter % 2 * 32..];
    let high = &bytes[128 + half * 32..];
    let scale = f16_at(bytes, 208).to_f32();
    let scales = &bytes[192 + part * 2..];
    Block {
        stored: std::array::from_fn(|e| {
            let low = if quarter < 2 {
                low[e] & 15
            } else {
                low[e] >> 4
            };
            let six = low | (high[e] >> (2 * quarter) & 3) << 4;
            six + (128 - 32)
        }),
        scales: [0, 1].map(|i| f16::from_f32(scale * f32::from(scales[i] as i8))),
        min: f16::ZERO,
    }
}
