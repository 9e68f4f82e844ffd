//! An engine that plays given tokens with given timing: for tests, demos and measurements.
//!
//! A script is JSON lines, one a thread. A sequence finds its line by its key: the n-th line for a
//! thread serves the n-th bearer of that id. Position in a line = tokens decoded, so cutting a sequence
//! rewinds it and forcing recorded tokens moves it forward.

use super::contract::{
    ChatMessage, Decoded, Engine, EngineCard, EngineError, Epoch, Footprint, ModelCard, SeqId,
    SeqOp, StepOutput, Stop, TokenId,
};
use base64::Engine as _;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Longest sleep inside one step, so that commands are served in time.
const NAP: Duration = Duration::from_millis(20);

/// How far a sequence may be behind its pace and still catch up. Beyond it (a pause, a stopped process) it
/// goes on at its pace from now.
const CATCH_UP: Duration = Duration::from_millis(500);

/// Ids below this stand for single bytes; above for the script's own tokens.
const BYTES: TokenId = 256;

/// A line that cannot be played.
#[derive(Debug, thiserror::Error)]
#[error("{path}, line {line}: {message}")]
pub struct ScriptError {
    /// The file.
    pub path: String,
    /// 1-based.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// A parsed script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    lines: Vec<Line>,
    /// Lines by thread (without bearers), in file order.
    by_thread: HashMap<String, Vec<usize>>,
    /// Bytes of each token of the script.
    vocabulary: Vec<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Line {
    tokens: Vec<TokenId>,
    repeat: bool,
    tokens_per_s: Option<f64>,
    fail_at: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    thread: String,
    tokens: Option<Vec<RawToken>>,
    text: Option<String>,
    split: Option<Split>,
    #[serde(default)]
    repeat: bool,
    tokens_per_s: Option<f64>,
    fail_at: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a token is a string or {\"b64\": \"...\"}")]
enum RawToken {
    Text(String),
    Bytes { b64: String },
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`split` is \"char\", \"word\" or a number of bytes"
)]
enum Split {
    Named(NamedSplit),
    Bytes(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamedSplit {
    Char,
    Word,
}

impl Script {
    /// Parses a script; `path` is for messages.
    ///
    /// # Errors
    /// The first line that is not a script line, with what was expected.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        let mut known: HashMap<Vec<u8>, TokenId> = HashMap::new();
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            script
                .add_line(line, &mut known)
                .map_err(|message| ScriptError {
                    path: path.to_owned(),
                    line: i + 1,
                    message,
                })?;
        }
        Ok(script)
    }

    /// The threads it has lines for.
    pub fn threads(&self) -> impl Iterator<Item = &str> {
        self.by_thread.keys().map(String::as_str)
    }

