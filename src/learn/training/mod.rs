//! What both stages of learning share: the folder a training lives in, its log, its errors.
//!
//! In a training's folder lie
//!
//! * `model/`: the weights so far, as the engine opens them,
//! * `state.safetensors`: where to go on,
//! * `log.jsonl`: one line a step, and what evaluations said,
//! * pictures of the curves,
//! * `lock`: held while a process trains there.

mod error;
mod folder;
mod journal;
mod subject;

pub use error::Error;
pub(super) use folder::{Places, bar, resume};
pub(super) use journal::{Journal, Stepped};
pub use subject::LowRank;
pub(super) use subject::Subject;

use serde::Serialize;

/// Whether a bar is drawn on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// With speed, loss and time left.
    Bar,
    /// Nothing is drawn.
    Silent,
}

/// How a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// All steps are taken.
    Finished,
    /// The observer wanted it; another call goes on.
    Stopped,
}
