//! Finds all distinct solutions by trying everything.

use super::expression::Operator;
use super::normal::{Normal, Part};
use crate::task::rational::Rational;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Which values may occur on the way to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Any fraction, of either sign.
    Any,
    /// Whole numbers from 1 to this.
    Whole(i64),
}

/// A way to make the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    /// As an expression with no more parentheses than needed.
    pub text: String,
    /// What tells it from others.
    pub normal: Normal,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    /// Distinct solutions in the order found.
    pub solutions: Vec<Solution>,
    /// Whether there are no others.
    pub complete: bool,
}

/// Steps after which a search gives up: enough for any five numbers, seconds for six.
const MOST_STEPS: u64 = 6_000_000;

/// Distinct solutions, at most `most` of them.
#[must_use]
pub fn solve(numbers: &[u64], target: i64, values: Values, most: usize) -> Solved {
    let target = Rational::whole(target);
    let mut seen = HashSet::new();
    let mut solutions = Vec::new();
    let complete = every(numbers, values, |value, build| {
        if value == target {
            let solution = build();
            if let Some(solution) = solution.filter(|s| seen.insert(s.normal.clone())) {
                solutions.push(solution);
            }
        }
        if solutions.len() < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    Solved {
        solutions,
        complete,
    }
}

/// Normal forms of all solutions for each of the targets.
#[must_use]
pub fn forms_by_target(
    numbers: &[u64],
    targets: std::ops::RangeInclusive<u32>,
    values: Values,
) -> Vec<(u32, HashSet<Normal>)> {
    let mut forms: Vec<(u32, HashSet<Normal>)> = targets
        .clone()
        .map(|target| (target, HashSet::new()))
        .collect();
    let _ = every(numbers, values, |value, build| {
        let whole = value
            .as_whole()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| targets.contains(n));
        if let Some((_, forms)) = whole.and_then(|n| forms.get_mut((n - targets.start()) as usize))
        {
            forms.extend(build().map(|solution| solution.normal));
        }
        ControlFlow::Continue(())
    });
    forms
}

/// A value made so far and how.
#[derive(Debug, Clone, Copy)]
struct Node {
    value: Rational,
    how: How,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Number(u64),
    Step(Operator, usize, usize),
}

/// Calls `visit` with the value of every expression (each at least once) and a way to have it built. Whether
/// it came to the end.
fn every(
    numbers: &[u64],
    values: Values,
    visit: impl FnMut(Rational, &dyn Fn() -> Option<Solution>) -> ControlFlow<()>,
) -> bool {
    let mut nodes = Vec::new();
    for n in numbers {
        let Ok(small) = i64::try_from(*n) else {
            return false;
        };
        nodes.push(Node {
            value: Rational::whole(small),
            how: How::Number(*n),
        });
    }
    let open: Vec<usize> = (0..nodes.len()).collect();
    let mut search = Search {
        nodes,
        values,
        visit,
        steps: 0,
    };
    search.descend(&open).is_continue()
}

struct Search<V> {
    nodes: Vec<Node>,
    values: Values,
    visit: V,
    steps: u64,
}

impl<V: FnMut(Rational, &dyn Fn() -> Option<Solution>) -> ControlFlow<()>> Search<V> {
    /// Joins two of the open nodes in every way. As deep as there are numbers.
    fn descend(&mut self, open: &[usize]) -> ControlFlow<()> {
        if let [last] = open {
            let nodes = &self.nodes;
            return (self.visit)(nodes[*last].value, &|| build(nodes, *last));
        }
        for i in 0..open.len() {
            for j in 0..open.len() {
                for operator in [
                    Operator::Plus,
                    Operator::Times,
                    Operator::Minus,
                    Operator::Over,
                ] {
                    let swaps = matches!(operator, Operator::Plus | Operator::Times);
                    if i == j || (swaps && i > j) {
                        continue;
                    }
                    self.steps += 1;
                    if self.steps > MOST_STEPS {
                        return ControlFlow::Break(());
                    }
                    let (left, right) = (open[i], open[j]);
                    let value = operator.apply(self.nodes[left].value, self.nodes[right].value);
                    let Some(value) = value.filter(|v| self.allows(*v)) else {
                        continue;
                    };
                    let depth = self.nodes.len();
                    self.nodes.push(Node {
                        value,
                        how: How::Step(operator, left, right),
                    });
                    let mut rest: Vec<usize> = open
                        .iter()
                        .copied()
                        .filter(|n| *n != left && *n != right)
                        .collect();
                    rest.push(depth);
                    let flow = self.descend(&rest);
                    self.nodes.truncate(depth);
                    flow?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn allows(&self, value: Rational) -> bool {
        match self.values {
            Values::Any => true,
            Values::Whole(most) => value
                .as_whole()
                .is_some_and(|n| (1..=i128::from(most)).contains(&n)),
        }
    }
}

fn build(nodes: &[Node], at: usize) -> Option<Solution> {
    let (part, text, _) = part(nodes, at)?;
    Some(Solution {
        text,
        normal: part.finish(),
    })
}

/// Part, text and rank (0 sum, 1 product, 2 number) of a node.
fn part(nodes: &[Node], at: usize) -> Option<(Part, String, u8)> {
    match nodes[at].how {
        How::Number(n) => Some((Part::number(n)?, n.to_string(), 2)),
        How::Step(operator, left, right) => {
            let (left, left_text, left_rank) = part(nodes, left)?;
            let (right, right_text, right_rank) = part(nodes, right)?;
            let rank = u8::from(matches!(operator, Operator::Times | Operator::Over));
            let swaps = matches!(operator, Operator::Plus | Operator::Times);
            let wrap =
                |text: String, wrapped: bool| if wrapped { format!("({text})") } else { text };
            let left_text = wrap(left_text, left_rank < rank);
            let right_text = wrap(
                right_text,
                right_rank < rank || (right_rank == rank && !swaps),
            );
            let text = format!("{left_text} {} {right_text}", operator.sign());
            Some((Part::joined(operator, left, right)?, text, rank))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::parse_text;
    use super::super::normal::normal;
    use super::*;

    #[test]
    fn the_classic_is_solved() {
        let solved = solve(&[8, 8, 3, 3], 24, Values::Any, 10);
        assert!(solved.complete);
        let texts: Vec<&str> = solved.solutions.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["8 / (3 - 8 / 3)"]);
        assert!(
            solve(&[8, 8, 3, 3], 24, Values::Whole(99), 10)
                .solutions
                .is_empty()
        );
    }

    #[test]
    fn solutions_are_right_and_distinct() {
        let solved = solve(&[10, 6, 5, 3], 30, Values::Any, usize::MAX);
        assert!(solved.complete && solved.solutions.len() >= 4);
        let mut forms = HashSet::new();
        for solution in &solved.solutions {
            let expression = parse_text(&solution.text).expect("it parses");
            assert_eq!(expression.value(), Ok(Rational::whole(30)));
            assert_eq!(normal(&expression).as_ref(), Some(&solution.normal));
            assert!(forms.insert(solution.normal.clone()));
        }
    }

    #[test]
    fn all_targets_at_once_give_the_same() {
        for (target, forms) in forms_by_target(&[9, 7, 4, 2], 10..=30, Values::Whole(99)) {
            let solved = solve(
                &[9, 7, 4, 2],
                i64::from(target),
                Values::Whole(99),
                usize::MAX,
            );
            let solved: HashSet<Normal> = solved.solutions.into_iter().map(|s| s.normal).collect();
            assert_eq!(solved, forms, "{target}");
        }
    }

    #[test]
    fn a_search_without_end_gives_up() {
        let solved = solve(&[101, 103, 107, 109, 113, 127], 1, Values::Any, usize::MAX);
        assert!(!solved.complete);
    }
}
