//! `orgtop recover`

use super::args::RecoverArgs;
use super::{Exit, output};
use crate::live::ProtocolRescan;
use crate::record::{HeaderFate, Verified, recover, recovered_path, verify};
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
    if recovered.events == 0 {
        output::say("nothing was recovered: no event in it is readable");
        return Ok(Exit::Failed);
    }
    output::line(&safe_line(&judged(&verify(&to, &ProtocolRescan)?)))?;
    Ok(Exit::Done)
}

/// Whether the copy holds together, or where it first does not.
fn judged(copy: &Verified) -> String {
    let damage = copy.report.to_string();
    let differ = copy.disagreements.iter().map(ToString::to_string);
    let all: Vec<String> = damage.lines().map(str::to_owned).chain(differ).collect();
    match all.as_slice() {
        [] => "the copy agrees with itself".into(),
        [only] => format!("the copy still DISAGREES: {only}"),
        [first, rest @ ..] => format!(
            "the copy still DISAGREES: {first} (and {} more, see `orgtop verify`)",
            rest.len()
        ),
    }
}
