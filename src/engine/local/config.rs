//! What a checkpoint says about its network, read from `config.json` or from GGUF metadata and checked.
//!
//! Everything that the forward pass divides by, indexes with or allocates from is validated here, so that
//! the rooms behind this one need no checks of their own.

use super::gguf::Header;
use super::rope::{Rope, RopeLayout, RopeScaling};
use serde_json::Value;

/// A decoder-only network of the Llama family, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `llama`, `mistral`, `qwen2` or `qwen3`.
    pub arch: String,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width inside the MLP.
    pub intermediate: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Rows of the embedding.
    pub vocab: usize,
    /// Added under the root of every RMS norm.
    pub rms_eps: f32,
    /// Longest context in tokens.
    pub context: usize,
    /// The head is the embedding, transposed.
    pub tied: bool,
    /// Rotary embedding.
    pub rope: Rope,
}

impl Config {
    /// Read a Hugging Face `config.json`.
    ///
    /// # Errors
    /// A sentence that names the field and what was expected.
    pub fn from_hf(json: &Value) -> Result<Self, String> {
        let arch = json
            .get("model_type")
            .and_then(Value::as_str)
            .ok_or("config.json: no `model_type`")?;
        if !["llama", "mistral", "qwen2", "qwen3"].contains(&arch) {
            return Err(format!(
                "architecture `{arch}` is not supported; supported are llama, mistral, qwen2, qwen3"
            ));
        }
        if let Some(act) = json.get("hidden_act").and_then(Value::as_str)
            && act != "silu"
        {
            return Err(format!("config.json: hidden_act `{act}`, expected `silu`"));
        }
        let hidden = size(json, "hidden_size")?;
        let heads = size(json, "num_attention_heads")?;
        let head_dim = match json.get("head_dim") {
            None | Some(Value::Null) => hidden.checked_div(heads).unwrap_or(0),
            Some(_) => size(json, "head_dim")?,
        };
        let kv_heads = match json.get("num_key_value_heads") {
            None | Some(Value::Null) => heads,
            Some(_) => size(json, "num_key_value_heads")?,
        };
        let mut context = size(json, "max_position_embeddings")?;
        let windowed = match json.get("use_sliding_window").and_then(Value::as_bool) {
            Some(used) => used,
            None => arch == "mistral",
        };
        if windowed && let Some(window) = json.get("sliding_window").and_then(Value::as_u64) {
            // inside the window, windowed and full attention are the same
            context = context.min(usize::try_from(window).unwrap_or(context));
        }
        let rope = json
            .get("rope_parameters")
            .filter(|v| v.is_object())
            .unwrap_or(json);
        let scaling_of = json
            .get("rope_parameters")
            .or_else(|| json.get("rope_scaling"))
            .unwrap_or(&Value::Null);
        let theta = rope.get("rope_theta").or_else(|| json.get("rope_theta"));
        Self {
            arch: arch.to_owned(),
            hidden,
            intermediate: size(json, "intermediate_size")?,
            layers: size(json, "num_hidden_layers")?,
            heads,
            kv_heads,
            head_dim,
            vocab: size(json, "vocab_size")?,
            rms_eps: json
                .get("rms_norm_eps")
                .and_then(Value::as_f64)
                .ok_or("config.json: no number `rms_norm_eps`")? as f32,
            context,
            tied: json
                .get("tie_word_embeddings")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            rope: Rope {
                theta: theta
                    .map_or(Some(10_000.0), Value::as_f64)
                    .ok_or("config.json: rope_theta is no number")?,
                layout: RopeLayout::Halves,
                scaling: RopeScaling::from_hf(scaling_of)?,
            },
        }
        .checked()
    }

    /// Read GGUF metadata.
    ///
    /// # Errors
    /// A sentence that names the key and what was expected.
    pub fn from_gguf(header: &Header) -> Result<Self, String> {
        let arch = header.text("general.architecture")?.to_owned();
        let layout = match arch.as_str() {
            "llama" => RopeLayout::Interleaved,
            "qwen2" | "qwen3" => RopeLayout::Halves,
            other => {
                return Err(format!(
                    "architecture `{other}` is not supported; supported are llama, qwen2, qwen3"
                ));
            }
        };
        let key = |name: &str| format!("{arch}.{name}");
        let hidden = header.count(&key("embedding_length"))?;
        let heads = header.count(&key("attention.head_count"))?;
        let kv_heads = header.count_or(&key("attention.head_count_kv"), heads)?;
        let head_dim = header.count_or(
            &key("attention.key_length"),
            hidden.checked_div(heads).unwrap_or(0),
        )?;
        if header.count_or(&key("attention.value_length"), head_dim)? != head_dim {
            return Err("key and value heads of different widths are not supported".into());
        }
        if header.count_or(&key("rope.dimension_count"), head_dim)? != head_dim {
            return Err("partial rotary embedding is not supported".into());
        }
        if header.count_or(&key("expert_count"), 0)? > 0 {
            return Err("mixtures of experts are not supported".into());
        }
        if header.count_or("split.count", 1)? > 1 {
            return Err("one part of a split GGUF; merge the parts into one file first".into());
        }
        let embedding = header
            .tensor("token_embd.weight")
            .ok_or("tensor `token_embd.weight` is missing")?;
        let scaling = match header.text(&key("rope.scaling.type")) {
            Err(_) | Ok("none") => RopeScaling::None,
            Ok("linear") => RopeScaling::Linear(header.number(&key("rope.scaling.factor"))?),
            Ok(other) => return Err(format!("rope scaling `{other}` is not supported")),
        };
        Self {
            hidden,
            intermediate: header.count(&key("feed_forward_length"))?,
            layers: header.count(&key("block_count"))?,
            heads,
            kv_heads,
            head_dim,
            vocab: embedding.dims.first().copied().unwrap_or(0),
            rms_eps: header.number(&key("attention.layer_norm_rms_epsilon"))? as f32,
            context: header.count(&key("context_length"))?,
            tied: header.tensor("output.weight").is_none(),
            rope: Rope {
                theta: header.number(&key("rope.freq_base")).unwrap_or(10_000.0),
                layout,
                scaling,
            },
            arch,
        }
        .checked()
    }

