//! `orgtop simulate`: what capacity buys, by ideal time alone.

use super::args::SimulateArgs;
use super::target::{Existing, Target};
use super::{Exit, Usage, inspect, output};
use crate::eval::{CapacityPoint, Plan, capacity_curve};
use crate::learn::curves::labelled::{Labelled, LabelledChart, Mark, Shape};
use crate::org::Trace;
use crate::record::PoolPolicy;
use crate::small_file::{self, Pipes};
use crate::tui::text::safe_line;
use anyhow::Context;
use serde::Serialize;

/// Without `--capacity`, no more capacities than this.
const MOST_BY_ITSELF: u32 = 32;

/// Links of a critical path that a line shows.
const LINKS: usize = 7;

/// What is simulated.
struct Subject {
    organizations: Vec<Vec<Trace>>,
    /// The capacity it was recorded with.
    recorded: Option<u32>,
    draws: bool,
}

#[derive(Serialize)]
struct Printed<'a> {
    file: String,
    organizations: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_capacity: Option<u32>,
    threads: usize,
    work: f64,
    capacities: &'a [CapacityPoint],
}

/// Simulates and prints.
///
/// # Errors
/// A file that is neither a session nor a description, or an SVG that cannot be written.
pub fn run(args: &SimulateArgs) -> anyhow::Result<Exit> {
    let curve = match &args.curve {
        Some(path) => {
            let existing = Existing::by_force(args.force);
            Some(Target::new(path, existing, &[&args.file])?)
        }
        None => None,
    };
    let subject = subject(args)?;
    let threads = subject.organizations.first().map_or(0, std::vec::Vec::len);
    let capacities = match &args.capacity {
        Some(capacities) => capacities.0.clone(),
        None => {
            let everybody = u32::try_from(threads).unwrap_or(u32::MAX);
            (1..=everybody.clamp(1, MOST_BY_ITSELF)).collect()
        }
    };
    let points = capacity_curve(&subject.organizations, &capacities);
    if let Some(curve) = curve {
        let picture = chart(args, &subject, &points);
        curve.write(|to| Ok(to.write_all(picture.as_bytes())?))?;
    }
    let tokens = subject.organizations.iter().flatten().map(|t| t.tokens);
    let work = tokens.sum::<u64>() as f64 / subject.organizations.len().max(1) as f64;
    if args.json {
        output::json(&Printed {
            file: args.file.display().to_string(),
            organizations: subject.organizations.len(),
            seed: subject.draws.then_some(args.seed),
            recorded_capacity: subject.recorded,
            threads,
            work,
            capacities: &points,
        })?;
    } else {
        for line in table(args, &subject, work, &points) {
            output::line(&safe_line(&line))?;
        }
    }
    Ok(Exit::Done)
}

fn subject(args: &SimulateArgs) -> anyhow::Result<Subject> {
    let extension = args.file.extension().and_then(|e| e.to_str());
    let json = match extension {
        Some("toml") => false,
        Some("json") => true,
        _ => return session(args),
    };
    let text = small_file::read(&args.file, Pipes::Refused, small_file::LONGEST)
        .with_context(|| format!("{}: cannot read the description", args.file.display()))?;
    let plan = Plan::parse(&text, json)
        .map_err(|why| anyhow::anyhow!("{}: {why}", args.file.display()))?;
    let draws = plan.draws();
    let count = match args.runs {
        Some(runs) if !draws && runs > 1 => {
            let why =
                "--runs: no length in the description is drawn, so one organization says it all";
            return Err(Usage(why.into()).into());
        }
        Some(runs) => u64::from(runs),
        None if draws => 100,
        None => 1,
    };
    Ok(Subject {
        organizations: (0..count)
            .map(|number| plan.organization(args.seed, number))
            .collect(),
        recorded: None,
        draws,
    })
}

/// A recorded session: its counts as they were. Whoever was abandoned ends after what it had.
fn session(args: &SimulateArgs) -> anyhow::Result<Subject> {
    if args.runs.is_some() {
        return Err(Usage("--runs: a recorded session has the lengths that it has".into()).into());
    }
    let folded = inspect::fold(&args.file)?;
    inspect::warn(&folded.report);
    let mut traces = folded.organization.traces();
    for trace in &mut traces {
        trace.ended = true;
    }
    if traces.is_empty() {
        anyhow::bail!("{}: no thread began in it", args.file.display());
    }
    Ok(Subject {
        organizations: vec![traces],
        recorded: Some(folded.header.capacity),
        draws: false,
    })
}

