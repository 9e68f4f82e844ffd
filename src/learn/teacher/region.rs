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

use super::expression::{Expression, word};
use crate::learn::words;

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

/// What a step does with a value on the left and another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Plus,
    Minus,
    /// The number minus the value.
    From,
    Times,
    Over,
    /// The number divided by the value.
    Into,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Product,
}

impl Op {
    fn kind(self) -> Kind {
        match self {
            Self::Plus | Self::Minus | Self::From => Kind::Sum,
            Self::Times | Self::Over | Self::Into => Kind::Product,
        }
    }

    fn word(self) -> u32 {
        match self {
            Self::Plus => words::PLUS,
            Self::Minus => words::MINUS,
            Self::From => words::FROM,
            Self::Times => words::TIMES,
            Self::Over => words::OVER,
            Self::Into => words::INTO,
        }
    }
}

/// The expression that a step makes.
fn step(op: Op, value: &Expression, other: &Expression) -> Expression {
    match op {
        Op::From => Expression::joined(other, words::MINUS, value),
        Op::Into => Expression::joined(other, words::OVER, value),
        _ => Expression::joined(value, op.word(), other),
    }
}

/// A small list on the stack.
#[derive(Debug, Clone, Copy)]
struct Few<T> {
    items: [T; 6],
    len: usize,
}

impl<T: Copy> Few<T> {
    fn of(nothing: T) -> Self {
        Self {
            items: [nothing; 6],
            len: 0,
        }
    }

    fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items[..self.len].iter().copied()
    }
}

/// What a value and another number make, in the order in which it is written.
fn results(x: u32, q: u32) -> Few<(Op, u32)> {
    let mut out = Few::of((Op::Plus, 0));
    if x + q <= MAX_VALUE {
        out.push((Op::Plus, x + q));
    }
    if x > q {
        out.push((Op::Minus, x - q));
    } else if q > x {
        out.push((Op::From, q - x));
    }
    if x * q <= MAX_VALUE {
        out.push((Op::Times, x * q));
    }
    if q > 1 && x.is_multiple_of(q) {
        out.push((Op::Over, x / q));
    } else if x > 1 && q.is_multiple_of(x) {
        out.push((Op::Into, q / x));
    }
    out
}

/// All (op, y) with `y op last == target`.
fn needs(target: u32, last: u32, sums: bool, products: bool) -> Few<(Op, u32)> {
    let mut out = Few::of((Op::Plus, 0));
    if sums {
        if target > last {
            out.push((Op::Plus, target - last));
        }
        if target + last <= MAX_VALUE {
            out.push((Op::Minus, target + last));
        }
        if last > target {
            out.push((Op::From, last - target));
        }
    }
    if products {
        if target.is_multiple_of(last) {
            out.push((Op::Times, target / last));
        }
        if last > 1 && target * last <= MAX_VALUE {
            out.push((Op::Over, target * last));
        }
        if last.is_multiple_of(target) && last > target {
            out.push((Op::Into, last / target));
        }
    }
    out
}

