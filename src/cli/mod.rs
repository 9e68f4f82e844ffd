//! The command line: one file a verb.

mod args;
mod asked;
mod bench;
mod commands;
mod demo;
mod diff;
mod doctor;
mod engine;
mod eval;
mod go_on;
mod headless;
mod inspect;
mod line;
mod models;
mod outcome;
mod output;
mod presets;
mod recover;
mod replay;
mod rerun;
mod resume;
mod roster;
mod run;
mod screen;
mod server;
mod sessions;
mod settings;
mod shell;
mod simulate;
mod summary;
mod target;
mod tour;
mod train;
mod verify;
mod verify_answer;

pub use args::{Cli, Verb};
pub use eval::{EvalArgs, PolicyWord, SetWord};
pub use settings::{ConfigFile, RunOptions, ScreenOptions, SessionOptions, config_folder};
pub use summary::Summary;

use crate::engine::local::settle_threads;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::process::ExitCode;

/// What a verb comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done: 0.
    Done,
    /// Failed: 1.
    Failed,
}

/// Wrong usage that only shows after parsing: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Runs the program with the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    match dispatch(arguments()) {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::from(1),
        Err(error) => {
            tracing::error!("{error:#}");
            let wrong_usage = error.is::<Usage>();
            output::say(&format!("orgtop: {}", message(&error)));
            ExitCode::from(if wrong_usage { 2 } else { 1 })
        }
    }
}

/// The process's arguments, or an exit with help or what is wrong with them.
fn arguments() -> Cli {
    let mut command = Cli::command();
    let matches = command.get_matches_mut();
    // A model from the environment is no more than a default, so this is no `conflicts_with`.
    let both = matches
        .subcommand()
        .is_some_and(|(_, verb)| given(verb, "model") && given(verb, "script"));
    if both {
        command
            .error(
                clap::error::ErrorKind::ArgumentConflict,
                "--script plays instead of a model: it cannot be used with --model",
            )
            .exit();
    }
    Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.format(&mut command).exit())
}

/// Whether the person typed option `id` of a verb that has it.
fn given(verb: &ArgMatches, id: &str) -> bool {
    verb.try_contains_id(id).is_ok() && verb.value_source(id) == Some(ValueSource::CommandLine)
}

/// The whole chain of causes, each once.
fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    start_log(cli.log.as_deref())?;
    let loaded = ConfigFile::load(cli.config.as_deref());
    if let (Some(Verb::Doctor(args)), Err(problem)) = (&cli.verb, &loaded) {
        return doctor::run(args, &ConfigFile::default(), Some(problem));
    }
    let config = loaded?;
    let screen = cli.screen.or(config.screen.clone());
    let threads = match &cli.verb {
        Some(Verb::Run(args)) => args.options.threads,
        Some(Verb::Eval(args)) => args.threads,
        Some(Verb::Bench(args)) => args.threads,
        // its replicas are the threads
        Some(Verb::Train(train::TrainVerb::Rl(_))) => Some(1),
        _ => None,
    };
    // Before anything else starts a thread: candle reads this from the environment.
    settle_threads(threads.or(config.run.threads).map(usize::from));
    match cli.verb {
        None => run::alone(cli.demo, &config, &screen),
        Some(_) if cli.demo.is_some() => Err(Usage(
            "--demo goes after the verb: `orgtop run --demo FILE`; without a verb it plays on the small model".into(),
        )
        .into()),
        Some(Verb::Tour(args)) => tour::run(args, &config, &screen),
        Some(Verb::Run(args)) => run::run(*args, &config, &screen),
        Some(Verb::Commands { json }) => commands::run(json),
        Some(Verb::Resume(args)) => resume::run(args, &config, &screen),
        Some(Verb::Replay(args)) => replay::run(&args, &config, &screen),
        Some(Verb::Inspect(args)) => inspect::run(&args),
        Some(Verb::Verify(args)) => verify::run(&args),
        Some(Verb::Simulate(args)) => simulate::run(&args),
        Some(Verb::Diff(args)) => diff::run(&args),
        Some(Verb::Rerun(args)) => rerun::run(args, &config),
        Some(Verb::Recover(args)) => recover::run(&args),
        Some(Verb::Sessions(verb)) => sessions::run(verb, &config),
        Some(Verb::Bench(args)) => bench::run(&args),
        Some(Verb::Models(args)) => models::run(&args),
        Some(Verb::Doctor(args)) => doctor::run(&args, &config, None),
        Some(Verb::Train(verb)) => train::run(verb, &config, &screen),
        Some(Verb::Eval(args)) => eval::run(&args, &config),
        Some(Verb::VerifyAnswer(args)) => verify_answer::run(&args),
        Some(Verb::Completions { shell }) => shell::completions(shell),
        Some(Verb::Man) => shell::man(),
    }
}

/// The program's own log goes to a file or nowhere; never to the terminal.
fn start_log(file: Option<&std::path::Path>) -> anyhow::Result<()> {
    use anyhow::Context;
    let Some(path) = file else { return Ok(()) };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("{}: cannot open the log file", path.display()))?;
    let level = std::env::var("ORGTOP_LOG").unwrap_or_default();
    let filter = if level.is_empty() {
        "orgtop=info"
    } else {
        &level
    };
    let filter: tracing_subscriber::EnvFilter = filter.parse().map_err(|e| {
        Usage(format!(
            "ORGTOP_LOG is `{level}`: {e}; expected a level such as `debug` or `orgtop=debug`"
        ))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::sync::Mutex::new(file))
        .init();
    Ok(())
}
