use super::super::expression::parse_text;
use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

fn of(text: &str) -> Normal {
    normal(&parse_text(text).expect("it parses")).expect("it has a value")
}

fn same(a: &str, b: &str) -> bool {
    of(a) == of(b)
}

#[test]
fn order_and_needless_parentheses_make_no_new_solution() {
    for (a, b) in [
        ("3 + 5 + 7", "7 + (5 + 3)"),
        ("3 * 5 * 7", "(7 * 3) * 5"),
        ("9 - 5 - 2", "9 - (5 + 2)"),
        ("9 - (5 - 2)", "2 + 9 - 5"),
        ("20 / 5 / 2", "20 / (2 * 5)"),
        ("20 / (5 / 2)", "2 * 20 / 5"),
        ("10 - (7 - 3) * 2", "10 + (3 - 7) * 2"),
        ("(3 - 7) * (2 - 9)", "(9 - 2) * (7 - 3)"),
        ("6 / (2 - 5) + 11", "11 - 6 / (5 - 2)"),
        ("((4)) + ((6) + 1)", "1 + 4 + 6"),
    ] {
        assert!(same(a, b), "{a} | {b}");
    }
}

#[test]
fn another_idea_is_a_new_solution() {
    for (a, b) in [
        ("2 * 3 + 4 + 6", "3 * 4 - 2 + 6"),
        ("4 + 4 * 2", "4 * (4 - 1)"),
        ("6 * 2 + 3", "6 + 3 * 2 + 3"),
        ("8 - 3", "3 - 8"),
        ("12 / 3", "3 / 12"),
        ("2 * (3 + 4)", "2 * 3 + 4"),
    ] {
        assert!(!same(a, b), "{a} | {b}");
    }
}

#[test]
fn what_changes_no_value_is_no_new_idea() {
    assert!(same("5 * 6 * (3 - 2)", "5 * 6 / (3 - 2)"));
    assert!(same("5 * 6 * (2 - 3)", "5 * 6 / (2 - 3)"));
    assert!(same("7 + 6 / (2 * 3)", "7 + 2 * 3 / 6"));
    assert!(same("7 + 2 * (3 - 3)", "7 - 2 * (3 - 3)"));
    assert!(!same("5 * 6 * (4 - 2)", "5 * 6 / (4 - 2)"));
}

/// All expressions that use each of the numbers once, as postfix parts.
fn all_parts(numbers: &[u64]) -> Vec<Part> {
    if let [n] = numbers {
        return Part::number(*n).into_iter().collect();
    }
    let mut out = Vec::new();
    for mask in 1..(1u32 << numbers.len()) - 1 {
        let pick = |inside: bool| -> Vec<u64> {
            let chosen = numbers
                .iter()
                .enumerate()
                .filter(|(i, _)| (mask >> i & 1 == 1) == inside);
            chosen.map(|(_, n)| *n).collect()
        };
        for left in all_parts(&pick(true)) {
            for right in all_parts(&pick(false)) {
                for operator in [
                    Operator::Plus,
                    Operator::Minus,
                    Operator::Times,
                    Operator::Over,
                ] {
                    out.extend(Part::joined(operator, left.clone(), right.clone()));
                }
            }
        }
    }
    out
}

#[test]
fn the_number_of_classes_is_the_known_one() {
    // large primes: no factor is worth 1 by accident
    for (numbers, classes) in [
        (&[7919u64, 104_729][..], 6),
        (&[7919, 104_729, 15_485_863], 68),
        (&[101, 1009, 10_007, 100_003], 1170),
    ] {
        let forms: HashSet<Normal> = all_parts(numbers).into_iter().map(Part::finish).collect();
        assert_eq!(forms.len(), classes, "{numbers:?}");
    }
}

