//! Aggregate decoding speed over the number of sequences.
//!
//! `ORGTOP_BENCH_MODEL=models/SmolLM2-135M-Instruct.Q8_0.gguf cargo bench --bench decode`
//!
//! Widths alternate within one run, so that a machine that drifts hurts them alike. Without the variable a
//! tiny random model is used, which says something about overhead and nothing about speed.

use orgtop::engine::local::{Options, open, settle_threads};
use orgtop::engine::{Engine, EngineError, Priority, Sampling, SeqId, SeqOp, TokenId};
use std::path::PathBuf;
use std::time::Instant;

const WIDTHS: [usize; 4] = [1, 4, 8, 16];
const ROUNDS: usize = 3;
const STEPS: usize = 16;
const PROMPT: usize = 16;

fn main() -> Result<(), EngineError> {
    settle_threads(None);
    let path = std::env::var_os("ORGTOP_BENCH_MODEL").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parity/llama.gguf"),
        PathBuf::from,
    );
    let mut engine = open(&path, &Options::default())?;
    let card = engine.card();
    println!(
        "{} ({}, {}), {} with {} threads; {STEPS} steps after a prompt of {PROMPT}, {ROUNDS} rounds",
        card.model.name, card.model.arch, card.model.dtype, card.device, card.threads
    );
    let mut next = 0;
    let mut speeds = vec![Vec::new(); WIDTHS.len()];
    let mut prefills = Vec::new();
    for _ in 0..ROUNDS {
        for (speeds, width) in speeds.iter_mut().zip(WIDTHS) {
            let (prefill, decode) = measure(engine.as_mut(), width, next)?;
            next += width as u32;
            speeds.push(decode);
            prefills.push(prefill);
        }
    }
    println!(
        "{:>6} {:>10} {:>16} {:>8}",
        "width", "tokens/s", "(min .. max)", "ratio"
    );
    let base = median(&mut speeds[0]);
    for (speeds, width) in speeds.iter_mut().zip(WIDTHS) {
        let middle = median(speeds);
        let spread = format!("({:.1} .. {:.1})", speeds[0], speeds[speeds.len() - 1]);
        println!(
            "{width:>6} {middle:>10.1} {spread:>16} {:>8.2}",
            middle / base
        );
    }
    println!("prefill {:.1} tokens/s", median(&mut prefills));
    Ok(())
}

/// Tokens per second of taking in prompts and of decoding, for `width` sequences at once.
fn measure(engine: &mut dyn Engine, width: usize, first: u32) -> Result<(f64, f64), EngineError> {
    let seqs: Vec<SeqId> = (first..).map(SeqId).take(width).collect();
    let mut ops = Vec::new();
    for seq in &seqs {
        ops.push(SeqOp::Open {
            seq: *seq,
            key: seq.to_string(),
            sampling: Sampling::default(),
            priority: Priority::Worker,
            prefix: None,
        });
        ops.push(SeqOp::Append {
            seq: *seq,
            tokens: (0..PROMPT as TokenId)
                .map(|i| 20 + (i * 7 + seq.0) % 200)
                .collect(),
            decoded: false,
        });
        ops.push(SeqOp::Run(*seq));
    }
    let begun = Instant::now();
    let (mut prefilled, mut running) = (0, 0);
    while running < width {
        let step = engine.advance(std::mem::take(&mut ops))?;
        prefilled += step.stats.prefilled;
        running = step.decoded.len();
    }
    let prefill = prefilled as f64 / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mut decoded = 0;
    for _ in 0..STEPS {
        decoded += engine.advance(Vec::new())?.decoded.len();
    }
    let decode = decoded as f64 / begun.elapsed().as_secs_f64();
    engine.advance(seqs.into_iter().map(SeqOp::Close).collect())?;
    Ok((prefill, decode))
}

/// Sorts, too.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
