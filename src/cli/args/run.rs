//! What `run` takes: who writes what, how it reports, and what its longer help says.

use crate::cli::settings::RunOptions;
use crate::org::{
    AskKind, BadBreakpoint, BadSeat, BadThreadId, Breakpoint, COMMANDS, Seat, ThreadId,
};
use clap::Args;
use std::path::PathBuf;

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

fn breakpoint(text: &str) -> Result<Breakpoint, String> {
    let on: Breakpoint = text.parse().map_err(|e: BadBreakpoint| e.to_string())?;
    on.can_be_met()?;
    Ok(on)
}

/// How a run reports, shared by `run` and `resume`.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// No screen; print the answer at the end
    ///
    /// Exits with 0 if there is a whole answer, else with 1 and a line on stderr that says why and what goes on from there.
    #[arg(long)]
    pub headless: bool,
    /// With --headless: print one JSON object at the end
    #[arg(long, requires = "headless")]
    pub json: bool,
    /// Commands to give at set places, JSON lines like {"at": {"step": 5}, "do": "pause"}
    #[arg(long, value_name = "FILE", long_help = commands_help())]
    pub commands: Option<PathBuf>,
    /// Stop the run there: fork, join:2, return, answer, error, step:40, tokens:200, text:REGEX
    #[arg(long = "break", value_name = "SPEC", long_help = BREAK_HELP, value_parser = breakpoint)]
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
ask:fork; plan). Without \"at\": together with the line before it, or at once. What is refused or \
never comes due is said on stderr with its line, and in the object of --json.

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
