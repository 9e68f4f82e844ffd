//! Every storage type, with every set of instructions, against the dequantised matrix in f64.

use super::*;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Tensor};

const TYPES: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Numbers between -1 and 1 without a pattern that a wrong index could hide in.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32 * 2.0 - 1.0
        })
        .collect()
}

fn matrix(out: usize, width: usize) -> Tensor {
    let values = noise(out * width, 7);
    // rows of very different size show scales that went to the wrong row
    let values = values.iter().enumerate();
    let values = values
        .map(|(i, v)| v * (1.0 + (i / width % 5) as f32))
        .collect();
    Tensor::from_vec(values, (out, width), &Device::Cpu).expect("a matrix")
}

fn rows(count: usize, width: usize, seed: u32) -> Rows {
    let mut rows = Rows::default();
    rows.write(count, width, |into| {
        into.copy_from_slice(&noise(count * width, seed))
    });
    rows
}

fn product(level: Level, tiles: &Tiles, input: &mut Rows) -> Vec<f32> {
    let mut out = vec![f32::NAN; input.count() * tiles.out()];
    let product = Product {
        weights: tiles,
        out: &mut out,
        add: false,
    };
    multiply_at(level, &mut [product], input);
    out
}

/// Root of the mean square of the differences, as a share of that of what is expected.
fn error(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let square = |sum: f64, v: f64| sum + v * v;
    let off = found.iter().zip(expected).map(|(f, e)| f64::from(*f) - e);
    (off.fold(0.0, square) / expected.iter().copied().fold(0.0, square)).sqrt()
}

fn in_f64(matrix: &[f32], input: &Rows, out: usize, width: usize) -> Vec<f64> {
    let row = |x: &[f32], w: &[f32]| {
        let terms = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w));
        terms.sum::<f64>()
    };
    let rows = input.values().chunks_exact(width);
    rows.flat_map(|x| (0..out).map(move |o| row(x, &matrix[o * width..(o + 1) * width])))
        .collect()
}

#[test]
fn quantised_tiles_hold_the_numbers_that_candle_reads() {
    for dtype in TYPES {
        let quantised = QTensor::quantize(&matrix(37, 512), dtype).expect("it quantises");
        let expected = quantised.dequantize(&Device::Cpu).expect("it dequantises");
        let expected = expected.to_vec2::<f32>().expect("f32 rows");
        let tiles = Tiles::quantised(&quantised).expect("it is laid out");
        for (i, expected) in expected.iter().enumerate() {
            let mut found = vec![f32::NAN; 512];
            tiles.row(i, &mut found);
            let expected: Vec<f64> = expected.iter().map(|v| f64::from(*v)).collect();
            let error = error(&found, &expected);
            // scales within larger blocks become f16; types without a kernel become Q8_0
            assert!(error < 6e-3, "{dtype:?} row {i}: {error}");
        }
    }
}

#[test]
fn products_are_those_of_the_dequantised_matrix() {
    let (out, width) = (37 + 64, 512);
    for dtype in TYPES {
        let quantised = QTensor::quantize(&matrix(out, width), dtype).expect("it quantises");
        let dense = quantised.dequantize(&Device::Cpu).expect("it dequantises");
        let dense = dense.flatten_all().and_then(|t| t.to_vec1::<f32>());
        let dense = dense.expect("f32 values");
        let tiles = Tiles::quantised(&quantised).expect("it is laid out");
        for &level in Level::available() {
            for count in [1, 3, 8, 15] {
                let mut input = rows(count, width, 3);
                let expected = in_f64(&dense, &input, out, width);
                let error = error(&product(level, &tiles, &mut input), &expected);
                // rounding inputs to 8 bits costs this much
                assert!(error < 0.015, "{dtype:?} {level:?} {count}: {error}");
            }
        }
    }
}

#[test]
fn dense_products_are_exact_to_f32() {
    let (out, width) = (37 + 64, 96);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let stored = matrix(out, width).to_dtype(dtype).expect("it converts");
        let widened = stored.to_dtype(DType::F32).and_then(|t| t.flatten_all());
        let widened = widened.and_then(|t| t.to_vec1::<f32>()).expect("f32");
        let tiles = Tiles::dense(&stored).expect("it is laid out");
        let mut row = vec![0.0; width];
        tiles.row(36, &mut row);
        assert_eq!(row, widened[36 * width..37 * width]);
        for &level in Level::available() {
            for count in [1, 2, 7, 8, 17, 31, 257] {
                let mut input = rows(count, width, 5);
                let expected = in_f64(&widened, &input, out, width);
                let error = error(&product(level, &tiles, &mut input), &expected);
                assert!(error < 1e-6, "{dtype:?} {level:?} {count}: {error}");
            }
        }
    }
}

#[test]
fn halves_from_a_gguf_file_are_kept_as_halves() {
    let (out, width) = (37, 48);
    for (stored, dtype) in [(GgmlDType::F16, DType::F16), (GgmlDType::BF16, DType::BF16)] {
        let quantised = QTensor::quantize(&matrix(out, width), stored).expect("it converts");
        let tiles = Tiles::quantised(&quantised).expect("it is laid out");
        assert_eq!(tiles.bytes(), out.next_multiple_of(TILE) * width * 2);
        let converted = matrix(out, width).to_dtype(dtype);
        let same = converted.and_then(|t| Tiles::dense(&t)).expect("laid out");
        let (mut found, mut expected) = (vec![0.0; width], vec![1.0; width]);
        for row in 0..out {
            tiles.row(row, &mut found);
            same.row(row, &mut expected);
            assert_eq!(found, expected, "{stored:?}, row {row}");
        }
    }
}

