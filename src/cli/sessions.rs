//! `orgtop sessions`

use super::args::SessionsVerb;
use super::models::size;
use super::settings::ConfigFile;
use super::{Exit, output};
use crate::org::RunEnd;
use crate::record::store::{self, Entry, Prune, Pruning, Writer};
use crate::tui::text::safe_line;
use anyhow::Context;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// The folder of recorded sessions: as given, from the config file, or the default.
///
/// # Errors
/// When there is no home folder to put it in.
pub fn folder(given: Option<PathBuf>, config: &ConfigFile) -> anyhow::Result<PathBuf> {
    if let Some(folder) = given.or_else(|| config.sessions.folder.clone()) {
        return Ok(folder);
    }
    store::default_folder().context("no folder for sessions: set one in the config file")
}

/// Lists or prunes.
///
/// # Errors
/// When the folder cannot be read, or stdout takes nothing.
pub fn run(verb: SessionsVerb, config: &ConfigFile) -> anyhow::Result<Exit> {
    match verb {
        SessionsVerb::List { json, folder: at } => list(&folder(at, config)?, json),
        SessionsVerb::Prune {
            keep,
            older_than,
            dry_run,
            folder: at,
        } => {
            let age = older_than.map(|days| Duration::from_secs(u64::from(days) * 86_400));
            let which = match (keep, age) {
                (Some(n), Some(age)) => Prune::Both(n, age),
                (Some(n), None) => Prune::KeepNewest(n),
                (None, Some(age)) => Prune::OlderThan(age),
                (None, None) => {
                    return Err(super::Usage(
                        "say what may go: --keep N, --older-than DAYS, or both".into(),
                    )
                    .into());
                }
            };
            let pruning = if dry_run {
                Pruning::DryRun
            } else {
                Pruning::Delete
            };
            prune(&folder(at, config)?, which, pruning)
        }
    }
}

#[derive(Serialize)]
struct Row {
    path: String,
    id: Option<String>,
    created: Option<String>,
    query: Option<String>,
    model: Option<String>,
    threads: Option<u64>,
    steps: Option<u64>,
    end: Option<RunEnd>,
    #[serde(rename = "T")]
    latency: Option<u64>,
    eta: Option<f64>,
    bytes: u64,
    live: bool,
    problem: Option<String>,
}

impl From<Entry> for Row {
    fn from(entry: Entry) -> Self {
        let problem = entry.session.as_ref().err().map(ToString::to_string);
        let session = entry.session.ok();
        let metrics = session.as_ref().and_then(|s| s.metrics);
        Self {
            path: entry.path.display().to_string(),
            id: session.as_ref().map(|s| s.id.clone()),
            created: session.as_ref().map(|s| s.created.clone()),
            query: session.as_ref().map(|s| s.query.clone()),
            model: session.as_ref().map(|s| s.model.clone()),
            threads: session.as_ref().and_then(|s| s.threads),
            steps: session.as_ref().map(|s| s.step.0),
            end: session.as_ref().and_then(|s| s.end),
            latency: metrics.map(|m| m.latency),
            eta: metrics.map(|m| m.eta),
            bytes: entry.size,
            live: entry.writer == Writer::Live,
            problem,
        }
    }
}

fn list(folder: &std::path::Path, json: bool) -> anyhow::Result<Exit> {
    let entries =
        store::list(folder).with_context(|| format!("{}: cannot list", folder.display()))?;
    let rows: Vec<Row> = entries.into_iter().map(Row::from).collect();
    if json {
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    for row in &rows {
        output::line(&safe_line(&line(row)))?;
    }
    if rows.is_empty() {
        output::say(&format!("no sessions in {}", folder.display()));
    }
    Ok(Exit::Done)
}

fn line(row: &Row) -> String {
    if let Some(problem) = &row.problem {
        return format!("{problem}  ({})", size(row.bytes));
    }
    let end = match (row.live, row.end) {
        (true, _) => "recording".to_owned(),
        (false, Some(end)) => serde_json::to_value(end)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default(),
        (false, None) => "cut off".to_owned(),
    };
    let t = row.latency.map_or(String::new(), |t| format!(" · T {t}"));
    let eta = row.eta.map_or(String::new(), |e| format!(" · η {e:.2}"));
    let query: String = row
        .query
        .as_deref()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(60)
        .collect();
    format!(
        "{}  {end}{t}{eta} · {} · {}  {query}",
        row.path,
        row.model.as_deref().unwrap_or("?"),
        size(row.bytes)
    )
}

fn prune(folder: &std::path::Path, which: Prune, pruning: Pruning) -> anyhow::Result<Exit> {
    let pruned = store::prune(folder, which, pruning)
        .with_context(|| format!("{}: cannot list", folder.display()))?;
    let verb = match pruning {
        Pruning::DryRun => "would remove",
        Pruning::Delete => "removed",
    };
    for (path, bytes) in &pruned.removed {
        output::line(&safe_line(&format!(
            "{verb} {} ({})",
            path.display(),
            size(*bytes)
        )))?;
    }
    for (path, why) in &pruned.kept {
        output::say(&format!("kept {}: {why}", path.display()));
    }
    Ok(if pruned.kept.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}
