//! The folder of a training: where its files are, who works there, where to go on.

use super::{Error, Progress};
use crate::learn::checkpoint::{self, State};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// All of it.
    pub folder: PathBuf,
    /// The newest weights.
    pub model: PathBuf,
    /// Where to go on.
    pub state: PathBuf,
    /// A line a step.
    pub log: PathBuf,
}

impl Places {
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            model: folder.join("model"),
            state: folder.join("state.safetensors"),
            log: folder.join("log.jsonl"),
        }
    }

    /// Makes the folder and takes it for this process, until the file is dropped.
    pub fn lock(&self) -> Result<File, Error> {
        let path = self.folder.join("lock");
        fs::create_dir_all(&self.folder).map_err(|e| checkpoint::Error::io(&self.folder, e))?;
        let file = File::create(&path).map_err(|e| checkpoint::Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Busy(self.folder.clone())),
            Err(fs::TryLockError::Error(e)) => Err(checkpoint::Error::io(&path, e).into()),
        }
    }
}

/// The state on disk, if there is one; it must be of the same settings.
pub(crate) fn resume(
    places: &Places,
    settings: &Value,
    size: usize,
) -> Result<Option<State>, Error> {
    let Some(state) = State::read(&places.state, size)? else {
        return Ok(None);
    };
    // numbers lose their last digit on the way through text: both have to take it
    let now = serde_json::from_str(&settings.to_string());
    let now = now.map_err(|e| checkpoint::Error::content(&places.state, e))?;
    let mut differences = Vec::new();
    differ("", &state.settings, &now, &mut differences);
    if differences.is_empty() {
        Ok(Some(state))
    } else {
        Err(Error::Other {
            folder: places.folder.clone(),
            differences: differences.join(", "),
        })
    }
}

/// Names of the leaves at which two values differ, with both.
fn differ(path: &str, was: &Value, is: &Value, found: &mut Vec<String>) {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(name).cloned().unwrap_or(Value::Null)
                };
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                differ(&path, &of(was), &of(is), found);
            }
        }
        _ if was == is => {}
        _ => found.push(format!("{path} was {was}, is {is}")),
    }
}

/// A bar over `steps` steps of which `taken` are taken.
pub(crate) fn bar(progress: Progress, steps: u64, taken: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps).with_position(taken);
    bar.set_draw_target(match progress {
        Progress::Bar => ProgressDrawTarget::stderr(),
        Progress::Silent => ProgressDrawTarget::hidden(),
    });
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} steps · {msg} · {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.reset_eta();
    bar
}
