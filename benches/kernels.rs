//! Products alone, over the number of rows: the bound that kernels set to decoding.
//!
//! `cargo bench --bench kernels` multiplies matrices of the shapes of SmolLM2-135M, 600 MB of each storage type, so that
//! weights come from memory, as they do in decoding, and from no cache. `CANDLE_NUM_THREADS=1` measures one core.

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Tensor};
use orgtop::engine::local::kernels::{Level, Product, Rows, Tiles, multiply_at};
use std::time::Instant;

const OUT: usize = 1536;
const WIDTH: usize = 576;
const BYTES: usize = 600_000_000;

fn main() -> candle_core::Result<()> {
    let dense = Tensor::randn(0f32, 1.0, (OUT, WIDTH), &Device::Cpu)?;
    let quantised = |dtype| Tiles::quantised(&QTensor::quantize(&dense, dtype)?);
    type Make<'a> = Box<dyn Fn() -> candle_core::Result<Tiles> + 'a>;
    let forms: [(&str, Make<'_>); 7] = [
        ("q4_0", Box::new(|| quantised(GgmlDType::Q4_0))),
        ("q4_1", Box::new(|| quantised(GgmlDType::Q4_1))),
        ("q5_1", Box::new(|| quantised(GgmlDType::Q5_1))),
        ("q8_0", Box::new(|| quantised(GgmlDType::Q8_0))),
        ("f32", Box::new(|| Tiles::dense(&dense))),
        (
            "bf16",
            Box::new(|| Tiles::dense(&dense.to_dtype(DType::BF16)?)),
        ),
        (
            "f16",
            Box::new(|| Tiles::dense(&dense.to_dtype(DType::F16)?)),
        ),
    ];
    println!(
        "{:>6} {:>10} {:>5} {:>10} {:>10} {:>10}",
        "type", "level", "rows", "us", "Gmac/s", "GB/s"
    );
    for (name, make) in forms {
        let first = make()?;
        let copies: Vec<Tiles> = (0..BYTES / first.bytes())
            .map(|_| make())
            .collect::<Result<_, _>>()?;
        for &level in Level::available() {
            for count in [1, 4, 8, 16, 64] {
                let mut rows = Rows::default();
                rows.write(count, WIDTH, |values| {
                    for (i, value) in values.iter_mut().enumerate() {
                        *value = (i % 17) as f32 - 8.0;
                    }
                });
                let mut out = vec![0.0; count * OUT];
                let mut best = f64::MAX;
                for _ in 0..3 {
                    let begun = Instant::now();
                    for weights in &copies {
                        let product = Product {
                            weights,
                            out: &mut out,
                            add: false,
                        };
                        multiply_at(level, &mut [product], &mut rows);
                    }
                    best = best.min(begun.elapsed().as_secs_f64() / copies.len() as f64);
                }
                let rate = (count * OUT * WIDTH) as f64 / best / 1e9;
                println!(
                    "{name:>6} {level:>10?} {count:>5} {:>10.1} {rate:>10.1} {:>10.1}",
                    best * 1e6,
                    first.bytes() as f64 / best / 1e9
                );
            }
        }
    }
    Ok(())
}
