//! The thread that writes: takes records in, puts them on disk, and tries again where the disk refuses.

use super::{Job, Shared, weight};
use crate::org::{Body, Event};
use crate::record::encoder::Encoder;
use crate::record::error::RecordError;
use crate::record::sink::Sink;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between tries while the disk refuses.
const RETRY: Duration = Duration::from_millis(200);

/// Time between looks whether the file is still there.
const CHECK: Duration = Duration::from_secs(1);

/// Tries at the end of a session.
const LAST_TRIES: usize = 10;

/// Most records taken in before writing: a flood must not keep the disk idle.
const GULP: usize = 256;

/// Whether losing this record in a crash of the machine would hurt.
fn wants_sync(event: &Event) -> bool {
    matches!(
        event.body,
        Body::Action { .. } | Body::Command { .. } | Body::End { .. } | Body::RunEnd { .. }
    )
}

struct Pending {
    line: Vec<u8>,
    weight: u64,
    sync: bool,
}

pub(super) struct Worker {
    sink: Box<dyn Sink>,
    encoder: Encoder,
    path: PathBuf,
    shared: Arc<Shared>,
    pending: VecDeque<Pending>,
    /// Bytes of the first pending line that are written.
    front_done: usize,
    sync_due: bool,
    retry_at: Instant,
    check_at: Instant,
    trouble: Option<String>,
}

impl Worker {
    pub(super) fn new(
        sink: Box<dyn Sink>,
        encoder: Encoder,
        path: &Path,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            sink,
            encoder,
            path: path.to_owned(),
            shared,
            pending: VecDeque::new(),
            front_done: 0,
            sync_due: false,
            retry_at: Instant::now(),
            check_at: Instant::now() + CHECK,
            trouble: None,
        }
    }

    pub(super) fn run(mut self, jobs: &Receiver<Job>) -> Result<(), RecordError> {
        loop {
            let busy = !self.pending.is_empty() || self.sync_due;
            let mut finish = false;
            match jobs.recv_timeout(if busy { RETRY } else { CHECK }) {
                Ok(Job::Record(event)) => {
                    self.take(*event);
                    for _ in 1..GULP {
                        match jobs.try_recv() {
                            Ok(Job::Record(event)) => self.take(*event),
                            Ok(Job::Finish) => {
                                finish = true;
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                }
                Ok(Job::Finish) | Err(RecvTimeoutError::Disconnected) => finish = true,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if finish {
                return self.finish();
            }
            if Instant::now() >= self.retry_at {
                self.work();
            }
        }
    }

    fn take(&mut self, event: Event) {
        let (weight, sync) = (weight(&event), wants_sync(&event));
        let keyframe = matches!(event.body, Body::Keyframe { .. });
        let mut line = Vec::new();
        self.encoder.encode(event, &mut line);
        self.pending.push_back(Pending { line, weight, sync });
        let shared = &self.shared;
        let (encoder, set) = (&self.encoder, Relaxed);
        shared.since_keyframe.store(encoder.since_keyframe(), set);
        if keyframe {
            shared.keyframe_every.store(encoder.keyframe_every(), set);
            shared.keyframe_bytes.store(encoder.keyframe_bytes(), set);
            shared.keyframe_ms.store(shared.now_ms(), set);
            shared.keyframe_coming.store(false, set);
        }
    }

    /// Writes and syncs what is due; whether the disk took it all.
    fn work(&mut self) -> bool {
        let result = self.check().and_then(|()| self.write_pending());
        let result = result.and_then(|()| {
            if std::mem::take(&mut self.sync_due) {
                self.sink.sync().inspect_err(|_| self.sync_due = true)?;
            }
            Ok(())
        });
        self.note(&result);
        result.is_ok()
    }

    fn check(&mut self) -> io::Result<()> {
        if Instant::now() >= self.check_at || self.trouble.is_some() {
            self.sink.check()?;
            self.check_at = Instant::now() + CHECK;
        }
        Ok(())
    }

    /// One write a record, unless the system takes only a part of it.
    fn write_pending(&mut self) -> io::Result<()> {
        while let Some(front) = self.pending.front() {
            match self.sink.write(&front.line[self.front_done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.front_done += n;
                    self.shared.bytes.fetch_add(n as u64, Relaxed);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            if self.front_done >= front.line.len() {
                self.sync_due |= front.sync;
                self.shared.waiting.fetch_sub(1, Relaxed);
                self.shared.waiting_bytes.fetch_sub(front.weight, Relaxed);
                self.front_done = 0;
                self.pending.pop_front();
            }
        }
        Ok(())
    }

    fn note(&mut self, result: &io::Result<()>) {
        let trouble = result.as_ref().err().map(|e| {
            self.retry_at = Instant::now() + RETRY;
            format!(
                "cannot record to {}: {e}; the run goes on, records wait in memory and are tried again",
                self.path.display()
            )
        });
        if trouble != self.trouble {
            self.shared.refused.store(trouble.is_some(), Relaxed);
            self.shared.warn(trouble.clone());
            self.trouble = trouble;
        }
    }

    fn finish(mut self) -> Result<(), RecordError> {
        self.sync_due = true;
        for attempt in 1..=LAST_TRIES {
            if self.work() {
                return Ok(());
            }
            if attempt < LAST_TRIES {
                std::thread::sleep(RETRY);
            }
        }
        let bytes: usize = self.pending.iter().map(|p| p.line.len()).sum();
        Err(RecordError::Unwritten {
            path: self.path,
            records: self.pending.len(),
            bytes: (bytes - self.front_done) as u64,
            why: self.trouble.unwrap_or_default(),
        })
    }
}
