//! `orgtop train sft`

use super::args::SftArgs;
use super::screen::{Notes, behind_a_screen};
use super::{low_rank, stop_on_signals};
use crate::cli::screen::has_keys;
use crate::cli::settings::ScreenOptions;
use crate::cli::{Exit, Usage, output};
use crate::engine::local::config::Config;
use crate::engine::local::folder_text;
use crate::learn::checkpoint::Precision;
use crate::learn::checkpoint::{copy_companions, read_tokenizer};
use crate::learn::dataset::{Dataset, Spec as Traces, Threads};
use crate::learn::dataset_file::{Trace, read};
use crate::learn::dataset_text::{Order, TextExamples};
use crate::learn::sft::{
    self, End, Examples, Line, Moment, Observer, Progress, Settings, Spec, Start, evaluate,
};
use crate::learn::small;
use crate::task::countdown::preset::Split;
use crate::tui::training::{Board, Chart, Note};
use anyhow::Context;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Held-out examples that every evaluation looks at.
const HELD_OUT: u64 = 200;

/// Seed of the held-out examples, whatever the training's seed.
const HELD_OUT_SEED: u64 = 2;

/// Of a file of threads one in so many is held out.
const HELD_OUT_SHARE: usize = 20;

/// Step sizes for weights that are trained already: those of stage 1 would undo what they know.
const GENTLE: f32 = 0.1;

struct Watcher {
    held_out: Box<dyn Examples + Send>,
    held_out_count: u64,
    stop: Arc<AtomicBool>,
    words: Words,
    notes: Notes,
}

/// What a model folder needs beside config, tokenizer and weights.
enum Words {
    /// The small model's own.
    Small(Threads),
    /// Copied from the folder it began with.
    Of(PathBuf),
}

impl Words {
    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        match self {
            Self::Small(threads) => Ok(small::write_words(folder, *threads)?),
            Self::Of(from) => Ok(copy_companions(from, folder)?),
        }
    }
}

impl Observer for Watcher {
    fn stepped(&mut self, line: &Line) {
        self.notes.send(Note::Point(0, 0, line.step, line.loss));
        self.notes
            .send(Note::Point(1, 0, line.step, line.tokens_per_second));
        let summary = format!(
            "loss {:.4}   right {:.2} %   {:.1} M tokens",
            line.loss,
            line.accuracy * 100.0,
            line.tokens as f64 / 1e6
        );
        self.notes.send(Note::Step(line.step, summary));
    }

    fn evaluate(&mut self, moment: &Moment<'_>) -> Result<Option<Value>, String> {
        self.words.write(moment.model).map_err(|e| e.to_string())?;
        let examples = &*self.held_out;
        let range = 0..self.held_out_count;
        let tally =
            evaluate(moment.network, moment.weights, examples, range).map_err(|e| e.to_string())?;
        self.notes
            .send(Note::Point(0, 1, moment.step, tally.mean()));
        Ok(Some(
            json!({"held_out_loss": tally.mean(), "held_out_accuracy": tally.accuracy()}),
        ))
    }

