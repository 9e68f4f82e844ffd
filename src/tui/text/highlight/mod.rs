//! Colours for code and JSON inside a thread's text.
//!
//! Fenced blocks and lines that are JSON are found while the text grows; only lines in view are parsed,
//! each once, on a thread of its own. Until its answer is there, and without
//! [`start_highlighting`], text is plain: a frame never waits. Grammars say what a word is; the theme
//! says how that looks.

mod blocks;
mod grammars;
mod worker;

pub use worker::start_highlighting;

use super::transcript::Transcript;
use blocks::{Blocks, is_json, whole_line};
pub(super) use grammars::Word;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use worker::{Board, Job, Run};

/// Lines parsed before the first one in view to know where it stands, if it was not reached line by
/// line. What opened further up (a long comment) is missed.
const RUN_UP: usize = 50;

/// Words of code by their place in the shown text, in order and without overlap.
pub(super) type Code = Vec<(Range<usize>, Word)>;

/// Colours of one transcript, as far as they were looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Highlighter {
    revision: u64,
    blocks: Blocks,
    board: Arc<Mutex<Board>>,
}

impl Highlighter {
    /// Words of code in the chunks that hold `span` of the shown text, in order, as far as they are
    /// known; asks for the others.
    pub(super) fn words(&mut self, transcript: &Transcript, span: &Range<usize>) -> Code {
        let (words, job) = self.look(transcript, span);
        if let Some(job) = job {
            worker::send(job);
        }
        words
    }

    fn look(&mut self, transcript: &Transcript, span: &Range<usize>) -> (Code, Option<Job>) {
        if self.revision != transcript.revision() {
            *self = Self {
                revision: transcript.revision(),
                ..Self::default()
            };
        }
        self.blocks.scan(transcript);
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = Vec::new();
        let mut runs: Vec<Run> = Vec::new();
        let first = transcript.display().chunk_of(span.start);
        let last = transcript
            .display()
            .chunk_of(span.end.saturating_sub(1).max(span.start));
        for chunk in first..=last {
            let at = transcript.display().chunk(chunk);
            if !self.is_code(transcript, chunk) {
                continue;
            }
            let known = board.line(chunk);
            if let Some(line) = known {
                words.extend(line.words.iter().map(|(word, kind)| {
                    let end = (word.end + at.start).min(at.end);
                    ((word.start + at.start).min(end)..end, *kind)
                }));
            }
            if known.is_some_and(|line| line.len == at.len()) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end() == chunk && self.blocks.holds(run.block, chunk) => {
                    run.lines.push(transcript.shown()[at].to_owned());
                }
                _ => runs.push(self.run(transcript, &board, chunk)),
            }
        }
        let job = (!runs.is_empty() && board.reserve()).then(|| Job {
            board: Arc::clone(&self.board),
            runs,
        });
        (words, job)
    }

    /// What must be parsed to know the words of `chunk`.
    fn run(&self, transcript: &Transcript, board: &Board, chunk: usize) -> Run {
        let text = |chunk: usize| transcript.shown()[transcript.display().chunk(chunk)].to_owned();
        let Some(block) = self.blocks.of(chunk) else {
            return Run {
                block: None,
                language: "json".to_owned(),
                first: chunk,
                lines: vec![text(chunk)],
            };
        };
        let earliest = self.blocks.first(block).max(chunk.saturating_sub(RUN_UP));
        let first = board
            .next(block)
            .filter(|next| (earliest..=chunk).contains(next))
            .unwrap_or(earliest);
        Run {
            block: Some(block),
            language: self.blocks.language(block).to_owned(),
            first,
            lines: (first..=chunk).map(text).collect(),
        }
    }

    /// Whether `chunk` is a line of code, complete or the last one.
    fn is_code(&self, transcript: &Transcript, chunk: usize) -> bool {
        let is_last = chunk + 1 == transcript.display().chunk_count();
        match self.blocks.of(chunk) {
            Some(_) => is_last || whole_line(transcript, chunk).is_some(),
            None => is_last && is_json(&transcript.shown()[transcript.display().chunk(chunk)]),
        }
    }
}

#[cfg(test)]
mod tests;
