//! The thread that parses code, and the boards on which it leaves what it found.
//!
//! A grammar's expressions are compiled when first met, which takes a hundred milliseconds; no frame
//! may wait for that.

use super::grammars::{Grammars, Progress, Words};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines remembered with their words.
const REMEMBERED: usize = 4096;

/// Lines to parse, one after the other.
#[derive(Debug)]
pub(super) struct Run {
    /// The block they are part of; none for a line of its own.
    pub(super) block: Option<usize>,
    pub(super) language: String,
    /// The chunk of the first line.
    pub(super) first: usize,
    pub(super) lines: Vec<String>,
}

impl Run {
    /// The chunk after the last line.
    pub(super) fn end(&self) -> usize {
        self.first + self.lines.len()
    }
}

/// A line that was parsed.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// How long it was then.
    pub(super) len: usize,
    pub(super) words: Words,
}

/// What is known about one transcript.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// A job is under way.
    busy: bool,
    progress: BTreeMap<usize, Progress>,
    lines: HashMap<usize, Line>,
}

impl Board {
    pub(super) fn line(&self, chunk: usize) -> Option<&Line> {
        self.lines.get(&chunk)
    }

    /// The chunk up to which `block` was parsed in one go.
    pub(super) fn next(&self, block: usize) -> Option<usize> {
        self.progress.get(&block).map(|p| p.next)
    }

    /// Whether a job may be sent; if so, none may be until it is done.
    pub(super) fn reserve(&mut self) -> bool {
        !std::mem::replace(&mut self.busy, true)
    }
}

/// Lines to parse for one board.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) board: Arc<Mutex<Board>>,
    pub(super) runs: Vec<Run>,
}

impl Job {
    /// Parses, without holding the board meanwhile.
    pub(super) fn run(self, grammars: &Grammars) {
        let board = || self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for run in &self.runs {
            let known = run
                .block
                .and_then(|block| board().progress.get(&block).cloned())
                .filter(|p| p.next == run.first);
            let begun = known.or_else(|| grammars.begin(&run.language, run.first));
            let mut lines = Vec::with_capacity(run.lines.len());
            let mut settled = begun.clone();
            let mut progress = begun;
            for text in &run.lines {
                let words = progress
                    .as_mut()
                    .map_or_else(|| Arc::from([]), |p| grammars.parse(p, text));
                lines.push(Line {
                    len: text.len(),
                    words,
                });
                if text.ends_with('\n') {
                    settled.clone_from(&progress);
                }
            }
            let mut board = board();
            if board.lines.len() > REMEMBERED {
                board.lines.clear();
            }
            board.lines.extend((run.first..).zip(lines));
            if let (Some(block), Some(settled)) = (run.block, settled) {
                board.progress.insert(block, settled);
            }
        }
        board().busy = false;
    }
}

thread_local! {
    /// Where the thread that draws sends its jobs.
    static JOBS: RefCell<Option<Sender<Job>>> = const { RefCell::new(None) };
}

/// Starts the thread that colours code for the thread that calls this, which must be the one that
/// draws; `wake` is called whenever there is more to draw. To be called after the first frame; without
/// it code stays plain. A second call takes the place of the first.
pub fn start_highlighting(wake: impl Fn() + Send + 'static) {
    let (jobs, todo) = channel();
    // Without a thread, jobs have nowhere to go and code stays plain.
    let _ = std::thread::Builder::new()
        .name("highlight".to_owned())
        .spawn(move || work(&todo, wake));
    JOBS.set(Some(jobs));
}

/// Works until the thread that draws is gone.
fn work(todo: &Receiver<Job>, wake: impl Fn()) {
    let grammars = Grammars::shared();
    while let Ok(job) = todo.recv() {
        job.run(grammars);
        wake();
    }
}

/// Sends a job; without a thread for it, it stays undone.
pub(super) fn send(job: Job) {
    let unsent = JOBS.with_borrow(|jobs| match jobs {
        Some(jobs) => jobs.send(job).err().map(|e| e.0),
        None => Some(job),
    });
    if let Some(job) = unsent {
        job.board
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .busy = false;
    }
}
