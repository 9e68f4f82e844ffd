//! The forward pass against transformers: same weights, same tokens, same logits.

use crate::support::{MODELS, fixture};
use candle_core::Device;
use orgtop::engine::local::attention::HostArena;
use orgtop::engine::local::checkpoint::{Checkpoint, read_json};
use orgtop::engine::local::config::Config;
use orgtop::engine::local::gguf::Header;
use orgtop::engine::local::load::Source;
use orgtop::engine::local::model::{Arena, Batch, Model, Segment};
use orgtop::engine::local::pages::{PageId, pages_for};
use orgtop::engine::local::portable::DeviceArena;
use orgtop::engine::local::safetensors::Shards;
use orgtop::engine::local::weights::Weights;
use std::fs::File;
use std::path::Path;

pub fn model(name: &str) -> Model {
    model_at(&fixture(name))
}

pub fn model_at(path: &Path) -> Model {
    let checkpoint = Checkpoint::locate(path).expect("the model is there");
    let (config, mut source) = match &checkpoint {
        Checkpoint::Folder { folder, weights } => {
            let json = read_json(&folder.join("config.json")).expect("config.json reads");
            let shards = Shards::open(weights).expect("headers read");
            (
                Config::from_hf(&json).expect("the config is sound"),
                Source::Safetensors(shards),
            )
        }
        Checkpoint::Gguf(path) => {
            let header = Header::read(path).expect("the header reads");
            let config = Config::from_gguf(&header).expect("the metadata is sound");
            (
                config,
                Source::Gguf(header, File::open(path).expect("the file opens")),
            )
        }
    };
    let weights = Weights::load(&mut source, &config, &Device::Cpu).expect("weights load");
    Model::new(config, weights, Device::Cpu)
}

/// Token ids and the logits `[tokens][vocab]` that transformers computed.
fn expected(name: &str) -> (Vec<u32>, Vec<Vec<f32>>) {
    let folder = fixture(name.trim_end_matches(".gguf"));
    let json = read_json(&folder.join("expected.json")).expect("expected.json reads");
    let tokens: Vec<u32> = serde_json::from_value(json["tokens"].clone()).expect("token ids");
    let raw = std::fs::read(folder.join("logits.f32")).expect("logits read");
    let logits: Vec<f32> = raw
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let rows = logits.chunks_exact(logits.len() / tokens.len());
    let rows = rows.map(<[f32]>::to_vec).collect();
    (tokens, rows)
}

fn arenas(config: &Config) -> [(&'static str, Arena); 2] {
    let device = DeviceArena::new(config, 8, &Device::Cpu).expect("small arena");
    [
        ("in place", Arena::Host(HostArena::new(config, 8))),
        ("gathered", Arena::Device(device)),
    ]
}

/// Logits of all `tokens`, computed in chunks of the given sizes on pages in falling order.
fn logits(model: &Model, arena: &mut Arena, tokens: &[u32], chunks: &[usize]) -> Vec<Vec<f32>> {
    let pages: Vec<PageId> = (0..pages_for(tokens.len()) as u32)
        .map(|p| PageId(7 - p))
        .collect();
    let (mut out, mut start) = (Vec::new(), 0);
    for size in chunks {
        let batch = Batch {
            tokens: tokens[start..start + size].to_vec(),
            segments: vec![Segment {
                rows: 0..*size,
                start,
                pages: pages[..pages_for(start + size)].to_vec(),
            }],
            wanted: (0..*size).collect(),
        };
        let rows = model
            .forward(arena, &batch)
            .expect("the pass succeeds")
            .expect("logits are wanted");
        out.extend(rows.to_vec2::<f32>().expect("f32 rows"));
        start += size;
    }
    out
}

/// How far logits may differ between the two attention paths.
pub const EXACT: f32 = 2e-3;

/// The same where products round their input to 8 bits: a difference in the last digit can become one of a step.
pub const ROUNDED: f32 = 0.1;

/// Logits after the last of `tokens`; both attention paths must agree.
pub fn last_logits(model: &Model, tokens: &[u32], tolerance: f32) -> Vec<f32> {
    let [host, gathered] = arenas(&model.config).map(|(_, mut arena)| {
        let all = logits(model, &mut arena, tokens, &[tokens.len()]);
        all.last().cloned().unwrap_or_default()
    });
    let worst = worst(std::slice::from_ref(&host), &[gathered]);
    assert!(
        worst < tolerance,
        "the two attention paths differ by {worst}"
    );
    host
}

fn worst(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    assert_eq!(a.len(), b.len());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

#[test]
fn logits_equal_those_of_transformers() {
    for name in MODELS {
        let model = model(name);
        let (tokens, expected) = expected(name);
        for (path, mut arena) in arenas(&model.config) {
            let ours = logits(&model, &mut arena, &tokens, &[tokens.len()]);
            let worst = worst(&ours, &expected);
            assert!(worst < 1e-4, "{name}, {path}: logits differ by {worst}");
        }
    }
}

#[test]
fn logits_do_not_depend_on_how_a_prompt_is_chunked() {
    for name in MODELS {
        let model = model(name);
        let (tokens, expected) = expected(name);
        for chunks in [
            vec![1; 40],
            vec![31, 1, 8],
            vec![33, 7],
            vec![5, 27, 1, 1, 6],
        ] {
            for (path, mut arena) in arenas(&model.config) {
                let ours = logits(&model, &mut arena, &tokens, &chunks);
                let worst = worst(&ours, &expected);
                assert!(
                    worst < 1e-4,
                    "{name}, {path}, {chunks:?}: logits differ by {worst}"
                );
            }
        }
    }
}

#[test]
fn logits_do_not_depend_on_who_else_is_in_the_batch() {
    for name in MODELS {
        let model = model(name);
        let (tokens, expected) = expected(name);
        for (path, mut arena) in arenas(&model.config) {
            // three sequences that are prefixes of one another, each on pages of its own
            let lens = [40, 9, 34];
            let firsts = [0, 2, 3];
            let pages = |i: usize, len: usize| -> Vec<PageId> {
                (0..pages_for(len) as u32)
                    .map(|p| PageId(firsts[i] + p))
                    .collect()
            };
            let mut batch = Batch::default();
            for (i, len) in lens.into_iter().enumerate() {
                let from = batch.tokens.len();
                batch.tokens.extend_from_slice(&tokens[..len - 1]);
                batch.segments.push(Segment {
                    rows: from..batch.tokens.len(),
                    start: 0,
                    pages: pages(i, len - 1),
                });
            }
            assert!(
                model
                    .forward(&mut arena, &batch)
                    .expect("it computes")
                    .is_none()
            );
            let mut batch = Batch::default();
            for (i, len) in lens.into_iter().enumerate() {
                batch.tokens.push(tokens[len - 1]);
                batch.wanted.push(i);
                batch.segments.push(Segment {
                    rows: i..i + 1,
                    start: len - 1,
                    pages: pages(i, len),
                });
            }
            let rows = model
                .forward(&mut arena, &batch)
                .expect("it computes")
                .expect("logits");
            let ours = rows.to_vec2::<f32>().expect("f32 rows");
            let expected: Vec<Vec<f32>> =
                lens.iter().map(|len| expected[len - 1].clone()).collect();
            let worst = worst(&ours, &expected);
            assert!(worst < 1e-4, "{name}, {path}: logits differ by {worst}");
        }
    }
}
