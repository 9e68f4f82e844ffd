//! Everything that training needs to go on as if it had never stopped, in one file.

use super::{Error, from_bytes, to_bytes, write_atomically};
use crate::learn::optimizer::Optimizer;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Training between two steps. Chance needs no place here: every draw is a function of the seed and of the
/// numbers below.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Weights.
    pub weights: Vec<f32>,
    /// With the number of steps taken.
    pub optimizer: Optimizer,
    /// The first example that was not yet learned from.
    pub next_example: u64,
    /// Tokens learned from.
    pub tokens: u64,
    /// What was asked for; the same training goes on only under the same settings.
    pub settings: Value,
}

/// The numbers beside the tensors. One note in the header holds them all: several would be written in an order
/// that changes from run to run.
#[derive(Serialize, Deserialize)]
struct Progress {
    steps: u64,
    next_example: u64,
    tokens: u64,
    settings: Value,
}

const PROGRESS: &str = "progress";

impl State {
    /// Replace the file by this state.
    ///
    /// # Errors
    /// When it cannot be written; what was there is then still there.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let parts = [
            ("weights", &self.weights),
            ("first", &self.optimizer.first),
            ("second", &self.optimizer.second),
        ];
        let parts = parts.map(|(name, values)| (name, values.len(), to_bytes(values)));
        let views: Result<Vec<_>, _> = parts
            .iter()
            .map(|(name, length, bytes)| {
                TensorView::new(Dtype::F32, vec![*length], bytes).map(|v| (*name, v))
            })
            .collect();
        let progress = Progress {
            steps: self.optimizer.steps,
            next_example: self.next_example,
            tokens: self.tokens,
            settings: self.settings.clone(),
        };
        let progress = serde_json::to_string(&progress).map_err(|e| Error::content(path, e))?;
        let notes = HashMap::from([(PROGRESS.to_owned(), progress)]);
        let bytes = views.and_then(|views| safetensors::serialize(views, Some(notes)));
        write_atomically(path, &bytes.map_err(|e| Error::content(path, e))?)
    }

    /// Read a state with `size` weights; `None` where there is no file.
    ///
    /// # Errors
    /// When the file is damaged or belongs to another network.
    pub fn read(path: &Path, size: usize) -> Result<Option<Self>, Error> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(path, e)),
        };
        Self::parse(&bytes, size)
            .map(Some)
            .map_err(|e| Error::content(path, e))
    }

    fn parse(bytes: &[u8], size: usize) -> Result<Self, String> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let numbers = |name: &str| -> Result<Vec<f32>, String> {
            let tensor = file.tensor(name).map_err(|e| e.to_string())?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != [size] {
                return Err(format!(
                    "`{name}` holds {:?} of {:?}, expected {size} of F32",
                    tensor.shape(),
                    tensor.dtype()
                ));
            }
            Ok(from_bytes(tensor.data()))
        };
        let notes = header.metadata().as_ref();
        let note = notes.and_then(|notes| notes.get(PROGRESS));
        let note = note.ok_or_else(|| format!("no `{PROGRESS}` in the header"))?;
        let progress: Progress =
            serde_json::from_str(note).map_err(|e| format!("`{PROGRESS}`: {e}"))?;
        Ok(Self {
            weights: numbers("weights")?,
            optimizer: Optimizer {
                first: numbers("first")?,
                second: numbers("second")?,
                steps: progress.steps,
            },
            next_example: progress.next_example,
            tokens: progress.tokens,
            settings: progress.settings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            weights: vec![1.5, f32::MIN_POSITIVE, -0.0],
            optimizer: Optimizer {
                first: vec![0.1, 0.2, 0.3],
                second: vec![4.0, 5.0, 6.0],
                steps: 7,
            },
            next_example: 1 << 40,
            tokens: 99,
            settings: serde_json::json!({"seed": 3}),
        }
    }

    #[test]
    fn a_state_comes_back_bit_for_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.safetensors");
        assert_eq!(State::read(&path, 3).expect("absent is fine"), None);
        state().write(&path).expect("it is written");
        let read = State::read(&path, 3)
            .expect("it reads")
            .expect("it is there");
        assert_eq!(read, state());
        assert!(read.weights[2].is_sign_negative());
    }

    #[test]
    fn damaged_and_foreign_states_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.safetensors");
        state().write(&path).expect("it is written");
        let error = State::read(&path, 4).expect_err("another size").to_string();
        assert!(
            error.contains("state.safetensors") && error.contains("expected 4"),
            "{error}"
        );
        let whole = fs::read(&path).expect("bytes");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("it is cut");
            assert!(
                State::read(&path, 3).is_err(),
                "{length} bytes were accepted"
            );
        }
    }
}
