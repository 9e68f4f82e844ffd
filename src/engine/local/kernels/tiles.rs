//! Matrices laid out for the kernels.
//!
//! 16 output rows are a tile; within it, what a kernel reads next lies next in memory. Rows that are missing in
//! the last tile are zeros.

use super::blocks::{self, Block};
use super::lanes::{Floats, Halves, Line};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Storage, Tensor, bail};
use half::{bf16, f16};

/// Output rows of a tile.
pub const TILE: usize = 16;

/// Input columns that share a scale.
pub(super) const BLOCK: usize = 32;

/// A matrix `[out, in]` in tiles.
#[derive(Debug)]
pub struct Tiles {
    pub(super) out: usize,
    pub(super) width: usize,
    pub(super) form: Form,
}

/// How the numbers are stored. Dense: `[tile, in, 16]`.
#[derive(Debug)]
pub(super) enum Form {
    F32(Vec<Floats>),
    F16(Vec<Halves>),
    Bf16(Vec<Halves>),
    Quantised(Quantised),
}

/// Blocks of 32 columns: `lines` `[tile, block, 8 or 4]`, `scales` `[tile, block, 1 or 2]`, `mins` `[tile, block]`,
/// scales and minima as f16.
#[derive(Debug)]
pub(super) struct Quantised {
    pub kind: Kind,
    pub lines: Vec<Line>,
    pub scales: Vec<Halves>,
    pub mins: Vec<Halves>,
}

/// Which numbers a stored weight `q` can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 8 bits, `scale * (q - 128)`.
    Centred,
    /// The same with a scale for each half of a block.
    CentredHalves,
    /// 8 bits of which 5 are used, `scale * q + min`.
    Offset,
    /// 4 bits, `scale * (q - 8)`.
    NibblesCentred,
    /// 4 bits, `scale * q + min`.
    NibblesOffset,
}

impl Kind {
    /// How a GGUF storage type is kept; `None` where it is rewritten as Q8_0 first.
    fn of(dtype: GgmlDType) -> Option<Self> {
        match dtype {
            GgmlDType::Q8_0 | GgmlDType::Q5_0 => Some(Self::Centred),
            GgmlDType::Q6K => Some(Self::CentredHalves),
            GgmlDType::Q5_1 | GgmlDType::Q5K => Some(Self::Offset),
            GgmlDType::Q4_0 => Some(Self::NibblesCentred),
            GgmlDType::Q4_1 | GgmlDType::Q4K => Some(Self::NibblesOffset),
            _ => None,
        }
    }

    fn nibbles(self) -> bool {
        matches!(self, Self::NibblesCentred | Self::NibblesOffset)
    }

    fn mins(self) -> bool {
        matches!(self, Self::Offset | Self::NibblesOffset)
    }

    /// What is taken off a stored weight.
    fn centre(self) -> u8 {
        match self {
            Self::Centred | Self::CentredHalves => 128,
            Self::NibblesCentred => 8,
            Self::Offset | Self::NibblesOffset => 0,
        }
    }

    pub(super) fn lines(self) -> usize {
        if self.nibbles() { 4 } else { 8 }
    }

    pub(super) fn scales(self) -> usize {
        if self == Self::CentredHalves { 2 } else { 1 }
    }

    /// Line and byte of element `e` of a block in row `lane`; within a byte of two, the low or the high half.
    fn place(self, lane: usize, e: usize) -> (usize, usize) {
        if self.nibbles() {
            (e / 8, lane * 4 + e % 4)
        } else {
            (e / 4, lane * 4 + e % 4)
        }
    }
}

