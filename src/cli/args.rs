//! The command line.

use super::bench::BenchArgs;
use super::eval::EvalArgs;
use super::line::LineName;
use super::models::ModelsArgs;
use super::settings::{RunOptions, ScreenOptions, words};
use super::simulate::Capacities;
use super::train::TrainVerb;
use crate::org::{AskKind, BadSeat, BadThreadId, Breakpoint, COMMANDS, Seat, ThreadId};
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

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The question; `-` or nothing reads it from standard input
    pub query: Option<String>,
    /// A task instead of a question: "countdown 10 6 5 3 = 30", "countdown", "sudoku", "math FILE#n"
    #[arg(long, value_name = "SPEC", conflicts_with = "query")]
    pub task: Option<String>,
    /// One of the prepared queries by its name; `list` shows them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["query", "task"])]
    pub preset: Option<String>,
    /// How to run
    #[command(flatten)]
    pub options: RunOptions,
    /// Play a script (JSON lines, one a thread) instead of a model
    #[arg(long, value_name = "FILE", long_help = SCRIPT_HELP)]
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
    /// Who writes what
    #[command(flatten)]
    pub people: PeopleArgs,
}

/// What people have a part in from the start.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "People and tools")]
pub struct PeopleArgs {
    /// Give a seat to a person a tool or a server: organizer=human, 2=server:NAME, 3=tool:NAME
    #[arg(long, value_name = "THREAD=SEAT", value_parser = seat)]
    pub seat: Vec<(ThreadId, Seat)>,
    /// Who writes the workers that nobody else is named for: model, human, server:NAME, tool:NAME
    #[arg(long, value_name = "SEAT", value_parser = str::parse::<Seat>)]
    pub workers: Option<Seat>,
    /// Workers that differ, by name: a TOML file; the organizer chooses one as in <FORK-2>@calc ...</FORK-2>
    #[arg(long, value_name = "FILE")]
    pub roster: Option<PathBuf>,
    /// Ask a person before these take effect: fork, answer, tool
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = str::parse::<AskKind>)]
    pub ask: Vec<AskKind>,
    /// Put the first sub-queries on a board, to be edited and released together
    #[arg(long)]
    pub plan: bool,
}

fn seat(text: &str) -> Result<(ThreadId, Seat), String> {
    let (thread, seat) = text
        .split_once('=')
        .ok_or("expected THREAD=SEAT, as in 2=human or organizer=human")?;
    let thread = thread.parse().map_err(|e: BadThreadId| e.to_string())?;
    let seat = seat.parse().map_err(|e: BadSeat| e.to_string())?;
    Ok((thread, seat))
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
    #[arg(long, value_name = "FILE", long_help = commands_help())]
    pub commands: Option<PathBuf>,
    /// Stop the run there: fork, join:2, return, answer, error, step:40, tokens:200, text:REGEX
    #[arg(long = "break", value_name = "SPEC", long_help = BREAK_HELP)]
    pub breakpoints: Vec<Breakpoint>,
    /// Play a demo: captions, waits, keys and commands
    #[arg(long, value_name = "FILE", conflicts_with = "headless", long_help = DEMO_HELP)]
    pub demo: Option<PathBuf>,
}

impl OutputArgs {
    /// A screen, and nobody but the person gives commands.
    #[must_use]
    pub fn on_screen() -> Self {
        Self {
            headless: false,
            json: false,
            commands: None,
            breakpoints: Vec::new(),
            demo: None,
        }
    }
}

const BREAK_HELP: &str = "Stop the run at the next step boundary once this happens; can be given several \
times.

fork, join, return: any worker's, or one's as in fork:2. answer: the organizer begins its answer. error: any \
error, or one kind as in error:JoinTwice. step:40: this step is done. tokens:200: a worker has more than 200 \
tokens; tokens@2:200: this thread has. text:REGEX, text@2:REGEX: the text of any thread, or of this one, \
matches.

The place is marked in the session, and the run waits for `resume`; without anybody to say so, the session is \
saved and can be resumed.";

