//! Opening a checkpoint: files, device, weights, vocabulary, pages.

use super::chat_template::ChatTemplate;
use super::checkpoint::{Checkpoint, hex, model_error, read_json, sha256_of, sha256_unless};
use super::choice::{AttentionPath, DeviceChoice, Found, find, in_words, name};
use super::config::Config;
use super::device::DeviceModel;
use super::engine::LocalEngine;
use super::gguf::Header;
use super::host::HostModel;
use super::load::Source;
use super::memory::{Need, available, default_cache_bytes};
use super::model::Network;
use super::pages::{PAGE, pages_for};
use super::planner::Planner;
use super::safetensors::Shards;
use super::text::Text;
use super::weights::{InTensors, InTiles, Weights};
use super::{tokenizer_gguf, tokenizer_json};
use crate::engine::contract::{Engine, EngineCard, EngineError, Footprint, ModelCard};
use candle_core::Device;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to open a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where to compute.
    pub device: DeviceChoice,
    /// Bytes for cache pages; `None`: 1 GiB or a quarter of the memory, whichever is less.
    pub cache_bytes: Option<usize>,
    /// Longest sequence in tokens, where shorter than the checkpoint's own limit.
    pub max_context: Option<usize>,
    /// Prompt tokens taken in by one step, beside the tokens that are decoded; `None`: 64 on a CPU, so that a
    /// step stays short, and 512 elsewhere.
    pub prefill_rows: Option<usize>,
    /// How attention is computed.
    pub attention: AttentionPath,
    /// Load even what does not seem to fit into memory.
    pub overcommit: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device: DeviceChoice::Auto,
            cache_bytes: None,
            max_context: None,
            prefill_rows: None,
            attention: AttentionPath::ByDevice,
            overcommit: false,
        }
    }
}

/// Open the checkpoint at `path`: a Hugging Face folder, a `.gguf` file, or a `.safetensors` file with its
/// `config.json` and `tokenizer.json` beside it.
///
/// # Errors
/// [`EngineError::Model`] when a file is missing, damaged, hostile or of an unsupported kind, or the weights do
/// not fit into memory; [`EngineError::Device`] when the device is not there or has no memory left.
pub fn open(path: &Path, options: &Options) -> Result<Box<dyn Engine>, EngineError> {
    let checkpoint = Checkpoint::locate(path)?;
    let fail = |message: String| model_error(checkpoint.path(), message);
    let Found { device, why_cpu } = find(options.device)?;
    if let Some(why) = &why_cpu {
        tracing::warn!("the CPU computes: {why}");
    }
    let room = match device {
        Device::Cpu if !options.overcommit => available(),
        _ => None,
    };
    // the hash reads the same files as the loader does, at the same time
    let hashed = checkpoint.weights().to_vec();
    let given_up = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&given_up);
    let hashing = std::thread::spawn(move || sha256_unless(&hashed, &stop));
    let loaded = load(&checkpoint, &device, options.attention, room)
        .inspect_err(|_| given_up.store(true, Ordering::Relaxed))?;
    let weights_sha256 = hashing
        .join()
        .unwrap_or_else(|_| Err("hashing the weights failed".into()))
        .map_err(fail)?;

    let mut config = loaded.config;
    config.context = config
        .context
        .min(options.max_context.unwrap_or(usize::MAX))
        .max(1);
    let budget = options.cache_bytes.unwrap_or_else(default_cache_bytes);
    if budget < config.page_bytes() {
        return Err(fail(format!(
            "one cache page takes {} bytes, more than the {budget} bytes allowed for all",
            config.page_bytes()
        )));
    }
    // an arena larger than 64 full contexts is never filled
    let most = pages_for(config.context).saturating_mul(64);
    let pages = (budget / config.page_bytes()).clamp(1, most.min(u32::MAX as usize / 64));
    let mut card = EngineCard {
        kind: "local".into(),
        device: name(&device),
        threads: candle_core::utils::get_num_threads(),
        footprint: Footprint {
            weights: loaded.weights.bytes() as u64,
            position: (config.page_bytes() / PAGE) as u64,
        },
        model: ModelCard {
            name: checkpoint.name(),
            arch: config.arch.clone(),
            weights_sha256,
            tokenizer_sha256: loaded.tokenizer_sha256,
            dtype: loaded.dtype,
            parameters: loaded.parameters,
            context: config.context,
        },
        why_cpu,
        attention: "in place".into(),
        server: None,
    };
    let rows = options
        .prefill_rows
        .unwrap_or(if device.is_cpu() { 64 } else { 512 });
    let planner = Planner::new(pages as u32, config.context, config.vocab, rows);
    let network: Box<dyn Network> = match loaded.weights {
        Numbers::Tiles(weights) => Box::new(HostModel::new(config, weights, pages)),
        Numbers::Tensors(weights) => {
            let model = DeviceModel::new(config, weights, pages, device, options.attention)
                .map_err(|e| EngineError::Device(in_words(&e)))?;
            card.attention = model.attention().to_owned();
            Box::new(model)
        }
    };
    let engine = LocalEngine::new(card, network, planner, loaded.text);
    Ok(Box::new(engine))
}

/// A network's numbers, as the forward pass of the device wants them.
enum Numbers {
    Tiles(Weights<InTiles>),
    Tensors(Weights<InTensors>),
}

impl Numbers {
    fn bytes(&self) -> usize {
        match self {
            Self::Tiles(weights) => weights.bytes(),
            Self::Tensors(weights) => weights.bytes(),
        }
    }

