//! One line of a session file ⇄ one [`Event`].
//!
//! Writing is the derived serialisation of [`Event`]. Reading is its inverse in two passes over the
//! same bytes: the envelope (which borrows from the line), then the body of that kind; token records,
//! nearly all of a file, take one pass. Unknown fields are ignored and unknown kinds read as
//! [`Body::Unknown`], so that files of newer minor versions open. Numbers that no session can reach are
//! refused here, so that nothing built on an event has to fear overflow.
//!
//! Not here: files, offsets, and what to do about a line that does not parse.

mod body;
mod shapes;

use crate::org::{Author, Body, BranchId, Event, Seq, Step, TextBytes, ThreadId};
use body::parse_body;
use memchr::memmem;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Largest `seq`, `us` and offset: what a JSON number holds exactly everywhere.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Largest count of tokens, bytes or steps.
const MAX_COUNT: u64 = 1 << 40;

/// What stands before a kind.
static KIND: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(b"\"kind\":\""));

/// A line as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What happened.
    pub event: Event,
    /// For records with text: byte offset of the thread's text record before this one.
    pub prev: Option<u64>,
}

/// Why a line gave no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or without the fields that every event has.
    #[error("not an event: {0}")]
    Envelope(String),
    /// The envelope is whole, the rest is not what its kind needs.
    #[error("`{kind}` event {seq} not understood: {message}")]
    Body {
        /// Its place.
        seq: Seq,
        /// Its kind.
        kind: String,
        /// What is wrong.
        message: String,
    },
    /// A number that no session can reach.
    #[error("`{0}` is out of range")]
    Range(&'static str),
}

/// Writes `event` as one line, newline included. `prev` goes into records with text.
pub fn encode(event: &Event, prev: Option<u64>, out: &mut Vec<u8>) {
    let written = if event.thread.is_some() && matches!(event.body, Body::Command { .. }) {
        // `thread` in a command line is the command's own.
        let mut bare = event.clone();
        bare.thread = None;
        serde_json::to_writer(&mut *out, &bare)
    } else {
        serde_json::to_writer(&mut *out, event)
    };
    written.expect("events have string keys only and memory takes every write");
    if let Some(prev) = prev {
        push_field(out, "prev", prev);
    }
    out.push(b'\n');
}

/// Adds a field to the JSON object that `out` ends with.
pub(super) fn push_field(out: &mut Vec<u8>, name: &str, value: u64) {
    out.pop();
    out.extend_from_slice(format!(",\"{name}\":{value}}}").as_bytes());
}

/// The kind of the event in `line`, found without parsing it where it stands near the front.
#[must_use]
pub fn kind_of(line: &[u8]) -> Option<Cow<'_, str>> {
    let front = &line[..line.len().min(160)];
    if let Some(at) = KIND.find(front) {
        let rest = &front[at + KIND.needle().len()..];
        let end = memchr::memchr(b'"', rest)?;
        return std::str::from_utf8(&rest[..end]).ok().map(Cow::Borrowed);
    }
    envelope(line).ok().map(|e| e.kind)
}

/// Where an event lies in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub seq: Seq,
    /// Its time.
    pub us: u64,
    /// Its (first) step.
    pub step: Step,
    /// Its branch.
    pub branch: BranchId,
}

/// Where the event in `line` lies in its session.
///
/// # Errors
/// [`LineError::Envelope`] or [`LineError::Range`].
pub fn place_of(line: &[u8]) -> Result<Place, LineError> {
    let e = envelope(line)?;
    Ok(Place {
        seq: Seq(e.seq),
        us: e.us,
        step: Step(e.step),
        branch: e.branch,
    })
}

#[derive(Deserialize)]
struct Envelope<'a> {
    seq: u64,
    us: u64,
    step: u64,
    #[serde(default)]
    branch: BranchId,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    thread: Option<ThreadId>,
    #[serde(default)]
    by: Author,
    #[serde(default)]
    cause: Option<Seq>,
}

