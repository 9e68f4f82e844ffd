//! The inner loops: one tile, or a few, times a few rows.

#![allow(unsafe_code)]
// rows index several arrays at once, and arrays of registers are best left to plain loops
#![allow(clippy::needless_range_loop)]

use super::lanes::{Floats, Halves, Lanes, Line};
use super::rows::{BESIDE, Rows};
use super::tiles::BLOCK;

/// How many bytes ahead a product asks for weights: the hardware alone does not look past a page, and where a byte
/// takes longer to use up, a longer way ahead keeps the memory busy.
const fn distance(rows: usize) -> usize {
    match rows {
        0..=4 => 640,
        5..=8 => 2560,
        _ => 8192,
    }
}

/// Bytes ahead in a quantised matrix, whose bytes take longer than dense ones.
const QUANTISED_DISTANCE: usize = 2560;

/// Words of four input bytes in a block.
const WORDS: usize = BLOCK / 4;

/// A [`super::tiles::Kind`], known while compiling.
pub(super) trait Shape {
    const NIBBLES: bool;
    const CENTRE: i32;
    const MINS: bool;
    const HALVES: bool;
    const LINES: usize = if Self::NIBBLES { 4 } else { 8 };
    const SCALES: usize = if Self::HALVES { 2 } else { 1 };
}

macro_rules! shape {
    ($name:ident, $nibbles:literal, $centre:literal, $mins:literal, $halves:literal) => {
        pub(super) struct $name;

        impl Shape for $name {
            const NIBBLES: bool = $nibbles;
            const CENTRE: i32 = $centre;
            const MINS: bool = $mins;
            const HALVES: bool = $halves;
        }
    };
}

shape!(Centred, false, 128, false, false);
shape!(CentredHalves, false, 128, false, true);
shape!(Offset, false, 0, true, false);
shape!(NibblesCentred, true, 8, false, false);
shape!(NibblesOffset, true, 0, true, false);

/// One tile of a quantised matrix.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub lines: &'a [Line],
    pub scales: &'a [Halves],
    pub mins: &'a [Halves],
}

/// Multiply a tile with rows `first..first + M`.
///
/// # Safety
/// The machine has the instructions of `L`; the rows are there and rounded; the panel has as many blocks as
/// they have.
#[inline(always)]
pub(super) unsafe fn quantised<L: Lanes, S: Shape, const M: usize>(
    panel: Panel<'_>,
    input: &Rows,
    first: usize,
) -> [L::Float; M] {
    let blocks = input.width / BLOCK;
    debug_assert!(first + M <= input.count && panel.lines.len() == blocks * S::LINES);
    // SAFETY: block < blocks and row < count, the bounds that the caller vouches for
    unsafe {
        let word = |row: usize, block: usize, i: usize| {
            *input
                .words
                .get_unchecked(((first + row) * blocks + block) * WORDS + i)
        };
        let mut total = [L::float(0.0); M];
        for block in 0..blocks {
            let parts = S::SCALES;
            let lines = S::LINES / parts;
            for part in 0..parts {
                let mut sum: [L::Int; M] = std::array::from_fn(|row| {
                    if S::CENTRE == 0 || (S::CENTRE == 128 && L::CENTRES) {
                        return L::int(0);
                    }
                    let sums = *input.sums.get_unchecked((first + row) * blocks + block);
                    let sum = if S::HALVES {
                        sums[part]
                    } else {
                        sums[0] + sums[1]
                    };
                    L::int(-S::CENTRE * sum)
                });
                for line in part * lines..(part + 1) * lines {
                    let line_at = panel.lines.get_unchecked(block * S::LINES + line);
                    L::ahead(line_at.0.as_ptr().wrapping_add(QUANTISED_DISTANCE));
                    let bytes = L::bytes(line_at);
                    if S::NIBBLES {
                        let (low, high) = L::nibbles(bytes);
                        for row in 0..M {
                            sum[row] = L::dot(sum[row], low, word(row, block, line * 2));
                        }
                        for row in 0..M {
                            sum[row] = L::dot(sum[row], high, word(row, block, line * 2 + 1));
                        }
                    } else if S::CENTRE == 128 {
                        for row in 0..M {
                            sum[row] = L::dot_centred(sum[row], bytes, word(row, block, line));
                        }
                    } else {
                        for row in 0..M {
                            sum[row] = L::dot(sum[row], bytes, word(row, block, line));
                        }
                    }
                }
                let scale = L::from_f16(panel.scales.get_unchecked(block * parts + part));
                for row in 0..M {
                    let input = *input.scales.get_unchecked((first + row) * blocks + block);
                    let product = L::mul(L::to_float(sum[row]), scale);
                    total[row] = L::fma(product, L::float(input), total[row]);
                }
            }
            if S::MINS {
                let min = L::from_f16(panel.mins.get_unchecked(block));
                for row in 0..M {
                    let at = (first + row) * blocks + block;
                    let sums = *input.sums.get_unchecked(at);
                    let sum = *input.scales.get_unchecked(at) * (sums[0] + sums[1]) as f32;
                    total[row] = L::fma(min, L::float(sum), total[row]);
                }
            }
        }
        total
    }
}

