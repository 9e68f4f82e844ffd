//! Reading a network's weights from either file format, every shape checked first.
//!
//! The names and layouts of the two formats end here: behind this room there are only [`Weights`].

use super::choice::in_words;
use super::config::Config;
use super::gguf::Header;
use super::safetensors::Shards;
use super::weights::{Block, Kept, Linear, Weights};
use candle_core::{DType, Device, Tensor};
use std::fs::File;
use std::marker::PhantomData;

/// A file format that tensors are read from.
#[derive(Debug)]
pub enum Source {
    /// Hugging Face safetensors.
    Safetensors(Shards),
    /// GGUF.
    Gguf(Header, File),
}

/// A tensor's place in the network.
#[derive(Debug, Clone, Copy)]
enum Part {
    AttentionNorm,
    Q,
    K,
    V,
    QNorm,
    KNorm,
    O,
    MlpNorm,
    Gate,
    Up,
    Down,
}

impl Part {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AttentionNorm => ("input_layernorm", "attn_norm"),
            Self::Q => ("self_attn.q_proj", "attn_q"),
            Self::K => ("self_attn.k_proj", "attn_k"),
            Self::V => ("self_attn.v_proj", "attn_v"),
            Self::QNorm => ("self_attn.q_norm", "attn_q_norm"),
            Self::KNorm => ("self_attn.k_norm", "attn_k_norm"),
            Self::O => ("self_attn.o_proj", "attn_output"),
            Self::MlpNorm => ("post_attention_layernorm", "ffn_norm"),
            Self::Gate => ("mlp.gate_proj", "ffn_gate"),
            Self::Up => ("mlp.up_proj", "ffn_up"),
            Self::Down => ("mlp.down_proj", "ffn_down"),
        }
    }
}

/// Reads tensors of checked shapes onto one device.
struct Loader<'a, K> {
    source: &'a mut Source,
    device: &'a Device,
    kept: PhantomData<K>,
}

