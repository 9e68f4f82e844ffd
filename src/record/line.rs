//! One line of a session file ⇄ one [`Event`].
//!
//! Writing is the derived serialisation of [`Event`]. Reading is its inverse in two passes over the
//! same bytes: the envelope (which borrows from the line), then the body of that kind; token records,
//! nearly all of a file, take one pass. Unknown fields are ignored and unknown kinds read as
//! [`Body::Unknown`], so that files of newer minor versions open. Numbers that no session can reach are
//! refused here, so that nothing built on an event has to fear overflow.
//!
//! Not here: files, offsets, and what to do about a line that does not parse.

use crate::org::{
    ActionKind, Anchor, Author, Body, BranchId, Command, ErrorKind, Event, Metrics, Organization,
    Outcome, Role, RunEnd, Seat, Seq, SpliceKind, Step, TextBytes, TextMark, ThreadEnd, ThreadId,
    WaitOn,
};
use memchr::memmem;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Largest `seq`, `us` and offset: what a JSON number holds exactly everywhere.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Largest count of tokens, bytes or steps.
const MAX_COUNT: u64 = 1 << 40;

/// Fields that commands have; what else a line holds belongs to the envelope or to a newer version.
const COMMAND_FIELDS: [&str; 5] = ["do", "thread", "query", "name", "tokens_per_s"];

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