    /// Numbers of parameters that this shape implies (biases and norms aside, which are small).
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let (h, d) = (self.hidden as u64, self.head_dim as u64);
        let attention = h * d * (2 * self.heads as u64 + 2 * self.kv_heads as u64);
        let mlp = 3 * h * self.intermediate as u64;
        let ends = h * self.vocab as u64 * if self.tied { 1 } else { 2 };
        (attention + mlp) * self.layers as u64 + ends
    }

    /// Bytes of one page of keys and values over all layers, in f32.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        2 * self.layers * super::pages::PAGE * self.kv_heads * self.head_dim * size_of::<f32>()
    }

    fn checked(self) -> Result<Self, String> {
        // generous bounds, so that no product of two of these overflows and none is absurd
        let bounds = [
            ("hidden size", self.hidden, 1 << 16),
            ("intermediate size", self.intermediate, 1 << 20),
            ("number of layers", self.layers, 1 << 10),
            ("number of heads", self.heads, 1 << 10),
            ("number of key/value heads", self.kv_heads, 1 << 10),
            ("head width", self.head_dim, 1 << 10),
            ("vocabulary", self.vocab, 1 << 22),
            ("context length", self.context, 1 << 28),
        ];
        for (what, value, most) in bounds {
            if value == 0 || value > most {
                return Err(format!("{what} is {value}, expected 1 to {most}"));
            }
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!(
                "{} heads cannot share {} key/value heads evenly",
                self.heads, self.kv_heads
            ));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(format!(
                "head width is {}, expected an even number",
                self.head_dim
            ));
        }
        if !(self.rms_eps.is_finite() && self.rms_eps >= 0.0 && self.rms_eps < 1.0) {
            return Err(format!("RMS epsilon is {}, expected 0 to 1", self.rms_eps));
        }
        self.rope.checked()?;
        Ok(self)
    }
}

fn size(json: &Value, field: &str) -> Result<usize, String> {
    json.get(field)
        .and_then(Value::as_u64)
        .and_then(|v| usize::try_from(v).ok())
        .ok_or_else(|| format!("config.json: no whole number `{field}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 100, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
        })
    }

    fn with(field: &str, value: Value) -> Result<Config, String> {
        let mut json = good();
        json[field] = value;
        Config::from_hf(&json)
    }

    #[test]
    fn absent_fields_take_the_families_defaults() {
        let config = Config::from_hf(&good()).expect("the good config reads");
        assert_eq!(
            (config.kv_heads, config.head_dim, config.tied),
            (4, 8, false)
        );
        assert_eq!(config.rope.theta, 10_000.0);
    }

    #[test]
    fn senseless_numbers_are_refused_by_name() {
        for (field, value, named) in [
            ("num_attention_heads", json!(0), "heads"),
            ("num_key_value_heads", json!(3), "share"),
            ("head_dim", json!(7), "even"),
            ("hidden_size", json!(u64::MAX), "hidden"),
            ("vocab_size", json!(-1), "vocab_size"),
            ("rms_norm_eps", json!("NaN"), "rms_norm_eps"),
            ("rms_norm_eps", json!(-1.0), "epsilon"),
            ("rope_theta", json!(0.0), "theta"),
            ("rope_scaling", json!({"rope_type": "yarn"}), "yarn"),
            (
                "rope_scaling",
                json!({"type": "linear", "factor": 0.0}),
                "sense",
            ),
            ("model_type", json!("gemma3"), "gemma3"),
            ("hidden_act", json!("gelu"), "gelu"),
        ] {
            let error = with(field, value.clone()).expect_err("senseless config was accepted");
            assert!(error.contains(named), "{field}={value}: {error}");
        }
    }

    #[test]
    fn a_mistral_window_bounds_the_context() {
        let mut json = good();
        json["model_type"] = json!("mistral");
        json["sliding_window"] = json!(64);
        assert_eq!(Config::from_hf(&json).map(|c| c.context), Ok(64));
    }
}
