//! `orgtop inspect`

use super::args::InspectArgs;
use super::summary::Summary;
use super::{Exit, output};
use crate::org::{Body, Organization};
use crate::record::{Header, Report, SessionFile};
use crate::tui::text::safe_line;
use std::path::Path;

/// A session file, folded to its end.
pub struct Folded {
    /// What session it is.
    pub header: Header,
    /// The state after its last event.
    pub organization: Organization,
    /// What is wrong with the file.
    pub report: Report,
}

/// Folds a whole file.
///
/// # Errors
/// When it is no session or cannot be read.
pub fn fold(path: &Path) -> anyhow::Result<Folded> {
    let file = SessionFile::open(path)?;
    let header = file.header().clone();
    let mut organization = Organization::new(header.capacity, header.tau);
    let mut events = file.events();
    for recorded in events.by_ref() {
        let event = recorded?.event;
        if !matches!(event.body, Body::Keyframe { .. }) {
            organization.apply(&event);
        }
    }
    Ok(Folded {
        header,
        organization,
        report: events.report().clone(),
    })
}

/// Says what is wrong with a session file, if anything is.
pub fn warn(report: &Report) {
    if !report.is_clean() {
        for line in report.to_string().lines() {
            output::say(&format!("orgtop: {line}"));
        }
    }
}

/// Prints a session in numbers.
///
/// # Errors
/// When it is no session or cannot be read.
pub fn run(args: &InspectArgs) -> anyhow::Result<Exit> {
    let folded = fold(&args.file)?;
    warn(&folded.report);
    let session = Some(args.file.display().to_string());
    let summary = Summary::new(&folded.header, &folded.organization, session);
    if args.json {
        output::json(&summary)?;
    } else {
        for line in text(&folded.header, &summary).lines() {
            output::line(&safe_line(line))?;
        }
    }
    Ok(Exit::Done)
}

fn text(header: &Header, s: &Summary) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let m = &s.metrics;
    let end = s.end.map_or("not ended".into(), |e| format!("{e:?}"));
    // Writing into a String cannot fail.
    let _ = writeln!(
        out,
        "{}  {}  {:?}  c={}\nquery   {}\nanswer  {}\nend     {end}\nT {} · alone {} · ×{:.2} · η {:.3} (η/c {:.3}) · R_η {:.3}\nlived   {} steps · {:.1} s · {:.0} tok/s",
        header.id,
        header.engine.model.name,
        header.policy,
        header.capacity,
        header.query.replace('\n', " "),
        s.answer.as_deref().unwrap_or("none").replace('\n', " "),
        m.latency,
        m.work,
        m.speedup,
        m.eta,
        m.eta_over_c,
        m.r_eta,
        m.lived_steps,
        m.wall_ms / 1000.0,
        m.tok_per_s,
    );
    let number = |n: Option<u64>| n.map_or("–".into(), |n| n.to_string());
    for t in &s.threads {
        let _ = writeln!(
            out,
            "{:<10} {:>6} tokens  {:>6} → {:<6} {:<10} slack {}",
            t.id.to_string(),
            t.tokens,
            number(t.begin),
            number(t.finish),
            t.end
                .map_or("running".into(), |e| format!("{e:?}").to_lowercase()),
            number(t.slack),
        );
    }
    // One line is no tree.
    for b in s.branches.iter().filter(|_| s.branches.len() > 1) {
        let from = match (b.parent, b.at) {
            (Some(parent), Some(at)) => format!("from step {at} of {parent}"),
            _ => "the first".into(),
        };
        let _ = writeln!(
            out,
            "branch {:<3} {from:<22} T {:>5} · η {:.3} · answer {}",
            b.id.to_string(),
            b.latency,
            b.eta,
            b.answer.as_deref().unwrap_or("none").replace('\n', " "),
        );
    }
    for e in &s.errors {
        let _ = writeln!(
            out,
            "{:?} ({}, step {}): {}",
            e.kind, e.thread, e.step, e.message
        );
    }
    for c in &s.commands {
        let at = c.step.map_or("–".into(), |s| s.to_string());
        let why = c
            .why
            .as_deref()
            .map(|w| format!(": {w}"))
            .unwrap_or_default();
        let _ = writeln!(out, "step {at}: {} {}{why}", c.verb, c.result);
    }
    out
}