/// Where the event in `line` lies in its session: its place, time and step.
///
/// # Errors
/// [`LineError::Envelope`] or [`LineError::Range`].
pub fn place_of(line: &[u8]) -> Result<(Seq, u64, Step), LineError> {
    let e = envelope(line)?;
    Ok((Seq(e.seq), e.us, Step(e.step)))
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

/// A float with all its digits: serde_json's quick way may be off in the last place.
struct Exact(f64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer)?
            .get()
            .parse()
            .map(Self)
            .map_err(|_| D::Error::custom("expected a number"))
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

#[derive(Deserialize)]
struct ThreadBody {
    role: Role,
    #[serde(default)]
    seat: Seat,
    query: String,
    #[serde(default)]
    prompt: Vec<u32>,
}

#[derive(Deserialize)]
struct ActionBody {
    action: ActionKind,
    span: (u64, u64),
    at: u64,
    #[serde(default)]
    child: Option<ThreadId>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    anchor: Option<Anchor>,
}

#[derive(Deserialize)]
struct WaitBody {
    on: WaitOn,
}

#[derive(Deserialize)]
struct SpliceBody {
    splice: SpliceKind,
    ids: Vec<u32>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    b64: Option<String>,
    #[serde(default)]
    of: Option<ThreadId>,
    #[serde(default)]
    result: Option<ThreadEnd>,
    #[serde(default)]
    shortened: bool,
    #[serde(default)]
    prev: Option<u64>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorKind,
    #[serde(default)]
    span: Option<(u64, u64)>,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct EndBody {
    end: ThreadEnd,
}

#[derive(Deserialize)]
struct RunEndBody {
    end: RunEnd,
    #[serde(default)]
    answer: Option<String>,
    metrics: MetricsBody,
}

/// [`Metrics`], every float exact.
#[derive(Deserialize)]
struct MetricsBody {
    #[serde(rename = "T")]
    latency: u64,
    eta: Exact,
    eta_over_c: Exact,
    r_eta: Exact,
    work: u64,
    speedup: Exact,
    lived_steps: u64,
    wall_ms: Exact,
    decoded: u64,
    tok_per_s: Exact,
}

#[derive(Deserialize)]
struct MarkBody {
    name: String,
}

#[derive(Deserialize)]
struct KeyframeBody {
    state: Box<Organization>,
    #[serde(default)]
    texts: BTreeMap<ThreadId, TextMark>,
    #[serde(default)]
    prev_keyframe: Option<u64>,
}

fn parse_body(envelope: &Envelope<'_>, line: &[u8]) -> Result<(Body, Option<u64>), LineError> {
    let bad = |message: String| LineError::Body {
        seq: Seq(envelope.seq),
        kind: envelope.kind.chars().take(40).collect(),
        message,
    };
    fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }
    let body = match envelope.kind.as_ref() {
        // The quick way has refused it already: say why.
        "tokens" => {
            let why = serde_json::from_slice::<TokensLine<'_>>(line)
                .err()
                .map_or_else(|| "`kind` is not where it seems".into(), |e| e.to_string());
            return Err(bad(why));
        }
        "thread" => {
            let b: ThreadBody = read(line).map_err(bad)?;
            Body::Thread {
                role: b.role,
                seat: b.seat,
                query: b.query,
                prompt: b.prompt,
            }
        }
        "action" => {
            let b: ActionBody = read(line).map_err(bad)?;
            check("at", b.at, MAX_COUNT)?;
            check("span", b.span.0.max(b.span.1), MAX_COUNT)?;
            check("anchor", b.anchor.map_or(0, |a| a.tokens), MAX_COUNT)?;
            Body::Action {
                action: b.action,
                span: b.span,
                at: b.at,
                child: b.child,
                text: b.text,
                anchor: b.anchor,
            }
        }
        "wait" => Body::Wait {
            on: read::<WaitBody>(line).map_err(bad)?.on,
        },
        "resume" => Body::Resume,
        "splice" => {
            let b: SpliceBody = read(line).map_err(bad)?;
            let bytes = text_bytes(b.text, b.b64).map_err(bad)?;
            let splice = Body::Splice {
                splice: b.splice,
                ids: b.ids,
                bytes,
                of: b.of,
                result: b.result,
                shortened: b.shortened,
            };
            return Ok((splice, b.prev));
        }
        "command" => {
            let mut fields: serde_json::Map<String, serde_json::Value> = read(line).map_err(bad)?;
            fields.retain(|name, _| COMMAND_FIELDS.contains(&name.as_str()));
            let command: Command =
                serde_json::from_value(fields.into()).map_err(|e| bad(e.to_string()))?;
            Body::Command { command }
        }
        "effect" => Body::Effect {
            outcome: read::<Outcome>(line).map_err(bad)?,
        },
        "error" => {
            let b: ErrorBody = read(line).map_err(bad)?;
            check("span", b.span.map_or(0, |s| s.0.max(s.1)), MAX_COUNT)?;
            Body::Error {
                error: b.error,
                span: b.span,
                message: b.message,
            }
        }
        "end" => Body::End {
            end: read::<EndBody>(line).map_err(bad)?.end,
        },
        "run_end" => run_end(line).map_err(bad)?,
        "mark" => Body::Mark {
            name: read::<MarkBody>(line).map_err(bad)?.name,
        },
        "keyframe" => {
            let b: KeyframeBody = read(line).map_err(bad)?;
            plausible(&b.state)?;
            Body::Keyframe {
                state: b.state,
                texts: b.texts,
                prev_keyframe: b.prev_keyframe,
            }
        }
        _ => Body::Unknown,
    };
    Ok((body, None))
}

fn run_end(line: &[u8]) -> Result<Body, String> {
    // Floats keep their digits only when they are read straight from the line.
    let b: RunEndBody = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let m = b.metrics;
    Ok(Body::RunEnd {
        end: b.end,
        answer: b.answer,
        metrics: Metrics {
            latency: m.latency,
            eta: m.eta.0,
            eta_over_c: m.eta_over_c.0,
            r_eta: m.r_eta.0,
            work: m.work,
            speedup: m.speedup.0,
            lived_steps: m.lived_steps,
            wall_ms: m.wall_ms.0,
            decoded: m.decoded,
            tok_per_s: m.tok_per_s.0,
        },
    })
}

/// Refuses states that no run can have reached.
fn plausible(state: &Organization) -> Result<(), LineError> {
    check("state.now.us", state.now.us, MAX_NUMBER)?;
    check("state.now.step", state.now.step.0, MAX_COUNT)?;
    check("state.next_seq", state.next_seq.0, MAX_NUMBER)?;
    for t in state.threads() {
        let counts = [
            t.tokens,
            t.spliced_tokens,
            t.prompt_tokens,
            t.text_bytes,
            t.acted,
        ];
        for count in counts.into_iter().chain(t.ops.iter().map(|op| op.at)) {
            check("state.threads", count, MAX_COUNT)?;
        }
        for op in &t.ops {
            if let crate::org::OpKind::Fork {
                anchor: Some(anchor),
                ..
            } = op.kind
            {
                check("state.threads", anchor.tokens, MAX_COUNT)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
