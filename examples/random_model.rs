//! Write a folder with a random network of the Qwen 3 family in bf16, to measure what a size costs without a
//! download. It decodes nonsense.
//!
//! `cargo run --release --example random_model -- FOLDER [tiny|0.6b|1.7b|4b]`

use anyhow::{Context, bail};
use half::bf16;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Rows are drawn from a block of random numbers at changing places: as good as new ones here, and far quicker.
const BLOCK: usize = (1 << 20) + 7;

/// The shape of a network.
struct Size {
    hidden: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    intermediate: usize,
    vocab: usize,
}

impl Size {
    fn named(name: &str) -> anyhow::Result<Self> {
        let size = |hidden, layers, (heads, kv_heads, head_dim), intermediate, vocab| Self {
            hidden,
            layers,
            heads,
            kv_heads,
            head_dim,
            intermediate,
            vocab,
        };
        Ok(match name {
            "tiny" => size(64, 2, (4, 2, 32), 128, 1024),
            "0.6b" => size(1024, 28, (16, 8, 128), 3072, 151_936),
            "1.7b" => size(2048, 28, (16, 8, 128), 6144, 151_936),
            "4b" => size(2560, 36, (32, 8, 128), 9728, 151_936),
            other => bail!("size `{other}`; expected tiny, 0.6b, 1.7b or 4b"),
        })
    }

    /// Name and shape of every tensor.
    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (q, kv) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let mut all = vec![
            (
                "model.embed_tokens".to_owned(),
                vec![self.vocab, self.hidden],
            ),
            ("model.norm".to_owned(), vec![self.hidden]),
        ];
        for layer in 0..self.layers {
            for (name, shape) in [
                ("input_layernorm", vec![self.hidden]),
                ("self_attn.q_proj", vec![q, self.hidden]),
                ("self_attn.k_proj", vec![kv, self.hidden]),
                ("self_attn.v_proj", vec![kv, self.hidden]),
                ("self_attn.q_norm", vec![self.head_dim]),
                ("self_attn.k_norm", vec![self.head_dim]),
                ("self_attn.o_proj", vec![self.hidden, q]),
                ("post_attention_layernorm", vec![self.hidden]),
                ("mlp.gate_proj", vec![self.intermediate, self.hidden]),
                ("mlp.up_proj", vec![self.intermediate, self.hidden]),
                ("mlp.down_proj", vec![self.hidden, self.intermediate]),
            ] {
                all.push((format!("model.layers.{layer}.{name}"), shape));
            }
        }
        all
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, size) = match arguments.as_slice() {
        [folder] => (Path::new(folder), Size::named("1.7b")?),
        [folder, size] => (Path::new(folder), Size::named(size)?),
        _ => bail!("usage: random_model FOLDER [tiny|0.6b|1.7b|4b]"),
    };
    std::fs::create_dir_all(folder)?;
    let vocabulary = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parity/qwen3");
    for name in [
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
    ] {
        let from = vocabulary.join(name);
        std::fs::copy(&from, folder.join(name)).with_context(|| from.display().to_string())?;
    }
    let config = json!({
        "model_type": "qwen3", "hidden_size": size.hidden, "intermediate_size": size.intermediate,
        "num_hidden_layers": size.layers, "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads, "head_dim": size.head_dim, "vocab_size": size.vocab,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 32_768,
        "tie_word_embeddings": true, "hidden_act": "silu",
    });
    std::fs::write(folder.join("config.json"), config.to_string())?;
    let file = File::create(folder.join("model.safetensors"))?;
    write_weights(&size, &mut BufWriter::with_capacity(1 << 20, file))
}

/// The tensors in the safetensors format, one after the other.
fn write_weights(size: &Size, out: &mut impl Write) -> anyhow::Result<()> {
    let tensors = size.tensors();
    let (mut header, mut at) = (serde_json::Map::new(), 0);
    for (name, shape) in &tensors {
        let end = at + 2 * shape.iter().product::<usize>();
        let entry = json!({ "dtype": "BF16", "shape": shape, "data_offsets": [at, end] });
        header.insert(format!("{name}.weight"), entry);
        at = end;
    }
    let mut header = serde_json::to_string(&header)?;
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for (i, (_, shape)) in tensors.iter().enumerate() {
        let count: usize = shape.iter().product();
        match shape.as_slice() {
            // such that what comes out is as large as what goes in
            [_, inner] => {
                let block = random(i as u32, 1.7 / (*inner as f32).sqrt());
                let mut left = 2 * count;
                while left > 0 {
                    let part = left.min(block.len());
                    out.write_all(&block[..part])?;
                    left -= part;
                }
            }
            _ => out.write_all(&bf16::ONE.to_le_bytes().repeat(count))?,
        }
    }
    out.flush()?;
    Ok(())
}

/// Numbers between `-most` and `most` as bytes.
fn random(seed: u32, most: f32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bf16::from_f32(((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * most)
    };
    (0..BLOCK).flat_map(|_| next().to_le_bytes()).collect()
}
