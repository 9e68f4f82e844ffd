//! The folder where sessions are kept: names for new ones, a list for the picker, pruning.

use super::damage::understand;
use super::error::OpenError;
use super::line::kind_of;
use super::lines::LinesBack;
use super::reader::SessionFile;
use super::source::Unpack;
use crate::org::{Body, Metrics, Organization, RunEnd, Step};
use etcetera::BaseStrategy;
use serde::Deserialize;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Bytes at the end of a file in which its last events are looked for.
const TAIL: u64 = 64 << 10;

/// Sessions without an end up to this size are read whole for their summary.
const WHOLE: u64 = 256 << 10;

/// Compressed sessions up to this size are unpacked for their summary.
const PACKED: u64 = 256 << 10;

/// Bytes in which the header of a big compressed session should lie.
const HEADER: u64 = 1 << 20;

/// Where sessions are kept unless told otherwise: `orgtop/sessions` in the XDG data folder.
///
/// # Errors
/// When there is no home folder.
pub fn default_folder() -> io::Result<PathBuf> {
    etcetera::choose_base_strategy()
        .map(|base| base.data_dir().join("orgtop").join("sessions"))
        .map_err(|e| io::Error::new(io::ErrorKind::NotFound, e.to_string()))
}

/// A name for a session that begins `now`, such as `2026-01-31T09-15-02-brave-otter`.
#[must_use]
pub fn new_id(now: &jiff::Zoned) -> String {
    let date = now.strftime("%Y-%m-%dT%H-%M-%S");
    match petname::petname(2, "-") {
        Some(words) => format!("{date}-{words}"),
        None => date.to_string(),
    }
}

/// The file of session `id` in `folder`.
#[must_use]
pub fn path_of(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.jsonl"))
}

/// Whether somebody records into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A run is recording into it now.
    Live,
    /// Nobody is.
    None,
}

/// Whether `path` is being recorded into.
#[must_use]
pub fn writer_of(path: &Path) -> Writer {
    // Opening a pipe would wait for its other end.
    if !path.is_file() {
        return Writer::None;
    }
    let shared = File::open(path).map(|file| file.try_lock_shared());
    match shared {
        Ok(Err(TryLockError::WouldBlock)) => Writer::Live,
        _ => Writer::None,
    }
}

/// One session in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its name.
    pub id: String,
    /// When it began, RFC 3339.
    pub created: String,
    /// The question.
    pub query: String,
    /// The model that ran.
    pub model: String,
    /// Organizer plus workers at once.
    pub capacity: u32,
    /// How many threads it had, where the end of the file tells.
    pub threads: Option<u64>,
    /// Its last step.
    pub step: Step,
    /// Its last time in microseconds.
    pub us: u64,
    /// How it ended, if it did.
    pub end: Option<RunEnd>,
    /// Its measures, where the end of the file tells.
    pub metrics: Option<Metrics>,
}

/// A file in the folder.
#[derive(Debug)]
pub struct Entry {
    /// The file.
    pub path: PathBuf,
    /// Bytes on disk.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// Whether it is being recorded now.
    pub writer: Writer,
    /// What is in it, or why it does not open.
    pub session: Result<Summary, OpenError>,
}

impl Entry {
    /// When the session began, for sorting.
    fn began(&self) -> SystemTime {
        self.session
            .as_ref()
            .ok()
            .and_then(|s| s.created.parse::<jiff::Timestamp>().ok())
            .map_or(self.modified, SystemTime::from)
    }
}

/// All session files in `folder`, newest first. Reads headers and ends only. No folder: no sessions.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<Entry>> {
    let files = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut entries = Vec::new();
    for file in files {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".jsonl") && !name.ends_with(".jsonl.zst") {
            continue;
        }
        // A file that has gone since is no entry.
        let Ok(meta) = std::fs::metadata(&path) else {
            continue;
        };
        entries.push(Entry {
            size: meta.len(),
            modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            writer: writer_of(&path),
            session: summary(&path),
            path,
        });
    }
    entries.sort_by(|a, b| b.began().cmp(&a.began()).then_with(|| b.path.cmp(&a.path)));
    Ok(entries)
}