    fn load(
        source: &mut Source,
        config: &Config,
        device: &Device,
        attention: AttentionPath,
    ) -> Result<Self, String> {
        match (device, attention) {
            (Device::Cpu, AttentionPath::ByDevice) => {
                Weights::load(source, config, device).map(Self::Tiles)
            }
            _ => Weights::load(source, config, device).map(Self::Tensors),
        }
    }
}

struct Loaded {
    config: Config,
    weights: Numbers,
    text: Text,
    tokenizer_sha256: String,
    dtype: String,
    parameters: u64,
}

fn load(
    checkpoint: &Checkpoint,
    device: &Device,
    attention: AttentionPath,
    room: Option<u64>,
) -> Result<Loaded, EngineError> {
    match checkpoint {
        Checkpoint::Gguf(path) => {
            load_gguf(path, device, attention, room).map_err(|e| model_error(path, e))
        }
        Checkpoint::Folder { folder, weights } => {
            let fail = |message: String| model_error(folder, message);
            let (config, text) = folder_text(folder)?;
            let tokenizer_sha256 = sha256_of(&[folder.join("tokenizer.json")]).map_err(fail)?;
            let shards = Shards::open(weights).map_err(fail)?;
            let (dtype, parameters) = (shards.main_dtype().to_lowercase(), shards.parameters());
            let mut source = Source::Safetensors(shards);
            Need::of(&source, &config).check(room).map_err(fail)?;
            Ok(Loaded {
                weights: Numbers::load(&mut source, &config, device, attention).map_err(fail)?,
                config,
                text,
                tokenizer_sha256,
                dtype,
                parameters,
            })
        }
    }
}

/// Shape and text side of a Hugging Face folder, without its weights.
///
/// # Errors
/// [`EngineError::Model`] when a file is missing, damaged or of an unsupported kind.
pub fn folder_text(folder: &Path) -> Result<(Config, Text), EngineError> {
    let json = |name: &str| read_json(&folder.join(name));
    let optional = |name: &str| match folder.join(name) {
        path if path.is_file() => read_json(&path),
        _ => Ok(Value::Null),
    };
    let fail = |message: String| model_error(folder, message);
    let config_json = json("config.json")?;
    let config = Config::from_hf(&config_json).map_err(fail)?;
    let tokenizer_config = optional("tokenizer_config.json")?;
    let template = ChatTemplate::new(
        folder_template(folder, &tokenizer_config)?,
        token_form(&tokenizer_config["bos_token"]),
        token_form(&tokenizer_config["eos_token"]),
    )
    .map_err(EngineError::Template)?;
    let others = [
        optional("generation_config.json")?,
        config_json,
        tokenizer_config,
    ];
    let vocabulary = tokenizer_json::from_json(json("tokenizer.json")?, &others).map_err(fail)?;
    let text = Text::new(vocabulary, template, config.vocab);
    Ok((config, text))
}

fn load_gguf(
    path: &Path,
    device: &Device,
    attention: AttentionPath,
    room: Option<u64>,
) -> Result<Loaded, String> {
    let header = Header::read(path)?;
    let config = Config::from_gguf(&header)?;
    let vocabulary = tokenizer_gguf::from_gguf(&header)?;
    let (bos, eos) = tokenizer_gguf::boundary_forms(&header);
    let template = ChatTemplate::new(
        tokenizer_gguf::chat_template(&header).map(str::to_owned),
        bos,
        eos,
    )
    .map_err(|e| format!("chat template: {e}"))?;
    let tokenizer_sha256 = gguf_tokenizer_sha256(&header);
    let (dtype, parameters) = (header.main_dtype(), header.parameters());
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut source = Source::Gguf(header, file);
    Need::of(&source, &config).check(room)?;
    Ok(Loaded {
        weights: Numbers::load(&mut source, &config, device, attention)?,
        text: Text::new(vocabulary, template, config.vocab),
        config,
        tokenizer_sha256,
        dtype,
        parameters,
    })
}

/// Hash of everything in the metadata that the vocabulary is built from, in key order.
fn gguf_tokenizer_sha256(header: &Header) -> String {
    let mut entries: Vec<_> = header
        .metadata()
        .filter(|(key, _)| key.starts_with("tokenizer."))
        .collect();
    entries.sort_by_key(|(key, _)| *key);
    let mut hash = Sha256::new();
    for (key, value) in entries {
        hash.update(format!("{key}\n{value:?}\n"));
    }
    hex(&hash.finalize())
}

/// The chat template of a folder: a file of its own, or inside `tokenizer_config.json` (one, or several of
/// which one is called `default`).
fn folder_template(folder: &Path, tokenizer_config: &Value) -> Result<Option<String>, EngineError> {
    let file = folder.join("chat_template.jinja");
    if file.is_file() {
        return match std::fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text)),
            Err(e) => Err(model_error(&file, e.to_string())),
        };
    }
    let value = &tokenizer_config["chat_template"];
    let named = |name: &str| {
        let mut list = value.as_array().into_iter().flatten();
        list.find(|t| t["name"] == name)
            .and_then(|t| t["template"].as_str())
    };
    Ok(value
        .as_str()
        .or_else(|| named("default"))
        .map(str::to_owned))
}

/// A token's written form: a text, or an object with one.
fn token_form(value: &Value) -> String {
    let form = value.as_str().or_else(|| value["content"].as_str());
    form.unwrap_or_default().to_owned()
}
