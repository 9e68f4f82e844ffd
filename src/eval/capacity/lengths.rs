//! Organizations from a description: who forks and joins whom, and how long everybody takes.
//!
//! A TOML or JSON file. Lengths may be drawn; the draws of a thread depend on the seed, the number of the
//! organization and the thread, on nothing else, so that all capacities are compared on the same ones.

use crate::org::{MAX_DEPTH, MAX_INDEX, Op, OpKind, ThreadId, Trace};
use crate::task::rng::Rng;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most threads of one organization.
const MOST_THREADS: usize = 4096;

/// Most tokens of one stretch.
const MOST_TOKENS: f64 = 1e9;

/// How long something takes, in tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// Any whole number from the first to the second, each as likely.
    Uniform([u64; 2]),
    /// Mean and standard deviation of a normal distribution, cut off at 0.
    Normal([f64; 2]),
    /// Median, and standard deviation of the logarithm.
    Lognormal([f64; 2]),
    /// Mean of an exponential distribution.
    Exponential(f64),
    /// One of these, each as likely.
    Choice(Vec<u64>),
}

impl Length {
    fn check(&self) -> Result<(), String> {
        let sound = match self {
            Self::Uniform([low, high]) => low <= high && *high as f64 <= MOST_TOKENS,
            Self::Normal([mean, spread]) => fine(*mean) && fine(*spread),
            Self::Lognormal([median, spread]) => {
                fine(*median) && *median > 0.0 && (0.0..=5.0).contains(spread)
            }
            Self::Exponential(mean) => fine(*mean),
            Self::Choice(of) => !of.is_empty() && of.iter().all(|n| *n as f64 <= MOST_TOKENS),
        };
        if sound {
            return Ok(());
        }
        Err(format!(
            "{self:?} is no length: expected uniform = [low, high], normal = [mean, deviation], lognormal = \
             [median, deviation of the logarithm up to 5], exponential = mean or choice = [n, …], up to 1e9 tokens"
        ))
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let tokens = match self {
            Self::Uniform([low, high]) => {
                let span = usize::try_from(high - low + 1).unwrap_or(usize::MAX);
                return low + rng.below(span) as u64;
            }
            Self::Choice(of) => return rng.choose(of).copied().unwrap_or_default(),
            Self::Normal([mean, spread]) => mean + spread * normal(rng),
            Self::Lognormal([median, spread]) => median * (spread * normal(rng)).exp(),
            Self::Exponential(mean) => -mean * (1.0 - rng.unit()).ln(),
        };
        tokens.round().clamp(0.0, MOST_TOKENS) as u64
    }
}

fn fine(x: f64) -> bool {
    (0.0..=MOST_TOKENS).contains(&x)
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

/// One thing that a thread does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of tokens, a length like { uniform = [20, 60] }, or \"fork 1\", \"fork 1-8 5\", \"join 1\""
)]
enum RawStep {
    Tokens(u64),
    Length(Length),
    Act(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThread {
    does: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan {
    /// Tokens of a tag where the step does not say.
    #[serde(default = "one")]
    tag: u64,
    threads: BTreeMap<String, RawThread>,
}

fn one() -> u64 {
    1
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Think(u64),
    Draw(Length),
    Fork(u16, u64),
    Join(u16, u64),
}

/// A description that holds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    threads: BTreeMap<ThreadId, Vec<Step>>,
}

impl Plan {
    /// Reads a description; `json` rather than TOML.
    ///
    /// # Errors
    /// In words: what is wrong, and in which thread.
    pub fn parse(text: &str, json: bool) -> Result<Self, String> {
        let raw: RawPlan = if json {
            serde_json::from_str(text).map_err(|e| e.to_string())?
        } else {
            toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?
        };
        if raw.tag as f64 > MOST_TOKENS {
            return Err("tag: a tag of so many tokens is too long".into());
        }
        let mut threads = BTreeMap::new();
        for (name, thread) in &raw.threads {
            let within = |why: String| format!("thread {name}: {why}");
            let steps = steps(&thread.does, raw.tag).map_err(within)?;
            for id in named(name).map_err(within)? {
                if threads.insert(id, steps.clone()).is_some() {
                    return Err(format!("thread {id} is described twice"));
                }
                if threads.len() > MOST_THREADS {
                    return Err(format!("more than {MOST_THREADS} threads"));
                }
            }
        }
        let plan = Self { threads };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if !self.threads.contains_key(&ThreadId::ORGANIZER) {
            return Err("there is no thread `organizer`".into());
        }
        for (&id, steps) in &self.threads {
            let mut open: BTreeMap<u16, bool> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Fork(index, _) => {
                        if open.insert(*index, true).is_some() {
                            return Err(format!("thread {id} forks {index} twice"));
                        }
                        let child = id.child(*index, 1);
                        if !child.is_some_and(|c| self.threads.contains_key(&c)) {
                            return Err(format!(
                                "thread {id} forks {index}, but no thread {} is described",
                                child.map_or("so deep".to_owned(), |c| c.to_string())
                            ));
                        }
                    }
                    Step::Join(index, _) => match open.get_mut(index) {
                        Some(joinable) if *joinable => *joinable = false,
                        Some(_) => return Err(format!("thread {id} joins {index} twice")),
                        None => {
                            return Err(format!("thread {id} joins {index} before it forks it"));
                        }
                    },
                    Step::Think(_) | Step::Draw(_) => {}
                }
            }
        }
        let forked = |id: &ThreadId| {
            let parent = id.parent().and_then(|p| self.threads.get(&p));
            id.is_organizer()
                || parent.is_some_and(|steps| {
                    steps
                        .iter()
                        .any(|s| matches!(s, Step::Fork(i, _) if Some(*i) == id.index()))
                })
        };
        match self.threads.keys().find(|id| !forked(id)) {
            Some(id) => Err(format!("thread {id} is described, but nobody forks it")),
            None => Ok(()),
        }
    }

