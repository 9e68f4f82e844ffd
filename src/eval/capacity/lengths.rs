//! Organizations from a description: who forks and joins whom, and how long everybody takes.
//!
//! A TOML or JSON file. Lengths may be drawn; the draws of a thread depend on the seed, the number of the
//! organization and the thread, on nothing else, so that all capacities are compared on the same ones.

mod length;

pub use length::Length;

use crate::org::{MAX_DEPTH, MAX_INDEX, Op, OpKind, ThreadId, Trace};
use crate::task::rng::Rng;
use length::MOST_TOKENS;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most threads of one organization.
const MOST_THREADS: usize = 4096;

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
mod tests;
