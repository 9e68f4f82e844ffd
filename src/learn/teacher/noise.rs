//! What goes wrong around a thread: odd queries, odd results.
//!
//! A small share of it in the data keeps a model on its feet when a person types something else.

use super::example::{Labelled, Returned};
use super::expression::Expression;
use super::region::{MAX_HITS, Problem, Region, search};
use crate::learn::words::{self, Vocabulary};
use crate::task::rng::Rng;

const PHRASES: [&str; 12] = [
    "no result",
    "I found nothing.",
    "ok",
    "done",
    "try it with 7",
    "what is the capital of France?",
    "Please solve this step by step.",
    "none of these work",
    "x + y = 12",
    "0 solutions",
    "hello",
    "error: timed out",
];

/// Text that has nothing to do with the task: a phrase, loose words of the vocabulary, or any characters.
#[must_use]
pub fn odd_text(rng: &mut Rng) -> Vec<u32> {
    let text: String = match rng.below(3) {
        0 => rng.choose(&PHRASES).copied().unwrap_or_default().to_owned(),
        1 => {
            let words: Vec<u32> = (0..1 + rng.below(6)).map(|_| any_word(rng)).collect();
            Vocabulary::get().decode(&words).trim().to_owned()
        }
        _ => (0..1 + rng.below(20)).map(|_| any_character(rng)).collect(),
    };
    match Vocabulary::get().encode(text.trim()) {
        tokens if tokens.is_empty() => vec![words::byte(b'?')],
        tokens => tokens,
    }
}

fn any_word(rng: &mut Rng) -> u32 {
    let words = words::NUMBERS_AND_SIGNS;
    words.start + rng.below(words.len()) as u32
}

fn any_character(rng: &mut Rng) -> char {
    match rng.below(12) {
        0 => ' ',
        1 => char::from_u32(0xa1 + rng.below(0x500) as u32).unwrap_or('?'),
        _ => char::from(b'!' + rng.below(94) as u8),
    }
}

/// A sub-query as a person may write it: pairs the other way round, without the letter, or with a word more.
#[must_use]
pub fn odd_query(problem: &Problem, region: Region, rng: &mut Rng) -> Vec<u32> {
    let [a, b, c, d] = region.split(problem);
    let (a, b) = if rng.chance(0.5) { (b, a) } else { (a, b) };
    let (c, d) = if rng.chance(0.5) { (d, c) } else { (c, d) };
    let letter = char::from(b'A' + region.index() as u8);
    let lead = match rng.below(4) {
        0 => String::new(),
        1 => format!("try {letter} "),
        _ => format!("{letter} "),
    };
    Vocabulary::get().encode(&format!("{lead}{a} {b} : {c} {d} -> {}", problem.target))
}

/// A result that is no list: nothing, odd text, or the end of a search that was stopped.
#[must_use]
pub fn odd_result(problem: &Problem, region: Option<Region>, rng: &mut Rng) -> Returned {
    let nothing = |text: Vec<u32>| Returned {
        text,
        found: Vec::new(),
    };
    match (rng.below(4), region) {
        (0, _) => nothing(Vec::new()),
        (1 | 2, Some(region)) => stopped(problem, region, rng),
        (3, Some(region)) => unlabelled(problem, region),
        _ => nothing(odd_text(rng)),
    }
}

/// The last words of a search that was stopped before its first hit.
fn stopped(problem: &Problem, region: Region, rng: &mut Rng) -> Returned {
    const LAST: usize = 128;
    let search = search(problem, region, 1);
    let before = search.words.len() - search.hits.first().map_or(0, |hit| hit.words().len() + 1);
    let end = rng.below(before + 1);
    let text = Vocabulary::get().decode(&search.words[end.saturating_sub(LAST)..end]);
    Returned {
        text: Vocabulary::get().encode(text.trim()),
        found: Vec::new(),
    }
}

/// What a person returns who does not label: one expression, quoted by the region's first label.
fn unlabelled(problem: &Problem, region: Region) -> Returned {
    let hits = search(problem, region, MAX_HITS).hits;
    let Some(expression) = hits.first().copied() else {
        return Returned {
            text: vec![words::BARE_NONE],
            found: Vec::new(),
        };
    };
    let text = Vocabulary::get().decode(expression.words());
    Returned {
        text: Vocabulary::get().encode(text.trim()),
        found: vec![Labelled {
            region,
            n: 1,
            expression,
        }],
    }
}

/// A list of expressions that have nothing to do with the target.
#[must_use]
pub fn invented(problem: &Problem, region: Region, rng: &mut Rng) -> Returned {
    let count = rng.weighted(&[0.4, 0.3, 0.17, 0.08, 0.05]);
    let expressions: Vec<Expression> = (0..count).map(|_| any_expression(problem, rng)).collect();
    Returned::list(region, &expressions)
}

/// All four numbers, joined in any way.
fn any_expression(problem: &Problem, rng: &mut Rng) -> Expression {
    const SIGNS: [u32; 4] = [words::PLUS, words::MINUS, words::TIMES, words::OVER];
    let mut parts: Vec<Expression> = problem
        .numbers
        .iter()
        .map(|n| Expression::leaf(*n))
        .collect();
    while parts.len() > 1 {
        let left = parts.swap_remove(rng.below(parts.len()));
        let right = parts.swap_remove(rng.below(parts.len()));
        parts.push(Expression::joined(&left, SIGNS[rng.below(4)], &right));
    }
    parts[0]
}
