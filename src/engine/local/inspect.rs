//! Telling about checkpoints without loading their weights, and finding those of the Hugging Face cache.

use super::checkpoint::{Checkpoint, entries, files_with, read_json};
use super::config::Config;
use super::gguf::Header;
use super::safetensors::Shards;
use super::{tokenizer_gguf, tokenizer_json};
use crate::engine::contract::EngineError;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What a checkpoint is, told from its headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSummary {
    /// Where it is.
    pub path: PathBuf,
    /// File or folder name.
    pub name: String,
    /// Architecture family; empty where unknown.
    pub arch: String,
    /// Number of parameters; 0 where unknown.
    pub parameters: u64,
    /// How most weights are stored; empty where unknown.
    pub dtype: String,
    /// Longest context in tokens; 0 where unknown.
    pub context: usize,
    /// Bytes of the weight files.
    pub bytes: u64,
    /// Why it cannot be loaded; `None` where its headers are sound.
    pub problem: Option<String>,
}

/// Tell what a checkpoint is without loading its weights.
#[must_use]
pub fn inspect_model(path: &Path) -> ModelSummary {
    let mut summary = ModelSummary {
        path: path.to_owned(),
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        arch: String::new(),
        parameters: 0,
        dtype: String::new(),
        context: 0,
        bytes: 0,
        problem: None,
    };
    let result = Checkpoint::locate(path).map_err(|e| match e {
        EngineError::Model { message, .. } => message,
        other => other.to_string(),
    });
    let result = result.and_then(|checkpoint| {
        summary.name = checkpoint.name();
        let sizes = checkpoint
            .weights()
            .iter()
            .filter_map(|p| p.metadata().ok());
        summary.bytes = sizes.map(|m| m.len()).sum();
        describe(&checkpoint, &mut summary)
    });
    summary.problem = result.err();
    summary
}

fn describe(checkpoint: &Checkpoint, summary: &mut ModelSummary) -> Result<(), String> {
    let config = match checkpoint {
        Checkpoint::Gguf(path) => {
            let header = Header::read(path)?;
            summary.arch = header
                .text("general.architecture")
                .unwrap_or_default()
                .to_owned();
            summary.parameters = header.parameters();
            summary.dtype = header.main_dtype();
            tokenizer_gguf::from_gguf(&header)?;
            Config::from_gguf(&header)?
        }
        Checkpoint::Folder { folder, weights } => {
            let json = |name: &str| read_json(&folder.join(name)).map_err(|e| e.to_string());
            let config = json("config.json")?;
            summary.arch = config["model_type"].as_str().unwrap_or_default().to_owned();
            let shards = Shards::open(weights)?;
            summary.parameters = shards.parameters();
            summary.dtype = shards.main_dtype().to_lowercase();
            tokenizer_json::from_json(json("tokenizer.json")?, &[])?;
            Config::from_hf(&config)?
        }
    };
    summary.context = config.context;
    Ok(())
}

/// Checkpoints in the Hugging Face cache, by name. Only those with weights that this program could read are listed.
#[must_use]
pub fn discover() -> Vec<ModelSummary> {
    hub_folder().map_or_else(Vec::new, |hub| discover_in(&hub))
}

/// The Hugging Face cache's `hub` folder: `HF_HUB_CACHE`, else `HF_HOME`, else in the usual cache folder.
#[must_use]
pub fn hub_folder() -> Option<PathBuf> {
    let var = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    var("HF_HUB_CACHE")
        .or_else(|| var("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| var("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| {
            let home = etcetera::home_dir().ok();
            home.map(|home| home.join(".cache/huggingface/hub"))
        })
}

/// The same in a given `hub` folder.
#[must_use]
pub fn discover_in(hub: &Path) -> Vec<ModelSummary> {
    let mut found = Vec::new();
    for model in entries(hub) {
        let is_model = model
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("models--"));
        if !is_model {
            continue;
        }
        for snapshot in entries(&model.join("snapshots")) {
            if files_with(&snapshot, "safetensors").is_empty() {
                let folders = entries(&snapshot).into_iter().filter(|p| p.is_dir());
                let ggufs = [snapshot.clone()].into_iter().chain(folders);
                let ggufs = ggufs.flat_map(|folder| files_with(&folder, "gguf"));
                found.extend(ggufs.map(|path| inspect_model(&path)));
            } else {
                found.push(inspect_model(&snapshot));
            }
        }
    }
    found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    found
}