/// An expression over four variables, by index.
#[derive(Debug, Clone)]
enum Tree {
    Leaf(usize),
    Node(Operator, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn part(&self, numbers: &[u64; 4]) -> Option<Part> {
        match self {
            Tree::Leaf(i) => Part::number(numbers[*i]),
            Tree::Node(op, a, b) => Part::joined(*op, a.part(numbers)?, b.part(numbers)?),
        }
    }

    /// The same function, written otherwise.
    fn rewritten(&self, choices: &mut impl Iterator<Item = u8>) -> Tree {
        use Operator::{Minus, Over, Plus, Times};
        let Tree::Node(op, a, b) = self else {
            return self.clone();
        };
        let node = |op, a, b| Tree::Node(op, Box::new(a), Box::new(b));
        let (a, b) = (a.rewritten(choices), b.rewritten(choices));
        let (weak, strong) = if matches!(op, Plus | Minus) {
            (Plus, Minus)
        } else {
            (Times, Over)
        };
        match (choices.next().unwrap_or(0) % 4, op, b) {
            (0, Plus | Times, b) => node(*op, b, a),
            // a + (c + d) = (a + c) + d; a + (c - d) = (a + c) - d
            (1, Plus | Times, Tree::Node(inner, c, d)) if inner == weak || inner == strong => {
                node(inner, node(weak, a, *c), *d)
            }
            // a - (c + d) = (a - c) - d; a - (c - d) = (a - c) + d
            (1, Minus | Over, Tree::Node(inner, c, d)) if inner == weak || inner == strong => node(
                if inner == weak { strong } else { weak },
                node(strong, a, *c),
                *d,
            ),
            // a - c * (d - e) = a + c * (e - d)
            (2, Plus | Minus, Tree::Node(Times, c, d)) if matches!(*d, Tree::Node(Minus, ..)) => {
                let Tree::Node(_, d, e) = *d else {
                    return self.clone();
                };
                node(
                    if *op == Plus { Minus } else { Plus },
                    a,
                    node(Times, *c, node(Minus, *e, *d)),
                )
            }
            (_, _, b) => node(*op, a, b),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let operator = || {
        prop_oneof![
            Just(Operator::Plus),
            Just(Operator::Minus),
            Just(Operator::Times),
            Just(Operator::Over)
        ]
    };
    let ops = (operator(), operator(), operator());
    (
        Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        ops,
        any::<[prop::sample::Index; 3]>(),
    )
        .prop_map(|(order, (x, y, z), at)| {
            let mut parts: Vec<Tree> = order.into_iter().map(Tree::Leaf).collect();
            for (op, at) in [x, y, z].into_iter().zip(at) {
                let i = at.index(parts.len() - 1);
                let (a, b) = (parts.remove(i), parts.remove(i));
                parts.insert(i, Tree::Node(op, Box::new(a), Box::new(b)));
            }
            parts.remove(0)
        })
}

const PRIMES: [[u64; 4]; 3] = [
    [101, 1009, 10_007, 100_003],
    [7919, 541, 65_537, 97],
    [31, 8191, 127, 131_071],
];

proptest! {
    #[test]
    fn rewriting_keeps_the_form(
        tree in tree(),
        choices in prop::collection::vec(any::<u8>(), 12),
        numbers in [1u64..13, 1..13, 1..13, 1..13],
    ) {
        let mut choices = choices.into_iter();
        let mut other = tree.clone();
        for _ in 0..3 {
            other = other.rewritten(&mut choices);
        }
        if let (Some(a), Some(b)) = (tree.part(&numbers), other.part(&numbers)) {
            prop_assert_eq!(a.value(), b.value(), "the rewriting is sound");
            prop_assert_eq!(a.finish(), b.finish());
        }
    }
}

#[test]
fn forms_differ_exactly_where_values_differ_on_other_numbers() {
    let mut by_values: HashMap<Vec<String>, Normal> = HashMap::new();
    let columns = PRIMES.map(|numbers| all_parts(&numbers));
    for ((first, second), third) in columns[0].iter().zip(&columns[1]).zip(&columns[2]) {
        let values = [first, second, third]
            .map(|p| p.value().to_string())
            .to_vec();
        let form = first.clone().finish();
        assert_eq!(
            *by_values.entry(values).or_insert_with(|| form.clone()),
            form
        );
    }
    assert_eq!(
        by_values.len(),
        by_values.values().collect::<HashSet<_>>().len()
    );
    assert_eq!(by_values.len(), 1170);
}
