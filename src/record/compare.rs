//! Two lines of history side by side: where they part, and what it made of time and answer.
//!
//! Pure. Tokens are compared by their ids and bytes, those that were put in as well as those that were decoded.

use super::line_of::LineOf;
use super::restore::RestoredThread;
use super::text::Origin;
use crate::org::{Standing, Step, ThreadId};
use std::collections::BTreeSet;

/// A token of one of the lines.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenAt {
    /// When it was decoded, or put in.
    pub step: Step,
    /// Its id.
    pub id: u32,
    /// Its bytes; of a text that was put in, all of it.
    pub bytes: Vec<u8>,
    /// Whether it was decoded.
    pub decoded: bool,
    /// Log probability, where known.
    pub logprob: Option<f32>,
    /// Log probabilities of the likeliest tokens, where known.
    pub top: Vec<(u32, f32)>,
}

/// Where two lines part.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// In which thread first.
    pub thread: ThreadId,
    /// How many own tokens of it are the same before.
    pub token: u64,
    /// What the first line has there; `None`: its text ends, or it has no such thread.
    pub a: Option<TokenAt>,
    /// What the second has.
    pub b: Option<TokenAt>,
}

impl Divergence {
    /// When the earlier of both came.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        self.when().map(|(first, _)| first)
    }

    /// When both came, the earlier one first. What follows from a change comes later on one of the lines.
    fn when(&self) -> Option<(Step, Step)> {
        let steps = || [&self.a, &self.b].into_iter().flatten().map(|t| t.step);
        steps().min().zip(steps().max())
    }

    /// How much likelier the second line's token was than the first's where the second line drew it:
    /// `Some((gap, true))` exactly, `Some((gap, false))` at least so much.
    #[must_use]
    pub fn logit_gap(&self) -> Option<(f32, bool)> {
        let (a, b) = (self.a.as_ref()?, self.b.as_ref()?);
        let of = |wanted: u32| b.top.iter().find(|(id, _)| *id == wanted).map(|(_, p)| *p);
        let drawn = of(b.id).or(b.logprob)?;
        match of(a.id) {
            Some(other) => Some((drawn - other, true)),
            None => b.top.last().map(|(_, least)| (drawn - least, false)),
        }
    }
}

/// One thread on both lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPair {
    /// Which.
    pub id: ThreadId,
    /// Its own tokens on the first line, where it is.
    pub a: Option<u64>,
    /// On the second.
    pub b: Option<u64>,
    /// Own tokens that both begin with.
    pub same: u64,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// How the first line stands.
    pub a: Standing,
    /// How the second stands.
    pub b: Standing,
    /// Where they part; `None`: they are the same.
    pub divergence: Option<Divergence>,
    /// All threads in path order.
    pub threads: Vec<ThreadPair>,
}

impl Comparison {
    /// Compares two lines.
    #[must_use]
    pub fn new(a: &LineOf, b: &LineOf) -> Self {
        let ids: BTreeSet<ThreadId> = a.threads.keys().chain(b.threads.keys()).copied().collect();
        let mut threads = Vec::new();
        let mut divergence: Option<Divergence> = None;
        for id in ids {
            let (left, right) = (a.threads.get(&id), b.threads.get(&id));
            let (pair, parts) = pair(id, left, right);
            threads.push(pair);
            let Some(parts) = parts else { continue };
            let earlier = match (&divergence, parts.when()) {
                (None, _) => true,
                (Some(first), Some(when)) => first.when().is_none_or(|w| when < w),
                (Some(_), None) => false,
            };
            if earlier {
                divergence = Some(parts);
            }
        }
        Self {
            a: a.organization.standing(),
            b: b.organization.standing(),
            divergence,
            threads,
        }
    }

    /// Steps that `T` grew from the first line to the second.
    #[must_use]
    pub fn latency_grew(&self) -> i64 {
        i64::try_from(self.b.latency)
            .unwrap_or(i64::MAX)
            .saturating_sub(i64::try_from(self.a.latency).unwrap_or(i64::MAX))
    }

    /// How much η grew.
    #[must_use]
    pub fn eta_grew(&self) -> f64 {
        self.b.eta() - self.a.eta()
    }

    /// Whether both give the same answer.
    #[must_use]
    pub fn same_answer(&self) -> bool {
        let plain = |s: &Standing| s.answer.as_deref().map(|text| text.trim().to_owned());
        plain(&self.a) == plain(&self.b)
    }
}

fn pair(
    id: ThreadId,
    a: Option<&RestoredThread>,
    b: Option<&RestoredThread>,
) -> (ThreadPair, Option<Divergence>) {
    let tokens = |thread: Option<&RestoredThread>| thread.map_or_else(Vec::new, tokens);
    let (left, right) = (tokens(a), tokens(b));
    let own = |tokens: &[TokenAt]| tokens.iter().filter(|t| t.decoded).count() as u64;
    let same = left
        .iter()
        .zip(&right)
        .take_while(|(x, y)| (x.id, x.decoded, &x.bytes) == (y.id, y.decoded, &y.bytes))
        .count();
    let pair = ThreadPair {
        id,
        a: a.map(|_| own(&left)),
        b: b.map(|_| own(&right)),
        same: own(&left[..same]),
    };
    let parts =
        (same < left.len() || same < right.len() || a.is_some() != b.is_some()).then(|| {
            Divergence {
                thread: id,
                token: pair.same,
                a: left.get(same).cloned(),
                b: right.get(same).cloned(),
            }
        });
    (pair, parts)
}

fn tokens(thread: &RestoredThread) -> Vec<TokenAt> {
    let mut tokens = Vec::new();
    for piece in &thread.pieces {
        let decoded = piece.origin == Origin::Decoded;
        let mut rest = piece.bytes.as_slice();
        for (i, id) in piece.ids.iter().enumerate() {
            let bytes = match piece.lens.get(i) {
                Some(len) => {
                    let (own, more) = rest.split_at((*len as usize).min(rest.len()));
                    rest = more;
                    own
                }
                None => rest,
            };
            tokens.push(TokenAt {
                step: if decoded {
                    Step(piece.step.0 + i as u64)
                } else {
                    piece.step
                },
                id: *id,
                bytes: bytes.to_vec(),
                decoded,
                logprob: piece.logprobs.get(i).copied(),
                top: piece.top.get(i).cloned().unwrap_or_default(),
            });
        }
    }
    tokens
}
