//! Finding the files of a checkpoint, naming and hashing them.

use crate::engine::contract::EngineError;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The files of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkpoint {
    /// A Hugging Face folder.
    Folder {
        /// With `config.json` and `tokenizer.json`.
        folder: PathBuf,
        /// safetensors files in name order.
        weights: Vec<PathBuf>,
    },
    /// One GGUF file.
    Gguf(PathBuf),
}

/// An error that names a file.
pub fn model_error(path: &Path, message: impl Into<String>) -> EngineError {
    EngineError::Model {
        path: path.display().to_string(),
        message: message.into(),
    }
}

impl Checkpoint {
    /// Find the files behind a path: a folder, a `.gguf`, or a `.safetensors` with `config.json` beside it.
    ///
    /// # Errors
    /// [`EngineError::Model`] that says what is missing.
    pub fn locate(path: &Path) -> Result<Self, EngineError> {
        let fail = |message: &str| Err(model_error(path, message));
        if path.is_dir() {
            return Self::in_folder(path);
        }
        if !path.is_file() {
            return fail(if path.exists() {
                "neither a file nor a folder"
            } else {
                "no such file or folder"
            });
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("gguf") => Ok(Self::Gguf(path.to_owned())),
            Some("safetensors") => Ok(Self::Folder {
                folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
                weights: vec![path.to_owned()],
            }),
            _ => fail("expected a folder with config.json, a .gguf file or a .safetensors file"),
        }
    }

    fn in_folder(folder: &Path) -> Result<Self, EngineError> {
        let index = folder.join("model.safetensors.index.json");
        let single = folder.join("model.safetensors");
        let weights = if index.is_file() {
            sharded(folder, &index)?
        } else if single.is_file() {
            vec![single]
        } else {
            let found = |extension: &str| files_with(folder, extension);
            match (found("safetensors"), found("gguf").as_slice()) {
                (shards, _) if !shards.is_empty() => shards,
                (_, [one]) => return Ok(Self::Gguf(one.clone())),
                (_, []) => {
                    return Err(model_error(
                        folder,
                        "neither .safetensors nor .gguf files in this folder",
                    ));
                }
                (_, many) => {
                    let message = format!(
                        "{} .gguf files in this folder; name one of them",
                        many.len()
                    );
                    return Err(model_error(folder, message));
                }
            }
        };
        Ok(Self::Folder {
            folder: folder.to_owned(),
            weights,
        })
    }

    /// Weight files in name order.
    #[must_use]
    pub fn weights(&self) -> &[PathBuf] {
        match self {
            Self::Folder { weights, .. } => weights,
            Self::Gguf(path) => std::slice::from_ref(path),
        }
    }

    /// The file or folder that it is called after.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder { folder, .. } => folder,
            Self::Gguf(path) => path,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        let path = self.path();
        let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(name) = hub_name(path).or_else(|| hub_name(&resolved)) {
            return name;
        }
        let name = resolved.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// SHA-256 of files one after the other, hex.
///
/// # Errors
/// When a file cannot be read.
pub fn sha256_of(paths: &[PathBuf]) -> Result<String, String> {
    sha256_unless(paths, &AtomicBool::new(false))
}

/// The same, given up once `stop` is set: large files take long.
///
/// # Errors
/// When a file cannot be read, or it was given up.
pub fn sha256_unless(paths: &[PathBuf], stop: &AtomicBool) -> Result<String, String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    for path in paths {
        let mut file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err("hashing was given up".into());
            }
            let read = file
                .read(&mut buffer)
                .map_err(|e| format!("{}: {e}", path.display()))?;
            if read == 0 {
                break;
            }
            hash.update(&buffer[..read]);
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Read a JSON file of a folder.
///
/// # Errors
/// [`EngineError::Model`] when it is missing or not JSON.
pub fn read_json(path: &Path) -> Result<Value, EngineError> {
    let bytes = std::fs::read(path).map_err(|e| model_error(path, e.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|e| model_error(path, format!("not JSON: {e}")))
}

/// `owner/model` of a path inside the Hugging Face cache.
fn hub_name(path: &Path) -> Option<String> {
    let parts: Vec<_> = path
        .components()
        .map(|c| c.as_os_str().to_string_lossy())
        .collect();
    let at = parts.iter().rposition(|p| p.starts_with("models--"))?;
    let name = parts[at].trim_start_matches("models--").replace("--", "/");
    match parts.last() {
        Some(file) if file.ends_with(".gguf") => Some(format!("{name}/{file}")),
        _ => Some(name),
    }
}

/// Paths in a folder in name order; none where it cannot be read.
#[must_use]
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Files of a folder with this extension, in name order.
#[must_use]
pub fn files_with(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|p| p.extension().is_some_and(|e| e == extension) && p.is_file());
    files
}

/// Files that an index names; only plain names inside the folder are followed.
fn sharded(folder: &Path, index: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let json = read_json(index)?;
    let map = json["weight_map"]
        .as_object()
        .ok_or_else(|| model_error(index, "no `weight_map`"))?;
    let mut names: Vec<&str> = map.values().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Err(model_error(index, "it names no files"));
    }
    names
        .into_iter()
        .map(|name| {
            let mut parts = Path::new(name).components();
            match (parts.next(), parts.next()) {
                (Some(Component::Normal(plain)), None) => Ok(folder.join(plain)),
                _ => Err(model_error(
                    index,
                    format!("{name:?} is no plain file name"),
                )),
            }
        })
        .collect()
}
