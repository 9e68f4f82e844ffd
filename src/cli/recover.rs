//! `orgtop recover`

use super::args::RecoverArgs;
use super::{Exit, output};
use crate::record::{HeaderFate, recover, recovered_path};
use crate::tui::text::safe_line;

/// Writes the readable part of a damaged session to a new file and says what was lost.
///
/// # Errors
/// When nothing is readable, or the new file cannot be written.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Exit> {
    let to = args
        .output
        .clone()
        .unwrap_or_else(|| recovered_path(&args.file));
    let recovered = recover(&args.file, &to)?;
    for line in recovered.report.to_string().lines() {
        output::say(line);
    }
    if recovered.header == HeaderFate::Remade {
        output::say(
            "the header was pieced together from the events: prompts and settings are lost",
        );
    }
    output::line(&safe_line(&format!(
        "{}: {} events",
        to.display(),
        recovered.events
    )))?;
    Ok(Exit::Done)
}
