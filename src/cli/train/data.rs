//! `orgtop train data`

use super::args::DataArgs;
use super::stop_on_signals;
use crate::cli::engine::located;
use crate::cli::{Exit, Usage, output};
use crate::engine::Sampling;
use crate::engine::local::{self, Options};
use crate::learn::dataset::{Dataset, Spec};
use crate::learn::dataset_file::{Trace, read, write};
use crate::learn::harvest::threads;
use crate::live::{Keep, RunConfig, travel_together};
use crate::record::{Policy, PoolPolicy};
use crate::task::Task;
use crate::task::countdown::preset::{Split, small_instances};
use crate::task::rng::Rng;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Runs of a teaching model that decode at once.
const WIDTH: usize = 16;

/// Writes or checks a file of threads.
///
/// # Errors
/// Files, models and specs that are no good.
pub fn run(args: &DataArgs) -> anyhow::Result<Exit> {
    if args.check {
        return check(args);
    }
    anyhow::ensure!(
        args.force || !args.file.exists(),
        "{}: there is such a file already; name another, or replace it with --force",
        args.file.display()
    );
    let (threads, asked) = match &args.teacher {
        Some(model) => by_model(args, model)?,
        None => by_solver(args)?,
    };
    save(&args.file, &threads)?;
    let kept = if asked == 0 {
        0.0
    } else {
        threads.len() as f64 / asked as f64
    };
    report(
        args,
        &json!({"file": args.file, "threads": threads.len(), "drawn": asked, "kept": kept}),
        &format!(
            "{} threads in {}; {:.2} % of what was drawn is kept",
            threads.len(),
            args.file.display(),
            kept * 100.0
        ),
    )
}

fn report(args: &DataArgs, object: &serde_json::Value, line: &str) -> anyhow::Result<Exit> {
    if args.json {
        output::json(object)?;
    } else {
        output::line(line)?;
    }
    Ok(Exit::Done)
}

fn check(args: &DataArgs) -> anyhow::Result<Exit> {
    let file = File::open(&args.file).with_context(|| args.file.display().to_string())?;
    let contents = read(BufReader::new(file)).with_context(|| args.file.display().to_string())?;
    let dropped = contents.dropped.len();
    let faults: Vec<_> = contents
        .dropped
        .iter()
        .map(|(line, fault)| json!({"line": line, "fault": fault.to_string()}))
        .collect();
    let mut text = format!(
        "{}: {} threads that the protocol accepts, {dropped} that it refuses",
        args.file.display(),
        contents.kept.len()
    );
    for (line, fault) in contents.dropped.iter().take(10) {
        text += &format!("\n  line {line}: {fault}");
    }
    if dropped > 10 {
        text += &format!("\n  and {} more", dropped - 10);
    }
    let object = json!({"file": args.file, "threads": contents.kept.len(), "refused": faults});
    report(args, &object, &text)?;
    Ok(if dropped == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// The symbolic teacher: a solver that writes its search down.
fn by_solver(args: &DataArgs) -> anyhow::Result<(Vec<Trace>, u64)> {
    if !matches!(args.task.as_str(), "countdown" | "countdown small") {
        return Err(Usage(format!(
            "--task {}: the built-in teacher knows countdown only; let a model write the threads with --teacher PATH",
            args.task
        ))
        .into());
    }
    let spec = match args.traces.as_str() {
        "alone" => Spec::alone(split(args)),
        _ => Spec::organization(split(args)),
    };
    let dataset = Dataset::new(spec, args.seed);
    let drawn = dataset.audit(0..args.n).drawn;
    let threads = dataset
        .take(args.n as usize)
        .filter_map(|e| Trace::from_example(&e));
    Ok((threads.collect(), drawn))
}

fn split(args: &DataArgs) -> Split {
    match args.split.as_str() {
        "dev" => Split::Dev,
        _ => Split::Train,
    }
}

/// The instances that a model is asked; never one of the committed test sets.
fn tasks(args: &DataArgs) -> anyhow::Result<Vec<Task>> {
    if matches!(args.task.as_str(), "countdown" | "countdown small") {
        let all = small_instances(split(args));
        let mut rng = Rng::new(&[args.seed]);
        let draw = |_| Task::Countdown(all[rng.below(all.len())].clone());
        return Ok((0..args.n).map(draw).collect());
    }
    (0..args.n)
        .map(|i| {
            let seed = Rng::new(&[args.seed, i]).next_u64();
            Task::parse(&args.task, seed).map_err(|e| Usage(format!("--task: {e}")).into())
        })
        .collect()
}

/// A model writes; runs that keep the format and solve their task are kept.
fn by_model(args: &DataArgs, model: &Path) -> anyhow::Result<(Vec<Trace>, u64)> {
    let stop = stop_on_signals()?;
    let (tasks, alone) = (tasks(args)?, args.traces == "alone");
    let engine = local::open(&located(model)?, &Options::default())?;
    let config = |(task, i): (&Task, u64)| RunConfig {
        query: task.query(),
        policy: if alone {
            Policy::Sequential
        } else {
            Policy::Asyncthink
        },
        capacity: Some(if alone { 1 } else { args.capacity }),
        pool: PoolPolicy::Error,
        strict: true,
        sampling: Sampling {
            temperature: args.temperature,
            seed: Rng::new(&[args.seed, i]).next_u64(),
            ..Sampling::default()
        },
        ..RunConfig::default()
    };
    let bar = ProgressBar::new(args.n).with_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} runs · {msg} · {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let (mut threads_kept, mut asked, mut good) = (Vec::new(), 0, 0u64);
    let configs = tasks.iter().zip(0u64..).map(config);
    travel_together(engine, WIDTH, Keep::Events, configs, |arrival| {
        let outcome = crate::eval::Outcome::of(&arrival.finished.organization);
        let workers = if alone { 0 } else { args.capacity - 1 };
        let written = threads(&arrival.events, workers);
        asked += written.len() as u64;
        let solved = outcome.is_ok_and(|outcome| {
            tasks[arrival.number]
                .check(outcome.counted_answer())
                .solved()
        });
        if solved {
            good += 1;
            threads_kept.extend(written.into_iter().filter(|t| t.judge().is_ok()));
        }
        bar.inc(1);
        bar.set_message(format!("{good} solved"));
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    bar.finish_and_clear();
    Ok((threads_kept, asked))
}

/// Beside its place first, so that a file that is there is whole.
fn save(path: &Path, threads: &[Trace]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
        .with_context(|| format!("{}: cannot write there", path.display()))?;
    let mut to = BufWriter::new(file);
    write(threads.iter().cloned(), &mut to)?;
    to.flush()?;
    let file = to.into_inner().map_err(|e| e.into_error())?;
    file.persist(path)
        .with_context(|| path.display().to_string())?;
    Ok(())
}
