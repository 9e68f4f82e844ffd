//! The one object that `eval --json` prints, and the table for people.

use super::args::EvalArgs;
use super::plan::Plan;
use crate::engine::EngineCard;
use crate::engine::remote::Kind;
use crate::eval::{Comparison, Frontier, Interval, PolicyReport, Report, Role, Settings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How fast it went, in this call.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Speed {
    /// Spent on running, models already open.
    seconds: f64,
    /// Tokens decoded.
    tokens: u64,
    /// Their ratio.
    tokens_per_s: f64,
}

impl Speed {
    /// So many tokens in so many seconds.
    pub fn new(seconds: f64, tokens: u64) -> Self {
        let tokens_per_s = if seconds > 0.0 {
            tokens as f64 / seconds
        } else {
            0.0
        };
        Self {
            seconds,
            tokens,
            tokens_per_s,
        }
    }
}

/// A model, by what tells it from others.
#[derive(Debug, Clone, Serialize)]
struct Model {
    name: String,
    weights_sha256: String,
    parameters: u64,
    dtype: String,
    /// Who serves it, where it is not on this machine's disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server>,
}

/// A server, as it told of itself.
#[derive(Debug, Clone, Serialize)]
struct Server {
    url: String,
    kind: Kind,
    version: String,
}

impl From<&EngineCard> for Model {
    fn from(card: &EngineCard) -> Self {
        let model = &card.model;
        Self {
            name: model.name.clone(),
            weights_sha256: model.weights_sha256.clone(),
            parameters: model.parameters,
            dtype: model.dtype.clone(),
            server: card.server.as_ref().map(|server| Server {
                url: card.device.clone(),
                kind: server.kind,
                version: server.version.clone(),
            }),
        }
    }
}

impl Model {
    /// Its name, and what tells it from others of that name.
    fn words(&self) -> String {
        match &self.server {
            Some(Server { url, kind, version }) => {
                let what = format!("{} at {url}, {kind} {version}", self.name);
                what.trim_end().to_owned()
            }
            None => {
                let hash: String = self.weights_sha256.chars().take(12).collect();
                format!("{} {hash}", self.name)
            }
        }
    }
}

/// Everything about an evaluation.
#[derive(Debug, Serialize)]
pub struct Printed {
    task: String,
    n: usize,
    seeds: usize,
    seed: u64,
    capacity: u32,
    settings: Settings,
    /// Who organizes; `null` where nobody does.
    model: Option<Model>,
    /// Who thinks alone.
    baseline: Option<Model>,
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    frontier: Option<Frontier>,
    #[serde(flatten)]
    speed: Speed,
}

impl Printed {
    /// Puts it together.
    pub fn new(
        args: &EvalArgs,
        plan: &Plan,
        models: &BTreeMap<Role, EngineCard>,
        speed: Speed,
        report: Report,
        frontier: Option<Frontier>,
    ) -> Self {
        Self {
            task: plan.name.clone(),
            n: plan.spec.tasks.len(),
            seeds: plan.spec.seeds.len(),
            seed: args.seed,
            capacity: args.capacity,
            settings: plan.spec.settings.clone(),
            model: models.get(&Role::Model).map(Model::from),
            baseline: models.get(&Role::Baseline).map(Model::from),
            report,
            frontier,
            speed,
        }
    }
}

/// The same as lines of text.
pub fn table(printed: &Printed) -> String {
    let mut out = String::new();
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let settings = &printed.settings;
    let temperature = if settings.temperature == settings.baseline_temperature {
        format!("temperature {}", settings.temperature)
    } else {
        format!(
            "temperature {} (alone {})",
            settings.temperature, settings.baseline_temperature
        )
    };
    // writing into a String cannot fail
    let _ = writeln!(
        out,
        "{}, {} instance{}, capacity {}, {temperature}, {} seed{} from {}",
        printed.task,
        printed.n,
        plural(printed.n),
        printed.capacity,
        printed.seeds,
        plural(printed.seeds),
        printed.seed
    );
    for (role, model) in [("model", &printed.model), ("baseline", &printed.baseline)] {
        if let Some(model) = model {
            let _ = writeln!(out, "{role}: {}", model.words());
        }
    }
    out.push('\n');
    let policies = &printed.report.policies;
    let most = policies
        .iter()
        .map(|p| p.figures.ge.len())
        .max()
        .unwrap_or(0);
    let _ = write!(out, "{:<12}{:>7}", "", "format");
    for a in 1..most {
        let _ = write!(out, "{:>7}", format!("≥{a}"));
    }
    let _ = writeln!(
        out,
        "{:>7} {:<15}{:>7}{:>6}{:>7}{:>7}{:>8}",
        if most > 1 {
            format!("all {most}")
        } else {
            "right".into()
        },
        "(95 %)",
        "T mean",
        "p90",
        "η/c",
        "forks",
        "tokens"
    );
    for policy in policies {
        row(&mut out, policy, most);
    }
    out.push('\n');
    for comparison in &printed.report.comparisons {
        beside(&mut out, comparison);
    }
    let speed = &printed.speed;
    let _ = write!(
        out,
        "{} tokens in {:.1} s: {:.0} tok/s",
        speed.tokens, speed.seconds, speed.tokens_per_s
    );
    out
}

fn beside(out: &mut String, comparison: &Comparison) {
    let within = |interval: Option<Interval>| {
        let range = interval.map(|i| format!(" ({:+.1} to {:+.1})", 100.0 * i.0, 100.0 * i.1));
        range.unwrap_or_default()
    };
    let _ = writeln!(
        out,
        "{} beside {}: all {:+.1} points{}, T {:+.1} %{}",
        comparison.of,
        comparison.with,
        100.0 * comparison.all,
        within(comparison.all_interval),
        100.0 * comparison.latency,
        within(comparison.latency_interval),
    );
}

fn row(out: &mut String, policy: &PolicyReport, most: usize) {
    let figures = &policy.figures;
    let _ = write!(out, "{:<12}{:>7.3}", policy.name, figures.format_valid);
    for share in figures.ge.iter().take(most.saturating_sub(1)) {
        let _ = write!(out, "{share:>7.3}");
    }
    let interval = policy
        .intervals
        .all
        .map(|i| format!("({:.3}–{:.3})", i.0, i.1))
        .unwrap_or_default();
    let dash = |value: Option<f64>| value.map_or_else(|| "–".into(), |v| format!("{v:.2}"));
    let _ = writeln!(
        out,
        "{:>7.3} {interval:<15}{:>7.0}{:>6.0}{:>7}{:>7.1}{:>8.0}",
        figures.all,
        figures.latency.mean,
        figures.latency.p90,
        dash(figures.eta_over_c),
        figures.forks,
        figures.decoded
    );
}
