//! `orgtop bench`: how fast this machine decodes, what bounds it, and what everything around it costs.

mod args;
mod load;
mod machine;
mod overhead;
mod paper;
mod report;

pub use args::BenchArgs;

use super::engine::Source;
use super::settings::RunOptions;
use super::{Exit, output};
use crate::engine::remote::{self, Caps, ServerOptions};
use crate::engine::{Engine, EngineCard};
use indicatif::{ProgressBar, ProgressStyle};
use load::{Load, Measured, measure};
use report::{Report, Row, Speed, Spread};
use std::time::{Duration, Instant};

/// What the eight threads of the last part are asked: what the small model knows, and of others something long.
const QUERIES: (&str, &str) = (
    "countdown 10 6 5 3 = 30",
    "Write the numbers from one to one thousand as words, one a line, and nothing else.",
);

/// Tokens that each of them decodes at most: enough for the beginning not to matter.
const TOKENS: u64 = 256;

/// How long a server on this machine may go on with requests that were dropped, before this side is measured again.
const LEAVING: Duration = Duration::from_secs(1);

/// Measurements of one engine at one width.
#[derive(Default)]
struct Tries(Vec<Measured>);

impl Tries {
    fn speed(&self) -> Option<Speed> {
        Some(Speed {
            prefill: Spread::of(self.0.iter().map(|m| m.prefill).collect())?,
            decode: Spread::of(self.0.iter().map(|m| m.decode).collect())?,
        })
    }
}

/// Measures.
///
/// # Errors
/// A model that does not load, a server that does not answer, an engine that fails.
pub fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let options = RunOptions {
        device: args.device.clone(),
        ..RunOptions::default()
    };
    let source = args.model.clone().map_or(Source::Embedded, Source::Model);
    let mut other = args
        .vs
        .as_deref()
        .map(|url| server(url, args))
        .transpose()?;
    let bar = progress(args);
    bar.set_message("opening the model");
    let begun = Instant::now();
    let mut engine = (source.open(&options)?)()?;
    let short = Load {
        width: 1,
        prompt: 1,
        tokens: 1,
    };
    measure(engine.as_mut(), short, 0)?;
    let first_token_ms = begun.elapsed().as_secs_f64() * 1e3;
    let card = engine.card().clone();
    if let Some(why) = &card.why_cpu {
        bar.suspend(|| output::say(&format!("computing on the CPU: {why}")));
    }
    let mut own: Vec<Tries> = args.widths.iter().map(|_| Tries::default()).collect();
    let mut theirs: Vec<Tries> = args.widths.iter().map(|_| Tries::default()).collect();
    let mut next = 1;
    for round in 1..=args.rounds {
        for (at, width) in args.widths.iter().enumerate() {
            let load = Load {
                width: *width,
                prompt: args.prompt,
                tokens: args.tokens,
            };
            bar.set_message(format!("round {round} of {}, {width} at once", args.rounds));
            own[at].0.push(measure(engine.as_mut(), load, next)?);
            bar.inc(1);
            if let Some(other) = &mut other {
                theirs[at].0.push(measure(other.as_mut(), load, next)?);
                std::thread::sleep(LEAVING);
                bar.inc(1);
            }
            next += width;
        }
    }
    drop(engine);
    bar.set_message("eight threads, with nothing, a recorder and a screen around them");
    let open = || source.open(&options);
    let query = match source {
        Source::Embedded => QUERIES.0,
        _ => QUERIES.1,
    };
    let overhead = overhead::measure(&open, query, TOKENS)?;
    // before memory is copied, which takes more than many models
    let memory_peak = machine::memory().map(|(_, peak)| peak);
    bar.set_message("copying memory");
    let bandwidth = machine::copy_bandwidth(card.threads);
    bar.finish_and_clear();
    let widths = args.widths.iter().zip(own.iter().zip(&theirs));
    let report = Report {
        rows: widths
            .filter_map(|(width, (own, theirs))| row(*width, own, theirs, args, &card, bandwidth))
            .collect(),
        model: card.model.name.clone(),
        dtype: card.model.dtype.clone(),
        device: card.device.clone(),
        attention: card.attention.clone(),
        threads: card.threads,
        prompt: args.prompt,
        tokens: args.tokens,
        rounds: args.rounds,
        vs: other.map(|o| format!("{} at {}", o.card().model.name, o.card().device)),
        copy_bytes_per_s: bandwidth,
        first_token_ms,
        memory_peak,
        weights: card.footprint.weights,
        overhead,
    };
    if args.json {
        output::json(&report)?;
    } else {
        report.print()?;
    }
    Ok(Exit::Done)
}

fn server(url: &str, args: &BenchArgs) -> anyhow::Result<Box<dyn Engine>> {
    let options = ServerOptions {
        model: args.vs_model.clone(),
        ..ServerOptions::at(url)
    };
    let tokens = u64::from(args.tokens) * 4;
    let caps = Caps {
        organizer: tokens,
        worker: tokens,
    };
    Ok(Box::new(remote::connect(&options, caps)?))
}

fn row(
    width: u32,
    own: &Tries,
    theirs: &Tries,
    args: &BenchArgs,
    card: &EngineCard,
    bandwidth: f64,
) -> Option<Row> {
    let speed = own.speed()?;
    let footprint = card.footprint;
    // the cache is read up to where each sequence is, half way through on average
    let positions = u64::from(args.prompt) + u64::from(args.tokens) / 2;
    let bytes = footprint.weights + footprint.position * positions * u64::from(width);
    let known = footprint.weights > 0;
    // the memory that is copied is this machine's, and a GPU has its own
    let bounds = known && card.device == "cpu";
    let steps = speed.decode.median / f64::from(width);
    let pairs = own.0.iter().zip(&theirs.0);
    Some(Row {
        width,
        own: speed,
        bytes_per_step: known.then_some(bytes),
        of_limit: bounds.then(|| steps * bytes as f64 / bandwidth),
        vs: theirs.speed(),
        ratio: Spread::of(pairs.map(|(a, b)| a.decode / b.decode).collect()),
    })
}

fn progress(args: &BenchArgs) -> ProgressBar {
    let sides = if args.vs.is_some() { 2 } else { 1 };
    let bar = ProgressBar::new(u64::from(args.rounds) * args.widths.len() as u64 * sides);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {pos}/{len} {msg} · {elapsed}, {eta} to go")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
