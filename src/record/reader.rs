//! Opening session files and reading them from the first event to the last.
//!
//! Opening reads the header only. Damage never ends the reading: it goes into the [`Report`], with
//! everything readable around it. Not here: jumping about ([`super::player`]) and writing.

use super::damage::{DamageKind, Report, newer_message, understand};
use super::error::OpenError;
use super::header::{FORMAT, Header, VERSION, Version};
use super::lines::{LineEnd, Lines, LinesBack};
use super::source::{Source, Unpack};
use crate::org::{Event, Seq};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session file that opened.
#[derive(Debug, Clone)]
pub struct SessionFile {
    path: PathBuf,
    source: Arc<Source>,
    header: Header,
    events_at: u64,
    newer: Option<Version>,
}

/// What every version's header says about itself.
#[derive(Deserialize)]
struct Label {
    format: String,
    version: Version,
}

impl SessionFile {
    /// Opens `path` and reads its header.
    ///
    /// # Errors
    /// [`OpenError`], naming the file, the line, what was expected and what to do. The file is left as it
    /// is in every case.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_part(path, Unpack::All)
    }

    /// Like [`Self::open`]; of compressed files only as much as is wanted.
    pub(super) fn open_part(path: &Path, how: Unpack) -> Result<Self, OpenError> {
        Self::of(path, Source::open(path, how)?)
    }

    /// Opens a session that is in memory; `name` is for messages.
    ///
    /// # Errors
    /// As [`SessionFile::open`].
    pub fn in_memory(name: &str, bytes: Vec<u8>) -> Result<Self, OpenError> {
        Self::of(Path::new(name), Source::Memory(bytes))
    }

    fn of(path: &Path, source: Source) -> Result<Self, OpenError> {
        let source = Arc::new(source);
        if source.len() == 0 {
            return Err(OpenError::Empty {
                path: path.to_owned(),
            });
        }
        let mut lines = Lines::new(Arc::clone(&source), 0);
        let first = lines.next().map_err(|source| OpenError::Io {
            path: path.to_owned(),
            source,
        })?;
        let (header, newer) = match first {
            Some(line) if line.end != LineEnd::TooLong => read_header(path, line.bytes)?,
            _ => {
                return Err(OpenError::NotASession {
                    path: path.to_owned(),
                    found: "a first line without end".into(),
                });
            }
        };
        Ok(Self {
            path: path.to_owned(),
            events_at: lines.offset(),
            source,
            header,
            newer,
        })
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What session it is.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its size in bytes, unpacked.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.source.len()
    }

    /// Why it can only be read, if so.
    #[must_use]
    pub fn read_only(&self) -> Option<String> {
        match self.newer {
            Some(version) => Some(newer_message(version)),
            None if self.source.compressed() => {
                Some("it is compressed: unpack it with `zstd -d` to continue it".into())
            }
            None => None,
        }
    }

    /// Whether the organization ever went back: branches only ever get higher numbers, so the end tells.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn has_branches(&self) -> io::Result<bool> {
        let end = self.source.len();
        let mut lines = LinesBack::new(Arc::clone(&self.source), end, self.events_at);
        while let Some(raw) = lines.next()? {
            if let Ok(place) = super::line::place_of(raw.bytes) {
                return Ok(place.branch.0 > 0);
            }
        }
        Ok(false)
    }

    /// Its bytes.
    pub(super) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Byte offset of the first event.
    pub(super) fn events_at(&self) -> u64 {
        self.events_at
    }

    /// All events in file order.
    #[must_use]
    pub fn events(&self) -> Events {
        Events {
            lines: Lines::new(Arc::clone(&self.source), self.events_at),
            report: Report {
                newer: self.newer,
                lines: 1,
                ..Report::default()
            },
            order: Order::default(),
        }
    }

    /// Reads everything to see what is wrong.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn check(&self) -> io::Result<Report> {
        let mut events = self.events();
        for event in &mut events {
            event?;
        }
        Ok(events.report)
    }
}