    /// Whether any length is drawn.
    #[must_use]
    pub fn draws(&self) -> bool {
        let steps = self.threads.values().flatten();
        steps.into_iter().any(|s| matches!(s, Step::Draw(_)))
    }

    /// The organization with this number.
    #[must_use]
    pub fn organization(&self, seed: u64, number: u64) -> Vec<Trace> {
        self.threads
            .iter()
            .map(|(&id, steps)| {
                let mut parts = vec![seed, number];
                let path = std::iter::successors(Some(id), |id| id.parent());
                parts.extend(path.filter_map(|id| id.index()).map(u64::from));
                let mut rng = Rng::new(&parts);
                let mut trace = Trace {
                    id,
                    tokens: 0,
                    ended: true,
                    ops: Vec::new(),
                };
                for step in steps {
                    match step {
                        Step::Think(tokens) => trace.tokens += tokens,
                        Step::Draw(length) => trace.tokens += length.draw(&mut rng),
                        Step::Fork(index, tokens) | Step::Join(index, tokens) => {
                            trace.tokens += tokens;
                            let Some(child) = id.child(*index, 1) else {
                                continue;
                            };
                            let kind = match step {
                                Step::Fork(..) => OpKind::Fork {
                                    child,
                                    anchor: None,
                                },
                                _ => OpKind::Join { child },
                            };
                            trace.ops.push(Op {
                                at: trace.tokens,
                                kind,
                            });
                        }
                    }
                }
                trace
            })
            .collect()
    }
}

fn steps(raw: &[RawStep], tag: u64) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for step in raw {
        match step {
            RawStep::Tokens(tokens) if *tokens as f64 <= MOST_TOKENS => {
                steps.push(Step::Think(*tokens));
            }
            RawStep::Tokens(tokens) => return Err(format!("{tokens} tokens are too many")),
            RawStep::Length(length) => {
                length.check()?;
                steps.push(Step::Draw(length.clone()));
            }
            RawStep::Act(text) => act(text, tag, &mut steps)?,
        }
    }
    Ok(steps)
}

fn act(text: &str, tag: u64, steps: &mut Vec<Step>) -> Result<(), String> {
    let bad = || {
        format!(
            "`{text}` is nothing to do: expected \"fork 1\", \"fork 1-8\", \"fork 1 5\" (5 tokens for the tag) or the \
             same with join"
        )
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (word, whom, tokens) = match words.as_slice() {
        [word, whom] => (*word, *whom, tag),
        [word, whom, tokens] => (*word, *whom, tokens.parse().map_err(|_| bad())?),
        _ => return Err(bad()),
    };
    if tokens as f64 > MOST_TOKENS {
        return Err(bad());
    }
    let make = match word {
        "fork" => Step::Fork,
        "join" => Step::Join,
        _ => return Err(bad()),
    };
    steps.extend(range(whom).ok_or_else(bad)?.map(|i| make(i, tokens)));
    Ok(())
}

/// `3` or `1-8`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let number = |text: &str| -> Option<u16> {
        let sound = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|n| sound && *n <= MAX_INDEX)
    };
    match text.split_once('-') {
        Some((from, to)) => Some(number(from)?..=number(to)?).filter(|r| !r.is_empty()),
        None => number(text).map(|n| n..=n),
    }
}

