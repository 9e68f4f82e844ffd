//! Finished runs on disk, so that an evaluation goes on where it stopped.
//!
//! A folder holds `settings.json`, what decides the outcome of a run, and `runs.jsonl`, one line for each that
//! ended. Number of instances, seeds, policies and sizes are not among the settings: a later call may ask for
//! more of the same. A line is written when its run ends, so a crash loses unfinished runs only.

use super::outcome::{Outcome, Outcomes};
use super::run::{Run, Settings};
use crate::engine::ModelCard;
use crate::task::Task;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Organizations.
    Model,
    /// Lone traces.
    Baseline,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refuses.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// Another process is at work there.
    #[error("another evaluation is at work in {0}")]
    Busy(PathBuf),
    /// Something there is no settings file.
    #[error("{0}: {1}; it was not written by this program: choose another folder")]
    Settings(PathBuf, String),
    /// It was begun with other settings.
    #[error(
        "{folder} holds an evaluation with other settings: {differences}; choose another folder, or give the \
         same settings to go on there"
    )]
    Other {
        /// Where.
        folder: PathBuf,
        /// Which, with both values.
        differences: String,
    },
    /// A line in the middle is damaged.
    #[error(
        "{file}, line {line}: {message}; take the line out to have its run done again, or choose another folder"
    )]
    Line {
        /// Which file.
        file: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// What decides the outcomes in a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    task: String,
    /// Of all queries of the set, so that another file of the same name is noticed.
    instances_sha256: String,
    settings: Settings,
    /// Name and hashes, once it was used.
    model: Option<Value>,
    baseline: Option<Value>,
}

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    run: Run,
    outcome: Outcome,
}

/// An evaluation's folder, taken for this process until it is dropped.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    written: Written,
    file: File,
    _lock: File,
}

impl Journal {
    /// Opens a folder, made if absent, for an evaluation of `set` (its name and all its instances), and reads
    /// the runs that are there. A last line that was cut off is dropped.
    ///
    /// # Errors
    /// [`JournalError`] that says what is in the way.
    pub fn open(
        folder: &Path,
        task: &str,
        set: &[Task],
        settings: &Settings,
    ) -> Result<(Self, Outcomes), JournalError> {
        let lock = lock(folder)?;
        let asked = Written {
            task: task.to_owned(),
            instances_sha256: digest(set),
            settings: settings.clone(),
            model: None,
            baseline: None,
        };
        let path = folder.join("settings.json");
        let written = match read_settings(&path)? {
            Some(there) => {
                let differences = differences(&there, &asked);
                if !differences.is_empty() {
                    return Err(JournalError::Other {
                        folder: folder.to_owned(),
                        differences,
                    });
                }
                there
            }
            None => asked,
        };
        let runs = folder.join("runs.jsonl");
        let outcomes = read_runs(&runs)?;
        let file = OpenOptions::new().create(true).append(true).open(&runs);
        let journal = Self {
            folder: folder.to_owned(),
            written,
            file: file.map_err(|e| JournalError::Io(runs, e))?,
            _lock: lock,
        };
        journal.write_settings()?;
        Ok((journal, outcomes))
    }

    /// Notes which model plays a role, or checks that it is the one that did.
    ///
    /// # Errors
    /// [`JournalError::Other`] where it is not.
    pub fn admit(&mut self, role: Role, card: &ModelCard) -> Result<(), JournalError> {
        let (name, known) = match role {
            Role::Model => ("model", &mut self.written.model),
            Role::Baseline => ("baseline", &mut self.written.baseline),
        };
        let now = serde_json::json!({
            "name": card.name, "weights_sha256": card.weights_sha256, "tokenizer_sha256": card.tokenizer_sha256,
        });
        // A server tells no hashes: there the name is all there is.
        let what: &[&str] = if card.weights_sha256.is_empty() {
            &["weights_sha256", "name"]
        } else {
            &["weights_sha256", "tokenizer_sha256"]
        };
        let same = |there: &Value| what.iter().all(|k| there[*k] == now[*k]);
        match known {
            Some(there) if same(there) => Ok(()),
            Some(there) => Err(JournalError::Other {
                folder: self.folder.clone(),
                differences: format!("{name} is {there} there and {now} here"),
            }),
            None => {
                *known = Some(now);
                self.write_settings()
            }
        }
    }