/// Envelope and body of a token record at once.
#[derive(Deserialize)]
struct TokensLine<'a> {
    seq: u64,
    us: u64,
    step: u64,
    #[serde(default)]
    branch: BranchId,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    thread: Option<ThreadId>,
    #[serde(default)]
    by: Author,
    #[serde(default)]
    cause: Option<Seq>,
    ids: Vec<u32>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    b64: Option<String>,
    lens: Vec<u32>,
    #[serde(default)]
    logprobs: Vec<LogProb>,
    #[serde(default)]
    top: Vec<Vec<(u32, LogProb)>>,
    #[serde(default)]
    prev: Option<u64>,
}

/// A log probability; what JSON cannot hold (written as `null`) reads as −∞, the only such value it
/// takes.
struct LogProb(f32);

impl<'de> Deserialize<'de> for LogProb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<f32>::deserialize(deserializer)?;
        Ok(Self(value.unwrap_or(f32::NEG_INFINITY)))
    }
}

fn envelope(line: &[u8]) -> Result<Envelope<'_>, LineError> {
    let e: Envelope<'_> =
        serde_json::from_slice(line).map_err(|e| LineError::Envelope(e.to_string()))?;
    in_range(e.seq, e.us, e.step)?;
    Ok(e)
}

fn in_range(seq: u64, us: u64, step: u64) -> Result<(), LineError> {
    check("seq", seq, MAX_NUMBER)?;
    check("us", us, MAX_NUMBER)?;
    check("step", step, MAX_COUNT)
}

fn check(field: &'static str, value: u64, most: u64) -> Result<(), LineError> {
    if value > most {
        return Err(LineError::Range(field));
    }
    Ok(())
}

/// Reads one line (without its newline).
///
/// # Errors
/// What is wrong with it. No input panics.
pub fn parse(line: &[u8]) -> Result<Line, LineError> {
    if kind_of(line).as_deref() == Some("tokens")
        && let Some(parsed) = parse_tokens(line)?
    {
        return Ok(parsed);
    }
    let envelope = envelope(line)?;
    let (body, prev) = parse_body(&envelope, line)?;
    let is_command = matches!(body, Body::Command { .. });
    Ok(Line {
        event: Event {
            seq: Seq(envelope.seq),
            us: envelope.us,
            step: Step(envelope.step),
            branch: envelope.branch,
            thread: envelope.thread.filter(|_| !is_command),
            by: envelope.by,
            cause: envelope.cause,
            body,
        },
        prev,
    })
}

/// `None` where the general way should say what is wrong.
fn parse_tokens(line: &[u8]) -> Result<Option<Line>, LineError> {
    let Ok(l) = serde_json::from_slice::<TokensLine<'_>>(line) else {
        return Ok(None);
    };
    in_range(l.seq, l.us, l.step)?;
    let bad = |message: &str| LineError::Body {
        seq: Seq(l.seq),
        kind: "tokens".into(),
        message: message.into(),
    };
    if l.kind != "tokens" {
        return Ok(None);
    }
    let bytes = text_bytes(l.text, l.b64).map_err(|message| bad(&message))?;
    let total: u64 = l.lens.iter().map(|n| u64::from(*n)).sum();
    if l.lens.len() != l.ids.len() || total != bytes.0.len() as u64 {
        return Err(bad("ids, lens and text do not go together"));
    }
    Ok(Some(Line {
        event: Event {
            seq: Seq(l.seq),
            us: l.us,
            step: Step(l.step),
            branch: l.branch,
            thread: l.thread,
            by: l.by,
            cause: l.cause,
            body: Body::Tokens {
                ids: l.ids,
                bytes,
                lens: l.lens,
                logprobs: l.logprobs.into_iter().map(|x| x.0).collect(),
                top: l
                    .top
                    .into_iter()
                    .map(|best| best.into_iter().map(|(id, p)| (id, p.0)).collect())
                    .collect(),
            },
        },
        prev: l.prev,
    }))
}

fn text_bytes(text: Option<String>, b64: Option<String>) -> Result<TextBytes, String> {
    use base64::Engine as _;
    match (text, b64) {
        (Some(text), None) => Ok(TextBytes(text.into_bytes())),
        (None, Some(b64)) => base64::engine::general_purpose::STANDARD
            .decode(b64)
            .map(TextBytes)
            .map_err(|e| e.to_string()),
        _ => Err("expected either `text` or `b64`".into()),
    }
}

#[cfg(test)]
mod tests;