/// The threads that a name like `organizer`, `2`, `1-4` or `1-4.1-2` means.
fn named(name: &str) -> Result<Vec<ThreadId>, String> {
    if name == "organizer" {
        return Ok(vec![ThreadId::ORGANIZER]);
    }
    let bad = || {
        format!(
            "no name for threads: expected `organizer`, `2`, `1-4`, `2.1` or `1-4.1-2`, at most {MAX_DEPTH} levels"
        )
    };
    let mut ids = vec![ThreadId::ORGANIZER];
    for level in name.split('.') {
        let range = range(level).ok_or_else(bad)?;
        if ids.len() * range.len() > MOST_THREADS {
            return Err(format!("more than {MOST_THREADS} threads"));
        }
        ids = ids
            .iter()
            .flat_map(|id| range.clone().map(move |index| id.child(index, 1)))
            .collect::<Option<_>>()
            .ok_or_else(bad)?;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = r#"
        tag = 3
        [threads.organizer]
        does = ["fork 1 5", 5, "join 1", 3]
        [threads.1]
        does = ["fork 1 5", 10, "join 1", 4]
        [threads."1.1"]
        does = [20]
    "#;

    #[test]
    fn a_description_gives_the_counts_it_says() {
        let plan = Plan::parse(CHAIN, false).unwrap();
        assert!(!plan.draws());
        let traces = plan.organization(1, 0);
        let tokens: Vec<u64> = traces.iter().map(|t| t.tokens).collect();
        assert_eq!(tokens, [16, 22, 20]);
        assert_eq!(crate::org::simulate(&traces, 3).latency, 37);
        let json = r#"{"threads": {"organizer": {"does": [{"choice": [7]}]}}}"#;
        assert_eq!(
            Plan::parse(json, true).unwrap().organization(0, 0)[0].tokens,
            7
        );
    }

    #[test]
    fn ranges_stand_for_their_threads_and_each_draws_for_itself() {
        let text = r#"
            threads.organizer.does = ["fork 1-3", "join 1-3"]
            threads.1-3.does = ["fork 1-2", { uniform = [10, 1000] }]
            threads."1-3.1-2".does = [{ lognormal = [40, 0.5] }]
        "#;
        let plan = Plan::parse(text, false).unwrap();
        let traces = plan.organization(7, 0);
        assert_eq!(traces.len(), 10);
        let mut drawn: Vec<u64> = traces[1..].iter().map(|t| t.tokens).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert!(drawn.len() > 6, "{drawn:?}");
        assert_eq!(traces, plan.organization(7, 0));
        assert_ne!(traces, plan.organization(7, 1));
        assert_ne!(traces, plan.organization(8, 0));
    }

    #[test]
    fn draws_have_the_mean_they_are_said_to_have() {
        for (length, mean) in [
            ("{ uniform = [10, 30] }", 20.0),
            ("{ normal = [50, 5] }", 50.0),
            ("{ exponential = 30 }", 30.0),
            ("{ lognormal = [20, 0.5] }", 20.0 * (0.125_f64).exp()),
            ("{ choice = [1, 5, 30] }", 12.0),
        ] {
            let plan = Plan::parse(&format!("threads.organizer.does = [{length}]"), false).unwrap();
            let sum: u64 = (0..4000).map(|i| plan.organization(3, i)[0].tokens).sum();
            let found = sum as f64 / 4000.0;
            assert!((found / mean - 1.0).abs() < 0.06, "{length}: {found}");
        }
    }

    #[test]
    fn what_does_not_hold_together_is_explained() {
        for (text, why) in [
            ("", "missing field `threads`"),
            ("threads.1.does = [3]", "no thread `organizer`"),
            (
                "threads.organizer.does = [\"fork 1\"]",
                "no thread 1 is described",
            ),
            (
                "threads.organizer.does = [\"join 1\"]",
                "joins 1 before it forks it",
            ),
            ("threads.organizer.does = [\"dance 1\"]", "nothing to do"),
            ("threads.organizer.does = [\"fork 3-1\"]", "nothing to do"),
            (
                "threads.organizer.does = [-1]",
                "expected a number of tokens",
            ),
            (
                "threads.organizer.does = [{ uniform = [9, 3] }]",
                "no length",
            ),
            (
                "threads.organizer.does = []\nthreads.2.does = []",
                "nobody forks it",
            ),
            (
                "threads.organizer.does = []\nthreads.x.does = []",
                "no name for threads",
            ),
            (
                "threads.organizer.does = []\nthreads.\"1-99.1-99\".does = []",
                "more than 4096",
            ),
            (
                "threads.organizer.does = []\nthreads.\"1.1.1.1.1\".does = []",
                "at most 4 levels",
            ),
            (
                "threads.organizer.does = [\"fork 1-2\"]\nthreads.1-2.does = []\nthreads.2.does = []",
                "described twice",
            ),
        ] {
            let error = Plan::parse(text, false).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
