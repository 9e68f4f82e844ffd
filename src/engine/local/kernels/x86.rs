//! AVX-512 with VNNI, and AVX2 with FMA, with and without VNNI.

#![allow(unsafe_code)]

use super::lanes::{Floats, Halves, Lanes, Line};
use std::arch::x86_64::*;

/// 16 rows in one register. Needs avx512f, avx512bw and avx512vnni.
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

// SAFETY of every block below: the trait's functions are only called where the machine has these instructions,
// and all memory is reached through references to whole arrays.
impl Lanes for Avx512 {
    type Bytes = __m512i;
    type Int = __m512i;
    type Float = __m512;

    const CENTRES: bool = false;
    const MOST_ROWS: usize = 8;

    #[inline(always)]
    unsafe fn bytes(line: &Line) -> __m512i {
        unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn ahead(place: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }

    #[inline(always)]
    unsafe fn nibbles(bytes: __m512i) -> (__m512i, __m512i) {
        unsafe {
            let mask = _mm512_set1_epi8(15);
            (
                _mm512_and_si512(bytes, mask),
                _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask),
            )
        }
    }

    #[inline(always)]
    unsafe fn int(value: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(value) }
    }

    #[inline(always)]
    unsafe fn dot(sum: __m512i, weights: __m512i, input: i32) -> __m512i {
        unsafe { _mm512_dpbusd_epi32(sum, weights, _mm512_set1_epi32(input)) }
    }

    #[inline(always)]
    unsafe fn dot_centred(sum: __m512i, weights: __m512i, input: i32) -> __m512i {
        unsafe { Self::dot(sum, weights, input) }
    }

    #[inline(always)]
    unsafe fn to_float(value: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(value) }
    }

    #[inline(always)]
    unsafe fn from_f16(values: &Halves) -> __m512 {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(values.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn from_bf16(values: &Halves) -> __m512 {
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(values.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))
        }
    }

    #[inline(always)]
    unsafe fn from_f32(values: &Floats) -> __m512 {
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn float(value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn store(value: __m512, into: &mut Floats) {
        unsafe { _mm512_storeu_ps(into.as_mut_ptr(), value) }
    }
}

/// 16 rows in two registers. Needs avx2, fma and f16c, and avxvnni where `VNNI` says so.
#[derive(Debug, Clone, Copy)]
pub struct Avx2<const VNNI: bool>;

/// Both registers treated alike.
macro_rules! both {
    ($($name:ident = $pair:expr),+ => $body:expr) => {{
        let first = { $(let $name = $pair[0];)+ $body };
        let second = { $(let $name = $pair[1];)+ $body };
        [first, second]
    }};
}

impl<const VNNI: bool> Lanes for Avx2<VNNI> {
    type Bytes = [__m256i; 2];
    type Int = [__m256i; 2];
    type Float = [__m256; 2];

    const CENTRES: bool = !VNNI;
    const MOST_ROWS: usize = 4;

    #[inline(always)]
    unsafe fn bytes(line: &Line) -> [__m256i; 2] {
        let at = line.0.as_ptr();
        unsafe {
            [
                _mm256_load_si256(at.cast()),
                _mm256_load_si256(at.add(32).cast()),
            ]
        }
    }

    #[inline(always)]
    unsafe fn ahead(place: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }

    #[inline(always)]
    unsafe fn nibbles(bytes: [__m256i; 2]) -> ([__m256i; 2], [__m256i; 2]) {
        unsafe {
            let mask = _mm256_set1_epi8(15);
            (
                both!(b = bytes => _mm256_and_si256(b, mask)),
                both!(b = bytes => _mm256_and_si256(_mm256_srli_epi16(b, 4), mask)),
            )
        }
    }

    #[inline(always)]
    unsafe fn int(value: i32) -> [__m256i; 2] {
        unsafe { [_mm256_set1_epi32(value); 2] }
    }

    #[inline(always)]
    unsafe fn dot(sum: [__m256i; 2], weights: [__m256i; 2], input: i32) -> [__m256i; 2] {
        unsafe {
            let (input, ones) = (_mm256_set1_epi32(input), _mm256_set1_epi16(1));
            if VNNI {
                return both!(s = sum, w = weights => _mm256_dpbusd_avx_epi32(s, w, input));
            }
            // pairs stay within 16 bits: 2 * 31 * 127
            both!(s = sum, w = weights => {
                let pairs = _mm256_maddubs_epi16(w, input);
                _mm256_add_epi32(s, _mm256_madd_epi16(pairs, ones))
            })
        }
    }

    #[inline(always)]
    unsafe fn dot_centred(sum: [__m256i; 2], weights: [__m256i; 2], input: i32) -> [__m256i; 2] {
        unsafe {
            if VNNI {
                return Self::dot(sum, weights, input);
            }
            let (input, ones) = (_mm256_set1_epi32(input), _mm256_set1_epi16(1));
            let top = _mm256_set1_epi8(-128);
            // magnitudes of the weights, their signs given to the input: 2 * 128 * 127 fits 16 bits
            both!(s = sum, w = weights => {
                let signed = _mm256_xor_si256(w, top);
                let pairs = _mm256_maddubs_epi16(
                    _mm256_abs_epi8(signed),
                    _mm256_sign_epi8(input, signed),
                );
                _mm256_add_epi32(s, _mm256_madd_epi16(pairs, ones))
            })
        }
    }

    #[inline(always)]
    unsafe fn to_float(value: [__m256i; 2]) -> [__m256; 2] {
        unsafe { both!(v = value => _mm256_cvtepi32_ps(v)) }
    }

    #[inline(always)]
    unsafe fn from_f16(values: &Halves) -> [__m256; 2] {
        let at = values.as_ptr();
        unsafe { both!(at = [at, at.add(8)] => _mm256_cvtph_ps(_mm_loadu_si128(at.cast()))) }
    }

    #[inline(always)]
    unsafe fn from_bf16(values: &Halves) -> [__m256; 2] {
        let at = values.as_ptr();
        unsafe {
            both!(at = [at, at.add(8)] => {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))
            })
        }
    }

    #[inline(always)]
    unsafe fn from_f32(values: &Floats) -> [__m256; 2] {
        let at = values.as_ptr();
        unsafe { both!(at = [at, at.add(8)] => _mm256_loadu_ps(at)) }
    }

    #[inline(always)]
    unsafe fn float(value: f32) -> [__m256; 2] {
        unsafe { [_mm256_set1_ps(value); 2] }
    }

    #[inline(always)]
    unsafe fn mul(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        unsafe { both!(a = a, b = b => _mm256_mul_ps(a, b)) }
    }

    #[inline(always)]
    unsafe fn fma(a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        unsafe { both!(a = a, b = b, c = c => _mm256_fmadd_ps(a, b, c)) }
    }

    #[inline(always)]
    unsafe fn store(value: [__m256; 2], into: &mut Floats) {
        let at = into.as_mut_ptr();
        unsafe {
            _mm256_storeu_ps(at, value[0]);
            _mm256_storeu_ps(at.add(8), value[1]);
        }
    }
}