/// Reads the first line.
pub(super) fn read_header(
    path: &Path,
    line: &[u8],
) -> Result<(Header, Option<Version>), OpenError> {
    let bad = |message: String| OpenError::BadHeader {
        path: path.to_owned(),
        message,
    };
    let label: Label = match serde_json::from_slice(line) {
        Ok(label) => label,
        Err(e) => {
            let front = &line[..line.len().min(400)];
            return Err(
                if memchr::memmem::find(front, FORMAT.as_bytes()).is_some() {
                    bad(e.to_string())
                } else {
                    OpenError::NotASession {
                        path: path.to_owned(),
                        found: printable(front),
                    }
                },
            );
        }
    };
    if label.format != FORMAT {
        return Err(OpenError::NotASession {
            path: path.to_owned(),
            found: format!("format `{}`", printable(label.format.as_bytes())),
        });
    }
    let newer = (label.version.major > VERSION.major).then_some(label.version);
    match serde_json::from_slice(line).or_else(|e| without_unknown(line).ok_or(e)) {
        Ok(header) => Ok((header, newer)),
        Err(e) => Err(bad(match newer {
            Some(version) => format!("{e}; {}", newer_message(version)),
            None => e.to_string(),
        })),
    }
}

/// The header without sampling fields that this version does not know: in a config they are mistakes, in
/// a file of a newer version they are not.
fn without_unknown(line: &[u8]) -> Option<Header> {
    let mut header: serde_json::Value = serde_json::from_slice(line).ok()?;
    let known = serde_json::to_value(crate::engine::Sampling::default()).ok()?;
    let sampling = header.get_mut("sampling")?.as_object_mut()?;
    sampling.retain(|name, _| known.get(name).is_some());
    serde_json::from_value(header).ok()
}

/// The first characters of something that may be anything.
fn printable(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(160)])
        .chars()
        .take(40)
        .collect();
    format!("`{}`", text.escape_default())
}

/// An event as it lies in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What happened.
    pub event: Event,
    /// For records with text: offset of the thread's text record before.
    pub prev: Option<u64>,
    /// Byte offset of its line.
    pub offset: u64,
    /// Bytes of its line, newline included.
    pub len: u64,
    /// Its line, the header being line 1.
    pub line: u64,
}

/// Watches that no event is missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    next: Seq,
    damaged: u64,
}

impl Order {
    /// Takes note of a line that gave no event.
    pub(super) fn lost_a_line(&mut self) {
        self.damaged += 1;
    }

    /// Takes note of event `seq`; a gap that damaged lines do not explain comes back.
    pub(super) fn saw(&mut self, seq: Seq) -> Option<DamageKind> {
        let expected = self.next;
        let damaged = std::mem::take(&mut self.damaged);
        self.next = seq.next();
        let explained = seq >= expected && seq.0 - expected.0 <= damaged;
        (!explained).then_some(DamageKind::Gap {
            expected,
            found: seq,
        })
    }

    /// What comes next is taken as it is.
    pub(super) fn resume_at(&mut self, next: Seq) {
        *self = Self { next, damaged: 0 };
    }
}

/// Iterates over the events of a file; see [`SessionFile::events`].
pub struct Events {
    lines: Lines,
    report: Report,
    order: Order,
}

impl Events {
    /// What was found wrong so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl Iterator for Events {
    type Item = io::Result<Recorded>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let raw = match self.lines.next() {
                Ok(raw) => raw?,
                Err(e) => return Some(Err(e)),
            };
            self.report.lines += 1;
            let (number, offset) = (self.report.lines, raw.offset);
            let len = raw.bytes.len() as u64 + u64::from(raw.end == LineEnd::Newline);
            let (line, damage) = understand(raw);
            if let Some(kind) = damage {
                self.report.add(number, offset, kind);
                if line.is_none() {
                    self.order.lost_a_line();
                }
            }
            let Some(line) = line else { continue };
            if let Some(gap) = self.order.saw(line.event.seq) {
                self.report.add(number, offset, gap);
            }
            self.report.events += 1;
            return Some(Ok(Recorded {
                event: line.event,
                prev: line.prev,
                offset,
                len,
                line: number,
            }));
        }
    }
}
