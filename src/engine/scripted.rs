//! An engine that plays given tokens with given timing: for tests, demos and measurements.
//!
//! A script is JSON lines, one a thread. A sequence finds its line by its key: the n-th line for a
//! thread serves the n-th bearer of that id. Position in a line = tokens decoded, so cutting a sequence
//! rewinds it and forcing recorded tokens moves it forward.

mod script;
#[cfg(test)]
mod tests;

pub use script::{Script, ScriptError};

use super::contract::{
    ChatMessage, Decoded, Engine, EngineCard, EngineError, Epoch, ModelCard, SeqId, SeqOp,
    StepOutput, Stop, TokenId,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest sleep inside one step, so that commands are served in time.
const NAP: Duration = Duration::from_millis(20);

/// How far a sequence may be behind its pace and still catch up. Beyond it (a pause, a stopped process) it
/// goes on at its pace from now.
const CATCH_UP: Duration = Duration::from_millis(500);
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
                model: ModelCard {
                    name: name.to_owned(),
                    arch: "script".into(),
                    ..ModelCard::default()
                },
                ..EngineCard::default()
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