#[test]
fn a_row_gives_the_same_bits_alone_and_among_others() {
    let (out, width) = (80, 512);
    let dense = Tiles::dense(&matrix(out, width)).expect("it is laid out");
    let forms = TYPES.map(|dtype| {
        let quantised = QTensor::quantize(&matrix(out, width), dtype).expect("it quantises");
        Tiles::quantised(&quantised).expect("it is laid out")
    });
    for tiles in forms.iter().chain([&dense]) {
        for &level in Level::available() {
            let mut all = rows(29, width, 11);
            let together = product(level, tiles, &mut all);
            for row in 0..29 {
                let values = all.values()[row * width..(row + 1) * width].to_vec();
                let mut alone = Rows::default();
                alone.write(1, width, |into| into.copy_from_slice(&values));
                let alone = product(level, tiles, &mut alone);
                let among = &together[row * out..(row + 1) * out];
                assert!(
                    alone
                        .iter()
                        .zip(among)
                        .all(|(a, b)| a.to_bits() == b.to_bits())
                );
            }
        }
    }
}

#[test]
fn several_products_share_their_rows_and_may_add() {
    let (first, second) = (
        Tiles::dense(&matrix(20, 64)),
        Tiles::dense(&matrix(150, 64)),
    );
    let (first, second) = (first.expect("laid out"), second.expect("laid out"));
    let mut input = rows(9, 64, 2);
    let separate = [&first, &second].map(|t| product(Level::best(), t, &mut input));
    let (mut a, mut b) = (vec![1.0; 9 * 20], vec![f32::NAN; 9 * 150]);
    let mut products = [
        Product {
            weights: &first,
            out: &mut a,
            add: true,
        },
        Product {
            weights: &second,
            out: &mut b,
            add: false,
        },
    ];
    multiply(&mut products, &mut input);
    assert_eq!(b, separate[1]);
    for (sum, product) in a.iter().zip(&separate[0]) {
        assert!((sum - product - 1.0).abs() < 1e-5);
    }
}

#[test]
fn numbers_that_are_none_show_in_their_row_and_in_no_other() {
    let quantised = QTensor::quantize(&matrix(32, 64), GgmlDType::Q4_0).expect("it quantises");
    let tiles = Tiles::quantised(&quantised).expect("it is laid out");
    let mut input = rows(2, 64, 9);
    let clean = product(Level::best(), &tiles, &mut input);
    let mut values = input.values().to_vec();
    values[3] = f32::NAN;
    values[40] = f32::INFINITY;
    input.write(2, 64, |into| into.copy_from_slice(&values));
    let found = product(Level::best(), &tiles, &mut input);
    assert_eq!(found[32..], clean[32..]);
    assert!(found[..32].iter().all(|v| v.is_nan()));
}

/// Attention of `visible` positions written out in f64.
fn attention_in_f64(
    queries: &[f32],
    (keys, values): (&[f32], &[f32]),
    dim: usize,
    visible: usize,
) -> Vec<f64> {
    let row = |all: &[f32], position: usize| -> Vec<f64> {
        let row = &all[position * dim..(position + 1) * dim];
        row.iter().map(|v| f64::from(*v)).collect()
    };
    let mut out = Vec::new();
    for query in queries.chunks_exact(dim) {
        let score = |position| {
            let key = row(keys, position);
            let products = query.iter().zip(&key).map(|(q, k)| f64::from(*q) * k);
            (products.sum::<f64>() / (dim as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = (0..visible).map(score).collect();
        let total: f64 = weights.iter().sum();
        out.extend((0..dim).map(|column| {
            let terms = weights.iter().enumerate();
            terms
                .map(|(p, w)| w / total * row(values, p)[column])
                .sum::<f64>()
        }));
    }
    out
}

#[test]
fn attention_is_that_of_its_formula_and_sees_nothing_beyond() {
    for (dim, group) in [(8, 1), (20, 3), (64, 3), (64, 7), (80, 4), (128, 2)] {
        for visible in [1usize, 31, 32, 33, 100] {
            let pages = visible.div_ceil(32);
            let (keys, values) = (noise(pages * 32 * dim, 3), noise(pages * 32 * dim, 4));
            let queries = noise(group * dim, 5);
            let expected = attention_in_f64(&queries, (&keys, &values), dim, visible);
            let mut blocks = Vec::new();
            for page in 0..pages {
                let (mut turned, mut rows) = (vec![f32::NAN; 32 * dim], vec![f32::NAN; 32 * dim]);
                for slot in 0..32.min(visible - page * 32) {
                    for column in 0..dim {
                        let from = (page * 32 + slot) * dim + column;
                        turned[column * 32 + slot] = keys[from];
                        rows[slot * dim + column] = values[from];
                    }
                }
                blocks.push((turned, rows));
            }
            let blocks = blocks.iter().map(|(k, v)| (k.as_slice(), v.as_slice()));
            let mut found = vec![f32::NAN; group * dim];
            attend(&queries, blocks, visible, &mut Vec::new(), &mut found);
            let error = error(&found, &expected);
            assert!(
                error < 1e-6,
                "{dim} × {group}, {visible} positions: {error}"
            );
        }
    }
}