/// Made of the table of commands, so that it names every one.
fn commands_help() -> String {
    let mut help = String::from(PLACES_HELP);
    for form in COMMANDS {
        help.push_str(&format!("\n{}: {}", form.json(), form.what));
    }
    help
}

const PLACES_HELP: &str = "Commands to give at set places, one JSON object a line, each once and in \
file order, at the first step boundary at which its place is reached (also while paused).

Places: {\"at\": {\"step\": 5}}, {\"at\": {\"thread\": \"1\", \"tokens\": 20}}, {\"at\": {\"branch\": 1, \
\"step\": 40}}, {\"at\": {\"event\": \"fork:2\"}} (fork, join, return or end, of any thread or of the one named; \
error, or one kind as in error:JoinTwice; answer; break, or one breakpoint as in break:fork; ask, or one kind as in \
ask:fork; plan). Without \"at\": together with the line before it, or at once. What never comes due is reported as \
unfired.

Commands (`orgtop commands --json` has every argument):
";

const DEMO_HELP: &str = "Play a demo: a script that a speaker talks to.

A line each: say TEXT (a caption), wait 2s, wait key, wait 5s or key, until fork 1, until return 2 within 20s, \
unless return 2: LINE, key 2 t, type TEXT, or any command of `orgtop commands`. Lines that begin with # say nothing, \
indented ones go on with the line before. Commands at the very beginning are given before the first step. Your own \
keys work meanwhile; esc stops the demo, and nothing else.";

const SCRIPT_HELP: &str = "Play a script instead of a model: JSON lines, one a thread.

{\"thread\": \"organizer\", \"tokens\": [\"Look\", \" for\", \"<FORK-1>\", ...]}: one string a token, each \
token one step; bytes that are no text as {\"b64\": \"...\"}. Or {\"thread\": \"1\", \"text\": \"...\", \
\"split\": \"char\" | \"word\" | n}: cut into characters, words or n bytes.

Optional: \"repeat\": true, \"tokens_per_s\": x (default: as fast as possible), \"fail_at\": n. The n-th line \
for a thread serves the n-th bearer of its index. The end of a line ends the thread at no cost; a thread \
without a line returns at once with an empty result.";

/// Arguments of `tour`.
#[derive(Debug, Args)]
pub struct TourArgs {
    /// Record it to FILE; otherwise nothing is recorded
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The session file
    pub file: PathBuf,
    /// Model to go on with; the recorded weights must match
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Server to go on with [default: the recorded one]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Script to go on with
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// The roster it was begun with
    #[arg(long, value_name = "FILE")]
    pub roster: Option<PathBuf>,
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
    /// Start at this step, at the `start`, or at the `end`
    #[arg(long, value_name = "STEP")]
    pub at: Option<String>,
    /// Play a demo on it: captions, waits and keys
    #[arg(long, value_name = "FILE")]
    pub demo: Option<PathBuf>,
    /// Model to take over with; the recorded weights must match
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Server to take over with [default: the recorded one]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Script to take over with
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Take over even if the model is not the recorded one
    #[arg(long)]
    pub other_model: bool,
}

fn speed(text: &str) -> Result<f32, String> {
    match text.trim_end_matches('x').parse::<f32>() {
        Ok(x) if (0.01..=1000.0).contains(&x) => Ok(x),
        _ => Err("expected a number from 0.01 to 1000".into()),
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
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A session file, with `#n` for its branch n [default: the last branch]
    pub a: LineName,
    /// The other one
    pub b: LineName,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// The session file
    pub file: PathBuf,
    /// Take everything before this event (its `seq`) as recorded; decode from there on
    #[arg(long, value_name = "SEQ")]
    pub from: Option<u64>,
    /// The recorded model; the weights must match
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// The recorded server, where it listens now
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// The recorded script
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Run even if the model is not the recorded one
    #[arg(long)]
    pub other_model: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Record to FILE instead of the sessions folder
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Do not record
    #[arg(long)]
    pub no_record: bool,
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
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        /// Remove only what was last written more than DAYS days ago
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
