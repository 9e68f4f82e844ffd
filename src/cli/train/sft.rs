//! `orgtop train sft`

use super::args::SftArgs;
use super::stop_on_signals;
use crate::cli::{Exit, Usage, output};
use crate::learn::checkpoint::Precision;
use crate::learn::dataset::{Dataset, Spec as Traces, Threads};
use crate::learn::sft::{self, End, Moment, Observer, Progress, Settings, Spec, evaluate};
use crate::learn::small;
use crate::task::countdown::preset::Split;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Held-out examples that every evaluation looks at.
const HELD_OUT: std::ops::Range<u64> = 0..200;

/// Seed of the held-out examples, whatever the training's seed.
const HELD_OUT_SEED: u64 = 2;

struct Watcher {
    held_out: Dataset,
    stop: Arc<AtomicBool>,
    threads: Threads,
}

impl Observer for Watcher {
    fn evaluate(&mut self, moment: &Moment<'_>) -> Result<Option<Value>, String> {
        small::write_words(moment.model, self.threads).map_err(|e| e.to_string())?;
        let tally = evaluate(moment.network, moment.weights, &self.held_out, HELD_OUT)
            .map_err(|e| e.to_string())?;
        Ok(Some(
            json!({"held_out_loss": tally.mean(), "held_out_accuracy": tally.accuracy()}),
        ))
    }

    fn stopping(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Trains.
///
/// # Errors
/// Whatever the training stumbles over; what was saved until then is kept.
pub fn run(args: &SftArgs) -> anyhow::Result<Exit> {
    let (threads, traces): (Threads, fn(Split) -> Traces) = match args.traces.as_str() {
        "alone" => (Threads::Alone, Traces::alone),
        _ => (Threads::Organization, Traces::organization),
    };
    let stop = stop_on_signals()?;
    let mut settings = Settings::new(args.traces.clone(), args.seed, args.steps);
    settings.replicas = usize::from(args.replicas);
    let spec = Spec {
        folder: args.folder.clone(),
        config: small::config().map_err(Usage)?,
        tokenizer: small::tokenizer().map_err(Usage)?,
        settings,
        interval: args.interval,
        precision: Precision::F16,
        progress: Progress::Bar,
    };
    let examples = Dataset::new(traces(Split::Train), args.seed);
    let mut watcher = Watcher {
        held_out: Dataset::new(traces(Split::Dev), HELD_OUT_SEED),
        stop,
        threads,
    };
    let report = sft::train(&spec, &examples, &mut watcher)?;
    let done = report.end == End::Finished;
    if args.json {
        output::json(&json!({
            "done": done,
            "steps": report.steps,
            "tokens": report.tokens,
            "loss": report.loss,
            "accuracy": report.accuracy,
            "tokens_per_s": report.tokens_per_second,
            "model": report.model,
            "log": report.log,
        }))?;
    } else {
        output::line(&format!(
            "{} after {} steps: loss {:.4}, accuracy {:.4}, {:.0} tok/s; the model is in {}",
            if done { "done" } else { "stopped" },
            report.steps,
            report.loss,
            report.accuracy,
            report.tokens_per_second,
            report.model.display()
        ))?;
    }
    Ok(Exit::Done)
}