impl Tiles {
    /// Lay out a dense matrix `[out, in]` of f32, f16 or bf16 in CPU memory, in its own precision.
    ///
    /// # Errors
    /// When it is no such matrix.
    pub fn dense(matrix: &Tensor) -> candle_core::Result<Self> {
        let (out, width) = matrix.dims2()?;
        let matrix = match matrix.dtype() {
            DType::F32 | DType::F16 | DType::BF16 => matrix.contiguous()?,
            _ => matrix.to_dtype(DType::F32)?.contiguous()?,
        };
        let (storage, layout) = matrix.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            bail!("a matrix in CPU memory, not on {:?}", matrix.device());
        };
        let all = layout.start_offset()..layout.start_offset() + out * width;
        let form = match matrix.dtype() {
            DType::F16 => {
                let values = &storage.as_slice::<f16>()?[all];
                Form::F16(interleave(values, width, |v| v.to_bits()))
            }
            DType::BF16 => {
                let values = &storage.as_slice::<bf16>()?[all];
                Form::Bf16(interleave(values, width, |v| v.to_bits()))
            }
            _ => Form::F32(interleave(&storage.as_slice::<f32>()?[all], width, |v| v)),
        };
        Ok(Self { out, width, form })
    }

    /// Lay out a matrix of a GGUF storage type. Types with a kernel keep every number (scales of blocks within
    /// larger blocks are rounded to f16), the others are rewritten as Q8_0, whose own error is a fraction of theirs.
    ///
    /// # Errors
    /// When candle refuses the data.
    pub fn quantised(matrix: &QTensor) -> candle_core::Result<Self> {
        let (out, width) = matrix.shape().dims2()?;
        let halves = |data: &[u8]| {
            let (halves, _) = data.as_chunks::<2>();
            interleave(halves, width, u16::from_le_bytes)
        };
        let form = match matrix.dtype() {
            GgmlDType::F16 => Some(Form::F16(halves(&matrix.data()?))),
            GgmlDType::BF16 => Some(Form::Bf16(halves(&matrix.data()?))),
            _ => None,
        };
        if let Some(form) = form {
            return Ok(Self { out, width, form });
        }
        if matrix.dtype() == GgmlDType::F32 || !width.is_multiple_of(BLOCK) {
            return Self::dense(&matrix.dequantize(&Device::Cpu)?);
        }
        let Some(kind) = Kind::of(matrix.dtype()) else {
            let dense = matrix.dequantize(&Device::Cpu)?;
            return Self::quantised(&QTensor::quantize(&dense, GgmlDType::Q8_0)?);
        };
        let data = matrix.data()?;
        let (tiles, blocks) = (out.div_ceil(TILE), width / BLOCK);
        let size = tiles * blocks;
        let mut form = Quantised {
            kind,
            lines: blocks::lines(size * kind.lines(), kind.centre(), kind.nibbles()),
            scales: vec![[0; TILE]; size * kind.scales()],
            mins: vec![[0; TILE]; if kind.mins() { size } else { 0 }],
        };
        let row_bytes = data.len() / out;
        form.fill(matrix.dtype(), &data, row_bytes, blocks);
        Ok(Self {
            out,
            width,
            form: Form::Quantised(form),
        })
    }

    /// Output rows.
    #[must_use]
    pub fn out(&self) -> usize {
        self.out
    }

    /// Input columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bytes that a product reads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::F32(values) => size_of_val(values.as_slice()),
            Form::F16(values) | Form::Bf16(values) => size_of_val(values.as_slice()),
            Form::Quantised(q) => {
                size_of_val(q.lines.as_slice())
                    + size_of_val(q.scales.as_slice())
                    + size_of_val(q.mins.as_slice())
            }
        }
    }

    /// Write row `row` to `into`, `in` numbers.
    ///
    /// # Panics
    /// When there is no such row, or `into` has another length.
    pub fn row(&self, row: usize, into: &mut [f32]) {
        assert!(row < self.out && into.len() == self.width);
        let (tile, lane) = (row / TILE, row % TILE);
        let first = tile * self.width;
        let dense = |values: &[Halves], widen: fn(u16) -> f32, into: &mut [f32]| {
            for (into, values) in into.iter_mut().zip(&values[first..]) {
                *into = widen(values[lane]);
            }
        };
        match &self.form {
            Form::F32(values) => {
                for (into, values) in into.iter_mut().zip(&values[first..]) {
                    *into = values[lane];
                }
            }
            Form::F16(values) => dense(values, |v| f16::from_bits(v).to_f32(), into),
            Form::Bf16(values) => dense(values, |v| bf16::from_bits(v).to_f32(), into),
            Form::Quantised(form) => {
                let blocks = self.width / BLOCK;
                for (b, into) in into.chunks_exact_mut(BLOCK).enumerate() {
                    form.block(tile * blocks + b, lane, into);
                }
            }
        }
    }
}

