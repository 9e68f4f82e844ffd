//! Trained weights as a Hugging Face folder: `config.json`, `model.safetensors`, `tokenizer.json`.

use super::{Error, to_bytes, write_atomically};
use crate::engine::local::config::Config;
use crate::engine::local::rope::RopeScaling;
use crate::engine::local::safetensors::Shards;
use crate::learn::network::{Layout, Network};
use candle_core::{DType, Device};
use half::f16;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Half the bytes, three decimal digits.
    F16,
    /// As trained.
    F32,
}

/// `config.json` of a network that [`Network::new`] accepts.
#[must_use]
pub fn config_json(config: &Config, precision: Precision) -> Value {
    let mut json = json!({
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": config.arch,
        "hidden_act": "silu",
        "hidden_size": config.hidden,
        "intermediate_size": config.intermediate,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "vocab_size": config.vocab,
        "rms_norm_eps": shortest(config.rms_eps),
        "max_position_embeddings": config.context,
        "tie_word_embeddings": config.tied,
        "attention_bias": false,
        "use_sliding_window": false,
        "rope_theta": config.rope.theta,
        "torch_dtype": match precision {
            Precision::F16 => "float16",
            Precision::F32 => "float32",
        },
    });
    match config.rope.scaling {
        RopeScaling::None => {}
        RopeScaling::Linear(factor) => {
            json["rope_scaling"] = json!({"rope_type": "linear", "factor": factor})
        }
        RopeScaling::Llama3 {
            factor,
            low,
            high,
            original,
        } => {
            json["rope_scaling"] = json!({
                "rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
                "original_max_position_embeddings": original as u64,
            });
        }
    }
    json
}

/// The f64 that is written in the digits of this f32 (1e-6, not 9.999999974752427e-7).
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Write a model folder; the weights come last, so that a folder with weights is complete.
///
/// # Errors
/// When the folder or a file cannot be written.
///
/// # Panics
/// Where `weights` is not of the network's layout.
pub fn save(
    folder: &Path,
    network: &Network,
    weights: &[f32],
    tokenizer: &Value,
    precision: Precision,
) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let config = config_json(network.config(), precision);
    for (name, json) in [("config.json", &config), ("tokenizer.json", tokenizer)] {
        write_atomically(&folder.join(name), format!("{json:#}\n").as_bytes())?;
    }
    let path = folder.join("model.safetensors");
    let bytes = to_safetensors(network.layout(), weights, precision)
        .map_err(|e| Error::content(&path, e))?;
    write_atomically(&path, &bytes)
}

fn to_safetensors(
    layout: &Layout,
    weights: &[f32],
    precision: Precision,
) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let stored: Vec<Vec<u8>> = layout
        .slots()
        .iter()
        .map(|slot| {
            let values = &weights[slot.range.clone()];
            match precision {
                Precision::F16 => values
                    .iter()
                    .flat_map(|v| f16::from_f32(*v).to_le_bytes())
                    .collect(),
                Precision::F32 => to_bytes(values),
            }
        })
        .collect();
    let dtype = match precision {
        Precision::F16 => Dtype::F16,
        Precision::F32 => Dtype::F32,
    };
    let views = layout.slots().iter().zip(&stored).map(|(slot, bytes)| {
        TensorView::new(dtype, slot.dims(), bytes).map(|view| (slot.name.as_str(), view))
    });
    let views = views.collect::<Result<Vec<_>, _>>()?;
    // readers of other projects ask for this note
    let note = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize(views, Some(note))
}

/// Read the weights of a model folder into the layout of `network`.
///
/// # Errors
/// When a tensor is missing, of another shape, or holds something that is no number.
pub fn read_weights(folder: &Path, network: &Network) -> Result<Vec<f32>, Error> {
    let path = folder.join("model.safetensors");
    let mut shards =
        Shards::open(std::slice::from_ref(&path)).map_err(|e| Error::content(&path, e))?;
    let mut weights = Vec::with_capacity(network.layout().size());
    for slot in network.layout().slots() {
        let tensor = shards.load(&slot.name, &Device::Cpu);
        let tensor = tensor.map_err(|e| Error::content(&path, e))?;
        if tensor.dims() != slot.dims() {
            let message = format!(
                "`{}` is {:?}, expected {:?}",
                slot.name,
                tensor.dims(),
                slot.dims()
            );
            return Err(Error::content(&path, message));
        }
        let values = tensor
            .to_dtype(DType::F32)
            .and_then(|t| t.flatten_all()?.to_vec1::<f32>());
        let values = values.map_err(|e| Error::content(&path, e))?;
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::content(
                &path,
                format!("`{}` holds something that is no number", slot.name),
            ));
        }
        weights.extend(values);
    }
    Ok(weights)
}