    fn stopping(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What is learned from, and by which shape of model.
struct Lesson {
    name: String,
    examples: Box<dyn Examples + Send>,
    held_out: Box<dyn Examples + Send>,
    held_out_count: u64,
    config: Config,
    tokenizer: Value,
    words: Words,
}

/// Trains.
///
/// # Errors
/// Whatever the training stumbles over; what was saved until then is kept.
pub fn run(args: &SftArgs, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    let watched = has_keys(screen);
    let stop = stop_on_signals()?;
    let lesson = match &args.data {
        Some(file) => from_file(args, file)?,
        None => from_teacher(args)?,
    };
    let mut settings = Settings::new(lesson.name, args.seed, args.steps);
    settings.replicas = usize::from(args.replicas);
    if let Some(model) = &args.model {
        settings.start = Start::Model(model.clone());
        settings.rates = settings.rates.scaled(GENTLE);
        settings.low_rank = args.lora.map(low_rank);
    }
    let spec = Spec {
        folder: args.folder.clone(),
        config: lesson.config,
        tokenizer: lesson.tokenizer,
        settings,
        interval: args.interval,
        precision: Precision::F16,
        progress: if watched {
            Progress::Silent
        } else {
            Progress::Bar
        },
    };
    let mut watcher = Watcher {
        held_out: lesson.held_out,
        held_out_count: lesson.held_out_count,
        stop: Arc::clone(&stop),
        words: lesson.words,
        notes: Notes::default(),
    };
    let report = if watched {
        let board = Board::new(
            format!("train sft  {}", args.folder.display()),
            args.steps,
            vec![
                Chart::new("loss, nats per token", &["training", "held out"]),
                Chart::new("tokens a second", &["tokens a second"]),
            ],
        );
        behind_a_screen(board, &stop, screen, |notes| {
            watcher.notes = notes;
            sft::train(&spec, &*lesson.examples, &mut watcher)
        })?
    } else {
        sft::train(&spec, &*lesson.examples, &mut watcher)
    }?;
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

/// The built-in teacher, who writes in the small model's words.
fn from_teacher(args: &SftArgs) -> anyhow::Result<Lesson> {
    let (threads, traces): (Threads, fn(Split) -> Traces) = match args.traces.as_str() {
        "alone" => (Threads::Alone, Traces::alone),
        _ => (Threads::Organization, Traces::organization),
    };
    let (config, tokenizer) = (
        small::config().map_err(Usage)?,
        small::tokenizer().map_err(Usage)?,
    );
    if let Some(model) = &args.model {
        let (own, text) = folder_text(model)?;
        let same = text.encode("countdown 12 9 6 4 = 18").ok()
            == Some(crate::learn::words::Vocabulary::get().encode("countdown 12 9 6 4 = 18"));
        if own.vocab != config.vocab || !same {
            return Err(Usage(format!(
                "--model {}: its vocabulary is not that of the built-in teacher; give it threads as text with \
                 --data FILE (`orgtop train data FILE` writes some)",
                model.display()
            ))
            .into());
        }
    }
    Ok(Lesson {
        name: args.traces.clone(),
        examples: Box::new(Dataset::new(traces(Split::Train), args.seed)),
        held_out: Box::new(Dataset::new(traces(Split::Dev), HELD_OUT_SEED)),
        held_out_count: HELD_OUT,
        config: match &args.model {
            Some(model) => folder_text(model)?.0,
            None => config,
        },
        tokenizer,
        words: Words::Small(threads),
    })
}

/// A file of threads, encoded for the model that learns.
fn from_file(args: &SftArgs, file: &Path) -> anyhow::Result<Lesson> {
    let shown = || file.display().to_string();
    let contents =
        read(BufReader::new(File::open(file).with_context(shown)?)).with_context(shown)?;
    if !contents.dropped.is_empty() {
        tracing::warn!(
            "{}: {} threads that the protocol refuses are left out",
            shown(),
            contents.dropped.len()
        );
    }
    let (held_out, learned): (Vec<_>, Vec<_>) = contents
        .kept
        .into_iter()
        .enumerate()
        .partition(|(i, _)| i % HELD_OUT_SHARE == 0);
    let threads = |numbered: Vec<(usize, Trace)>| -> Vec<Trace> {
        numbered.into_iter().map(|(_, thread)| thread).collect()
    };
    // without a model of its own, the small one's shape and words
    let scratch = tempfile::tempdir()?;
    let folder = match &args.model {
        Some(model) => model.clone(),
        None => {
            crate::engine::embedded::write_to(scratch.path())?;
            scratch.path().to_owned()
        }
    };
    let (config, text) = folder_text(&folder)?;
    let encode = |numbered, order| {
        TextExamples::new(&threads(numbered), &text, config.context, order)
            .map_err(|e| Usage(format!("--data {}: {e}", file.display())))
    };
    let learned = encode(learned, Order::Drawn(args.seed))?;
    let held_out = encode(held_out, Order::AsListed)?;
    let tokenizer = read_tokenizer(&folder)?;
    Ok(Lesson {
        name: format!("{} ({} threads)", file.display(), learned.count()),
        held_out_count: HELD_OUT.min(held_out.count() as u64),
        examples: Box::new(learned),
        held_out: Box::new(held_out),
        config,
        tokenizer,
        words: match &args.model {
            Some(model) => Words::Of(model.clone()),
            None => Words::Small(Threads::Organization),
        },
    })
}
