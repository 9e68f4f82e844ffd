//! Why a training could not go on.

use crate::engine::EngineError;
use crate::learn::checkpoint;
use std::path::PathBuf;

/// Why a training could not go on. What was on disk stays usable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings make no sense.
    #[error("{0}")]
    Settings(String),
    /// Something in the folder cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// The folder holds a training of other settings.
    #[error(
        "{folder} holds a training with other settings ({differences}); choose another folder, or delete \
         state.safetensors there to begin anew"
    )]
    Other {
        /// Where.
        folder: PathBuf,
        /// Which, with both values.
        differences: String,
    },
    /// Another process trains there.
    #[error("another training is at work in {0}")]
    Busy(PathBuf),
    /// An example does not fit the network.
    #[error("example {index}: {message}")]
    Example {
        /// Which.
        index: u64,
        /// Why.
        message: String,
    },
    /// Numbers ran away.
    #[error("the gradient of step {step} is no number: lower the rates; the last state is kept")]
    Diverged {
        /// When.
        step: u64,
    },
    /// The observer's evaluation failed.
    #[error("evaluation at step {step}: {message}")]
    Evaluation {
        /// When.
        step: u64,
        /// Why.
        message: String,
    },
    /// The engine that decodes the units failed.
    #[error("decoding: {0}")]
    Engine(#[from] EngineError),
}
