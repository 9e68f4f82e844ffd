//! `orgtop train rl`

use super::args::RlArgs;
use super::screen::{Notes, behind_a_screen};
use super::{low_rank, stop_on_signals};
use crate::cli::screen::has_keys;
use crate::cli::settings::ScreenOptions;
use crate::cli::{Exit, Usage, output};
use crate::engine::embedded;
use crate::engine::local::checkpoint::sha256_of;
use crate::learn::rl::{self, Bounds, HeldOut, Line, Observer, RewardShape, Settings, Spec, Start};
use crate::learn::training::{End, Progress};
use crate::task::Task;
use crate::task::countdown::preset::{Split, small_instances};
use crate::task::sets::Set;
use crate::tui::training::{Board, Chart, Note};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Watcher {
    stop: Arc<AtomicBool>,
    notes: Notes,
}

impl Observer for Watcher {
    fn stepped(&mut self, line: &Line) {
        let s = &line.scores;
        for (series, value) in [s.reward, s.r_a, s.r_eta].into_iter().enumerate() {
            self.notes.send(Note::Point(0, series, line.step, value));
        }
        self.notes.send(Note::Point(1, 0, line.step, s.latency));
        let summary = format!(
            "R {:.3}   solved {:.3}   format {:.3}   T {:.0}   eta {:.2}   {:.0} tokens/s",
            s.reward, s.solved, s.format_valid, s.latency, s.eta, line.tokens_per_second
        );
        self.notes.send(Note::Step(line.step, summary));
    }

    fn evaluated(&mut self, held_out: &HeldOut) {
        let s = &held_out.scores;
        self.notes.send(Note::Point(0, 3, held_out.step, s.reward));
        self.notes.send(Note::Point(0, 4, held_out.step, s.solved));
        self.notes.send(Note::Point(1, 1, held_out.step, s.latency));
    }

    fn decoding(&mut self, done: usize, of: usize) {
        self.notes
            .send(Note::Doing(format!("decoded {done} of {of} runs")));
    }

    fn stopping(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Trains.
///
/// # Errors
/// Whatever the training stumbles over; what was saved until then is kept.
pub fn run(args: &RlArgs, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    let watched = has_keys(screen);
    let stop = stop_on_signals()?;
    let model = first_model(args)?;
    let spec = Spec {
        settings: settings(args, &model)?,
        model,
        folder: args.folder.clone(),
        tasks: small_instances(Split::Train)
            .into_iter()
            .map(Task::Countdown)
            .collect(),
        held_out: Set::CountdownDev.tasks(),
        interval: args.interval,
        progress: if watched {
            Progress::Silent
        } else {
            Progress::Bar
        },
    };
    let mut watcher = Watcher {
        stop: Arc::clone(&stop),
        notes: Notes::default(),
    };
    let report = if watched {
        let board = Board::new(
            format!("train rl  {}", args.folder.display()),
            args.steps,
            vec![
                Chart::new(
                    "rewards",
                    &["R", "R_A", "R_eta", "held out: R", "held out: solved"],
                ),
                Chart::new("critical-path latency T, steps", &["training", "held out"]),
            ],
        );
        behind_a_screen(board, &stop, screen, |notes| {
            watcher.notes = notes;
            rl::train(&spec, &mut watcher)
        })?
    } else {
        rl::train(&spec, &mut watcher)
    }?;
    let done = report.end == End::Finished;
    if args.json {
        output::json(&json!({
            "done": done,
            "steps": report.steps,
            "tokens": report.tokens,
            "first": report.first,
            "best": report.best,
            "model": report.model,
            "best_model": report.best_model,
        }))?;
    } else {
        let row = |name: &str, held: Option<HeldOut>| match held {
            Some(HeldOut { step, scores }) => format!(
                "{name} (step {step}): reward {:.3}, solved {:.3}, format {:.3}, T {:.0}, η {:.2}",
                scores.reward, scores.solved, scores.format_valid, scores.latency, scores.eta
            ),
            None => format!("{name}: not tried yet"),
        };
        output::line(&format!(
            "{} after {} steps, {} tokens\n{}\n{}\nthe best model is in {}",
            if done { "done" } else { "stopped" },
            report.steps,
            report.tokens,
            row("held out, first", report.first),
            row("held out, best", report.best),
            report.best_model.display()
        ))?;
    }
    Ok(Exit::Done)
}

/// The folder of the first model; the embedded one is written beside the training.
fn first_model(args: &RlArgs) -> anyhow::Result<PathBuf> {
    let Some(model) = &args.model else {
        let folder = args.folder.join("start");
        embedded::write_to(&folder)?;
        return Ok(folder);
    };
    if !model.join("config.json").is_file() {
        return Err(Usage(format!(
            "--model {}: no config.json there; expected a folder with config.json, tokenizer.json and \
             model.safetensors",
            model.display()
        ))
        .into());
    }
    Ok(model.clone())
}

fn settings(args: &RlArgs, model: &Path) -> anyhow::Result<Settings> {
    let start = if args.from_scratch {
        Start::Random
    } else {
        let path = model.join("model.safetensors");
        let sha256 = sha256_of(&[path]).map_err(anyhow::Error::msg)?;
        Start::Model { sha256 }
    };
    let mut settings = Settings::new("countdown small, train", start, args.seed, args.steps);
    settings.queries = args.queries as usize;
    settings.group = args.group as usize;
    settings.passes = args.passes as usize;
    settings.capacity = args.capacity;
    settings.replicas = usize::from(args.replicas);
    settings.low_rank = args.lora.map(low_rank);
    settings.rates.matrices = args.rate;
    settings.rates.others = args.rate / 10.0;
    settings.reward = RewardShape {
        lambda: args.lambda,
        tau: args.tau,
    };
    settings.bounds = Bounds {
        kl: args.kl,
        ..settings.bounds
    };
    Ok(settings)
}