    fn add_line(
        &mut self,
        line: &str,
        known: &mut HashMap<Vec<u8>, TokenId>,
    ) -> Result<(), String> {
        let raw: RawLine = serde_json::from_str(line).map_err(|e| {
            format!(
                "{e}; expected an object like {{\"thread\": \"1\", \"tokens\": [\"a\", \"b\"]}} or \
                 {{\"thread\": \"1\", \"text\": \"a b\", \"split\": \"word\"}}"
            )
        })?;
        if raw.thread.contains('~') {
            return Err(format!(
                "thread `{}`: name the index alone; the n-th line for it serves its n-th bearer",
                raw.thread
            ));
        }
        if raw
            .tokens_per_s
            .is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
        {
            return Err("tokens_per_s must be above 0; leave it out for no limit".into());
        }
        let pieces = match (raw.tokens, raw.text) {
            (Some(tokens), None) => tokens
                .into_iter()
                .map(raw_bytes)
                .collect::<Result<Vec<_>, _>>()?,
            (None, Some(text)) => split(&text, raw.split)?,
            _ => return Err("expected either `tokens` or `text`".into()),
        };
        let tokens = pieces
            .into_iter()
            .map(|bytes| {
                *known.entry(bytes).or_insert_with_key(|bytes| {
                    self.vocabulary.push(bytes.clone());
                    BYTES + TokenId::try_from(self.vocabulary.len() - 1).unwrap_or(TokenId::MAX)
                })
            })
            .collect();
        self.by_thread
            .entry(raw.thread)
            .or_default()
            .push(self.lines.len());
        self.lines.push(Line {
            tokens,
            repeat: raw.repeat,
            tokens_per_s: raw.tokens_per_s,
            fail_at: raw.fail_at,
        });
        Ok(())
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        match u8::try_from(token) {
            Ok(byte) => vec![byte],
            Err(_) => self
                .vocabulary
                .get((token - BYTES) as usize)
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// The line that serves the sequence called `key`.
    fn line_for(&self, key: &str) -> Option<usize> {
        let last = key.rsplit('.').next().unwrap_or(key);
        let bearer = last
            .split_once('~')
            .and_then(|(_, n)| n.parse::<usize>().ok())
            .unwrap_or(1);
        let plain: Vec<&str> = key
            .split('.')
            .map(|level| level.split('~').next().unwrap_or(level))
            .collect();
        self.by_thread
            .get(&plain.join("."))
            .and_then(|lines| lines.get(bearer - 1))
            .copied()
    }
}

fn raw_bytes(token: RawToken) -> Result<Vec<u8>, String> {
    match token {
        RawToken::Text(text) => Ok(text.into_bytes()),
        RawToken::Bytes { b64 } => base64::engine::general_purpose::STANDARD
            .decode(&b64)
            .map_err(|e| format!("`{b64}` is not base64: {e}")),
    }
}

fn split(text: &str, how: Option<Split>) -> Result<Vec<Vec<u8>>, String> {
    Ok(match how.unwrap_or(Split::Named(NamedSplit::Word)) {
        Split::Named(NamedSplit::Char) => {
            text.chars().map(|c| c.to_string().into_bytes()).collect()
        }
        Split::Named(NamedSplit::Word) => words(text),
        Split::Bytes(0) => return Err("split: a chunk needs at least 1 byte".into()),
        Split::Bytes(n) => text.as_bytes().chunks(n).map(<[u8]>::to_vec).collect(),
    })
}

/// Words with the white space before them, as most tokenizers cut.
fn words(text: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let starts = c.is_whitespace() && in_word;
        if starts || words.is_empty() {
            words.push(Vec::new());
        }
        in_word = !c.is_whitespace();
        if let Some(word) = words.last_mut() {
            word.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    words
}

struct Sequence {
    line: Option<usize>,
    epoch: Epoch,
    /// For every token of the context, whether it was decoded.
    context: Vec<bool>,
    decoded: usize,
    running: bool,
    stopped: bool,
    /// Pace: tokens due since `since`, and how many of them were given.
    since: Instant,
    given: u64,
}

/// Plays a [`Script`].
pub struct Scripted {
    script: Script,
    card: EngineCard,
    sequences: BTreeMap<SeqId, Sequence>,
    started: Instant,
}

impl Scripted {
    /// An engine that plays `script`.
    #[must_use]
    pub fn new(script: Script, name: &str) -> Self {
        Self {
            card: EngineCard {
                kind: "scripted".into(),
                device: "none".into(),
                threads: 1,
                footprint: Footprint::default(),
                model: ModelCard {
                    name: name.to_owned(),
                    arch: "script".into(),
                    ..ModelCard::default()
                },
                server: None,
            },
            script,
            sequences: BTreeMap::new(),
            started: Instant::now(),
        }
    }

    fn apply(&mut self, op: SeqOp) {
        match op {
            SeqOp::Open {
                seq, key, prefix, ..
            } => {
                let context = prefix
                    .and_then(|(from, len)| {
                        let from = self.sequences.get(&from)?;
                        Some(from.context.iter().take(len).copied().collect())
                    })
                    .unwrap_or_default();
                let line = self.script.line_for(&key);
                self.sequences.insert(
                    seq,
                    Sequence {
                        line,
                        epoch: Epoch::default(),
                        context,
                        decoded: 0,
                        running: false,
                        stopped: false,
                        since: self.started,
                        given: 0,
                    },
                );
            }
            SeqOp::Append {
                seq,
                tokens,
                decoded,
            } => {
                if let Some(s) = self.sequences.get_mut(&seq) {
                    s.context.extend(tokens.iter().map(|_| decoded));
                    s.decoded += if decoded { tokens.len() } else { 0 };
                }
            }
            SeqOp::Cut { seq, len, epoch } => {
                if let Some(s) = self.sequences.get_mut(&seq) {
                    s.context.truncate(len);
                    s.decoded = s.context.iter().filter(|d| **d).count();
                    s.epoch = epoch;
                    s.stopped = false;
                }
            }
            SeqOp::Run(seq) => {
                if let Some(s) = self.sequences.get_mut(&seq) {
                    s.running = true;
                    s.since = Instant::now();
                    s.given = 0;
                }
            }
            SeqOp::Hold(seq) => {
                if let Some(s) = self.sequences.get_mut(&seq) {
                    s.running = false;
                }
            }
            // It plays what it was given.
            SeqOp::Sample(..) | SeqOp::Forbid(..) => {}
            SeqOp::Close(seq) => {
                self.sequences.remove(&seq);
            }
        }
    }

    /// Sequences that cannot give another token, each reported once.
    fn stops(&mut self) -> Vec<(SeqId, Stop)> {
        let mut stops = Vec::new();
        for (&id, s) in self
            .sequences
            .iter_mut()
            .filter(|(_, s)| s.running && !s.stopped)
        {
            let stop = match s.line.map(|l| &self.script.lines[l]) {
                None => Stop::Absent,
                Some(line) if line.fail_at == Some(s.decoded) => Stop::Failed(format!(
                    "the script fails after {} tokens, as it says",
                    s.decoded
                )),
                Some(line) if line.tokens.is_empty() => Stop::Exhausted,
                Some(line) if !line.repeat && s.decoded >= line.tokens.len() => Stop::Exhausted,
                Some(_) => continue,
            };
            s.stopped = true;
            s.running = false;
            stops.push((id, stop));
        }
        stops
    }

    /// Seconds until `s` is due, on a clock grid that sequences of one pace share; negative: since when.
    fn seconds_until_due(&self, s: &Sequence, now: Instant) -> f64 {
        let rate = s.line.and_then(|l| self.script.lines[l].tokens_per_s);
        let Some(rate) = rate else {
            return 0.0;
        };
        let first_tick = ((s.since - self.started).as_secs_f64() * rate).floor() + 1.0;
        let due = (first_tick + s.given as f64) / rate;
        due - (now - self.started).as_secs_f64()
    }

    fn due_in(&self, s: &Sequence, now: Instant) -> Duration {
        Duration::try_from_secs_f64(self.seconds_until_due(s, now)).unwrap_or(Duration::ZERO)
    }

    /// Sequences that were kept from their pace for long begin it anew.
    fn forgive(&mut self, now: Instant) {
        let late: Vec<SeqId> = self
            .sequences
            .iter()
            .filter(|(_, s)| self.seconds_until_due(s, now) < -CATCH_UP.as_secs_f64())
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            if let Some(s) = self.sequences.get_mut(&id) {
                s.since = now;
                s.given = 0;
            }
        }
    }
}

impl Engine for Scripted {
    fn card(&self) -> &EngineCard {
        &self.card
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        Ok(text.bytes().map(TokenId::from).collect())
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        _thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        let text: Vec<&str> = messages.iter().map(|m| m.content.as_str()).collect();
        self.encode(&text.join("\n\n"))
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        tokens.iter().flat_map(|t| self.script.bytes(*t)).collect()
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let began = Instant::now();
        for op in ops {
            self.apply(op);
        }
        let mut output = StepOutput {
            stopped: self.stops(),
            ..StepOutput::default()
        };
        // A stop costs no step, so nobody decodes beside it.
        if !output.stopped.is_empty() {
            return Ok(output);
        }
        let mut now = began;
        self.forgive(now);
        let wait = self
            .sequences
            .values()
            .filter(|s| s.running)
            .map(|s| self.due_in(s, now))
            .min();
        if let Some(wait) = wait
            && !wait.is_zero()
        {
            std::thread::sleep(wait.min(NAP));
            now = Instant::now();
        }
        let due: Vec<SeqId> = self
            .sequences
            .iter()
            .filter(|(_, s)| s.running && self.due_in(s, now).is_zero())
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let Some(s) = self.sequences.get_mut(&id) else {
                continue;
            };
            let Some(line) = s.line.map(|l| &self.script.lines[l]) else {
                continue;
            };
            let token = line.tokens[s.decoded % line.tokens.len()];
            s.decoded += 1;
            s.given += 1;
            s.context.push(true);
            output.decoded.push(Decoded {
                seq: id,
                epoch: s.epoch,
                token,
                bytes: self.script.bytes(token),
                eos: false,
                logprob: None,
                alternatives: Vec::new(),
                vetoed: Vec::new(),
            });
        }
        output.stats.busy_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Priority, Sampling};

    fn engine(script: &str) -> Scripted {
        Scripted::new(Script::parse(script, "test").unwrap(), "test")
    }

    fn open(seq: u32, key: &str) -> Vec<SeqOp> {
        vec![
            SeqOp::Open {
                seq: SeqId(seq),
                key: key.into(),
                sampling: Sampling::default(),
                priority: Priority::Worker,
                prefix: None,
            },
            SeqOp::Run(SeqId(seq)),
        ]
    }

    fn texts(output: &StepOutput) -> Vec<String> {
        output
            .decoded
            .iter()
            .map(|d| String::from_utf8_lossy(&d.bytes).into_owned())
            .collect()
    }

    #[test]
    fn one_string_is_one_token_is_one_step_and_the_end_costs_none() {
        let mut e = engine(r#"{"thread": "1", "tokens": ["a", "bc"]}"#);
        assert_eq!(texts(&e.advance(open(1, "1")).unwrap()), ["a"]);
        assert_eq!(texts(&e.advance(vec![]).unwrap()), ["bc"]);
        let last = e.advance(vec![]).unwrap();
        assert!(last.decoded.is_empty());
        assert_eq!(last.stopped, [(SeqId(1), Stop::Exhausted)]);
        let after = e.advance(vec![]).unwrap();
        assert!(after.decoded.is_empty() && after.stopped.is_empty());
    }

    #[test]
    fn a_cut_rewinds_and_forced_tokens_move_on() {
        let mut e = engine(r#"{"thread": "1", "text": "abcdef", "split": "char"}"#);
        e.advance(open(1, "1")).unwrap();
        e.advance(vec![]).unwrap();
        let cut = SeqOp::Cut {
            seq: SeqId(1),
            len: 1,
            epoch: Epoch(1),
        };
        let again = e.advance(vec![cut]).unwrap();
        assert_eq!(texts(&again), ["b"]);
        assert_eq!(again.decoded[0].epoch, Epoch(1));
        let force = SeqOp::Append {
            seq: SeqId(1),
            tokens: vec![0, 0],
            decoded: true,
        };
        assert_eq!(texts(&e.advance(vec![force]).unwrap()), ["e"]);
    }

    #[test]
    fn the_nth_line_serves_the_nth_bearer_and_nobody_serves_the_rest() {
        let script = "{\"thread\":\"1\",\"tokens\":[\"x\"]}\n{\"thread\":\"1\",\"tokens\":[\"y\"]}";
        let mut e = engine(script);
        assert_eq!(texts(&e.advance(open(1, "1")).unwrap()), ["x"]);
        e.advance(vec![SeqOp::Close(SeqId(1))]).unwrap();
        assert_eq!(texts(&e.advance(open(2, "1~2")).unwrap()), ["y"]);
        e.advance(vec![SeqOp::Close(SeqId(2))]).unwrap();
        assert_eq!(
            e.advance(open(3, "1~3")).unwrap().stopped,
            [(SeqId(3), Stop::Absent)]
        );
    }

    #[test]
    fn words_keep_their_spaces() {
        let script = Script::parse(r#"{"thread":"1","text":" a  bc\nd","split":"word"}"#, "t");
        let script = script.unwrap();
        let pieces: Vec<Vec<u8>> = script.lines[0]
            .tokens
            .iter()
            .map(|t| script.bytes(*t))
            .collect();
        assert_eq!(pieces.concat(), b" a  bc\nd");
        assert_eq!(pieces, [&b" a"[..], b"  bc", b"\nd"]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (script, expected) in [
            ("\n{\"thread\":1}", "t, line 2:"),
            ("{\"thread\":\"1\"}", "either `tokens` or `text`"),
            ("{\"thread\":\"1\",\"tokens\":[],\"x\":1}", "unknown field"),
            (
                "{\"thread\":\"1\",\"text\":\"a\",\"split\":0}",
                "at least 1 byte",
            ),
            ("{\"thread\":\"1~2\",\"text\":\"a\"}", "n-th bearer"),
        ] {
            let error = Script::parse(script, "t").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn after_a_long_stop_it_goes_on_at_its_pace() {
        let mut e =
            engine("{\"thread\":\"1\",\"tokens\":[\"s\"],\"repeat\":true,\"tokens_per_s\":10}");
        e.advance(open(1, "1")).unwrap();
        std::thread::sleep(Duration::from_millis(900));
        let began = Instant::now();
        let mut given = 0;
        while began.elapsed() < Duration::from_millis(300) {
            given += e.advance(vec![]).unwrap().decoded.len();
        }
        assert!(given <= 4, "{given} tokens in 0.3 s at 10 tokens/s");
    }

    #[test]
    fn a_slow_thread_skips_steps() {
        let mut e = engine(
            "{\"thread\":\"1\",\"tokens\":[\"s\"],\"repeat\":true,\"tokens_per_s\":1}\n\
             {\"thread\":\"2\",\"tokens\":[\"f\"],\"repeat\":true}",
        );
        let mut ops = open(1, "1");
        ops.extend(open(2, "2"));
        assert_eq!(texts(&e.advance(ops).unwrap()), ["f"]);
        assert_eq!(texts(&e.advance(vec![]).unwrap()), ["f"]);
    }
}
