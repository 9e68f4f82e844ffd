//! `log.jsonl`: what happened at each step, in step with the state on disk.

use super::Error;
use crate::learn::checkpoint::{self, write_atomically};
use crate::learn::curves::{Chart, Series};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Steps taken, this one included.
    pub step: u64,
    /// Mean loss of the batch before this step, nats per token.
    pub loss: f64,
    /// Share of right predictions.
    pub accuracy: f64,
    /// Length of the gradient before clipping.
    pub gradient: f64,
    /// Factor of the rates.
    pub rate: f32,
    /// Tokens learned from in all.
    pub tokens: u64,
    /// Speed of this step.
    pub tokens_per_second: f64,
}

/// An evaluation's line.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Evaluation {
    step: u64,
    evaluation: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Step(Line),
    Evaluation(Evaluation),
}

impl Entry {
    fn step(&self) -> u64 {
        match self {
            Self::Step(line) => line.step,
            Self::Evaluation(evaluation) => evaluation.step,
        }
    }
}

/// The log, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    lines: Vec<Line>,
}

impl Journal {
    /// Open the log of a training that took `steps` steps. Lines past them, and lines that are none, are of a
    /// process that died; they go.
    pub fn open(path: &Path, steps: u64) -> Result<Self, Error> {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(checkpoint::Error::io(path, e).into()),
        };
        let (mut kept, mut lines) = (String::new(), Vec::new());
        for text in text.lines() {
            let Ok(entry) = serde_json::from_str::<Entry>(text) else {
                continue;
            };
            if entry.step() <= steps {
                kept.push_str(text);
                kept.push('\n');
                if let Entry::Step(line) = entry {
                    lines.push(line);
                }
            }
        }
        write_atomically(path, kept.as_bytes())?;
        let file = OpenOptions::new().append(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|e| checkpoint::Error::io(path, e))?,
            lines,
        })
    }

    fn write(&mut self, entry: &Entry) -> Result<(), Error> {
        let mut text =
            serde_json::to_string(entry).map_err(|e| checkpoint::Error::content(&self.path, e))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| checkpoint::Error::io(&self.path, e).into())
    }

    /// Note a step.
    pub fn step(&mut self, line: Line) -> Result<(), Error> {
        self.lines.push(line.clone());
        self.write(&Entry::Step(line))
    }

    /// Note an evaluation.
    pub fn evaluation(&mut self, step: u64, evaluation: Value) -> Result<(), Error> {
        self.write(&Entry::Evaluation(Evaluation { step, evaluation }))
    }

    /// Mean loss and accuracy over the last `count` steps.
    pub fn recent(&self, count: usize) -> (f64, f64) {
        let recent = &self.lines[self.lines.len().saturating_sub(count)..];
        let mean =
            |of: fn(&Line) -> f64| recent.iter().map(of).sum::<f64>() / recent.len().max(1) as f64;
        (mean(|l| l.loss), mean(|l| l.accuracy))
    }

    /// Loss over tokens as a picture.
    pub fn chart(&self) -> String {
        let points = self
            .lines
            .iter()
            .map(|l| (l.tokens as f64 / 1e6, l.loss))
            .collect();
        Chart {
            title: "Stage 1",
            x: "tokens, millions",
            y: "loss, nats per token",
            series: vec![Series {
                name: "training",
                points,
            }],
        }
        .svg()
    }
}