    /// Notes an outcome.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn note(&mut self, run: &Run, outcome: &Outcome) -> Result<(), JournalError> {
        let path = || self.folder.join("runs.jsonl");
        let line = Line {
            run: *run,
            outcome: outcome.clone(),
        };
        let mut text = serde_json::to_string(&line)
            .map_err(|e| JournalError::Io(path(), std::io::Error::other(e)))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| JournalError::Io(path(), e))
    }

    fn write_settings(&self) -> Result<(), JournalError> {
        let path = self.folder.join("settings.json");
        let part = self.folder.join("settings.json.part");
        let text = serde_json::to_string_pretty(&self.written).map_err(std::io::Error::other);
        text.and_then(|text| fs::write(&part, text + "\n"))
            .and_then(|()| fs::rename(&part, &path))
            .map_err(|e| JournalError::Io(path, e))
    }
}

/// Makes the folder and takes it until the file is dropped.
fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    fs::create_dir_all(folder).map_err(|e| JournalError::Io(folder.to_owned(), e))?;
    let file = File::create(&path).map_err(|e| JournalError::Io(path.clone(), e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(JournalError::Busy(folder.to_owned())),
        Err(fs::TryLockError::Error(e)) => Err(JournalError::Io(path, e)),
    }
}

fn digest(set: &[Task]) -> String {
    let mut hash = Sha256::new();
    for task in set {
        hash.update(task.query().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn read_settings(path: &Path) -> Result<Option<Written>, JournalError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(JournalError::Io(path.to_owned(), e)),
    };
    let read = serde_json::from_slice(&bytes);
    read.map(Some)
        .map_err(|e| JournalError::Settings(path.to_owned(), e.to_string()))
}

/// In words; models are compared when they are opened.
fn differences(there: &Written, here: &Written) -> String {
    let (there, here) = (fields(there), fields(here));
    let value = |of: Option<&Value>| of.map_or_else(|| "unset".into(), Value::to_string);
    let said: Vec<String> = here
        .keys()
        .filter(|name| there.get(*name) != here.get(*name))
        .map(|name| {
            let (there, here) = (value(there.get(name)), value(here.get(name)));
            format!("{name} is {there} there and {here} here")
        })
        .collect();
    said.join(", ")
}

/// What must be the same, by name.
fn fields(written: &Written) -> serde_json::Map<String, Value> {
    // by way of text, which has numbers as a person writes them
    let text = serde_json::to_string(&written.settings).unwrap_or_default();
    let mut fields: serde_json::Map<String, Value> =
        serde_json::from_str(&text).unwrap_or_default();
    fields.insert("task".into(), written.task.as_str().into());
    fields.insert(
        "instances_sha256".into(),
        written.instances_sha256.as_str().into(),
    );
    fields
}

/// Reads all lines. What follows the last whole one goes, from the file too.
fn read_runs(path: &Path) -> Result<Outcomes, JournalError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Outcomes::new()),
        Err(e) => return Err(JournalError::Io(path.to_owned(), e)),
    };
    let mut outcomes = Outcomes::new();
    let mut whole = 0;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    for (i, line) in lines.iter().enumerate() {
        let read = serde_json::from_slice::<Line>(line);
        let last = i + 1 == lines.len();
        if last && (read.is_err() || !line.ends_with(b"\n")) {
            break;
        }
        match read {
            Ok(read) => {
                outcomes.insert(read.run, read.outcome);
            }
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(e) => {
                return Err(JournalError::Line {
                    file: path.to_owned(),
                    line: i + 1,
                    message: e.to_string(),
                });
            }
        }
        whole += line.len();
    }
    if whole < bytes.len() {
        let cut = OpenOptions::new().write(true).open(path);
        cut.and_then(|file| file.set_len(whole as u64))
            .map_err(|e| JournalError::Io(path.to_owned(), e))?;
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests;
