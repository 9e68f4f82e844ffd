//! `orgtop train data`
//!
//! Where the threads go and which of them are good; how a model writes some is `teacher`.

use super::args::DataArgs;
use super::teacher::{self, Harvest};
use crate::cli::settings::ConfigFile;
use crate::cli::target::{Existing, Target};
use crate::cli::{Exit, Usage, output};
use crate::learn::dataset::{Dataset, Spec};
use crate::learn::dataset_file::{Trace, read, write};
use crate::task::countdown::preset::Split;
use anyhow::Context;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;

/// Writes or checks a file of threads.
///
/// # Errors
/// Files, models and specs that are no good.
pub fn run(args: &DataArgs, config: &ConfigFile) -> anyhow::Result<Exit> {
    if args.check {
        return check(args);
    }
    // A place that cannot be written to is told before the work.
    let place = Target::new(&args.file, Existing::by_force(args.force), &[])?;
    let harvest = match teacher::chosen(args, config)? {
        Some(source) => teacher::harvest(args, &source)?,
        None => by_solver(args)?,
    };
    let threads = harvest.threads.len();
    let file = args.file.display();
    if let Some(why) = &harvest.broken_off {
        let kept = if threads == 0 {
            "nothing is written".to_owned()
        } else {
            save(place, harvest.threads)?;
            format!("their {threads} threads are in {file}")
        };
        anyhow::bail!(
            "{why}; {} of {} runs had ended, {kept}",
            harvest.runs,
            args.n
        );
    }
    save(place, harvest.threads)?;
    let (by, drawn) = (harvest.by, harvest.drawn);
    let kept = share(threads as u64, drawn);
    report(
        args,
        &json!({"file": args.file, "teacher": by, "threads": threads, "drawn": drawn, "kept": kept}),
        &format!(
            "{threads} threads in {file}, by {by}; {:.2} % of what was drawn is kept",
            kept * 100.0
        ),
    )
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        part as f64 / of as f64
    }
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
fn by_solver(args: &DataArgs) -> anyhow::Result<Harvest> {
    if !matches!(args.task.as_str(), "countdown" | "countdown small") {
        return Err(Usage(format!(
            "--task {}: the built-in teacher knows countdown only; let a model write the threads with --teacher PATH \
             or --server URL",
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
    Ok(Harvest {
        threads: threads.collect(),
        drawn,
        by: "the built-in teacher".into(),
        runs: args.n,
        broken_off: None,
    })
}

/// Number sets that instances are made of.
pub(super) fn split(args: &DataArgs) -> Split {
    match args.split.as_str() {
        "dev" => Split::Dev,
        _ => Split::Train,
    }
}

fn save(place: Target, threads: Vec<Trace>) -> anyhow::Result<()> {
    place.write(|to| Ok(write(threads, to)?))
}
