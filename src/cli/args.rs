//! The command line.

use super::settings::{RunOptions, ScreenOptions};
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
    #[arg(long, global = true, value_name = "FILE", env = "ORGTOP_CONFIG")]
    pub config: Option<PathBuf>,
    /// Write a log of the program's own doings to FILE (level from ORGTOP_LOG)
    #[arg(long, global = true, value_name = "FILE", env = "ORGTOP_LOG_FILE")]
    pub log: Option<PathBuf>,
    /// Screen options
    #[command(flatten)]
    pub screen: ScreenOptions,
    /// The verb
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an organization on a query and watch it
    Run(RunArgs),
    /// Go on with an interrupted session from its recorded tokens
    Resume(ResumeArgs),
    /// Watch a recorded session again
    Replay(ReplayArgs),
    /// Print a recorded session in numbers
    Inspect(InspectArgs),
    /// Check that a session file agrees with itself
    Verify(FileArgs),
    /// Write the readable part of a damaged session to a new file
    Recover(RecoverArgs),
    /// List or remove recorded sessions
    #[command(subcommand)]
    Sessions(SessionsVerb),
    /// List models: given folders, the Hugging Face cache
    Models(ModelsArgs),
    /// Check device, terminal and, if given, a model
    Doctor(DoctorArgs),
    /// Train a model
    #[command(subcommand)]
    Train(TrainVerb),
    /// Verify an answer to a task, read from standard input
    VerifyAnswer(VerifyAnswerArgs),
    /// Print shell completions
    Completions {
        /// For which shell
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The question; `-` or nothing reads it from standard input
    pub query: Option<String>,
    /// A task instead of a question: "countdown 10 6 5 3 = 30", "countdown", "sudoku", "math FILE#n"
    #[arg(long, value_name = "SPEC", conflicts_with = "query")]
    pub task: Option<String>,
    /// How to run
    #[command(flatten)]
    pub options: RunOptions,
    /// Play a script (JSON lines, one a thread) instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "model", long_help = SCRIPT_HELP)]
    pub script: Option<PathBuf>,
    /// How to report
    #[command(flatten)]
    pub output: OutputArgs,
    /// Record to FILE instead of the sessions folder
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Do not record
    #[arg(long)]
    pub no_record: bool,
}

/// How a run reports, shared by `run` and `resume`.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// No screen; print the answer at the end
    #[arg(long)]
    pub headless: bool,
    /// With --headless: print one JSON object at the end
    #[arg(long, requires = "headless")]
    pub json: bool,
    /// Commands to give at set places, JSON lines like {"at": {"step": 5}, "do": "pause"}
    #[arg(long, value_name = "FILE", long_help = COMMANDS_HELP)]
    pub commands: Option<PathBuf>,
}

const SCRIPT_HELP: &str = "Play a script instead of a model: one JSON object a line, one line a thread.

{\"thread\": \"organizer\", \"tokens\": [\"Look\", \" for\", \"<FORK-1>q</FORK-1>\"]}: one string a token, and a \
token is one step; bytes may be given as {\"b64\": \"...\"}. Or {\"thread\": \"1\", \"text\": \"...\", \"split\": \
\"word\"}, where split is \"word\", \"char\" or a number of bytes. Optional: \"repeat\": true, \"tokens_per_s\": n, \
\"fail_at\": n.

The n-th line for a thread serves the n-th bearer of that id. The end of a line is the end of the turn and costs no \
step. A thread without a line returns at once with nothing.";

const COMMANDS_HELP: &str = "Commands to give at set places, one JSON object a line, each once and in \
file order, at the first step boundary at which its place is reached (also while paused).

Places: {\"at\": {\"step\": 5}}, {\"at\": {\"thread\": \"1\", \"tokens\": 20}}, {\"at\": {\"event\": \
\"fork:2\"}} (fork, join, return, end, error, answer); without \"at\" at once.

Commands: {\"do\": \"pause\"}, {\"do\": \"pause\", \"thread\": \"1\"}, {\"do\": \"resume\"}, {\"do\": \
\"step\"}, {\"do\": \"next\"}, {\"do\": \"fork\", \"query\": \"...\"}, {\"do\": \"join\", \"thread\": \
\"1\"}, {\"do\": \"answer\"}, {\"do\": \"kill\", \"thread\": \"1\"}, {\"do\": \"wrap_up\", \"thread\": \
\"1\"}, {\"do\": \"abort\"}, {\"do\": \"interrupt\"}, {\"do\": \"mark\", \"name\": \"...\"}, {\"do\": \
\"speed\", \"tokens_per_s\": 20}.";

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The session file
    pub file: PathBuf,
    /// Model to go on with; the recorded weights must match
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Script to go on with
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub script: Option<PathBuf>,
    /// Go on even if the model is not the recorded one
    #[arg(long)]
    pub other_model: bool,
    /// How to report
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The session file; without one, a list to pick from
    pub file: Option<PathBuf>,
    /// How fast: 2 is twice the recorded speed
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<f32>,
    /// Start at this step, or at the `end`
    #[arg(long, value_name = "STEP")]
    pub at: Option<String>,
}

fn speed(text: &str) -> Result<f32, String> {
    match text.trim_end_matches('x').parse::<f32>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("expected a number above 0".into()),
    }
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The session file
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A session file.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// The session file
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `recover`.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The damaged session file; it is left as it is
    pub file: PathBuf,
    /// Where to write [default: FILE with `.recovered` before its extension]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Verbs of `sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionsVerb {
    /// One line a session, newest first
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
        /// Folder instead of the default
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Remove old sessions; live ones are never touched
    Prune {
        /// Keep the newest N
        #[arg(long, value_name = "N", required_unless_present = "older_than")]
        keep: Option<usize>,
        /// Remove only what is older than this many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
        /// Folder instead of the default
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// Arguments of `models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Folders and files to look at besides the Hugging Face cache
    pub paths: Vec<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A model to load and decode a few tokens with
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Verbs of `train`.
#[derive(Debug, Subcommand)]
pub enum TrainVerb {
    /// Stage 1: learn the format and the search from the teacher's traces
    Sft(SftArgs),
}

/// Arguments of `train sft`.
#[derive(Debug, Args)]
pub struct SftArgs {
    /// Where training lives: model/, state, log.jsonl, loss.svg; an existing one is gone on with
    pub folder: PathBuf,
    /// Whose traces: the organization's, or a lone thread's for the baselines
    #[arg(long, default_value = "organization", value_parser = ["organization", "alone"])]
    pub traces: String,
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

/// Arguments of `verify-answer`.
#[derive(Debug, Args)]
pub struct VerifyAnswerArgs {
    /// The task: "countdown 10 6 5 3 = 30", "sudoku ...", "math FILE#n"
    #[arg(long, value_name = "SPEC")]
    pub task: String,
}
