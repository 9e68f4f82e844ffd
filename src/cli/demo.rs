//! Demos on the command line: reading scripts, and how fast they go.

use super::Usage;
use crate::live::Order;
use crate::small_file::{self, Pipes};
use crate::tui::demo::{Demo, Manner, Script};
use anyhow::Context;
use std::collections::VecDeque;
use std::path::Path;

/// Says how many times faster than written demos go; for tests and rehearsals.
const PACE: &str = "ORGTOP_DEMO_PACE";

/// Reads the script at `path`.
///
/// # Errors
/// It cannot be read, or a line is wrong, with file and line.
pub fn read(path: &Path) -> anyhow::Result<Script> {
    let text = small_file::read(path, Pipes::Read, small_file::LONGEST)
        .with_context(|| format!("{}: cannot read the demo", path.display()))?;
    Ok(Script::parse(&text, &path.display().to_string())?)
}

/// Reads a script for a recording, which takes no commands.
///
/// # Errors
/// As [`read`]; a command.
pub fn read_for_replay(path: &Path) -> anyhow::Result<Script> {
    let script = read(path)?;
    if let Some((line, command)) = script.steers() {
        anyhow::bail!(
            "{}, line {line}: `{command}` steers, and a recording is only watched; expected captions, waits and \
             keys",
            path.display()
        );
    }
    Ok(script)
}

/// A demo of `script`; what it begins with is given as `orders`, before the first step.
///
/// # Errors
/// The pace is no number.
pub fn begin(
    mut script: Script,
    manner: Manner,
    orders: &mut VecDeque<Order>,
) -> Result<Demo, Usage> {
    let pace = pace()?;
    script.hasten(pace);
    orders.extend(script.take_opening().into_iter().map(|command| Order {
        at: None,
        together: false,
        line: None,
        command,
    }));
    Ok(Demo::new(script, manner))
}

/// How many times faster than written demos go.
///
/// # Errors
/// The variable is no number that makes sense.
fn pace() -> Result<f64, Usage> {
    match std::env::var(PACE) {
        Ok(text) => match text.parse::<f64>() {
            Ok(pace) if (0.01..=1000.0).contains(&pace) => Ok(pace),
            _ => Err(Usage(format!(
                "{PACE} is `{text}`; expected a number from 0.01 to 1000"
            ))),
        },
        Err(_) => Ok(1.0),
    }
}
