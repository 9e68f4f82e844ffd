//! Threads of those who search: workers, and the one that works alone.

use super::example::{Example, Query, Returned, Role, Writer};
use super::organizer::Opened;
use super::region::{MAX_HITS, Problem, Region, Search, search};
use crate::learn::words;

/// A worker's thread on a sub-query as written by `text`.
#[must_use]
pub fn worker(problem: &Problem, region: Region, text: &[u32]) -> Example {
    let mut writer = Writer::prompt(&[words::WORKER], text);
    let Search { words, hits, .. } = search(problem, region, MAX_HITS);
    writer.own(&words);
    writer.returns(&Returned::list(region, &hits).found, Opened::ByModel);
    writer.example(Role::Worker)
}

/// The same, told after `share` of its search (0..1) to return what it has.
#[must_use]
pub fn worker_cut_short(problem: &Problem, region: Region, text: &[u32], share: f64) -> Example {
    let mut writer = Writer::prompt(&[words::WORKER], text);
    let Search { words, hits, ends } = search(problem, region, MAX_HITS);
    let cut = ((words.len() as f64 * share) as usize).min(words.len());
    let done = ends.iter().filter(|end| **end <= cut).count();
    writer.own(&words[..cut]);
    writer.returns(
        &Returned::list(region, &hits[..done]).found,
        Opened::ByPerson,
    );
    writer.example(Role::Worker)
}

/// A worker's thread on a text that is no sub-query it knows.
#[must_use]
pub fn worker_at_a_loss(text: &[u32]) -> Example {
    let mut writer = Writer::prompt(&[words::WORKER], text);
    writer.returns(&[], Opened::ByModel);
    writer.example(Role::Worker)
}

/// How a thread that works alone hands its list over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// As the answer of a sequential run.
    Answer,
    /// As the result of one of several workers on the same query.
    Return,
}

/// A thread that searches region after region alone.
#[must_use]
pub fn alone(query: &Query, order: &[Region], closing: Closing) -> Example {
    let (begin, role) = match closing {
        Closing::Answer => (words::SEQUENTIAL, Role::Sequential),
        Closing::Return => (words::WORKER, Role::Worker),
    };
    let mut writer = Writer::prompt(&[begin], &query.words());
    let mut found = Vec::new();
    for region in order {
        found.extend(writer.explore(&query.problem, *region, query.wanted - found.len()));
        writer.have(found.len());
        if found.len() >= query.wanted {
            break;
        }
    }
    match closing {
        Closing::Answer => writer.answer(&found, Opened::ByModel),
        Closing::Return => writer.returns(&found, Opened::ByModel),
    }
    writer.example(role)
}
