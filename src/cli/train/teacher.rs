//! Threads that a model writes: whole runs of it, on this machine or behind a server.
//!
//! Many runs decode side by side. Those that keep the format and solve their task are kept; of a server that is
//! lost nothing is concluded, and what had ended before stays.

use super::args::DataArgs;
use super::data::split;
use super::stop_on_signals;
use crate::cli::Usage;
use crate::cli::engine::Source;
use crate::cli::server;
use crate::cli::settings::{ConfigFile, RunOptions};
use crate::engine::{Engine, EngineCard, EngineError, Sampling, Wrapped};
use crate::eval::Outcome;
use crate::learn::dataset_file::Trace;
use crate::learn::harvest::threads;
use crate::live::{Arrival, Keep, RunConfig, travel_together};
use crate::record::{Limits, Policy, PoolPolicy};
use crate::task::countdown::preset::small_instances;
use crate::task::rng::Rng;
use crate::task::{Math, Task};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What `--teacher` begins with where it means a server of the config file.
const NAMED: &str = "server:";

/// Threads, and how they came about.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    /// Those that are kept.
    pub threads: Vec<Trace>,
    /// Who wrote them.
    pub by: String,
    /// How many there were in all.
    pub drawn: u64,
    /// Runs that came to their end.
    pub runs: u64,
    /// Why not all of them did.
    pub broken_off: Option<String>,
}

/// Who writes, if not the built-in teacher.
///
/// # Errors
/// [`Usage`] where no such server is known, or `--model` is given without one.
pub(super) fn chosen(args: &DataArgs, config: &ConfigFile) -> Result<Option<Source>, Usage> {
    let teacher = args.teacher.as_deref();
    let named = teacher.and_then(|t| t.to_str()?.strip_prefix(NAMED));
    if let Some(name) = named
        && !config.servers.contains_key(name)
    {
        return Err(Usage(format!(
            "--teacher {NAMED}{name}: {}; write [servers.{name}] into it, or give --server URL",
            server::known(config)
        )));
    }
    let options = RunOptions {
        server: named.map(str::to_owned).or_else(|| args.server.clone()),
        model: args.model.clone(),
        ..RunOptions::default()
    };
    match server::wanted(&options, config)? {
        Some(server) => Ok(Some(Source::Server(Box::new(server)))),
        None if args.model.is_some() => Err(Usage(
            "--model names a model of a server: give --server URL as well, or a checkpoint with --teacher PATH"
                .into(),
        )),
        None => Ok(teacher.map(|path: &Path| Source::Model(path.to_owned()))),
    }
}

/// Lets a model write.
///
/// # Errors
/// Tasks that are none, a model or a server that cannot be opened.
pub(super) fn harvest(args: &DataArgs, source: &Source) -> anyhow::Result<Harvest> {
    let stop = stop_on_signals()?;
    let tasks = tasks(args)?;
    let limits = RunOptions {
        max_organizer: Some(args.max_organizer),
        max_worker: Some(args.max_worker),
        ..RunOptions::default()
    };
    let engine = source.open_for_many(&limits)?()?;
    let mut harvest = Harvest {
        by: writer(engine.card()),
        ..Harvest::default()
    };
    let engine = stoppable(engine, Arc::clone(&stop));
    let bar = progress(args.n);
    let alone = args.traces == "alone";
    let workers = if alone { 0 } else { args.capacity - 1 };
    let mut solved = 0u64;
    let configs = tasks
        .iter()
        .zip(0u64..)
        .map(|(task, i)| config(args, task, i));
    let arrived = |arrival: Arrival| {
        let outcome = match Outcome::of(&arrival.finished.organization) {
            Ok(outcome) => outcome,
            Err(why) => {
                let stopped = stop.load(Ordering::Relaxed);
                harvest.broken_off = Some(if stopped { "stopped".into() } else { why });
                return ControlFlow::Break(());
            }
        };
        let written = threads(&arrival.events, workers);
        harvest.drawn += written.len() as u64;
        harvest.runs += 1;
        let task = &tasks[arrival.number];
        if task.check(outcome.counted_answer()).solved() {
            solved += 1;
            let good = written.into_iter().filter(|t| t.judge().is_ok());
            harvest.threads.extend(good);
        }
        bar.inc(1);
        bar.set_message(format!("{solved} solved"));
        ControlFlow::Continue(())
    };
    travel_together(
        engine,
        usize::from(args.width),
        Keep::Events,
        configs,
        arrived,
    )?;
    bar.finish_and_clear();
    Ok(harvest)
}

/// A model, and the server that it is served by.
fn writer(card: &EngineCard) -> String {
    match &card.server {
        Some(_) => format!("{} at {}", card.model.name, card.device),
        None => card.model.name.clone(),
    }
}

/// The instances that are asked; never one of the committed test sets.
fn tasks(args: &DataArgs) -> anyhow::Result<Vec<Task>> {
    if matches!(args.task.as_str(), "countdown" | "countdown small") {
        let all = small_instances(split(args));
        let mut rng = Rng::new(&[args.seed]);
        let draw = |_| Task::Countdown(all[rng.below(all.len())].clone());
        return Ok((0..args.n).map(draw).collect());
    }
    if let Some(file) = args.task.strip_prefix("math ").map(str::trim)
        && !file.contains('#')
    {
        let all = Math::read(Path::new(file)).map_err(|e| Usage(format!("--task: math: {e}")))?;
        anyhow::ensure!(!all.is_empty(), "{file}: no problems in it");
        let problems = all.into_iter().map(Task::Math).cycle();
        return Ok(problems.zip(0..args.n).map(|(task, _)| task).collect());
    }
    (0..args.n)
        .map(|i| {
            let seed = Rng::new(&[args.seed, i]).next_u64();
            Task::parse(&args.task, seed).map_err(|e| Usage(format!("--task: {e}")).into())
        })
        .collect()
}

fn config(args: &DataArgs, task: &Task, i: u64) -> RunConfig {
    let (policy, capacity) = match args.traces.as_str() {
        "alone" => (Policy::Sequential, 1),
        _ => (Policy::Asyncthink, args.capacity),
    };
    RunConfig {
        query: task.query(),
        policy,
        capacity: Some(capacity),
        pool: PoolPolicy::Error,
        strict: true,
        sampling: Sampling {
            temperature: args.temperature,
            seed: Rng::new(&[args.seed, i]).next_u64(),
            ..Sampling::default()
        },
        limits: Limits {
            organizer: args.max_organizer,
            worker: args.max_worker,
            ..Limits::default()
        },
        ..RunConfig::default()
    }
}

/// An engine that takes no more steps once it is told to stop: a run may take minutes.
fn stoppable(engine: Box<dyn Engine>, stop: Arc<AtomicBool>) -> Box<dyn Engine> {
    Box::new(Wrapped::new(engine, move |engine, ops| {
        if stop.load(Ordering::Relaxed) {
            return Err(EngineError::Gone("the runs were stopped".into()));
        }
        engine.advance(ops)
    }))
}

fn progress(runs: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:24} {pos}/{len} runs · {msg} · {elapsed}, {eta} left");
    let bar = ProgressBar::new(runs)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_message("0 solved");
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
