//! `orgtop commands`: every command that a running organization takes.

use super::{Exit, output};
use crate::org::{Arg, COMMANDS};
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    #[serde(rename = "do")]
    name: &'static str,
    aliases: &'static [&'static str],
    arguments: &'static [Arg],
    what: &'static str,
    line: &'static str,
    json: serde_json::Value,
}

/// Prints the commands.
///
/// # Errors
/// Standard output is gone.
pub fn run(json: bool) -> anyhow::Result<Exit> {
    if json {
        let rows: Vec<Row> = COMMANDS
            .iter()
            .map(|form| Row {
                name: form.name,
                aliases: form.aliases,
                arguments: form.args,
                what: form.what,
                line: form.example,
                json: form.json(),
            })
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let usages: Vec<String> = COMMANDS.iter().map(|form| form.usage()).collect();
    let widest = usages.iter().map(|u| u.chars().count()).max().unwrap_or(0);
    for (form, usage) in COMMANDS.iter().zip(usages) {
        output::line(&format!("{usage:<widest$}  {}", form.what))?;
    }
    Ok(Exit::Done)
}
