//! The forward pass against transformers: same weights, same tokens, same logits.

use crate::support::{MODELS, fixture};
use candle_core::Device;
use orgtop::engine::local::AttentionPath;
use orgtop::engine::local::checkpoint::{Checkpoint, read_json};
use orgtop::engine::local::config::Config;
use orgtop::engine::local::device::DeviceModel;
use orgtop::engine::local::gguf::Header;
use orgtop::engine::local::host::HostModel;
use orgtop::engine::local::load::Source;
use orgtop::engine::local::model::{Batch, Network, Segment};
use orgtop::engine::local::pages::{PageId, pages_for};
use orgtop::engine::local::safetensors::Shards;
use orgtop::engine::local::weights::Weights;
use std::fs::File;
use std::path::Path;

/// Pages of the caches.
const PAGES: usize = 8;

/// A checkpoint, ready to be loaded for either way of computing.
pub struct Files {
    pub config: Config,
    source: Source,
}

pub fn model(name: &str) -> Files {
    model_at(&fixture(name))
}

pub fn model_at(path: &Path) -> Files {
    let checkpoint = Checkpoint::locate(path).expect("the model is there");
    let (config, source) = match &checkpoint {
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
    Files { config, source }
}

impl Files {
    /// Every way to compute here: [`Files::both`], and on a GPU where this build and machine have one.
    fn ways(&mut self) -> Vec<(&'static str, Box<dyn Network>)> {
        let mut ways = Vec::from(self.both());
        if let Ok(gpu) = Device::new_cuda(0).or_else(|_| Device::new_metal(0)) {
            for (name, path) in [
                ("on the GPU", AttentionPath::ByDevice),
                ("on the GPU, gathered", AttentionPath::Gathered),
            ] {
                let tensors = Weights::load(&mut self.source, &self.config, &gpu);
                let tensors = tensors.expect("weights load");
                let config = self.config.clone();
                let network = DeviceModel::new(config, tensors, PAGES, gpu.clone(), path);
                ways.push((name, Box::new(network.expect("small arena"))));
            }
        }
        ways
    }

    /// The network in plain memory, and in tensors.
    fn both(&mut self) -> [(&'static str, Box<dyn Network>); 2] {
        let (source, config) = (&mut self.source, &self.config);
        let tiles = Weights::load(source, config, &Device::Cpu).expect("weights load");
        let tensors = Weights::load(source, config, &Device::Cpu).expect("weights load");
        let path = AttentionPath::Gathered;
        let device = DeviceModel::new(config.clone(), tensors, PAGES, Device::Cpu, path);
        [
            (
                "in place",
                Box::new(HostModel::new(config.clone(), tiles, PAGES)),
            ),
            ("gathered", Box::new(device.expect("small arena"))),
        ]
    }
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

/// Logits of all `tokens`, computed in chunks of the given sizes on pages in falling order.
fn logits(network: &mut dyn Network, tokens: &[u32], chunks: &[usize]) -> Vec<Vec<f32>> {
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
        let vocab = network.config().vocab;
        let rows = network.forward(&batch).expect("the pass succeeds");
        out.extend(rows.chunks_exact(vocab).map(<[f32]>::to_vec));
        start += size;
    }
    out
}

/// How nearly the two ways of computing must agree.
pub enum Agreement {
    /// Both multiply the same numbers.
    Exact,
    /// Products round their input to 8 bits, each way in blocks of its own.
    Rounded,
}

/// Logits after the last of `tokens`, in plain memory.
pub fn in_place(mut files: Files, tokens: &[u32]) -> Vec<f32> {
    let [(_, mut host), _] = files.both();
    let all = logits(host.as_mut(), tokens, &[tokens.len()]);
    all.last().cloned().unwrap_or_default()
}

/// The same; computing in tensors must agree.
pub fn last_logits(mut files: Files, tokens: &[u32], agreement: &Agreement) -> Vec<f32> {
    let [host, gathered] = files.both().map(|(_, mut network)| {
        let all = logits(network.as_mut(), tokens, &[tokens.len()]);
        all.last().cloned().unwrap_or_default()
    });
    match agreement {
        Agreement::Exact => {
            let worst = worst(std::slice::from_ref(&host), &[gathered]);
            assert!(worst < 2e-3, "the two ways differ by {worst}");
        }
        Agreement::Rounded => {
            let likeness = likeness(&host, &gathered);
            assert!(likeness > 0.998, "the two ways are alike by {likeness}");
        }
    }
    host
}

/// Cosine of the angle between two rows of logits.
pub fn likeness(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn worst(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    assert_eq!(a.len(), b.len());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

#[test]
fn logits_equal_those_of_transformers() {
    for name in MODELS {
        let (tokens, expected) = expected(name);
        for (path, mut network) in model(name).ways() {
            let ours = logits(network.as_mut(), &tokens, &[tokens.len()]);
            let worst = worst(&ours, &expected);
            assert!(worst < 1e-4, "{name}, {path}: logits differ by {worst}");
        }
    }
}

#[test]
fn logits_do_not_depend_on_how_a_prompt_is_chunked() {
    for name in MODELS {
        let (tokens, expected) = expected(name);
        for chunks in [
            vec![1; 40],
            vec![31, 1, 8],
            vec![33, 7],
            vec![5, 27, 1, 1, 6],
        ] {
            for (path, mut network) in model(name).ways() {
                let ours = logits(network.as_mut(), &tokens, &chunks);
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
        let (tokens, expected) = expected(name);
        for (path, mut network) in model(name).ways() {
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
            assert!(network.forward(&batch).expect("it computes").is_empty());
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
            let vocab = network.config().vocab;
            let rows = network.forward(&batch).expect("it computes");
            let ours: Vec<Vec<f32>> = rows.chunks_exact(vocab).map(<[f32]>::to_vec).collect();
            let expected: Vec<Vec<f32>> =
                lens.iter().map(|len| expected[len - 1].clone()).collect();
            let worst = worst(&ours, &expected);
            assert!(worst < 1e-4, "{name}, {path}: logits differ by {worst}");
        }
    }
}
