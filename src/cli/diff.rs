//! `orgtop diff`: two lines of history side by side.

use super::args::DiffArgs;
use super::{Exit, output};
use crate::org::{BranchId, RunEnd, Step, ThreadId};
use crate::record::{Comparison, Divergence, LineOf, TokenAt};
use crate::tui::text::safe_line;
use serde::Serialize;

/// Two lines in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct DiffObject {
    /// The first line.
    pub a: SideRow,
    /// The second.
    pub b: SideRow,
    /// What changed from the first to the second.
    pub delta: Delta,
    /// Where they part; `null`: they are the same.
    pub divergence: Option<DivergenceRow>,
    /// All threads in path order.
    pub threads: Vec<PairRow>,
}

/// One line.
#[derive(Debug, Clone, Serialize)]
pub struct SideRow {
    /// File and branch as given.
    pub line: String,
    /// The session.
    pub id: String,
    /// The branch.
    pub branch: BranchId,
    /// Ideal latency.
    #[serde(rename = "T")]
    pub latency: u64,
    /// Mean number of active workers.
    pub eta: f64,
    /// How it ended; `null` while it has not, or where it was left.
    pub end: Option<RunEnd>,
    /// Its answer.
    pub answer: Option<String>,
}

/// What changed.
#[derive(Debug, Clone, Serialize)]
pub struct Delta {
    /// Steps that `T` grew.
    #[serde(rename = "T")]
    pub latency: i64,
    /// How much η grew.
    pub eta: f64,
    /// Whether the answer is another.
    pub answer: bool,
}

/// Where two lines part.
#[derive(Debug, Clone, Serialize)]
pub struct DivergenceRow {
    /// In which thread.
    pub thread: ThreadId,
    /// Own tokens of it that are the same before.
    pub token: u64,
    /// When the earlier one came.
    pub step: Option<Step>,
    /// What the first line has there; `null`: nothing.
    pub a: Option<TokenRow>,
    /// What the second has.
    pub b: Option<TokenRow>,
    /// How much likelier the second line's token was there than the first's, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logit_gap: Option<f32>,
    /// The gap is at least so big: the first line's token was not among the likeliest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// One token.
#[derive(Debug, Clone, Serialize)]
pub struct TokenRow {
    /// When.
    pub step: Step,
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// Whether it was decoded, not put in.
    pub decoded: bool,
}

/// One thread on both lines.
#[derive(Debug, Clone, Serialize)]
pub struct PairRow {
    /// Which.
    pub id: ThreadId,
    /// Its tokens on the first line; `null`: it is not there.
    pub a: Option<u64>,
    /// On the second.
    pub b: Option<u64>,
    /// Tokens that both begin with.
    pub same: u64,
}

impl DiffObject {
    /// Compares two lines, called by these names.
    #[must_use]
    pub fn new(a: (&str, &LineOf), b: (&str, &LineOf)) -> Self {
        let compared = Comparison::new(a.1, b.1);
        let side = |(name, line): (&str, &LineOf), standing: &crate::org::Standing| SideRow {
            line: name.to_owned(),
            id: line.header.id.clone(),
            branch: line.end.branch,
            latency: standing.latency,
            eta: standing.eta(),
            end: standing.end,
            answer: standing.answer.clone(),
        };
        Self {
            a: side(a, &compared.a),
            b: side(b, &compared.b),
            delta: Delta {
                latency: compared.latency_grew(),
                eta: compared.eta_grew(),
                answer: !compared.same_answer(),
            },
            divergence: compared.divergence.as_ref().map(row),
            threads: compared
                .threads
                .iter()
                .map(|pair| PairRow {
                    id: pair.id,
                    a: pair.a,
                    b: pair.b,
                    same: pair.same,
                })
                .collect(),
        }
    }

    /// The object in words, line by line.
    #[must_use]
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        // Writing into a String cannot fail.
        for (mark, side) in [('a', &self.a), ('b', &self.b)] {
            let _ = writeln!(
                out,
                "{mark}  {}  branch {}  T {} · η {:.3} · answer {}",
                side.line,
                side.branch,
                side.latency,
                side.eta,
                side.answer.as_deref().unwrap_or("none").replace('\n', " "),
            );
        }
        let _ = writeln!(
            out,
            "ΔT {:+} · Δη {:+.3} · {}",
            self.delta.latency,
            self.delta.eta,
            if self.delta.answer {
                "another answer"
            } else {
                "the same answer"
            }
        );
        let _ = writeln!(out, "{}", parting(self.divergence.as_ref()));
        let number = |n: Option<u64>| n.map_or("–".into(), |n| n.to_string());
        for t in &self.threads {
            let _ = writeln!(
                out,
                "{:<10} {:>6} → {:<6} tokens, the first {} the same",
                t.id.to_string(),
                number(t.a),
                number(t.b),
                t.same
            );
        }
        out
    }
}

/// Where they part, in a sentence.
fn parting(divergence: Option<&DivergenceRow>) -> String {
    let Some(d) = divergence else {
        return "every token is the same".into();
    };
    let token = |t: &Option<TokenRow>| {
        t.as_ref()
            .map_or("nothing".to_owned(), |t| format!("{:?}", t.text))
    };
    let step = d.step.map_or(String::new(), |s| format!(", step {s}"));
    let gap = match (d.logit_gap, d.at_least) {
        (Some(gap), false) => format!(" (logit gap {gap:.4})"),
        (Some(gap), true) => format!(" (logit gap at least {gap:.4})"),
        (None, _) => String::new(),
    };
    format!(
        "they part in {} after {} tokens{step}: {} against {}{gap}",
        d.thread,
        d.token,
        token(&d.a),
        token(&d.b)
    )
}

fn row(divergence: &Divergence) -> DivergenceRow {
    let token = |t: &TokenAt| TokenRow {
        step: t.step,
        id: t.id,
        text: String::from_utf8_lossy(&t.bytes).into_owned(),
        decoded: t.decoded,
    };
    let gap = divergence.logit_gap();
    DivergenceRow {
        thread: divergence.thread,
        token: divergence.token,
        step: divergence.step(),
        a: divergence.a.as_ref().map(token),
        b: divergence.b.as_ref().map(token),
        logit_gap: gap.map(|(gap, _)| gap),
        at_least: gap.is_some_and(|(_, exact)| !exact),
    }
}

/// Compares two lines of history.
///
/// # Errors
/// A file does not open, or has no such branch.
pub fn run(args: &DiffArgs) -> anyhow::Result<Exit> {
    let (a, b) = (args.a.read()?, args.b.read()?);
    let (name_a, name_b) = (args.a.to_string(), args.b.to_string());
    let object = DiffObject::new((&name_a, &a), (&name_b, &b));
    if args.json {
        output::json(&object)?;
    } else {
        for line in object.text().lines() {
            output::line(&safe_line(line))?;
        }
    }
    Ok(Exit::Done)
}
