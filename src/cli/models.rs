//! `orgtop models`

mod args;
mod pull;
mod recommended;

pub use args::ModelsArgs;

use super::{Exit, output};
use crate::engine::embedded;
use crate::engine::local::{ModelSummary, discover, inspect_model};
use crate::tui::text::safe_line;
use args::ModelsVerb;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Row {
    path: String,
    name: String,
    arch: String,
    parameters: u64,
    dtype: String,
    context: usize,
    bytes: u64,
    /// `null`: it can be loaded.
    problem: Option<String>,
}

/// Lists models, or does what the verb says.
///
/// # Errors
/// When stdout takes nothing; whatever keeps a checkpoint from being pulled.
pub fn run(args: &ModelsArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Some(ModelsVerb::Pull(args)) => return pull::run(args),
        Some(ModelsVerb::Recommended { json }) => return recommended::run(*json),
        None => {}
    }
    let mut found: Vec<ModelSummary> = args.paths.iter().flat_map(|p| look_in(p)).collect();
    let given = found.len();
    if args.paths.is_empty() {
        // where scripts/fetch-smollm2 puts one
        let here = look_in(Path::new("models"));
        found.extend(here.into_iter().filter(|m| m.problem.is_none()));
    }
    found.extend(discover());
    let rows: Vec<Row> = found.into_iter().map(row).chain([embedded()]).collect();
    if args.json {
        output::json(&rows)?;
    } else {
        for row in &rows {
            output::line(&line(row))?;
        }
    }
    let all_bad = given > 0 && rows.iter().take(given).all(|r| r.problem.is_some());
    Ok(if all_bad { Exit::Failed } else { Exit::Done })
}

/// The model inside the binary.
fn embedded() -> Row {
    Row {
        path: "(in the binary)".into(),
        name: embedded::NAME.into(),
        arch: "qwen3".into(),
        parameters: embedded::PARAMETERS,
        dtype: "f16".into(),
        context: embedded::CONTEXT,
        bytes: embedded::bytes(),
        problem: None,
    }
}

/// The model at `path`, or the models right inside that folder.
fn look_in(path: &Path) -> Vec<ModelSummary> {
    let own = inspect_model(path);
    if own.problem.is_none() || !path.is_dir() {
        return vec![own];
    }
    let mut inside: Vec<_> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|p| p.is_dir() || p.extension().is_some_and(|e| e == "gguf"))
        .collect();
    inside.sort();
    let models: Vec<ModelSummary> = inside
        .iter()
        .map(|p| inspect_model(p))
        .filter(|m| m.problem.is_none() || m.path.extension().is_some_and(|e| e == "gguf"))
        .collect();
    if models.is_empty() { vec![own] } else { models }
}

fn row(m: ModelSummary) -> Row {
    Row {
        path: m.path.display().to_string(),
        name: m.name,
        arch: m.arch,
        parameters: m.parameters,
        dtype: m.dtype,
        context: m.context,
        bytes: m.bytes,
        problem: m.problem,
    }
}

fn line(row: &Row) -> String {
    let text = match &row.problem {
        None => format!(
            "{}  {} · {} parameters · {} · context {} · {}",
            row.path,
            row.arch,
            count(row.parameters),
            row.dtype,
            row.context,
            size(row.bytes)
        ),
        Some(problem) => format!("{}  cannot be loaded: {problem}", row.path),
    };
    safe_line(&text).into_owned()
}

/// `135M`, `4.0B`.
#[must_use]
pub fn count(n: u64) -> String {
    match n {
        0..1_000_000 => format!("{:.0}K", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0}M", n as f64 / 1e6),
        _ => format!("{:.1}B", n as f64 / 1e9),
    }
}

/// `92.0 MiB`
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(134_515_008), "135M");
        assert_eq!(count(4_022_468_096), "4.0B");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(96_468_992), "92.0 MiB");
    }
}
