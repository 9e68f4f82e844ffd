//! Checkpoints that suit an organization, and what they take.
//!
//! Nothing is asked of the hub: sizes follow from the published shapes of the networks, and are estimates.

use crate::engine::local::config::Config;
use crate::engine::local::pages::pages_for;
use crate::engine::local::rope::{Rope, RopeLayout, RopeScaling};
use serde::Serialize;

/// Threads that the estimate of memory is for: an organizer and three workers.
pub const MEMORY_THREADS: u64 = 4;
/// Tokens of each of them.
pub const MEMORY_TOKENS: u64 = 4096;

/// A checkpoint and an estimate of what it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recommended {
    /// The model.
    pub model: &'static str,
    /// What `orgtop models pull` and `--model` take.
    pub pull: String,
    /// How weights are stored: `q8_0` or `bf16`.
    pub dtype: &'static str,
    /// Parameters of the network, without norms and biases.
    pub parameters: u64,
    /// Estimated bytes of the weight files.
    pub file_bytes: u64,
    /// Estimated bytes of memory: weights, and keys and values of 4 threads of 4096 tokens.
    pub memory_bytes: u64,
    /// Its owner wants a licence accepted first.
    pub gated: bool,
}

struct Shape {
    arch: &'static str,
    hidden: usize,
    intermediate: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    vocab: usize,
    tied: bool,
}

struct Model {
    name: &'static str,
    /// Repository of safetensors in bf16.
    repo: &'static str,
    /// `REPO:FILE` in Q8_0.
    gguf: Option<&'static str>,
    gated: bool,
    shape: Shape,
}

macro_rules! shape {
    ($arch:literal, $hidden:literal, $intermediate:literal, $layers:literal, $heads:literal / $kv:literal x $dim:literal, $vocab:literal, $tied:literal) => {
        Shape {
            arch: $arch,
            hidden: $hidden,
            intermediate: $intermediate,
            layers: $layers,
            heads: $heads,
            kv_heads: $kv,
            head_dim: $dim,
            vocab: $vocab,
            tied: $tied,
        }
    };
}

const MODELS: [Model; 13] = [
    Model {
        name: "Qwen3-4B",
        repo: "Qwen/Qwen3-4B",
        gguf: Some("Qwen/Qwen3-4B-GGUF:Qwen3-4B-Q8_0.gguf"),
        gated: false,
        shape: shape!("qwen3", 2560, 9728, 36, 32 / 8 x 128, 151_936, true),
    },
    Model {
        name: "Qwen3-0.6B",
        repo: "Qwen/Qwen3-0.6B",
        gguf: Some("Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf"),
        gated: false,
        shape: shape!("qwen3", 1024, 3072, 28, 16 / 8 x 128, 151_936, true),
    },
    Model {
        name: "Qwen3-1.7B",
        repo: "Qwen/Qwen3-1.7B",
        gguf: Some("Qwen/Qwen3-1.7B-GGUF:Qwen3-1.7B-Q8_0.gguf"),
        gated: false,
        shape: shape!("qwen3", 2048, 6144, 28, 16 / 8 x 128, 151_936, true),
    },
    Model {
        name: "Qwen3-8B",
        repo: "Qwen/Qwen3-8B",
        gguf: Some("Qwen/Qwen3-8B-GGUF:Qwen3-8B-Q8_0.gguf"),
        gated: false,
        shape: shape!("qwen3", 4096, 12288, 36, 32 / 8 x 128, 151_936, false),
    },
    Model {
        name: "Qwen2.5-0.5B-Instruct",
        repo: "Qwen/Qwen2.5-0.5B-Instruct",
        gguf: Some("Qwen/Qwen2.5-0.5B-Instruct-GGUF:qwen2.5-0.5b-instruct-q8_0.gguf"),
        gated: false,
        shape: shape!("qwen2", 896, 4864, 24, 14 / 2 x 64, 151_936, true),
    },
    Model {
        name: "Qwen2.5-1.5B-Instruct",
        repo: "Qwen/Qwen2.5-1.5B-Instruct",
        gguf: Some("Qwen/Qwen2.5-1.5B-Instruct-GGUF:qwen2.5-1.5b-instruct-q8_0.gguf"),
        gated: false,
        shape: shape!("qwen2", 1536, 8960, 28, 12 / 2 x 128, 151_936, true),
    },
    Model {
        name: "Qwen2.5-3B-Instruct",
        repo: "Qwen/Qwen2.5-3B-Instruct",
        gguf: Some("Qwen/Qwen2.5-3B-Instruct-GGUF:qwen2.5-3b-instruct-q8_0.gguf"),
        gated: false,
        shape: shape!("qwen2", 2048, 11008, 36, 16 / 2 x 128, 151_936, true),
    },
    Model {
        name: "Qwen2.5-7B-Instruct",
        repo: "Qwen/Qwen2.5-7B-Instruct",
        gguf: None,
        gated: false,
        shape: shape!("qwen2", 3584, 18944, 28, 28 / 4 x 128, 152_064, false),
    },
    Model {
        name: "SmolLM2-135M-Instruct",
        repo: "HuggingFaceTB/SmolLM2-135M-Instruct",
        gguf: Some("bartowski/SmolLM2-135M-Instruct-GGUF:SmolLM2-135M-Instruct-Q8_0.gguf"),
        gated: false,
        shape: shape!("llama", 576, 1536, 30, 9 / 3 x 64, 49_152, true),
    },
    Model {
        name: "SmolLM2-360M-Instruct",
        repo: "HuggingFaceTB/SmolLM2-360M-Instruct",
        gguf: Some("HuggingFaceTB/SmolLM2-360M-Instruct-GGUF:smollm2-360m-instruct-q8_0.gguf"),
        gated: false,
        shape: shape!("llama", 960, 2560, 32, 15 / 5 x 64, 49_152, true),
    },
    Model {
        name: "SmolLM2-1.7B-Instruct",
        repo: "HuggingFaceTB/SmolLM2-1.7B-Instruct",
        gguf: Some("bartowski/SmolLM2-1.7B-Instruct-GGUF:SmolLM2-1.7B-Instruct-Q8_0.gguf"),
        gated: false,
        shape: shape!("llama", 2048, 8192, 24, 32 / 32 x 64, 49_152, true),
    },
    Model {
        name: "Llama-3.2-1B-Instruct",
        repo: "meta-llama/Llama-3.2-1B-Instruct",
        gguf: Some("bartowski/Llama-3.2-1B-Instruct-GGUF:Llama-3.2-1B-Instruct-Q8_0.gguf"),
        gated: true,
        shape: shape!("llama", 2048, 8192, 16, 32 / 8 x 64, 128_256, true),
    },
    Model {
        name: "Llama-3.2-3B-Instruct",
        repo: "meta-llama/Llama-3.2-3B-Instruct",
        gguf: Some("bartowski/Llama-3.2-3B-Instruct-GGUF:Llama-3.2-3B-Instruct-Q8_0.gguf"),
        gated: true,
        shape: shape!("llama", 3072, 8192, 28, 24 / 8 x 128, 128_256, true),
    },
];

