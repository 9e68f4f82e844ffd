//! NEON, which every 64-bit ARM has.

#![allow(unsafe_code)]
// which of these intrinsics are unsafe to call depends on the compiler's age
#![allow(unused_unsafe)]

use super::lanes::{Floats, Halves, Lanes, Line, Portable};
use std::arch::aarch64::*;

/// 16 rows in four registers.
#[derive(Debug, Clone, Copy)]
pub struct Neon;

/// `f` of each of the four registers.
macro_rules! four {
    ($i:ident => $body:expr) => {{
        let $i = 0;
        let a = $body;
        let $i = 1;
        let b = $body;
        let $i = 2;
        let c = $body;
        let $i = 3;
        [a, b, c, $body]
    }};
}

// SAFETY of every block below: the instructions belong to the target, and all memory is reached through references to
// whole arrays.
impl Lanes for Neon {
    type Bytes = [uint8x16_t; 4];
    type Int = [int32x4_t; 4];
    type Float = [float32x4_t; 4];

    const CENTRES: bool = true;
    const MOST_ROWS: usize = 4;

    #[inline(always)]
    unsafe fn bytes(line: &Line) -> [uint8x16_t; 4] {
        let at = line.0.as_ptr();
        unsafe { four!(i => vld1q_u8(at.add(i * 16))) }
    }

    #[inline(always)]
    unsafe fn ahead(_place: *const u8) {}

    #[inline(always)]
    unsafe fn nibbles(bytes: [uint8x16_t; 4]) -> ([uint8x16_t; 4], [uint8x16_t; 4]) {
        unsafe {
            let mask = vdupq_n_u8(15);
            (
                four!(i => vandq_u8(bytes[i], mask)),
                four!(i => vshrq_n_u8::<4>(bytes[i])),
            )
        }
    }

    #[inline(always)]
    unsafe fn int(value: i32) -> [int32x4_t; 4] {
        unsafe { [vdupq_n_s32(value); 4] }
    }

    #[inline(always)]
    unsafe fn dot(sum: [int32x4_t; 4], weights: [uint8x16_t; 4], input: i32) -> [int32x4_t; 4] {
        unsafe {
            let input = vreinterpretq_s8_s32(vdupq_n_s32(input));
            // at most 31: the same bytes as signed numbers
            four!(i => add_products(sum[i], vreinterpretq_s8_u8(weights[i]), input))
        }
    }

    #[inline(always)]
    unsafe fn dot_centred(
        sum: [int32x4_t; 4],
        weights: [uint8x16_t; 4],
        input: i32,
    ) -> [int32x4_t; 4] {
        unsafe {
            let (input, top) = (vreinterpretq_s8_s32(vdupq_n_s32(input)), vdupq_n_u8(128));
            four!(i => add_products(sum[i], vreinterpretq_s8_u8(veorq_u8(weights[i], top)), input))
        }
    }

    #[inline(always)]
    unsafe fn to_float(value: [int32x4_t; 4]) -> [float32x4_t; 4] {
        unsafe { four!(i => vcvtq_f32_s32(value[i])) }
    }

    #[inline(always)]
    unsafe fn from_f16(values: &Halves) -> [float32x4_t; 4] {
        unsafe { Self::from_f32(&Portable::from_f16(values)) }
    }

    #[inline(always)]
    unsafe fn from_bf16(values: &Halves) -> [float32x4_t; 4] {
        let at = values.as_ptr();
        unsafe { four!(i => vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(at.add(i * 4))))) }
    }

    #[inline(always)]
    unsafe fn from_f32(values: &Floats) -> [float32x4_t; 4] {
        let at = values.as_ptr();
        unsafe { four!(i => vld1q_f32(at.add(i * 4))) }
    }

    #[inline(always)]
    unsafe fn float(value: f32) -> [float32x4_t; 4] {
        unsafe { [vdupq_n_f32(value); 4] }
    }

    #[inline(always)]
    unsafe fn mul(a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        unsafe { four!(i => vmulq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    unsafe fn fma(
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        unsafe { four!(i => vfmaq_f32(c[i], a[i], b[i])) }
    }

    #[inline(always)]
    unsafe fn store(value: [float32x4_t; 4], into: &mut Floats) {
        let at = into.as_mut_ptr();
        unsafe {
            let _ = four!(i => vst1q_f32(at.add(i * 4), value[i]));
        }
    }
}

/// Add to each of four sums the products of four pairs of signed bytes.
#[inline(always)]
unsafe fn add_products(sum: int32x4_t, weights: int8x16_t, input: int8x16_t) -> int32x4_t {
    // products of bytes fit 16 bits, and so do sums of two: 2 * 128 * 127
    unsafe {
        let low = vmull_s8(vget_low_s8(weights), vget_low_s8(input));
        let high = vmull_high_s8(weights, input);
        vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)))
    }
}
