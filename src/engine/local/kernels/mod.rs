//! Products of matrices and rows on the CPU: where nearly all the time of decoding goes.
//!
//! A matrix is laid out once, when it is loaded, in tiles of 16 output rows ([`Tiles`]); a product reads every
//! weight once from memory and uses it for up to sixteen input rows. Quantised weights stay in 8 or 4 bits and meet
//! input rows that are rounded to 8 bits for each block of 32 ([`Rows`]); dense ones (f32, f16, bf16) are
//! multiplied in f32 as they are.
//!
//! Every output is summed in one fixed order, however many rows are multiplied at once: a sequence decodes the
//! same tokens alone and in any batch.
//!
//! Which instructions are used is decided when the program runs ([`Level`]). The kernels and the sharing of one
//! output among threads are the only unsafe code here; whatever they index with was checked when the tiles and
//! rows were made.
//!
//! ```text
//! tiles ─ blocks (GGUF storage types)        run ─ product ─ lanes: x86 | neon | portable
//! rows  (activations)                         └── threads of candle's pool
//! attend (one row, the pages of its sequence)
//! ```

mod attend;
mod blocks;
mod lanes;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod product;
mod rows;
mod run;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use attend::attend;
pub use level::Level;
pub use rows::Rows;
pub use run::{Product, multiply, multiply_at};
pub use tiles::{TILE, Tiles};

#[cfg(test)]
mod tests;