/// Summarises the session at `path` from its header and its end; a big compressed one from its header
/// alone.
///
/// # Errors
/// [`OpenError`].
pub fn summary(path: &Path) -> Result<Summary, OpenError> {
    let packed = path.extension().is_some_and(|e| e == "zst");
    let big = std::fs::metadata(path).is_ok_and(|m| m.len() > PACKED);
    let how = if packed && big {
        Unpack::Front(HEADER)
    } else {
        Unpack::All
    };
    let file = SessionFile::open_part(path, how)?;
    let header = file.header();
    let mut summary = Summary {
        id: header.id.clone(),
        created: header.created.clone(),
        query: header.query.clone(),
        model: header.engine.model.name.clone(),
        capacity: header.capacity,
        threads: None,
        step: Step(0),
        us: 0,
        end: None,
        metrics: None,
    };
    if how != Unpack::All {
        return Ok(summary);
    }
    let read = read_end(&file, &mut summary).and_then(|()| {
        if summary.end.is_none() && file.size() <= WHOLE {
            read_whole(&file, &mut summary)?;
        }
        Ok(())
    });
    read.map_err(|source| OpenError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(summary)
}

/// What the last lines tell.
fn read_end(file: &SessionFile, summary: &mut Summary) -> io::Result<()> {
    #[derive(Deserialize)]
    struct Threads {
        threads: Option<u64>,
    }
    let mut lines = LinesBack::new(Arc::clone(file.source()), file.size(), file.events_at());
    let (mut seen, mut ended) = (0, true);
    while let Some(raw) = lines.next()? {
        seen += raw.bytes.len() as u64 + 1;
        let run_end = kind_of(raw.bytes).as_deref() == Some("run_end");
        let threads = run_end
            .then(|| serde_json::from_slice::<Threads>(raw.bytes).ok())
            .flatten();
        if let (Some(line), _) = understand(raw) {
            let event = line.event;
            summary.step = summary.step.max(event.last_step());
            summary.us = summary.us.max(event.us);
            match event.body {
                Body::RunEnd { end, metrics, .. } if ended => {
                    summary.end = Some(end);
                    summary.metrics = Some(metrics);
                    summary.threads = threads.and_then(|t| t.threads);
                    return Ok(());
                }
                Body::Keyframe { state, .. } if summary.threads.is_none() => {
                    summary.threads = Some(state.threads().len() as u64);
                }
                Body::Mark { .. }
                | Body::Command { .. }
                | Body::Effect { .. }
                | Body::Keyframe { .. }
                | Body::Unknown => {}
                // It went on after any end before.
                _ => ended = false,
            }
        }
        if seen > TAIL {
            break;
        }
    }
    Ok(())
}

fn read_whole(file: &SessionFile, summary: &mut Summary) -> io::Result<()> {
    let mut state = Organization::new(file.header().capacity, file.header().tau);
    for recorded in file.events() {
        state.apply(&recorded?.event);
    }
    summary.threads = Some(state.threads().len() as u64);
    summary.end = state.end;
    summary.metrics = Some(state.metrics());
    Ok(())
}

/// Which sessions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// All but the newest so many.
    KeepNewest(usize),
    /// Those last written longer ago than this.
    OlderThan(Duration),
    /// All but the newest so many, and of those only what was last written longer ago than this.
    Both(usize, Duration),
}

/// Whether pruning is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruning {
    /// Only say what would go.
    DryRun,
    /// Delete.
    Delete,
}

/// What pruning did (or would do).
#[derive(Debug, Default)]
pub struct Pruned {
    /// Files that went, with their sizes.
    pub removed: Vec<(PathBuf, u64)>,
    /// Files that should have gone but stay, and why.
    pub kept: Vec<(PathBuf, String)>,
}

/// Deletes old sessions from `folder`. Files that are no sessions, and sessions that are being recorded,
/// always stay.
///
/// # Errors
/// When the folder cannot be read.
pub fn prune(folder: &Path, which: Prune, pruning: Pruning) -> io::Result<Pruned> {
    let now = SystemTime::now();
    let sessions = list(folder)?.into_iter().filter(|e| e.session.is_ok());
    let mut pruned = Pruned::default();
    for (place, entry) in sessions.enumerate() {
        let older = |age| {
            now.duration_since(entry.modified)
                .is_ok_and(|since| since > age)
        };
        let goes = match which {
            Prune::KeepNewest(n) => place >= n,
            Prune::OlderThan(age) => older(age),
            Prune::Both(n, age) => place >= n && older(age),
        };
        if !goes {
            continue;
        }
        match remove(&entry.path, pruning) {
            Ok(()) => pruned.removed.push((entry.path, entry.size)),
            Err(why) => pruned.kept.push((entry.path, why)),
        }
    }
    Ok(pruned)
}

/// Deletes a file while holding its lock, so that no writer can have it.
fn remove(path: &Path, pruning: Pruning) -> Result<(), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err("it is being recorded".into()),
        Err(TryLockError::Error(e)) if e.kind() != io::ErrorKind::Unsupported => {
            return Err(e.to_string());
        }
        _ => {}
    }
    match pruning {
        Pruning::DryRun => Ok(()),
        Pruning::Delete => std::fs::remove_file(path).map_err(|e| e.to_string()),
    }
}
