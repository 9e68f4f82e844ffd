//! A readable copy of a damaged session.
//!
//! Every line that holds an event is copied as it is, unknown fields included, but for the byte offsets
//! in it: they are made to fit the copy. Nothing is renumbered, so what is missing stays visible. The
//! damaged file is never touched.

use super::damage::{Report, understand};
use super::encoder::Encoder;
use super::error::{OpenError, RecordError};
use super::header::{FORMAT, Header, VERSION};
use super::lines::{LineEnd, Lines};
use super::reader::{Order, SessionFile};
use super::source::{Source, Unpack};
use super::text::text_in;
use crate::engine::EngineCard;
use crate::org::{Body, Event, TextMark, ThreadId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What became of a damaged session.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// What was wrong with the old file: everything in here was lost, or is missing.
    pub report: Report,
    /// Whether even the header had to be made anew.
    pub header: HeaderFate,
    /// Events copied.
    pub events: u64,
}

/// Where a recovered file's header comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFate {
    /// From the old file.
    Kept,
    /// Pieced together from the events: prompts, model and settings are lost.
    Remade,
}

/// The name for a readable copy of `path`: `<stem>.recovered.jsonl`, numbered if that exists.
#[must_use]
pub fn recovered_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name
        .trim_end_matches(".zst")
        .trim_end_matches(".jsonl")
        .to_owned();
    let mut to = path.with_file_name(format!("{stem}.recovered.jsonl"));
    let mut n = 1u32;
    while to.exists() && n < u32::MAX {
        n += 1;
        to = path.with_file_name(format!("{stem}.recovered-{n}.jsonl"));
    }
    to
}

/// Writes what is readable of `from` into the new file `to`.
///
/// # Errors
/// [`RecordError::Open`] when nothing in `from` is readable, [`RecordError::Exists`],
/// [`RecordError::Io`].
pub fn recover(from: &Path, to: &Path) -> Result<Recovered, RecordError> {
    let failed = |doing: &'static str| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists {
                path: to.to_owned(),
            },
            _ => RecordError::Io {
                path: to.to_owned(),
                doing,
                source,
            },
        }
    };
    let unreadable = |source| OpenError::Io {
        path: from.to_owned(),
        source,
    };
    let (source, start, header, fate) = match SessionFile::open(from) {
        Ok(file) => {
            let source = Arc::clone(file.source());
            let line = Lines::new(Arc::clone(&source), 0)
                .next()
                .map_err(unreadable)?
                .map(|raw| raw.bytes.to_vec())
                .unwrap_or_default();
            (source, file.events_at(), line, HeaderFate::Kept)
        }
        Err(error @ (OpenError::BadHeader { .. } | OpenError::NotASession { .. })) => {
            let source = Arc::new(Source::open(from, Unpack::All)?);
            let header = remake(&source, from).map_err(unreadable)?.ok_or(error)?;
            let mut lines = Lines::new(Arc::clone(&source), 0);
            lines.next().map_err(unreadable)?;
            let start = lines.offset();
            (source, start, header, HeaderFate::Remade)
        }
        Err(error) => return Err(error.into()),
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(to).map_err(failed("create the copy"))?;
    let mut copy = Copy {
        out: BufWriter::with_capacity(1 << 20, file),
        encoder: Encoder::default(),
        prev_keyframe: None,
        report: Report {
            lines: 1,
            ..Report::default()
        },
        order: Order::default(),
    };
    let written = copy.all(source, start, &header);
    written.map_err(failed("write the copy"))?;
    let file = copy
        .out
        .into_inner()
        .map_err(|e| failed("write the copy")(e.into_error()))?;
    file.sync_all().map_err(failed("sync the copy"))?;
    Ok(Recovered {
        events: copy.report.events,
        report: copy.report,
        header: fate,
    })
}

struct Copy {
    out: BufWriter<std::fs::File>,
    encoder: Encoder,
    prev_keyframe: Option<u64>,
    report: Report,
    order: Order,
}

impl Copy {
    fn all(&mut self, source: Arc<Source>, start: u64, header: &[u8]) -> io::Result<()> {
        self.out.write_all(header)?;
        self.out.write_all(b"\n")?;
        self.encoder.skip_to(header.len() as u64 + 1);
        let mut lines = Lines::new(source, start);
        while let Some(raw) = lines.next()? {
            self.report.lines += 1;
            let (number, offset) = (self.report.lines, raw.offset);
            let nuls = raw.bytes.iter().take_while(|b| **b == 0).count();
            let (line, damage) = understand(raw);
            if let Some(kind) = damage {
                self.report.add(number, offset, kind);
            }
            let Some(line) = line else {
                self.order.lost_a_line();
                continue;
            };
            if let Some(gap) = self.order.saw(line.event.seq) {
                self.report.add(number, offset, gap);
            }
            self.report.events += 1;
            self.event(&line.event, &raw.bytes[nuls..])?;
        }
        self.out.flush()
    }

