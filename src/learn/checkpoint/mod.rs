//! Weights and training state on disk.
//!
//! A trained model is an ordinary Hugging Face folder that the engine opens like any other. The state from
//! which training goes on is one file. Either is complete or absent: files are written beside their place and
//! then renamed into it.

mod atomic;
mod beside;
mod model;
mod state;

pub use atomic::write as write_atomically;
pub use beside::{copy_companions, read_tokenizer};
pub use model::{Precision, config_json, read_weights, save};
pub use state::State;

use std::path::{Path, PathBuf};

/// Why something could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system says no.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}: {message}")]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl Error {
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn content(path: &Path, message: impl ToString) -> Self {
        Self::Content {
            path: path.to_owned(),
            message: message.to_string(),
        }
    }
}

/// Little-endian bytes of f32, as safetensors stores them.
fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

#[cfg(test)]
mod tests;