/// How a dense matrix stores its numbers.
pub(super) trait Stored {
    type Column;
    const HALVES: bool;

    /// # Safety
    /// The machine has the instructions of `L`.
    unsafe fn widen<L: Lanes>(column: &Self::Column) -> L::Float;
}

macro_rules! stored {
    ($name:ident, $column:ty, $halves:literal, $load:ident) => {
        pub(super) struct $name;

        impl Stored for $name {
            type Column = $column;
            const HALVES: bool = $halves;

            #[inline(always)]
            unsafe fn widen<L: Lanes>(column: &$column) -> L::Float {
                // SAFETY: as the caller vouches for
                unsafe { L::$load(column) }
            }
        }
    };
}

stored!(InF32, Floats, false, from_f32);
stored!(InF16, Halves, true, from_f16);
stored!(InBf16, Halves, true, from_bf16);

/// Multiply `T` dense tiles, one after the other in `columns`, with rows `first..first + M`.
///
/// # Safety
/// The machine has the instructions of `L`; the rows are there, turned, and lie in one block of [`BESIDE`] or are
/// whole blocks; `columns` holds `T` times their width.
#[inline(always)]
pub(super) unsafe fn dense<L: Lanes, S: Stored, const M: usize, const T: usize>(
    columns: &[S::Column],
    input: &Rows,
    first: usize,
) -> [[L::Float; T]; M] {
    let width = input.width;
    let block = first / BESIDE * BESIDE;
    let beside = (input.count - block).min(BESIDE);
    debug_assert!(first + M <= input.count && columns.len() >= T * width);
    debug_assert!(first + M <= block + beside || first == block && M.is_multiple_of(BESIDE));
    // SAFETY: column < width, tile < T and row < M, the bounds that the caller vouches for
    unsafe {
        let values = input.turned.as_ptr().add(block * width + first - block);
        let mut total = [[L::float(0.0); T]; M];
        for column in 0..width {
            let weights: [L::Float; T] = std::array::from_fn(|tile| {
                let column = columns.get_unchecked(tile * width + column);
                let place = std::ptr::from_ref(column).cast::<u8>();
                L::ahead(place.wrapping_add(distance(M)));
                S::widen::<L>(column)
            });
            let values = values.add(column * beside);
            for row in 0..M {
                let (blocks, row_within) = (row / BESIDE, row % BESIDE);
                let value = L::float(*values.add(blocks * BESIDE * width + row_within));
                for tile in 0..T {
                    total[row][tile] = L::fma(weights[tile], value, total[row][tile]);
                }
            }
        }
        total
    }
}