/// Writes each needed value once.
fn write_needs(out: &mut Vec<u32>, needs: &Few<(Op, u32)>) {
    for (i, (_, y)) in needs.iter().enumerate() {
        if !needs.items[..i].iter().any(|(_, earlier)| *earlier == y) {
            out.push(word(y));
        }
    }
    out.push(words::COLON);
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

/// Whether the second step is listed here: `passes` says that its number is larger than the opening's second.
fn second_is_owned(kind: Kind, opening: Op, second: Op, passes: bool) -> bool {
    match (kind, second.kind()) {
        (Kind::Sum, Kind::Sum) => !passes,
        (Kind::Product, Kind::Product) => match second {
            Op::Into => false,
            Op::Times => opening != Op::Over && !passes,
            _ => !(opening == Op::Over && passes),
        },
        _ => true,
    }
}

/// Whether a third step that reaches the target is a hit of this region.
fn third_is_owned(
    kind: Kind,
    opening: Op,
    second: Op,
    third: Op,
    smaller_first: bool,
    last_below: bool,
) -> bool {
    match (second.kind(), third.kind()) {
        (Kind::Sum, Kind::Sum) => !smaller_first,
        (Kind::Product, Kind::Product) => {
            !(third == Op::Into
                || second == Op::Into
                || (second == third && smaller_first)
                || (second == Op::Times && third == Op::Over && kind == Kind::Product)
                || (second == Op::Over
                    && third == Op::Times
                    && !(opening == Op::Times && last_below)))
        }
        _ => true,
    }
}

/// Whether three factors and a divisor are listed as a chain: the two larger factors, divided, times the
/// smallest.
fn is_chain(factors: [u32; 3], divisor: u32) -> bool {
    let smallest = factors.iter().copied().min().unwrap_or(1).max(1);
    let larger = factors.iter().product::<u32>() / smallest;
    larger <= MAX_VALUE && larger.is_multiple_of(divisor)
}

/// Whether two pairs joined like this are a hit of this region.
fn pair_is_owned(kind: Kind, other: Op, join: Op) -> bool {
    match kind {
        Kind::Sum => other.kind() == Kind::Sum || (other == Op::Times && join == Op::Over),
        Kind::Product if join.kind() == Kind::Sum => other.kind() == Kind::Product,
        Kind::Product => other.kind() == Kind::Sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::words::Vocabulary;
    use crate::task::countdown::expression::parse_text;
    use crate::task::countdown::normal::normal;
    use crate::task::countdown::preset::{SMALL_MOST, SMALL_TARGETS, Split, small_sets};
    use crate::task::countdown::solve::{Values, forms_by_target};
    use std::collections::HashSet;

    fn text(tokens: &[u32]) -> String {
        Vocabulary::get().decode(tokens)
    }

    #[test]
    fn a_search_reads_as_documented() {
        let problem = Problem {
            numbers: [12, 9, 6, 4],
            target: 18,
        };
        let [a, ..] = Region::ALL;
        assert_eq!(text(&a.query(&problem)), " 12 9 : 6 4 -> 18");
        let search = search(&problem, a, MAX_HITS);
        assert!(
            text(&search.words)
                .starts_with(" = + 21 keep 4 14 22 72 : + 27 - 15 * 126 keep 6 12 24 3 108 :"),
            "{}",
            text(&search.words)
        );
        let hits: Vec<String> = search.hits.iter().map(|h| text(h.words())).collect();
        assert!(hits.contains(&" ( 12 - 9 ) * 4 + 6".to_owned()), "{hits:?}");
        for (end, hit) in search.ends.iter().zip(&search.hits) {
            assert!(search.words[..*end].ends_with(hit.words()));
        }
    }

    #[test]
    fn a_limit_stops_right_behind_the_hit() {
        let problem = Problem {
            numbers: [12, 9, 6, 4],
            target: 18,
        };
        for region in Region::ALL {
            let whole = search(&problem, region, MAX_HITS);
            for limit in 0..=whole.hits.len() {
                let part = search(&problem, region, limit);
                assert_eq!(part.hits, whole.hits[..limit]);
                assert!(whole.words.starts_with(&part.words));
            }
        }
    }

    #[test]
    fn every_solution_belongs_to_one_region() {
        let (mut classes, mut covered, mut listed, mut duplicates) = (0, 0, 0, 0);
        let (mut instances, mut answerable) = (0, 0);
        for split in [Split::Dev, Split::Test] {
            for numbers in small_sets(split) {
                let wide = numbers.map(u64::from);
                for (target, forms) in
                    forms_by_target(&wide, SMALL_TARGETS, Values::Whole(i64::from(SMALL_MOST)))
                {
                    let mut seen = HashSet::new();
                    for region in Region::ALL {
                        for hit in search(&Problem { numbers, target }, region, usize::MAX).hits {
                            let expression =
                                parse_text(text(hit.words()).trim()).expect("it parses");
                            let value = expression.value().expect("it has a value");
                            assert_eq!(
                                value.as_whole(),
                                Some(i128::from(target)),
                                "{}",
                                text(hit.words())
                            );
                            listed += 1;
                            duplicates += usize::from(
                                !seen.insert(normal(&expression).expect("it has a form")),
                            );
                        }
                    }
                    classes += forms.len();
                    covered += forms.intersection(&seen).count();
                    if forms.len() >= MAX_HITS {
                        instances += 1;
                        answerable += usize::from(seen.len() >= MAX_HITS);
                    }
                }
            }
        }
        println!(
            "{covered} of {classes} classes; {duplicates} of {listed} twice; {answerable} of {instances} instances"
        );
        assert!(
            covered * 1000 >= classes * 995,
            "{covered} of {classes} classes covered"
        );
        assert!(
            duplicates * 500 <= listed,
            "{duplicates} of {listed} listed twice"
        );
        assert!(
            answerable * 100 >= instances * 98,
            "{answerable} of {instances} instances can be answered in full"
        );
    }
}
