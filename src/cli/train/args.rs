//! Flags of `orgtop train`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Verbs of `train`.
#[derive(Debug, Subcommand)]
pub enum TrainVerb {
    /// Stage 1: learn the format and the search from the teacher's traces
    Sft(SftArgs),
    /// Stage 2: learn to organize by trying, with one reward for a whole organization
    Rl(RlArgs),
    /// Write threads to learn from to a file, or check such a file
    Data(DataArgs),
}

/// Arguments of `train sft`.
#[derive(Debug, Args)]
pub struct SftArgs {
    /// Where training lives: model/, state, log.jsonl, loss.svg; an existing one is gone on with
    pub folder: PathBuf,
    /// Whose traces: the organization's, or a lone thread's for the baselines
    #[arg(long, default_value = "organization", value_parser = ["organization", "alone"])]
    pub traces: String,
    /// Learn from this file of threads (see `train data`) instead of the built-in teacher
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Model folder to start from instead of random weights; needs --data unless it has the small model's words
    #[arg(long, value_name = "PATH")]
    pub model: Option<PathBuf>,
    /// Learn corrections of this rank to the matrices of attention and MLP (LoRA) instead of all weights
    #[arg(long, value_name = "RANK", requires = "model", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub lora: Option<u16>,
    /// Optimizer steps of about 3,000 tokens
    #[arg(long, default_value_t = 6500, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Seed of weights and data
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads that each compute a share of every batch; part of what makes a run repeatable
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub replicas: u16,
    /// Steps between checkpoints and evaluations
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..))]
    pub interval: u64,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `train rl`.
#[derive(Debug, Args)]
pub struct RlArgs {
    /// Where training lives: model/, best/, state, log.jsonl, curves; an existing one is gone on with
    pub folder: PathBuf,
    /// Model folder to start from [default: the model inside orgtop]
    #[arg(long, value_name = "PATH")]
    pub model: Option<PathBuf>,
    /// Learn corrections of this rank to the matrices of attention and MLP (LoRA) instead of all weights
    #[arg(long, value_name = "RANK", conflicts_with = "from_scratch", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub lora: Option<u16>,
    /// Begin with random weights of that model's shape: learning without stage 1
    #[arg(long)]
    pub from_scratch: bool,
    /// Steps of one rollout each
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Seed of queries and draws
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Queries in a step
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub queries: u32,
    /// Organizations that try each query; what is better than the others of its group is learned
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub group: u32,
    /// Optimizer steps for each rollout
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub passes: u32,
    /// Organizer plus workers at once
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub capacity: u32,
    /// Weight of the concurrency reward; 0 leaves it out
    #[arg(long, default_value_t = 0.5)]
    pub lambda: f64,
    /// Cap of the concurrency reward, as a share of the capacity
    #[arg(long, default_value_t = 0.6)]
    pub tau: f64,
    /// Weight of the divergence from the first model; 0: none
    #[arg(long, default_value_t = 0.0)]
    pub kl: f32,
    /// Step size of the matrices; that of token vectors and norms is a tenth
    #[arg(long, default_value_t = 1e-3)]
    pub rate: f32,
    /// Threads that each compute a share of every batch; part of what makes a run repeatable
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub replicas: u16,
    /// Steps between checkpoints and evaluations on held-out instances
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub interval: u64,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `train data`.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// The file: JSON lines, one thread each
    pub file: PathBuf,
    /// Only read it and say which threads the protocol accepts
    #[arg(long)]
    pub check: bool,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Whose traces: the organization's, or a lone thread's for the baselines
    #[arg(long, default_value = "organization", value_parser = ["organization", "alone"])]
    pub traces: String,
    /// Threads that the built-in teacher writes, or runs that a model makes
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub n: u64,
    /// Seed of instances and draws
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number sets of countdown instances; those of the test set are never used
    #[arg(long, default_value = "train", value_parser = ["train", "dev"])]
    pub split: String,
    /// Let this model write the threads, or `server:NAME` of the config file; kept are those of runs that keep
    /// the format and solve their task
    #[arg(long, value_name = "PATH")]
    pub teacher: Option<PathBuf>,
    /// Let a server write them: its URL, or its name in the config file
    #[arg(long, value_name = "URL", conflicts_with = "teacher")]
    pub server: Option<String>,
    /// Model of the server that writes [default: what the config file says, or the only one]
    #[arg(long, value_name = "NAME")]
    pub model: Option<PathBuf>,
    /// What the teacher is asked: countdown, "countdown large", sudoku, "math FILE" (its problems in turn)
    #[arg(long, default_value = "countdown")]
    pub task: String,
    /// Organizer plus workers at once, where a model writes
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub capacity: u32,
    /// Temperature, where a model writes
    #[arg(long, default_value_t = 0.7, value_parser = crate::cli::settings::at_least_zero)]
    pub temperature: f32,
    /// Tokens an organizer may decode, where a model writes
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_organizer: u64,
    /// Tokens each worker may decode, where a model writes
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_worker: u64,
    /// Runs at once, where a model writes; decides nothing but the speed
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub width: u16,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}
