//! One region of a countdown problem with four numbers, searched in words.
//!
//! The six regions A–F are the six pairs that the first step of an expression may take. Every solution
//! belongs to one region by rules that can be checked on the spot: a number added to a sum (multiplied into
//! a product) is listed only if it is smaller than the second number of the opening; multiplication goes
//! before division, unless the product is too large for a word; of two successive leaves of one kind the larger goes first; two pairs are joined only in
//! A–C; nothing is divided by 1. Each opening is written with what the rest must make right beside it, so
//! that a hit is found by comparing neighbours:
//!
//! ```text
//! A 12 9 : 6 4 -> 18             sub-query: opening pair, the other two, target
//!  = + 21                        opening 12 + 9
//!  keep 4 14 22 72 : + 27 ...    4 goes last, so 21 and 6 must make 14, 22 or 72; what they make
//!  rest 3 6 54 : + 10 - 2 ...    3 is one half, the other two must make 6 or 54
//!  A1 ( 12 - 9 ) * 4 + 6         a hit, as label and expression
//! ```

mod owned;
mod step;

use super::expression::{Expression, word};
use crate::learn::words;
use owned::{is_chain, pair_is_owned, second_is_owned, third_is_owned};
use step::{Few, Kind, Op, needs, results, step, write_needs};

/// How many regions a problem has.
pub const REGIONS: usize = 6;
/// Values beyond this are not searched: each must be one word.
pub const MAX_VALUE: u32 = words::MAX_NUMBER;
/// Hits that a region can label.
pub const MAX_HITS: usize = 4;

/// Positions of the opening pair, by region.
const PAIRS: [(usize, usize); REGIONS] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// Four numbers and what they shall make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Problem {
    /// From large to small, distinct, 1..=[`MAX_VALUE`].
    pub numbers: [u32; 4],
    /// 1..=[`MAX_VALUE`].
    pub target: u32,
}

/// Which pair opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(u8);

impl Region {
    /// All six.
    pub const ALL: [Self; REGIONS] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5)];

    /// 0..6
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The opening pair, then the other two; each from large to small.
    #[must_use]
    pub fn split(self, problem: &Problem) -> [u32; 4] {
        let (i, j) = PAIRS[self.index()];
        let n = &problem.numbers;
        let mut rest = (0..4).filter(|k| *k != i && *k != j).map(|k| n[k]);
        [
            n[i],
            n[j],
            rest.next().unwrap_or(0),
            rest.next().unwrap_or(0),
        ]
    }

    /// The words of its sub-query behind the letter.
    #[must_use]
    pub fn query(self, problem: &Problem) -> [u32; 7] {
        let [a, b, c, d] = self.split(problem).map(word);
        [a, b, words::COLON, c, d, words::ARROW, word(problem.target)]
    }
}

/// A region's search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The words as a worker thinks them.
    pub words: Vec<u32>,
    /// Solutions in the order found.
    pub hits: Vec<Expression>,
    /// How many words there are up to the end of each hit.
    pub ends: Vec<usize>,
}

/// Searches one region until `limit` hits are found. Hits beyond [`MAX_HITS`] share the last label.
#[must_use]
pub fn search(problem: &Problem, region: Region, limit: usize) -> Search {
    let mut search = Search {
        words: Vec::with_capacity(160),
        hits: Vec::new(),
        ends: Vec::new(),
    };
    if limit > 0 {
        search_into(problem, region, limit, &mut search);
    }
    search
}

fn search_into(problem: &Problem, region: Region, limit: usize, found: &mut Search) {
    let [a, b, c, d] = region.split(problem);
    let target = problem.target;
    let splits_in_pairs = region.index() < 3;
    let [la, lb, lc, ld] = [a, b, c, d].map(Expression::leaf);
    let needs_of = [needs(target, d, true, true), needs(target, c, true, true)];
    let pair = results(c, d);
    let hit = |found: &mut Search, expression: Expression| {
        found.hits.push(expression);
        found.words.push(words::label(
            region.index(),
            found.hits.len().min(MAX_HITS),
            false,
        ));
        found.words.extend_from_slice(expression.words());
        found.ends.push(found.words.len());
        found.hits.len() >= limit
    };
    for (opening, x) in results(a, b).iter() {
        let start = step(opening, &la, &lb);
        let kind = opening.kind();
        found.words.extend([words::EQUALS, opening.word(), word(x)]);
        for (i, (q, lq, last, ll)) in [(c, &lc, d, &ld), (d, &ld, c, &lc)].into_iter().enumerate() {
            let smaller_first = i == 1;
            found.words.extend([words::KEEP, word(last)]);
            write_needs(&mut found.words, &needs_of[i]);
            for (second, y) in results(x, q).iter() {
                if !second_is_owned(kind, opening, second, q > b) {
                    continue;
                }
                found.words.extend([second.word(), word(y)]);
                for (third, _) in needs_of[i].iter().filter(|(_, need)| *need == y) {
                    let owned =
                        third_is_owned(kind, opening, second, third, smaller_first, last < b)
                            || (kind == Kind::Sum
                                && (second, third) == (Op::Over, Op::Times)
                                && x * last > MAX_VALUE);
                    if owned && hit(found, step(third, &step(second, &start, lq), ll)) {
                        return;
                    }
                }
            }
        }
        if splits_in_pairs {
            let products = kind == Kind::Sum || matches!(opening, Op::Times | Op::Over);
            let sums = kind == Kind::Product;
            let mut rest = needs(target, x, sums, products);
            rest = without(&rest, |op| {
                (op == Op::Over && x == 1)
                    || (opening == Op::Times && matches!(op, Op::Times | Op::Over))
            });
            found.words.extend([words::REST, word(x)]);
            write_needs(&mut found.words, &rest);
            for (other, y) in pair.iter() {
                found.words.extend([other.word(), word(y)]);
                for (join, _) in rest.iter().filter(|(_, need)| *need == y) {
                    let owned = match (opening, other, join) {
                        (Op::Plus | Op::Minus, Op::Over, Op::Times) => {
                            x * c > MAX_VALUE && !x.is_multiple_of(d)
                        }
                        (Op::Over, Op::Plus | Op::Minus, Op::Times) => {
                            a * y > MAX_VALUE && !y.is_multiple_of(b)
                        }
                        (Op::Times, Op::Over, Op::Into) => !is_chain([a, b, d], c),
                        (Op::Over, Op::Times, Op::Over) => !is_chain([c, d, b], a),
                        (Op::Over, _, Op::Times | Op::Over) => false,
                        _ => pair_is_owned(kind, other, join),
                    };
                    if owned && hit(found, step(join, &step(other, &lc, &ld), &start)) {
                        return;
                    }
                }
            }
        }
    }
}

fn without(needs: &Few<(Op, u32)>, drop: impl Fn(Op) -> bool) -> Few<(Op, u32)> {
    let mut out = Few::of((Op::Plus, 0));
    for need in needs.iter().filter(|(op, _)| !drop(*op)) {
        out.push(need);
    }
    out
}

#[cfg(test)]
mod tests;
