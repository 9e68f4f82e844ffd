//! The recorder: events in, lines on disk, on a thread of its own.
//!
//! Handing over an event never waits for a disk. While the disk refuses (full, gone), records wait in
//! memory and are tried again; [`RecorderStatus`] says so, and when to pause the run because memory
//! would be next. Nothing is dropped: what cannot be written in the end is an error that counts it.

mod worker;

use super::encoder::Encoder;
use super::error::RecordError;
use super::header::Header;
use super::sink::{FileSink, Sink};
use crate::org::{Body, Event};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use worker::Worker;

/// Most bytes that may wait in memory before the run should pause.
pub(super) const BOUND: u64 = 64 << 20;

/// Longest time between keyframes of a session in which something happens.
const KEYFRAME_MS: u64 = 5_000;

/// How recording goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Everything is on disk or on its way.
    Writing,
    /// The disk refuses; records wait in memory.
    Buffering,
    /// Memory for waiting records is used up: the run must pause.
    Full,
}

/// How recording goes, for the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecorderStatus {
    /// Bytes written.
    pub bytes: u64,
    /// Records handed over but not written.
    pub waiting: u64,
    /// What to do about it.
    pub health: Health,
    /// A standing warning for the person at the screen.
    pub banner: Option<String>,
}

/// Records one session; see the module.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    jobs: Sender<Job>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

enum Job {
    Record(Box<Event>),
    Finish,
}

/// What both sides of the channel see.
#[derive(Debug)]
struct Shared {
    bound: u64,
    began: Instant,
    bytes: AtomicU64,
    waiting: AtomicU64,
    waiting_bytes: AtomicU64,
    refused: AtomicBool,
    banner: Mutex<Option<String>>,
    since_keyframe: AtomicU64,
    keyframe_every: AtomicU64,
    keyframe_bytes: AtomicU64,
    keyframe_ms: AtomicU64,
    keyframe_coming: AtomicBool,
}

impl Recorder {
    /// Begins a new session file at `path`: for its owner only, folders made as needed.
    ///
    /// # Errors
    /// [`RecordError::Exists`] (nothing is ever overwritten) or [`RecordError::Io`].
    pub fn create(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let failed = |doing| {
            move |source: io::Error| match source.kind() {
                io::ErrorKind::AlreadyExists => RecordError::Exists {
                    path: path.to_owned(),
                },
                _ => RecordError::Io {
                    path: path.to_owned(),
                    doing,
                    source,
                },
            }
        };
        let mut sink = FileSink::create(path).map_err(failed("create the session file"))?;
        let mut line = Vec::new();
        let encoder = Encoder::begin(header, &mut line);
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match sink.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(e) => {
                    // Made a moment ago and of no use to anybody.
                    let _ = std::fs::remove_file(path);
                    return Err(failed("write the header")(e));
                }
            }
        }
        Ok(Self::start(Box::new(sink), encoder, path, BOUND))
    }

    /// Starts the thread that writes what `encoder` makes of events.
    pub(super) fn start(sink: Box<dyn Sink>, encoder: Encoder, path: &Path, bound: u64) -> Self {
        let shared = Arc::new(Shared {
            bound,
            began: Instant::now(),
            bytes: encoder.offset().into(),
            waiting: 0.into(),
            waiting_bytes: 0.into(),
            refused: false.into(),
            banner: Mutex::default(),
            since_keyframe: encoder.since_keyframe().into(),
            keyframe_every: encoder.keyframe_every().into(),
            keyframe_bytes: encoder.keyframe_bytes().into(),
            keyframe_ms: 0.into(),
            keyframe_coming: false.into(),
        });
        let (jobs, taken) = channel();
        let worker = Worker::new(sink, encoder, path, Arc::clone(&shared));
        Self {
            path: path.to_owned(),
            jobs,
            shared,
            thread: Some(
                std::thread::Builder::new()
                    .name("recorder".into())
                    .spawn(move || worker.run(&taken))
                    .expect("the system can start one more thread"),
            ),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over an event. Returns at once, whatever the disk does. Of a keyframe only `state` counts;
    /// the recorder knows the rest.
    pub fn record(&self, event: Event) {
        if matches!(event.body, Body::Keyframe { .. }) {
            self.shared.keyframe_coming.store(true, Relaxed);
        }
        self.shared.waiting.fetch_add(1, Relaxed);
        self.shared.waiting_bytes.fetch_add(weight(&event), Relaxed);
        if self.jobs.send(Job::Record(Box::new(event))).is_err() {
            self.shared.refused.store(true, Relaxed);
            self.shared.warn(Some(format!(
                "{}: the recorder has stopped, this run is no longer recorded",
                self.path.display()
            )));
        }
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> RecorderStatus {
        let shared = &self.shared;
        let health = if shared.waiting_bytes.load(Relaxed) >= shared.bound {
            Health::Full
        } else if shared.refused.load(Relaxed) {
            Health::Buffering
        } else {
            Health::Writing
        };
        let banner = shared
            .banner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        RecorderStatus {
            bytes: shared.bytes.load(Relaxed),
            waiting: shared.waiting.load(Relaxed),
            health,
            banner,
        }
    }

    /// Whether the next event should be a keyframe. Cheap enough to ask at every step.
    #[must_use]
    pub fn keyframe_due(&self) -> bool {
        let shared = &self.shared;
        if shared.keyframe_coming.load(Relaxed) {
            return false;
        }
        let since = shared.since_keyframe.load(Relaxed);
        let elapsed = shared
            .now_ms()
            .saturating_sub(shared.keyframe_ms.load(Relaxed));
        // Keyframes by the clock stay below half of what is written.
        since >= shared.keyframe_every.load(Relaxed)
            || (elapsed >= KEYFRAME_MS && since > shared.keyframe_bytes.load(Relaxed))
    }

    /// Writes what waits and closes the file.
    ///
    /// # Errors
    /// [`RecordError::Unwritten`] with what the disk would not take, after some tries.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), RecordError> {
        // If the thread is gone already, joining it says why.
        let _ = self.jobs.send(Job::Finish);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(self.unwritten("the recorder broke down".into())),
        }
    }

    fn unwritten(&self, why: String) -> RecordError {
        RecordError::Unwritten {
            path: self.path.clone(),
            records: usize::try_from(self.shared.waiting.load(Relaxed)).unwrap_or(usize::MAX),
            bytes: self.shared.waiting_bytes.load(Relaxed),
            why,
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `finish`.
        let _ = self.stop();
    }
}

impl Shared {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn warn(&self, banner: Option<String>) {
        *self.banner.lock().unwrap_or_else(PoisonError::into_inner) = banner;
    }
}

/// About how much memory an event holds while it waits.
fn weight(event: &Event) -> u64 {
    let content = match &event.body {
        Body::Tokens {
            ids, bytes, top, ..
        } => {
            let best: usize = top.iter().map(Vec::len).sum();
            bytes.0.len() + 12 * ids.len() + 8 * best
        }
        Body::Splice { ids, bytes, .. } => bytes.0.len() + 4 * ids.len(),
        Body::Thread { query, prompt, .. } => query.len() + 4 * prompt.len(),
        Body::Action { text, .. } => text.len(),
        Body::Keyframe { state, .. } => 600 * state.threads().len(),
        _ => 0,
    };
    content as u64 + 128
}

#[cfg(test)]
mod tests;
