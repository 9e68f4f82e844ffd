//! `log.jsonl`: what happened at each step, in step with the state on disk.

use super::Error;
use crate::learn::checkpoint::{self, write_atomically};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is noted of a step.
pub(crate) trait Stepped: Clone + Serialize + DeserializeOwned {
    /// Steps taken, this one included.
    fn step(&self) -> u64;
}

/// An evaluation's line.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Evaluation {
    step: u64,
    evaluation: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Entry<L> {
    Step(L),
    Evaluation(Evaluation),
}

impl<L: Stepped> Entry<L> {
    fn step(&self) -> u64 {
        match self {
            Self::Step(line) => line.step(),
            Self::Evaluation(evaluation) => evaluation.step,
        }
    }
}

/// The log, open for appending.
#[derive(Debug)]
pub(crate) struct Journal<L> {
    path: PathBuf,
    file: File,
    lines: Vec<L>,
    evaluations: Vec<(u64, Value)>,
}

impl<L: Stepped> Journal<L> {
    /// Open the log of a training that took `steps` steps. Lines past them, and lines that are none, are of a
    /// process that died; they go.
    pub fn open(path: &Path, steps: u64) -> Result<Self, Error> {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(checkpoint::Error::io(path, e).into()),
        };
        let (mut kept, mut lines, mut evaluations) = (String::new(), Vec::new(), Vec::new());
        for text in text.lines() {
            let Ok(entry) = serde_json::from_str::<Entry<L>>(text) else {
                continue;
            };
            if entry.step() <= steps {
                kept.push_str(text);
                kept.push('\n');
                match entry {
                    Entry::Step(line) => lines.push(line),
                    Entry::Evaluation(e) => evaluations.push((e.step, e.evaluation)),
                }
            }
        }
        write_atomically(path, kept.as_bytes())?;
        let file = OpenOptions::new().append(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|e| checkpoint::Error::io(path, e))?,
            lines,
            evaluations,
        })
    }

    fn write(&mut self, entry: &Entry<L>) -> Result<(), Error> {
        let mut text =
            serde_json::to_string(entry).map_err(|e| checkpoint::Error::content(&self.path, e))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| checkpoint::Error::io(&self.path, e).into())
    }

    /// Note a step.
    pub fn step(&mut self, line: L) -> Result<(), Error> {
        self.lines.push(line.clone());
        self.write(&Entry::Step(line))
    }

    /// Note an evaluation.
    pub fn evaluation(&mut self, step: u64, evaluation: Value) -> Result<(), Error> {
        self.evaluations.push((step, evaluation.clone()));
        self.write(&Entry::Evaluation(Evaluation { step, evaluation }))
    }

    /// All steps so far.
    pub fn lines(&self) -> &[L] {
        &self.lines
    }

    /// All evaluations so far, with their steps.
    pub fn evaluations(&self) -> &[(u64, Value)] {
        &self.evaluations
    }
}
