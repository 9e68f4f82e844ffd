//! A made-up layer: heads of a few sequences over a few steps, to see whether two ways of attending agree.

use crate::engine::local::arena::Attends;
use crate::engine::local::config::Config;
use crate::engine::local::model::{Batch, Rotation, Segment};
use crate::engine::local::pages::PageId;
use crate::engine::local::rope::{Rope, RopeLayout, RopeScaling};
use candle_core::{Device, Result, Tensor};

/// Pages that the steps use.
pub const PAGES: usize = 20;

/// Rows of each step: how many, from which position on, over which pages. Prompts, prompts beside decoding rows, a
/// context of more pages than a block has warps, and decoding rows alone.
const STEPS: [&[(usize, usize, &[u32])]; 3] = [
    &[
        (70, 0, &[9, 2, 17]),
        (5, 0, &[3]),
        (250, 0, &[8, 7, 6, 5, 0, 10, 11, 12]),
    ],
    &[
        (1, 70, &[9, 2, 17]),
        (1, 5, &[3]),
        (40, 250, &[8, 7, 6, 5, 0, 10, 11, 12, 13, 1]),
        (33, 0, &[19, 4]),
    ],
    &[
        (1, 71, &[9, 2, 17]),
        (1, 6, &[3]),
        (1, 290, &[8, 7, 6, 5, 0, 10, 11, 12, 13, 1]),
        (1, 33, &[19, 4]),
        (1, 0, &[16]),
    ],
];

/// What one step gives an arena.
#[derive(Debug)]
pub struct Step {
    /// Whose rows they are.
    pub batch: Batch,
    /// `[rows, heads * head_dim]`.
    pub q: Vec<f32>,
    /// `[rows, kv_heads * head_dim]`.
    pub k: Vec<f32>,
    /// `[rows, kv_heads * head_dim]`.
    pub v: Vec<f32>,
}

/// The shape of a network of one layer.
#[must_use]
pub fn config(heads: usize, kv_heads: usize, head_dim: usize) -> Config {
    Config {
        arch: "llama".into(),
        hidden: heads * head_dim,
        intermediate: head_dim,
        layers: 1,
        heads,
        kv_heads,
        head_dim,
        vocab: 1,
        rms_eps: 1e-6,
        context: 512,
        tied: true,
        rope: Rope {
            theta: 10_000.0,
            layout: RopeLayout::Halves,
            scaling: RopeScaling::None,
        },
    }
}

/// Norms of query and key heads, `[head_dim]` each, for the family that has them.
#[must_use]
pub fn norms(config: &Config) -> Option<(Vec<f32>, Vec<f32>)> {
    let mut random = Random(11);
    (config.arch == "qwen3").then(|| {
        (
            random.floats(config.head_dim),
            random.floats(config.head_dim),
        )
    })
}

/// The steps, one after the other on the same pages.
#[must_use]
pub fn steps(config: &Config) -> Vec<Step> {
    let mut random = Random(7);
    let step = |segments: &&[(usize, usize, &[u32])]| {
        let mut batch = Batch::default();
        for (rows, start, pages) in *segments {
            let first = batch.tokens.len();
            batch.tokens.resize(first + rows, 0);
            batch.segments.push(Segment {
                rows: first..first + rows,
                start: *start,
                pages: pages.iter().copied().map(PageId).collect(),
            });
        }
        let rows = batch.tokens.len();
        let kv = rows * config.kv_heads * config.head_dim;
        Step {
            q: random.floats(rows * config.heads * config.head_dim),
            k: random.floats(kv),
            v: random.floats(kv),
            batch,
        }
    };
    STEPS.iter().map(step).collect()
}

/// What an arena on `device` gives for all rows of all steps.
///
/// # Errors
/// When the device fails.
pub fn attended(arena: &mut impl Attends, config: &Config, device: &Device) -> Result<Vec<f32>> {
    let vector = |values: &[f32]| Tensor::new(values, device);
    let norms = match norms(config) {
        Some((q, k)) => Some((vector(&q)?, vector(&k)?)),
        None => None,
    };
    let frequencies = config.rope.frequencies(config.head_dim, None);
    let mut rotation = Rotation::default();
    let mut out = Vec::new();
    for step in steps(config) {
        rotation.turn(&step.batch, &frequencies);
        arena.begin(&step.batch, &rotation)?;
        let rows = step.batch.tokens.len();
        let heads = |values: Vec<f32>| {
            let width = values.len() / rows;
            Tensor::from_vec(values, (rows, width), device)
        };
        let qkv = [heads(step.q)?, heads(step.k)?, heads(step.v)?];
        let given = arena.attend(0, norms.as_ref(), &qkv)?;
        out.extend(given.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(out)
}

/// The largest difference between two results; infinite where there is something that is no number.
#[must_use]
pub fn difference(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return f32::INFINITY;
    }
    let apart = |(x, y): (&f32, &f32)| match (x - y).abs() {
        apart if apart.is_nan() => f32::INFINITY,
        apart => apart,
    };
    a.iter().zip(b).map(apart).fold(0.0, f32::max)
}

/// Numbers between -2 and 2, always the same.
struct Random(u32);

impl Random {
    fn floats(&mut self, count: usize) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0) * 2.0
        };
        (0..count).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::local::attention::HostArena;
    use crate::engine::local::portable::PortableArena;

    #[test]
    fn the_portable_way_gives_what_attention_in_place_gives() {
        for (arch, heads, kv_heads) in [("llama", 4, 4), ("qwen3", 6, 2)] {
            let mut config = config(heads, kv_heads, 16);
            config.arch = arch.into();
            let mut portable = PortableArena::new(&config, PAGES, &Device::Cpu).expect("small");
            let given = attended(&mut portable, &config, &Device::Cpu).expect("it computes");

            let mut host = HostArena::new(&config, PAGES);
            let norms = norms(&config);
            let norms = norms.as_ref().map(|(q, k)| (q.as_slice(), k.as_slice()));
            let (mut rotation, mut expected) = (Rotation::default(), Vec::new());
            for mut step in steps(&config) {
                rotation.turn(&step.batch, &config.rope.frequencies(16, None));
                let qkv = (step.q.as_mut_slice(), step.k.as_slice(), step.v.as_slice());
                expected.extend_from_slice(host.attend(0, norms, qkv, &step.batch, &rotation));
            }
            let apart = difference(&given, &expected);
            assert!(apart < 1e-5, "{arch}: they differ by {apart}");
        }
    }

    #[test]
    fn what_is_no_number_differs_from_everything() {
        assert_eq!(difference(&[1.0, 2.0], &[1.5, 2.0]), 0.5);
        assert_eq!(difference(&[1.0], &[f32::NAN]), f32::INFINITY);
        assert_eq!(difference(&[1.0], &[]), f32::INFINITY);
    }
}
