//! What the verbs take that begin with a recorded session.

use super::run::OutputArgs;
use crate::cli::go_on::GoOnArgs;
use crate::cli::line::LineName;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The session file
    pub file: PathBuf,
    /// What decodes
    #[command(flatten)]
    pub with: GoOnArgs,
    /// The roster it was begun with
    #[arg(long, value_name = "FILE")]
    pub roster: Option<PathBuf>,
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
    /// What decodes
    #[command(flatten)]
    pub with: GoOnArgs,
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
    /// What decodes
    #[command(flatten)]
    pub with: GoOnArgs,
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
