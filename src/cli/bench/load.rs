//! The same load for any engine: prompts taken in, then sequences that decode at once.

use crate::engine::{Engine, EngineError, Priority, Sampling, SeqId, SeqOp, TokenId};
use std::time::{Duration, Instant};

/// How long nothing may come before a measurement is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// What prompts are made of: something that goes on and on.
const TEXT: &str = " one two three four five six seven eight nine ten eleven twelve";

/// How much is asked of each sequence.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Sequences at once.
    pub width: u32,
    /// Tokens of each prompt.
    pub prompt: u32,
    /// Tokens that each decodes.
    pub tokens: u32,
}

/// What one measurement gave.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Prompt tokens a second, until every sequence has decoded its first token.
    pub prefill: f64,
    /// Decoded tokens a second from then on, all sequences together.
    pub decode: f64,
}

/// Runs a load; sequences are named from `first` on.
///
/// # Errors
/// The engine fails, or gives nothing for two minutes.
pub fn measure(engine: &mut dyn Engine, load: Load, first: u32) -> Result<Measured, EngineError> {
    let seqs: Vec<SeqId> = (first..).map(SeqId).take(load.width as usize).collect();
    let mut begin = Vec::new();
    let mut prompted = 0;
    for seq in &seqs {
        let tokens = prompt(engine, load.prompt as usize, seq.0)?;
        prompted += tokens.len();
        begin.extend(sequence(*seq, tokens));
    }
    let mut watch = Watch::default();
    let begun = Instant::now();
    let mut started = vec![false; seqs.len()];
    let mut ops = begin;
    while !started.iter().all(|s| *s) {
        let step = engine.advance(std::mem::take(&mut ops))?;
        watch.seen(!step.decoded.is_empty() || step.stats.prefilled > 0)?;
        for token in &step.decoded {
            started[(token.seq.0 - first) as usize] = true;
        }
        if let Some((_, stop)) = step.stopped.first() {
            return Err(EngineError::Device(format!("a sequence stopped: {stop:?}")));
        }
    }
    let prefill = prompted as f64 / begun.elapsed().as_secs_f64();

    let wanted = u64::from(load.width) * u64::from(load.tokens);
    let (begun, mut decoded, mut running) = (Instant::now(), 0, seqs.len());
    // a server ends a text where its model does
    while decoded < wanted && running > 0 {
        let step = engine.advance(Vec::new())?;
        watch.seen(!step.decoded.is_empty() || !step.stopped.is_empty())?;
        decoded += step.decoded.len() as u64;
        running -= step.stopped.len().min(running);
    }
    let decode = decoded as f64 / begun.elapsed().as_secs_f64();
    engine.advance(seqs.into_iter().map(SeqOp::Close).collect())?;
    Ok(Measured { prefill, decode })
}

/// `tokens` tokens that differ from sequence to sequence, so that no cache of prefixes helps.
fn prompt(
    engine: &mut dyn Engine,
    tokens: usize,
    number: u32,
) -> Result<Vec<TokenId>, EngineError> {
    let unit = engine.encode(TEXT)?;
    let mut ids = engine.encode(&format!("{number}"))?;
    while ids.len() < tokens && !unit.is_empty() {
        ids.extend_from_slice(&unit);
    }
    ids.truncate(tokens.max(1));
    Ok(ids)
}

fn sequence(seq: SeqId, tokens: Vec<TokenId>) -> [SeqOp; 3] {
    [
        SeqOp::Open {
            seq,
            key: seq.to_string(),
            sampling: Sampling::default(),
            priority: Priority::Worker,
            prefix: None,
        },
        SeqOp::Append {
            seq,
            tokens,
            decoded: false,
        },
        SeqOp::Run(seq),
    ]
}

/// Notices when nothing comes any more.
struct Watch(Instant);

impl Default for Watch {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Watch {
    fn seen(&mut self, something: bool) -> Result<(), EngineError> {
        if something {
            self.0 = Instant::now();
        } else if self.0.elapsed() > PATIENCE {
            return Err(EngineError::Device("nothing came for two minutes".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Script, Scripted};

    #[test]
    fn every_sequence_decodes_what_is_asked() {
        let line = |i: u32| {
            let words = ["\"x\""; 9].join(",");
            format!("{{\"thread\":\"s{i}\",\"tokens\":[{words}]}}\n")
        };
        let script: String = (5..8).map(line).collect();
        let mut engine = Scripted::new(Script::parse(&script, "s").unwrap(), "s");
        let load = Load {
            width: 3,
            prompt: 4,
            tokens: 8,
        };
        let measured = measure(&mut engine, load, 5).unwrap();
        assert!(measured.decode > 0.0 && measured.prefill > 0.0);
    }

    #[test]
    fn an_engine_that_serves_nobody_is_an_error() {
        let mut engine = Scripted::new(Script::parse("", "s").unwrap(), "s");
        let load = Load {
            width: 1,
            prompt: 4,
            tokens: 8,
        };
        assert!(measure(&mut engine, load, 0).is_err());
    }
}
