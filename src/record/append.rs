//! Going on with a session file that exists: its torn end is set aside, the rest is left as it is.

use super::damage::Report;
use super::encoder::Encoder;
use super::error::{OpenError, RecordError};
use super::header::Header;
use super::reader::SessionFile;
use super::sink::{FileSink, Sink, lock};
use super::writer::{BOUND, Recorder};
use crate::org::{Seq, Step};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A session that is recorded again.
#[derive(Debug)]
pub struct Appending {
    /// Takes further events.
    pub recorder: Recorder,
    /// What session it is.
    pub header: Header,
    /// The place of the next event.
    pub next_seq: Seq,
    /// The last step seen.
    pub step: Step,
    /// The last time seen: further events come after it.
    pub us: u64,
    /// What is wrong with the file.
    pub report: Report,
    /// Where its torn end was put, if it had one.
    pub torn: Option<PathBuf>,
}

impl Recorder {
    /// Goes on with the session at `path`. A torn last record is moved to `<path>.torn-<n>`; records begin
    /// on a fresh line; nothing else in the file changes.
    ///
    /// # Errors
    /// [`RecordError::Busy`] while another program records it, [`RecordError::ReadOnly`] for newer
    /// versions and compressed files, [`RecordError::Open`] when it is no session (then it is left as it
    /// is), [`RecordError::Io`].
    pub fn append_to(path: &Path) -> Result<Appending, RecordError> {
        let failed = |doing| {
            move |source: io::Error| RecordError::Io {
                path: path.to_owned(),
                doing,
                source,
            }
        };
        // Opening for reading first: it refuses what is no file, and tells bad headers apart.
        SessionFile::open(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(failed("open for writing"))?;
        lock(&file).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => RecordError::Busy {
                path: path.to_owned(),
            },
            _ => failed("lock")(e),
        })?;
        // What was there before the lock may have grown.
        let session = SessionFile::open(path)?;
        if let Some(why) = session.read_only() {
            return Err(RecordError::ReadOnly {
                path: path.to_owned(),
                why,
            });
        }
        let unreadable = |source| {
            RecordError::Open(OpenError::Io {
                path: path.to_owned(),
                source,
            })
        };
        let mut encoder = Encoder::default();
        encoder.skip_to(session.events_at());
        let (mut next_seq, mut step, mut us) = (Seq(0), Step(0), 0);
        let mut events = session.events();
        for recorded in &mut events {
            let recorded = recorded.map_err(unreadable)?;
            let event = &recorded.event;
            encoder.follow(event, recorded.offset, recorded.len);
            next_seq = next_seq.max(event.seq.next());
            step = step.max(event.last_step());
            us = us.max(event.us);
        }
        let report = events.report().clone();
        let end = fresh_end(&file, &session, encoder.offset()).map_err(unreadable)?;
        let torn = match end {
            End::Clean => None,
            End::Unfinished => {
                file.write_all(b"\n").map_err(failed("end the last line"))?;
                None
            }
            End::Torn { from } => {
                let aside = set_aside(&mut file, path, from)
                    .map_err(failed("set the torn last record aside"))?;
                Some(aside)
            }
        };
        let len = file.metadata().map_err(failed("measure"))?.len();
        encoder.skip_to(len);
        let mut sink = FileSink::append(file, path);
        sink.sync().map_err(failed("sync"))?;
        Ok(Appending {
            recorder: Recorder::start(Box::new(sink), encoder, path, BOUND),
            header: session.header().clone(),
            next_seq,
            step,
            us,
            report,
            torn,
        })
    }
}

/// How a file ends.
enum End {
    /// With a newline.
    Clean,
    /// With a whole record that lacks its newline.
    Unfinished,
    /// With a part of a record, from this byte on.
    Torn { from: u64 },
}

/// `known` is the end of the last readable record.
fn fresh_end(file: &File, session: &SessionFile, known: u64) -> io::Result<End> {
    let len = file.metadata()?.len();
    let mut last = [0];
    session.source().read_at(len.saturating_sub(1), &mut last)?;
    if last == *b"\n" {
        return Ok(End::Clean);
    }
    if known >= len {
        return Ok(End::Unfinished);
    }
    let mut lines =
        super::lines::LinesBack::new(std::sync::Arc::clone(session.source()), len, known);
    let from = lines.next()?.map_or(known, |line| line.offset);
    Ok(End::Torn { from })
}

/// Moves the bytes from `from` on into a new file beside `path`.
fn set_aside(file: &mut File, path: &Path, from: u64) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn-");
    for n in 1u32.. {
        let mut aside = name.clone();
        aside.push(n.to_string());
        let aside = PathBuf::from(aside);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&aside) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            Ok(mut copy) => {
                file.seek(SeekFrom::Start(from))?;
                io::copy(file, &mut copy)?;
                copy.sync_all()?;
                // Only now that they are safe elsewhere.
                file.set_len(from)?;
                return Ok(aside);
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
