//! Which kernel, on which tiles, on which thread.

#![allow(unsafe_code)]

use super::lanes::{Floats, Lanes, Portable};
use super::level::Level;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::product::{self, Panel, Shape, Stored};
use super::rows::Rows;
use super::tiles::{Form, Kind, Quantised, TILE, Tiles};
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

/// Tiles that are handed out together; dense kernels take as many at once.
const GROUP: usize = 4;

/// Rows, of a prompt that is, from which on halves are widened once for all of them.
const WORTH_WIDENING: usize = 256;

thread_local! {
    /// A group of tiles, widened.
    static WIDENED: RefCell<Vec<Floats>> = const { RefCell::new(Vec::new()) };
}

/// Work below which waking other threads costs more than it saves. A unit is a multiplication; reading a byte
/// of weights counts as a dozen.
const WORTH_SHARING: usize = 4_000_000;
const READING: usize = 12;

/// A product that is wanted: `out = input * weights^T`, or `out += …`.
#[derive(Debug)]
pub struct Product<'a> {
    /// `[out, in]`.
    pub weights: &'a Tiles,
    /// `[rows, out]`.
    pub out: &'a mut [f32],
    /// Whether to add to what is there.
    pub add: bool,
}

/// Multiply the same rows with several matrices, `[rows, in]` with `[out, in]` each.
///
/// # Panics
/// When shapes do not fit.
pub fn multiply(products: &mut [Product<'_>], input: &mut Rows) {
    multiply_at(Level::best(), products, input);
}

/// [`multiply`] with instructions of one's choice.
///
/// # Panics
/// When shapes do not fit or this machine lacks the instructions.
pub fn multiply_at(level: Level, products: &mut [Product<'_>], input: &mut Rows) {
    assert!(Level::available().contains(&level), "{level:?} here");
    let mut work = 0;
    let mut jobs = Vec::with_capacity(products.len());
    for product in &mut *products {
        let tiles = product.weights;
        assert_eq!(tiles.width, input.width, "columns of weights and of rows");
        assert_eq!(
            product.out.len(),
            input.count * tiles.out,
            "rows of the result"
        );
        if matches!(tiles.form, Form::Quantised(_)) {
            input.round();
        } else {
            input.turn();
        }
        work += tiles.bytes() * READING + tiles.out * tiles.width * input.count;
        jobs.push(Job {
            tiles,
            groups: tiles.out.div_ceil(TILE * GROUP),
            out: product.out.as_mut_ptr(),
            add: product.add,
            borrowed: PhantomData,
        });
    }
    let input = &*input;
    let groups = jobs.iter().map(|job| job.groups).sum();
    let run = |range: Range<usize>| {
        let mut before = 0;
        for job in &jobs {
            let from = range.start.max(before) - before;
            let to = range.end.min(before + job.groups).saturating_sub(before);
            if from < to {
                job.run(level, input, from..to);
            }
            before += job.groups;
        }
    };
    if work < WORTH_SHARING {
        run(0..groups);
    } else {
        candle_core::utils::barrier_pool().execute_chunked(groups, run);
    }
}

/// One product, open to several threads: each writes the columns of its own tiles.
struct Job<'a> {
    tiles: &'a Tiles,
    groups: usize,
    out: *mut f32,
    add: bool,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: `out` is written at the columns of tiles that were handed to one thread only, and the exclusive borrow it
// was made from outlives the job.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Compute the tiles of some groups for all rows.
    fn run(&self, level: Level, input: &Rows, groups: Range<usize>) {
        let last = self.tiles.out.div_ceil(TILE);
        let tiles = groups.start * GROUP..(groups.end * GROUP).min(last);
        // SAFETY: `level` is one that this machine has
        unsafe {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => avx512(self, input, tiles),
                #[cfg(target_arch = "x86_64")]
                Level::AvxVnni => avx_vnni(self, input, tiles),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => avx2(self, input, tiles),
                #[cfg(target_arch = "aarch64")]
                Level::Neon => self.tiles_of::<Neon>(input, tiles),
                _ => self.tiles_of::<Portable>(input, tiles),
            }
        }
    }

    #[inline(always)]
    unsafe fn tiles_of<L: Lanes>(&self, input: &Rows, tiles: Range<usize>) {
        unsafe {
            match &self.tiles.form {
                Form::F32(c) => self.dense::<L, product::InF32>(c, input, tiles),
                Form::F16(c) => self.dense::<L, product::InF16>(c, input, tiles),
                Form::Bf16(c) => self.dense::<L, product::InBf16>(c, input, tiles),
                Form::Quantised(q) => match q.kind {
                    Kind::Centred => self.quantised::<L, product::Centred>(q, input, tiles),
                    Kind::CentredHalves => {
                        self.quantised::<L, product::CentredHalves>(q, input, tiles);
                    }
                    Kind::Offset => self.quantised::<L, product::Offset>(q, input, tiles),
                    Kind::NibblesCentred => {
                        self.quantised::<L, product::NibblesCentred>(q, input, tiles);
                    }
                    Kind::NibblesOffset => {
                        self.quantised::<L, product::NibblesOffset>(q, input, tiles);
                    }
                },
            }
        }
    }

    #[inline(always)]
    unsafe fn quantised<L: Lanes, S: Shape>(
        &self,
        form: &Quantised,
        input: &Rows,
        tiles: Range<usize>,
    ) {
        let blocks = input.width / super::tiles::BLOCK;
        for tile in tiles {
            let part =
                |per_block: usize| tile * blocks * per_block..(tile + 1) * blocks * per_block;
            let panel = Panel {
                lines: &form.lines[part(S::LINES)],
                scales: &form.scales[part(S::SCALES)],
                mins: &form.mins[if S::MINS { part(1) } else { 0..0 }],
            };
            let mut row = 0;
            macro_rules! rows {
                ($($m:literal)+) => {$(
                    while $m <= L::MOST_ROWS && input.count - row >= $m {
                        let sums = unsafe { product::quantised::<L, S, $m>(panel, input, row) };
                        for (i, sum) in sums.into_iter().enumerate() {
                            unsafe { self.put::<L>(row + i, tile, sum) };
                        }
                        row += $m;
                    }
                )+};
            }
            rows!(8 4 2 1);
        }
    }

    #[inline(always)]
    unsafe fn dense<L: Lanes, S: Stored>(
        &self,
        columns: &[S::Column],
        input: &Rows,
        tiles: Range<usize>,
    ) {
        // not borrowed in a closure, which would be compiled without the instructions of `L`
        let mut wide = WIDENED.take();
        for first in tiles.clone().step_by(GROUP) {
            let last = (first + GROUP).min(tiles.end);
            let columns = &columns[first * input.width..last * input.width];
            // SAFETY: as the caller vouches for
            unsafe {
                if S::HALVES && input.count >= WORTH_WIDENING {
                    wide.resize(columns.len(), [0.0; TILE]);
                    for (wide, column) in wide.iter_mut().zip(columns) {
                        L::store(S::widen::<L>(column), wide);
                    }
                    self.dense_group::<L, product::InF32>(&wide, input, first..last);
                } else {
                    self.dense_group::<L, S>(columns, input, first..last);
                }
            }
        }
        WIDENED.set(wide);
    }

    /// Compute up to [`GROUP`] tiles for all rows; `columns` begins with theirs.
    #[inline(always)]
    unsafe fn dense_group<L: Lanes, S: Stored>(
        &self,
        columns: &[S::Column],
        input: &Rows,
        tiles: Range<usize>,
    ) {
        let mut row = 0;
        macro_rules! rows {
            ($($m:literal x $t:literal)+) => {$(
                while input.count - row >= $m {
                    for tile in (0..GROUP).step_by($t) {
                        let columns = &columns[tile * input.width..];
                        let sums = unsafe { product::dense::<L, S, $m, $t>(columns, input, row) };
                        for (i, sums) in sums.into_iter().enumerate() {
                            for (j, sum) in sums.into_iter().enumerate() {
                                unsafe { self.put::<L>(row + i, tiles.start + tile + j, sum) };
                            }
                        }
                    }
                    row += $m;
                }
            )+};
        }
        if tiles.len() < GROUP {
            for (i, tile) in tiles.enumerate() {
                let columns = &columns[i * input.width..];
                for row in 0..input.count {
                    let [[sum]] = unsafe { product::dense::<L, S, 1, 1>(columns, input, row) };
                    unsafe { self.put::<L>(row, tile, sum) };
                }
            }
        } else if L::MOST_ROWS == 8 {
            if S::HALVES {
                // each weight widened once is worth more than fewer loads a product
                rows!(16 x 1);
            }
            rows!(8 x 2  4 x 4  2 x 4  1 x 4);
        } else {
            rows!(4 x 1  2 x 2  1 x 4);
        }
    }

    /// # Safety
    /// The tile was handed to this thread.
    #[inline(always)]
    unsafe fn put<L: Lanes>(&self, row: usize, tile: usize, sum: L::Float) {
        let columns = (self.tiles.out - tile * TILE).min(TILE);
        // SAFETY: row < rows and tile * TILE + columns <= out, so all of it lies in the result
        unsafe {
            let at = self.out.add(row * self.tiles.out + tile * TILE);
            if columns == TILE {
                let into = &mut *at.cast::<Floats>();
                let sum = if self.add {
                    L::fma(sum, L::float(1.0), L::from_f32(into))
                } else {
                    sum
                };
                L::store(sum, into);
                return;
            }
            let mut values = [0.0; TILE];
            L::store(sum, &mut values);
            let into = std::slice::from_raw_parts_mut(at, columns);
            for (into, value) in into.iter_mut().zip(values) {
                *into = if self.add { *into + value } else { value };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma,f16c")]
unsafe fn avx512(job: &Job<'_>, input: &Rows, tiles: Range<usize>) {
    unsafe { job.tiles_of::<Avx512>(input, tiles) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avxvnni,avx2,fma,f16c")]
unsafe fn avx_vnni(job: &Job<'_>, input: &Rows, tiles: Range<usize>) {
    unsafe { job.tiles_of::<Avx2<true>>(input, tiles) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2(job: &Job<'_>, input: &Rows, tiles: Range<usize>) {
    unsafe { job.tiles_of::<Avx2<false>>(input, tiles) }
}