impl Quantised {
    /// Lay out all rows of `data`, shared out among threads.
    fn fill(&mut self, dtype: GgmlDType, data: &[u8], row_bytes: usize, blocks: usize) {
        let kind = self.kind;
        let tiles = self.scales.len() / (blocks * kind.scales());
        let threads = candle_core::utils::get_num_threads().clamp(1, tiles);
        let share = tiles.div_ceil(threads) * blocks;
        // no minima: empty parts, as many as there are of the others
        let mut mins = self.mins.chunks_mut(share);
        let parts = self
            .lines
            .chunks_mut(share * kind.lines())
            .zip(self.scales.chunks_mut(share * kind.scales()));
        let rows = data.chunks(share / blocks * TILE * row_bytes);
        std::thread::scope(|scope| {
            for ((lines, scales), rows) in parts.zip(rows) {
                let mins = mins.next().unwrap_or_default();
                let mut part = Part {
                    kind,
                    lines,
                    scales,
                    mins,
                };
                scope.spawn(move || {
                    for (row, bytes) in rows.chunks_exact(row_bytes).enumerate() {
                        let first = row / TILE * blocks;
                        blocks::of_row(dtype, bytes, |b, block| {
                            part.put(first + b, row % TILE, block);
                        });
                    }
                });
            }
        });
    }

    fn block(&self, block: usize, lane: usize, into: &mut [f32]) {
        let lines = &self.lines[block * self.kind.lines()..];
        let scales = &self.scales[block * self.kind.scales()..];
        let min = self
            .mins
            .get(block)
            .map_or(0.0, |m| f16::from_bits(m[lane]).to_f32());
        for (e, into) in into.iter_mut().enumerate() {
            let (line, byte) = self.kind.place(lane, e);
            let stored = lines[line].0[byte];
            let stored = match (self.kind.nibbles(), e % 8 < 4) {
                (false, _) => stored,
                (true, true) => stored & 15,
                (true, false) => stored >> 4,
            };
            let scale = scales[e * self.kind.scales() / BLOCK][lane];
            let q = f32::from(stored) - f32::from(self.kind.centre());
            *into = f16::from_bits(scale).to_f32() * q + min;
        }
    }
}

/// Some tiles of a matrix that is being laid out.
struct Part<'a> {
    kind: Kind,
    lines: &'a mut [Line],
    scales: &'a mut [Halves],
    mins: &'a mut [Halves],
}

impl Part<'_> {
    fn put(&mut self, block: usize, lane: usize, source: &Block) {
        let lines = &mut self.lines[block * self.kind.lines()..];
        for (e, q) in source.stored.iter().enumerate() {
            let (line, byte) = self.kind.place(lane, e);
            let cell = &mut lines[line].0[byte];
            *cell = match (self.kind.nibbles(), e % 8 < 4) {
                (false, _) => *q,
                (true, true) => *cell & 0xf0 | q,
                (true, false) => *cell & 15 | q << 4,
            };
        }
        let scales = block * self.kind.scales();
        for (at, scale) in source.scales.iter().take(self.kind.scales()).enumerate() {
            self.scales[scales + at][lane] = scale.to_bits();
        }
        if let Some(mins) = self.mins.get_mut(block) {
            mins[lane] = source.min.to_bits();
        }
    }
}

/// Dense rows `[out, width]`, 16 at a time, column by column.
fn interleave<T: Copy, U: Copy + Default>(
    values: &[T],
    width: usize,
    convert: impl Fn(T) -> U,
) -> Vec<[U; TILE]> {
    let mut tiles = Vec::with_capacity(values.len().div_ceil(TILE * width) * width);
    for rows in values.chunks(TILE * width) {
        let first = tiles.len();
        tiles.resize(first + width, [U::default(); TILE]);
        let tile: &mut [[U; TILE]] = &mut tiles[first..];
        for (lane, row) in rows.chunks_exact(width).enumerate() {
            for (column, value) in tile.iter_mut().zip(row) {
                column[lane] = convert(*value);
            }
        }
    }
    tiles
}
