//! Arguments of `eval`.

use crate::cli::settings::RunOptions;
use crate::eval::Settings;
use crate::record::Policy;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// What to solve: `countdown`, `countdown-large`, `sudoku`, or `math FILE`
    #[arg(num_args = 1..=2, required = true, value_names = ["TASK", "FILE"])]
    pub task: Vec<String>,
    /// Whom to evaluate [default: all three; asyncthink where only the model inside orgtop is there]
    #[arg(long, value_delimiter = ',')]
    pub policies: Vec<PolicyWord>,
    /// Instances, from the first of the set on [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub n: Option<u32>,
    /// Which instances: those to report, or those to choose by
    #[arg(long, default_value = "test")]
    pub set: SetWord,
    /// How often every policy meets every instance, with seeds S, S+1, …
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Threads at once: the organizer and CAPACITY-1 workers, or CAPACITY traces of parallel
    #[arg(long, short = 'c', default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub capacity: u32,
    /// Sampling temperature; 0 is greedy
    #[arg(long, default_value_t = 1.0, value_parser = crate::cli::settings::at_least_zero)]
    pub temperature: f32,
    /// Temperature of sequential and parallel [default: that of --temperature]
    #[arg(long, value_name = "TEMPERATURE", value_parser = crate::cli::settings::at_least_zero)]
    pub baseline_temperature: Option<f32>,
    /// Sample among the most likely tokens that together reach P [default: all]
    #[arg(long, value_name = "P", value_parser = crate::cli::settings::share)]
    pub top_p: Option<f32>,
    /// Tokens an organizer may decode
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_organizer: u64,
    /// Tokens each worker may decode
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_worker: u64,
    /// Tokens each trace of sequential and parallel may decode [default: that of --max-organizer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_trace: Option<u64>,
    /// Turn on the checkpoint's thinking mode, where it has one
    #[arg(long)]
    pub thinking: bool,
    /// Model that organizes [default: the one inside orgtop, for countdown]
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Server to decode with instead: its URL, or its name in the config file; --model is then a model there
    #[arg(
        long,
        value_name = "URL",
        env = "ORGTOP_SERVER",
        conflicts_with = "script"
    )]
    pub server: Option<String>,
    /// Model of sequential and parallel [default: that of --model]
    #[arg(long, value_name = "PATH")]
    pub baseline: Option<PathBuf>,
    /// Play a script instead of models, the same for every instance
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub script: Option<PathBuf>,
    /// Sweep sizes and budgets, and draw accuracy against T
    #[arg(long, value_name = "FILE.svg")]
    pub frontier: Option<PathBuf>,
    /// Replace a picture that is there
    #[arg(long, requires = "frontier")]
    pub force: bool,
    /// Keep finished runs in FOLDER; a later call goes on there
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Sessions at once; decides nothing but the speed
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub width: u16,
    /// Engines side by side; decides nothing but the speed [default: one, of a small model one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub engines: Option<u16>,
    /// Where to compute [default: auto]
    #[arg(long, env = "ORGTOP_DEVICE", value_parser = PossibleValuesParser::new(["auto", "cpu", "cuda", "metal"]))]
    pub device: Option<String>,
    /// Compute threads [default: one per core]
    #[arg(long, value_name = "N", env = "ORGTOP_THREADS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Memory for cached keys and values, in MiB [default: a quarter of the machine's, 1024 at most]
    #[arg(long, value_name = "MIB", env = "ORGTOP_CACHE_MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub cache_mib: Option<u32>,
    /// Longest context in tokens [default: the model's]
    #[arg(long, value_name = "N", env = "ORGTOP_CONTEXT", value_parser = clap::value_parser!(u32).range(64..))]
    pub context: Option<u32>,
}

/// A policy's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyWord {
    /// The model forks and joins
    Asyncthink,
    /// One trace
    Sequential,
    /// CAPACITY traces, merged
    Parallel,
}

impl From<PolicyWord> for Policy {
    fn from(word: PolicyWord) -> Self {
        match word {
            PolicyWord::Asyncthink => Self::Asyncthink,
            PolicyWord::Sequential => Self::Sequential,
            PolicyWord::Parallel => Self::Parallel,
        }
    }
}

/// Which of a task's sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SetWord {
    /// To report
    Test,
    /// To choose by
    Dev,
}

impl EvalArgs {
    /// What decides the outcome of a run.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            temperature: self.temperature,
            baseline_temperature: self.baseline_temperature.unwrap_or(self.temperature),
            top_p: self.top_p,
            max_organizer: self.max_organizer,
            max_worker: self.max_worker,
            max_trace: self.max_trace.unwrap_or(self.max_organizer),
            thinking: self.thinking,
        }
    }

    /// The files that it reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<&Path> {
        let problems = self.task.get(1).map(Path::new);
        problems.into_iter().chain(self.script.as_deref()).collect()
    }

    /// What concerns the engine, over what the config file says.
    #[must_use]
    pub fn engine_options(&self, below: &RunOptions) -> RunOptions {
        RunOptions {
            model: self.model.clone(),
            server: self.server.clone(),
            device: self.device.clone(),
            threads: self.threads,
            cache_mib: self.cache_mib,
            context: self.context,
            ..RunOptions::default()
        }
        .or(below.clone())
    }
}
