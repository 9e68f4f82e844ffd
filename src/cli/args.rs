//! The command line: the verbs and what they take. What a flag means is said by the verb it is for.

mod recorded;
mod run;

pub use recorded::{
    DiffArgs, FileArgs, InspectArgs, RecoverArgs, ReplayArgs, RerunArgs, ResumeArgs, SessionsVerb,
};
pub use run::{OutputArgs, PeopleArgs, RunArgs};

use super::bench::BenchArgs;
use super::eval::EvalArgs;
use super::models::ModelsArgs;
use super::settings::{ScreenOptions, words};
use super::simulate::Capacities;
use super::train::TrainVerb;
use crate::record::PoolPolicy;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// top for agentic organizations: watch and steer one organizer and its workers decoding live.
///
/// Without a verb, orgtop runs the small model inside it on a random countdown task.
#[derive(Debug, Parser)]
#[command(name = "orgtop", version, max_term_width = 100)]
pub struct Cli {
    /// Config file instead of the one in the config folder
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "ORGTOP_CONFIG",
        help_heading = "Program"
    )]
    pub config: Option<PathBuf>,
    /// Write a log of the program's own doings to FILE (level from ORGTOP_LOG)
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "ORGTOP_LOG_FILE",
        help_heading = "Program"
    )]
    pub log: Option<PathBuf>,
    /// Screen options
    #[command(flatten)]
    pub screen: ScreenOptions,
    /// Play a demo on it: captions, waits, keys and commands
    #[arg(long, value_name = "FILE")]
    pub demo: Option<PathBuf>,
    /// The verb
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an organization on a query and watch it
    #[command(allow_negative_numbers = true)]
    Run(Box<RunArgs>),
    /// See in 90 seconds what an organization is, and take part in one
    Tour(TourArgs),
    /// Go on with an interrupted session from its recorded tokens
    Resume(ResumeArgs),
    /// Watch a recorded session again
    Replay(ReplayArgs),
    /// Print a recorded session in numbers
    Inspect(InspectArgs),
    /// Check that a session file agrees with itself
    Verify(FileArgs),
    /// What capacity buys: T of a recorded session, or of described lengths, under each capacity
    Simulate(SimulateArgs),
    /// Compare two sessions, or two branches of one: FILE or FILE#branch each
    Diff(DiffArgs),
    /// Run a recorded session again with the same model, seed and commands, and say where it parts
    Rerun(RerunArgs),
    /// Write the readable part of a damaged session to a new file
    Recover(RecoverArgs),
    /// List or remove recorded sessions
    #[command(subcommand)]
    Sessions(SessionsVerb),
    /// Measure decoding by number of sequences, what bounds it, and what everything around it costs
    Bench(BenchArgs),
    /// List models: given folders, the Hugging Face cache; pull them from the hub
    Models(ModelsArgs),
    /// Check device, terminal and, if given, a model
    Doctor(DoctorArgs),
    /// Train a model
    #[command(subcommand)]
    Train(TrainVerb),
    /// Measure policies on a set of tasks
    Eval(Box<EvalArgs>),
    /// Verify an answer to a task, read from standard input
    VerifyAnswer(VerifyAnswerArgs),
    /// List the commands that a running organization takes
    Commands {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print shell completions
    Completions {
        /// For which shell
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Arguments of `tour`.
#[derive(Debug, Args)]
pub struct TourArgs {
    /// Record it to FILE; otherwise nothing is recorded
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// A session file, or a description of who forks whom and how long everybody takes (.toml, .json)
    pub file: PathBuf,
    /// Capacities, as in 1-16 or 2,4,8 [default: 1 up to a slot for everybody, at most 32]
    #[arg(long, short = 'c', value_name = "LIST")]
    pub capacity: Option<Capacities>,
    /// What a fork does when no slot is free
    #[arg(long, default_value = "wait", value_parser = words::<PoolPolicy>(&["wait", "error"]))]
    pub pool: PoolPolicy,
    /// Organizations to draw, where lengths are drawn [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Draw T against capacity
    #[arg(long, value_name = "FILE.svg")]
    pub curve: Option<PathBuf>,
    /// Replace a curve that is there
    #[arg(long, requires = "curve")]
    pub force: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A model to load and decode a few tokens with; with --server, the name of one there
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// A server to connect to and decode a few tokens with: its URL, or its name in the config file
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Print a JSON array, one object a check
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `verify-answer`.
#[derive(Debug, Args)]
pub struct VerifyAnswerArgs {
    /// The task: "countdown 10 6 5 3 = 30", "sudoku ...", "math FILE#n"
    #[arg(long, value_name = "SPEC")]
    pub task: String,
}