fn table(
    args: &SimulateArgs,
    subject: &Subject,
    work: f64,
    points: &[CapacityPoint],
) -> Vec<String> {
    let many = subject.organizations.len() > 1;
    let last = if many {
        "forks without a slot"
    } else if args.pool == PoolPolicy::Error {
        "first fork without a slot"
    } else {
        "critical path"
    };
    let range = if many { "     5-95 %" } else { "" };
    let mut lines = vec![format!(
        "{:>5}  {:>9}{range}  {:>6}  {:>6}  {:>6}  {last}",
        "c", "T", "alone", "eta", "eta/c"
    )];
    for p in points {
        let mark = if subject.recorded == Some(p.capacity) {
            "*"
        } else {
            " "
        };
        let shown = shown(p, args.pool);
        let digits = usize::from(many);
        let latency = shown.map_or("-".to_owned(), |t| format!("{t:.digits$}"));
        let range = match (many, p.range) {
            (true, Some((low, high))) => format!("  {:>9}", format!("{low:.0}-{high:.0}")),
            (true, None) => format!("  {:>9}", "-"),
            (false, _) => String::new(),
        };
        let number = |n: Option<f64>, lead: &str| {
            n.filter(|_| shown.is_some())
                .map_or("-".to_owned(), |n| format!("{lead}{n:.2}"))
        };
        lines.push(
            format!(
                "{:>4}{mark}  {latency:>9}{range}  {:>6}  {:>6}  {:>6}  {}",
                p.capacity,
                number(p.speedup, "x"),
                number(Some(p.eta), ""),
                number(Some(p.eta_over_c), ""),
                remark(p, args.pool, many),
            )
            .trim_end()
            .to_owned(),
        );
    }
    let threads = subject.organizations.first().map_or(0, Vec::len);
    let what = match subject.organizations.len() {
        1 => format!("{threads} threads, {work:.0} tokens"),
        n => format!("{n} organizations of {threads} threads, {work:.0} tokens on average"),
    };
    let recorded = if subject.recorded.is_some() {
        "; * as recorded"
    } else {
        ""
    };
    lines.push(format!("{what}{recorded}"));
    lines
}

/// `T`, where the pool's policy lets every Fork begin.
fn shown(point: &CapacityPoint, pool: PoolPolicy) -> Option<f64> {
    match pool {
        PoolPolicy::Wait => point.latency,
        PoolPolicy::Error => point.latency.filter(|_| point.overflows < 1.0),
    }
}

fn remark(point: &CapacityPoint, pool: PoolPolicy, many: bool) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    if many {
        return match pool {
            PoolPolicy::Error => format!("{} overflow", percent(point.overflows)),
            PoolPolicy::Wait if point.never_served > 0.0 => format!(
                "{} wait, {} for ever",
                percent(point.overflows),
                percent(point.never_served)
            ),
            PoolPolicy::Wait => format!("{} wait", percent(point.overflows)),
        };
    }
    match (pool, point.first_overflow, point.first_unserved) {
        (PoolPolicy::Error, Some(first), _) | (PoolPolicy::Wait, _, Some(first)) => {
            format!("PoolOverflow: {} at step {}", first.worker, first.step)
        }
        (PoolPolicy::Error, None, _) => "none".to_owned(),
        (PoolPolicy::Wait, _, None) => path(point),
    }
}

/// `organizer 18, 1 25, organizer 20`.
fn path(point: &CapacityPoint) -> String {
    let link = |l: &crate::eval::PathLink| format!("{} {}", l.thread, l.to - l.from);
    let all = &point.critical_path;
    let mut links: Vec<String> = all.iter().map(link).collect();
    if links.len() > LINKS {
        let cut = LINKS / 2;
        links.splice(cut..links.len() - cut, ["...".to_owned()]);
    }
    links.join(", ")
}

fn chart(args: &SimulateArgs, subject: &Subject, points: &[CapacityPoint]) -> String {
    let line =
        |name: &str, colour, shape, value: &dyn Fn(&CapacityPoint) -> Option<f64>| Labelled {
            name: name.to_owned(),
            colour,
            shape,
            marks: points
                .iter()
                .filter_map(|p| {
                    let marked = subject.recorded == Some(p.capacity);
                    Some(Mark {
                        at: (f64::from(p.capacity), value(p)?),
                        label: match shape {
                            Shape::Points if marked => format!("recorded, c={}", p.capacity),
                            _ => String::new(),
                        },
                    })
                })
                .collect(),
        };
    let many = subject.organizations.len() > 1;
    let mut series = Vec::new();
    if many {
        series.push(line("", 0, Shape::Thin, &|p| p.range.map(|r| r.0)));
        series.push(line("", 0, Shape::Thin, &|p| p.range.map(|r| r.1)));
    }
    series.push(line("T, forks wait", 0, Shape::Points, &|p| p.latency));
    series.push(line("T, no fork without a slot", 1, Shape::Points, &|p| {
        p.latency.filter(|_| p.overflows == 0.0)
    }));
    let name = args
        .file
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    LabelledChart {
        title: &format!("{}: latency against capacity", safe_line(&name)),
        x: if many {
            "capacity (thin: 5 and 95 % of the organizations)"
        } else {
            "capacity: the organizer and its workers at once"
        },
        y: "T: tokens on the critical path",
        series,
    }
    .svg()
}

/// Capacities to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacities(Vec<u32>);

impl std::str::FromStr for Capacities {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "expected capacities from 1 to 1024, as in 1-16 or 2,4,8".to_owned();
        let number = |text: &str| -> Result<u32, String> {
            let n = text.trim().parse().map_err(|_| bad())?;
            if (1..=1024).contains(&n) {
                Ok(n)
            } else {
                Err(bad())
            }
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                Some((from, to)) => all.extend(number(from)?..=number(to)?),
                None => all.push(number(part)?),
            }
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            Err(bad())
        } else {
            Ok(Self(all))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_ranges_and_lists() {
        let of = |text: &str| text.parse::<Capacities>().map(|c| c.0);
        assert_eq!(of("1-3,8, 2"), Ok(vec![1, 2, 3, 8]));
        for text in ["", "0", "3-1", "1-9999", "x", "1-", "2000"] {
            assert!(of(text).unwrap_err().contains("1-16"), "{text}");
        }
    }
}