/// The list, best first; each model quantised to 8 bits where there is such a file, and as it was published.
#[must_use]
pub fn recommended() -> Vec<Recommended> {
    MODELS.iter().flat_map(Model::forms).collect()
}

impl Model {
    fn forms(&self) -> impl Iterator<Item = Recommended> {
        let config = self.shape.config();
        let parameters = config.parameters();
        // the published gguf files of Qwen2.5 hold the embedding twice
        let in_gguf = Config {
            tied: config.tied && config.arch != "qwen2",
            ..config.clone()
        };
        // Q8_0 keeps 32 weights in 34 bytes
        let q8_bytes = in_gguf.parameters() / 32 * 34;
        let q8 = self.gguf.map(|pull| (pull, "q8_0", q8_bytes, false));
        let bf16 = (self.repo, "bf16", parameters * 2, self.gated);
        let pages = MEMORY_THREADS * pages_for(MEMORY_TOKENS as usize) as u64;
        let cache = pages * config.page_bytes() as u64;
        let model = self.name;
        q8.into_iter()
            .chain([bf16])
            .map(move |(pull, dtype, file_bytes, gated)| Recommended {
                model,
                pull: pull.to_owned(),
                dtype,
                parameters,
                file_bytes,
                memory_bytes: file_bytes + cache,
                gated,
            })
    }
}

impl Shape {
    /// What sizes follow from; what they do not follow from is set to something sound.
    fn config(&self) -> Config {
        Config {
            arch: self.arch.to_owned(),
            hidden: self.hidden,
            intermediate: self.intermediate,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            vocab: self.vocab,
            rms_eps: 1e-6,
            context: MEMORY_TOKENS as usize,
            tied: self.tied,
            rope: Rope {
                theta: 10_000.0,
                layout: RopeLayout::Halves,
                scaling: RopeScaling::None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Wanted;

    #[test]
    fn shapes_give_the_published_numbers_of_parameters() {
        for (name, published) in [
            ("Qwen3-4B", 4_022_468_096_u64),
            ("Qwen3-0.6B", 596_049_920),
            ("Qwen3-1.7B", 1_720_574_976),
            ("Qwen3-8B", 8_190_735_360),
            ("Qwen2.5-0.5B-Instruct", 494_032_768),
            ("Qwen2.5-1.5B-Instruct", 1_543_714_304),
            ("Qwen2.5-3B-Instruct", 3_085_938_688),
            ("Qwen2.5-7B-Instruct", 7_615_616_512),
            ("SmolLM2-135M-Instruct", 134_515_008),
            ("SmolLM2-360M-Instruct", 361_821_120),
            ("SmolLM2-1.7B-Instruct", 1_711_376_384),
            ("Llama-3.2-1B-Instruct", 1_235_814_400),
            ("Llama-3.2-3B-Instruct", 3_212_749_824),
        ] {
            let found = recommended().into_iter().find(|r| r.model == name).unwrap();
            let error = found.parameters.abs_diff(published) as f64 / published as f64;
            assert!(error < 0.001, "{name}: {} parameters", found.parameters);
        }
    }

    #[test]
    fn files_are_as_large_as_those_that_are_published() {
        for (file, published) in [
            ("Qwen3-4B-Q8_0.gguf", 4.28e9),
            ("Qwen3-0.6B-Q8_0.gguf", 0.639e9),
            ("qwen2.5-0.5b-instruct-q8_0.gguf", 0.676e9),
            ("SmolLM2-135M-Instruct-Q8_0.gguf", 0.1448e9),
        ] {
            let found = recommended().into_iter().find(|r| r.pull.ends_with(file));
            let bytes = found.unwrap().file_bytes as f64;
            assert!((bytes / published - 1.0).abs() < 0.03, "{file}: {bytes}");
        }
    }

    #[test]
    fn the_list_begins_with_qwen3_4b_and_can_be_pulled() {
        let list = recommended();
        assert_eq!(list[0].model, "Qwen3-4B");
        for entry in &list {
            let wanted: Wanted = entry.pull.parse().unwrap();
            assert_eq!(wanted.file.is_some(), entry.dtype == "q8_0", "{wanted}");
            assert!(entry.memory_bytes > entry.file_bytes);
        }
    }
}
