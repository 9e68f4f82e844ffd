//! What a kernel needs of an instruction set, and the portable answer.
//!
//! All operations work on 16 output rows at once. A [`Line`] holds four consecutive weights of each.

#![allow(unsafe_code)]

use half::{bf16, f16};

/// 64 bytes, aligned as a cache line: four weights of 16 rows each, row after row.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

/// 16 numbers of half size, one a row.
pub type Halves = [u16; 16];

/// 16 numbers, one a row.
pub type Floats = [f32; 16];

/// An instruction set.
///
/// # Safety
/// Each function may only be called where the machine has the set's instructions.
pub trait Lanes: Copy {
    /// A [`Line`] in registers.
    type Bytes: Copy;
    /// 16 sums of 32 bits.
    type Int: Copy;
    /// 16 numbers.
    type Float: Copy;

    /// Whether [`Lanes::dot_centred`] takes the 128 off itself; otherwise the sum must begin with it.
    const CENTRES: bool;

    /// Rows that one pass over a tile serves: as many as registers hold sums for.
    const MOST_ROWS: usize;

    unsafe fn bytes(line: &Line) -> Self::Bytes;
    /// Ask for the memory at `place`, which need not exist.
    unsafe fn ahead(place: *const u8);
    /// Low and high four bits of each byte.
    unsafe fn nibbles(bytes: Self::Bytes) -> (Self::Bytes, Self::Bytes);
    unsafe fn int(value: i32) -> Self::Int;
    /// Add, row by row, the products of four unsigned weights of at most 31 with four signed bytes.
    unsafe fn dot(sum: Self::Int, weights: Self::Bytes, input: i32) -> Self::Int;
    /// The same where weights are stored 128 too high.
    unsafe fn dot_centred(sum: Self::Int, weights: Self::Bytes, input: i32) -> Self::Int;
    unsafe fn to_float(value: Self::Int) -> Self::Float;
    unsafe fn from_f16(values: &Halves) -> Self::Float;
    unsafe fn from_bf16(values: &Halves) -> Self::Float;
    unsafe fn from_f32(values: &Floats) -> Self::Float;
    unsafe fn float(value: f32) -> Self::Float;
    unsafe fn mul(a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`.
    unsafe fn fma(a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    unsafe fn store(value: Self::Float, into: &mut Floats);
}

/// No particular instructions: loops that a compiler can turn into whatever the target has.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

impl Portable {
    #[inline(always)]
    fn sum(mut sum: [i32; 16], weights: [u8; 64], input: i32, centre: i32) -> [i32; 16] {
        let input = input.to_le_bytes().map(|b| i32::from(b as i8));
        for row in 0..16 {
            for i in 0..4 {
                sum[row] += (i32::from(weights[row * 4 + i]) - centre) * input[i];
            }
        }
        sum
    }
}

impl Lanes for Portable {
    type Bytes = [u8; 64];
    type Int = [i32; 16];
    type Float = [f32; 16];

    const CENTRES: bool = true;
    const MOST_ROWS: usize = 4;

    #[inline(always)]
    unsafe fn bytes(line: &Line) -> [u8; 64] {
        line.0
    }

    #[inline(always)]
    unsafe fn ahead(_place: *const u8) {}

    #[inline(always)]
    unsafe fn nibbles(bytes: [u8; 64]) -> ([u8; 64], [u8; 64]) {
        (bytes.map(|b| b & 15), bytes.map(|b| b >> 4))
    }

    #[inline(always)]
    unsafe fn int(value: i32) -> [i32; 16] {
        [value; 16]
    }

    #[inline(always)]
    unsafe fn dot(sum: [i32; 16], weights: [u8; 64], input: i32) -> [i32; 16] {
        Self::sum(sum, weights, input, 0)
    }

    #[inline(always)]
    unsafe fn dot_centred(sum: [i32; 16], weights: [u8; 64], input: i32) -> [i32; 16] {
        Self::sum(sum, weights, input, 128)
    }

    #[inline(always)]
    unsafe fn to_float(value: [i32; 16]) -> [f32; 16] {
        value.map(|v| v as f32)
    }

    #[inline(always)]
    unsafe fn from_f16(values: &Halves) -> [f32; 16] {
        values.map(|v| f16::from_bits(v).to_f32())
    }

    #[inline(always)]
    unsafe fn from_bf16(values: &Halves) -> [f32; 16] {
        values.map(|v| bf16::from_bits(v).to_f32())
    }

    #[inline(always)]
    unsafe fn from_f32(values: &Floats) -> [f32; 16] {
        *values
    }

    #[inline(always)]
    unsafe fn float(value: f32) -> [f32; 16] {
        [value; 16]
    }

    #[inline(always)]
    unsafe fn mul(a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    // two roundings where the others round once: fused, it would be a call on machines without the instruction
    #[inline(always)]
    unsafe fn fma(a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    unsafe fn store(value: [f32; 16], into: &mut Floats) {
        *into = value;
    }
}
