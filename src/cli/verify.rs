//! `orgtop verify`

use super::args::FileArgs;
use super::{Exit, output};
use crate::live::ProtocolRescan;
use crate::org::Metrics;
use crate::record::verify;
use crate::tui::text::safe_line;
use serde::Serialize;

#[derive(Serialize)]
struct Verdict {
    agrees: bool,
    disagreements: Vec<String>,
    damage: Vec<String>,
    events: u64,
    keyframes: u64,
    actions: u64,
    metrics: Metrics,
}

/// Checks that a session agrees with itself. Damage counts as disagreement: something is missing.
///
/// # Errors
/// When it is no session or cannot be read.
pub fn run(args: &FileArgs) -> anyhow::Result<Exit> {
    let verified = verify(&args.file, &ProtocolRescan)?;
    let verdict = Verdict {
        agrees: verified.disagreements.is_empty() && verified.report.is_clean(),
        disagreements: verified
            .disagreements
            .iter()
            .map(ToString::to_string)
            .collect(),
        damage: verified
            .report
            .to_string()
            .lines()
            .map(str::to_owned)
            .collect(),
        events: verified.report.events,
        keyframes: verified.keyframes,
        actions: verified.actions,
        metrics: verified.metrics,
    };
    if args.json {
        output::json(&verdict)?;
    } else {
        for line in verdict.damage.iter().chain(&verdict.disagreements) {
            output::line(&safe_line(line))?;
        }
        output::line(&format!(
            "{}: {} events, {} keyframes, {} actions",
            if verdict.agrees {
                "agrees"
            } else {
                "DISAGREES"
            },
            verdict.events,
            verdict.keyframes,
            verdict.actions
        ))?;
    }
    Ok(if verdict.agrees {
        Exit::Done
    } else {
        Exit::Failed
    })
}
