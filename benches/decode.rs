//! Aggregate decoding speed over the number of sequences.
//!
//! `ORGTOP_BENCH_MODEL=models/SmolLM2-135M-Instruct.Q8_0.gguf cargo bench --bench decode`
//!
//! Widths alternate within one run, so that a machine that drifts hurts them alike. Without the variable a
//! tiny random model is used, which says something about overhead and nothing about speed.
//!
//! On a machine that is shared, look at the column `on cpu`: tokens per second that the calling thread really
//! had a core (Linux only). With `CANDLE_NUM_THREADS=1` that is the speed of an idle machine.

use orgtop::engine::local::{Options, open, settle_threads};
use orgtop::engine::{Engine, EngineError, Priority, Sampling, SeqId, SeqOp, TokenId};
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    let mut busy = vec![Vec::new(); WIDTHS.len()];
    let mut prefills = Vec::new();
    for _ in 0..ROUNDS {
        for (i, width) in WIDTHS.into_iter().enumerate() {
            let measured = measure(engine.as_mut(), width, next)?;
            next += width as u32;
            speeds[i].push(measured.decode);
            busy[i].push(measured.on_cpu);
            prefills.push(measured.prefill);
        }
    }
    println!(
        "{:>6} {:>10} {:>18} {:>6} {:>10} {:>6}",
        "width", "tokens/s", "(min .. max)", "ratio", "on cpu", "ratio"
    );
    let (base, base_busy) = (median(&mut speeds[0]), median(&mut busy[0]));
    for (i, width) in WIDTHS.into_iter().enumerate() {
        let (wall, on_cpu) = (median(&mut speeds[i]), median(&mut busy[i]));
        let spread = format!("({:.1} .. {:.1})", speeds[i][0], speeds[i][ROUNDS - 1]);
        println!(
            "{width:>6} {wall:>10.1} {spread:>18} {:>6.2} {on_cpu:>10.1} {:>6.2}",
            wall / base,
            on_cpu / base_busy
        );
    }
    println!("prefill {:.1} tokens/s", median(&mut prefills));
    Ok(())
}

/// Tokens per second.
struct Measured {
    /// Prompts taken in.
    prefill: f64,
    /// Decoded, all sequences together.
    decode: f64,
    /// Decoded, in seconds that the calling thread had a core.
    on_cpu: f64,
}

/// Time that the main thread had a core since it began.
fn on_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = stat.split(' ').next().and_then(|v| v.parse().ok());
    Duration::from_nanos(first.unwrap_or_default())
}

/// Take in prompts and decode with `width` sequences at once.
fn measure(engine: &mut dyn Engine, width: usize, first: u32) -> Result<Measured, EngineError> {
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
    let (begun, busy) = (Instant::now(), on_cpu());
    let mut decoded = 0;
    for _ in 0..STEPS {
        decoded += engine.advance(Vec::new())?.decoded.len();
    }
    let decode = decoded as f64 / begun.elapsed().as_secs_f64();
    let on_cpu = decoded as f64 / (on_cpu() - busy).as_secs_f64();
    engine.advance(seqs.into_iter().map(SeqOp::Close).collect())?;
    Ok(Measured {
        prefill,
        decode,
        on_cpu,
    })
}

/// Sorts, too.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