impl<K: Kept> Loader<'_, K> {
    fn name(&self, layer: usize, part: Part, kind: &str) -> String {
        let (hf, gguf) = part.names();
        match self.source {
            Source::Safetensors(_) => format!("model.layers.{layer}.{hf}.{kind}"),
            Source::Gguf(..) => format!("blk.{layer}.{gguf}.{kind}"),
        }
    }

    fn end_name(&self, hf: &str, gguf: &str) -> String {
        match self.source {
            Source::Safetensors(_) => hf.to_owned(),
            Source::Gguf(..) => gguf.to_owned(),
        }
    }

    /// Shape of a tensor, if there is one.
    fn dims(&self, name: &str) -> Option<&[usize]> {
        match &*self.source {
            Source::Safetensors(shards) => shards.get(name).map(|e| e.dims.as_slice()),
            Source::Gguf(header, _) => header.tensor(name).map(|t| t.dims.as_slice()),
        }
    }

    fn expect(&self, name: &str, dims: &[usize]) -> Result<(), String> {
        match self.dims(name) {
            None => Err(format!("tensor `{name}` is missing")),
            Some(found) if found == dims => Ok(()),
            Some(found) => Err(format!(
                "tensor `{name}` has shape {found:?}, expected {dims:?}"
            )),
        }
    }

    fn matrix(&mut self, name: &str, out: usize, inner: usize) -> Result<K::Matrix, String> {
        self.expect(name, &[out, inner])?;
        let kept = match self.source {
            Source::Safetensors(shards) => K::dense(shards.load(name, self.device)?),
            Source::Gguf(header, file) => {
                let info = header
                    .tensor(name)
                    .ok_or_else(|| format!("tensor `{name}` is missing"))?;
                K::quantised(info.load(file, self.device)?, self.device)
            }
        };
        kept.map_err(|e| in_words(&e))
    }

    fn tensor(&mut self, name: &str, length: usize) -> Result<Tensor, String> {
        self.expect(name, &[length])?;
        match self.source {
            Source::Safetensors(shards) => shards.load(name, self.device),
            Source::Gguf(header, file) => {
                let info = header
                    .tensor(name)
                    .ok_or_else(|| format!("tensor `{name}` is missing"))?;
                info.load(file, self.device)?
                    .dequantize(self.device)
                    .map_err(|e| in_words(&e))
            }
        }
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<K::Vector, String> {
        let tensor = self.tensor(name, length)?;
        K::vector(tensor).map_err(|e| in_words(&e))
    }

    fn linear(
        &mut self,
        layer: usize,
        part: Part,
        out: usize,
        inner: usize,
    ) -> Result<Linear<K>, String> {
        let weight = self.matrix(&self.name(layer, part, "weight"), out, inner)?;
        let bias = self.name(layer, part, "bias");
        let bias = match self.dims(&bias) {
            Some(_) => Some(self.vector(&bias, out)?),
            None => None,
        };
        Ok(Linear { weight, bias })
    }

    fn block(&mut self, layer: usize, c: &Config) -> Result<Block<K>, String> {
        let (queries, keys) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
        let norm = |loader: &mut Self, part, length| {
            let name = loader.name(layer, part, "weight");
            loader.vector(&name, length)
        };
        let block = Block {
            attention_norm: norm(self, Part::AttentionNorm, c.hidden)?,
            q: self.linear(layer, Part::Q, queries, c.hidden)?,
            k: self.linear(layer, Part::K, keys, c.hidden)?,
            v: self.linear(layer, Part::V, keys, c.hidden)?,
            qk_norm: match c.arch.as_str() {
                "qwen3" => Some((
                    norm(self, Part::QNorm, c.head_dim)?,
                    norm(self, Part::KNorm, c.head_dim)?,
                )),
                _ => None,
            },
            o: self.linear(layer, Part::O, c.hidden, queries)?,
            mlp_norm: norm(self, Part::MlpNorm, c.hidden)?,
            gate: self.linear(layer, Part::Gate, c.intermediate, c.hidden)?,
            up: self.linear(layer, Part::Up, c.intermediate, c.hidden)?,
            down: self.linear(layer, Part::Down, c.hidden, c.intermediate)?,
        };
        if c.arch == "qwen2"
            && [&block.q, &block.k, &block.v]
                .iter()
                .any(|l| l.bias.is_none())
        {
            return Err(format!(
                "layer {layer}: qwen2 needs biases of q, k and v, and one is missing"
            ));
        }
        Ok(block)
    }
}

impl<K: Kept> Weights<K> {
    /// Read the whole network onto `device`, checking every shape against `config` first.
    ///
    /// # Errors
    /// A sentence that names the tensor.
    pub fn load(source: &mut Source, config: &Config, device: &Device) -> Result<Self, String> {
        let mut loader = Loader::<K> {
            source,
            device,
            kept: PhantomData,
        };
        let name = loader.end_name("model.embed_tokens.weight", "token_embd.weight");
        let embedding = loader.matrix(&name, config.vocab, config.hidden)?;
        let head = if config.tied {
            embedding.clone()
        } else {
            let name = loader.end_name("lm_head.weight", "output.weight");
            loader.matrix(&name, config.vocab, config.hidden)?
        };
        let name = loader.end_name("model.norm.weight", "output_norm.weight");
        let norm = loader.vector(&name, config.hidden)?;
        let blocks = (0..config.layers)
            .map(|layer| loader.block(layer, config))
            .collect::<Result<_, _>>()?;
        let factors = match loader.dims("rope_freqs.weight") {
            Some(_) => Some(
                loader
                    .tensor("rope_freqs.weight", config.head_dim / 2)?
                    .to_dtype(DType::F32)
                    .and_then(|t| t.to_vec1::<f32>())
                    .map_err(|e| in_words(&e))?,
            ),
            None => None,
        };
        let frequencies = config.rope.frequencies(config.head_dim, factors.as_deref());
        if frequencies.iter().any(|f| !f.is_finite()) {
            return Err("tensor `rope_freqs.weight` holds zeros or worse".into());
        }
        Ok(Self {
            embedding,
            blocks,
            norm,
            head,
            frequencies,
        })
    }
}