    /// Copies one line, its offsets made to fit.
    fn event(&mut self, event: &Event, line: &[u8]) -> io::Result<()> {
        let at = self.encoder.offset();
        let fixed = match &event.body {
            Body::Keyframe { texts, .. } => {
                let fixed = self.fit_keyframe(texts, line);
                self.prev_keyframe = Some(at);
                fixed
            }
            _ if text_in(event).is_some() => {
                let last = event.thread.and_then(|id| self.encoder.last_text(id));
                fit_prev(last, line)
            }
            _ => None,
        };
        let line = fixed.as_deref().unwrap_or(line);
        self.out.write_all(line)?;
        self.out.write_all(b"\n")?;
        self.encoder.follow(event, at, line.len() as u64 + 1);
        Ok(())
    }

    fn fit_keyframe(&self, texts: &BTreeMap<ThreadId, TextMark>, line: &[u8]) -> Option<Vec<u8>> {
        #[derive(Deserialize)]
        struct Places<'a> {
            #[serde(borrow, default)]
            texts: Option<&'a RawValue>,
            #[serde(borrow, default)]
            prev_keyframe: Option<&'a RawValue>,
        }
        let places: Places<'_> = serde_json::from_slice(line).ok()?;
        let texts: BTreeMap<ThreadId, TextMark> = texts
            .iter()
            .filter_map(|(id, mark)| {
                let last = self.encoder.last_text(*id)?;
                Some((
                    *id,
                    TextMark {
                        last,
                        ..mark.clone()
                    },
                ))
            })
            .collect();
        let texts = serde_json::to_vec(&texts).ok()?;
        let prev = self
            .prev_keyframe
            .map_or("null".into(), |at| at.to_string());
        let mut fixes = Vec::new();
        fixes.extend(places.texts.map(|raw| (raw, texts)));
        fixes.extend(places.prev_keyframe.map(|raw| (raw, prev.into_bytes())));
        Some(replace(line, fixes))
    }
}

fn fit_prev(last: Option<u64>, line: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Place<'a> {
        #[serde(borrow, default)]
        prev: Option<&'a RawValue>,
    }
    let place: Place<'_> = serde_json::from_slice(line).ok()?;
    let last = last.map_or("null".into(), |at| at.to_string());
    Some(replace(line, vec![(place.prev?, last.into_bytes())]))
}

/// Puts new values in the places of values that were borrowed from `line`.
fn replace(line: &[u8], mut fixes: Vec<(&RawValue, Vec<u8>)>) -> Vec<u8> {
    let place = |raw: &RawValue| raw.get().as_ptr() as usize - line.as_ptr() as usize;
    fixes.sort_by_key(|(raw, _)| place(raw));
    let mut out = Vec::with_capacity(line.len() + 64);
    let mut done = 0;
    for (raw, value) in fixes {
        let from = place(raw);
        out.extend_from_slice(&line[done..from]);
        out.extend_from_slice(&value);
        done = from + raw.get().len();
    }
    out.extend_from_slice(&line[done..]);
    out
}

/// A header pieced together from the events of a file whose own is lost; `None` if it has no events.
fn remake(source: &Arc<Source>, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut lines = Lines::new(Arc::clone(source), 0);
    let (mut events, mut query, mut capacity, mut tau) = (0u64, String::new(), None, None);
    while let Some(raw) = lines.next()? {
        if raw.end == LineEnd::TooLong {
            continue;
        }
        let (Some(line), _) = understand(raw) else {
            continue;
        };
        events += 1;
        match line.event.body {
            Body::Thread { query: q, .. }
                if line.event.thread == Some(ThreadId::ORGANIZER) && query.is_empty() =>
            {
                query = q;
            }
            Body::Keyframe { state, .. } => {
                capacity = Some(state.capacity);
                tau = Some(state.tau);
            }
            _ => {}
        }
        if capacity.is_some() && !query.is_empty() {
            break;
        }
    }
    if events == 0 {
        return Ok(None);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let header = Header {
        format: FORMAT.into(),
        version: VERSION,
        id: format!("recovered-{stem}"),
        created: jiff::Timestamp::now().to_string(),
        app: env!("CARGO_PKG_VERSION").into(),
        engine: EngineCard::default(),
        prompts: Default::default(),
        query,
        policy: Default::default(),
        k: 0,
        merge: super::header::Merge::default(),
        // The default of live runs.
        capacity: capacity.unwrap_or(4),
        pool: Default::default(),
        strict: false,
        thinking: false,
        sampling: Default::default(),
        limits: Default::default(),
        task: None,
        seats: std::collections::BTreeMap::new(),
        workers: crate::org::Seat::Model,
        roster: Vec::new(),
        ask: Vec::new(),
        plan: false,
        guard: false,
        tau: tau.unwrap_or(crate::org::DEFAULT_TAU),
        parent: None,
    };
    Ok(serde_json::to_vec(&header).ok())
}
