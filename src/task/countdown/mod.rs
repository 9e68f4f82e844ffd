//! Multi-solution countdown: make a target from all numbers, each used once, in several distinct ways.
//!
//! An instance is written `countdown 10 6 5 3 = 30`, with ` find 2` behind it where another number of
//! solutions than four is wanted.

pub mod expression;
pub mod normal;
pub mod preset;
pub mod solve;
mod spec;

pub use spec::BadCountdown;

use super::checked::{Checked, Found, Wrong};
use super::written::{Key, Written};
use expression::{Candidate, Expression, NoValue, candidates, parse};
use normal::{Normal, normal};
use serde::{Deserialize, Serialize};
use solve::{Values, solve};
use spec::listed;
use std::collections::HashSet;

/// Solutions wanted where nothing else is said.
pub const DEFAULT_REQUIRED: usize = 4;
/// Most numbers of an instance: what can be searched through.
pub const MOST_NUMBERS: usize = 6;
/// Largest number or target.
pub const LARGEST: u64 = 1_000_000;
/// Most solutions that can be wanted.
pub const MOST_REQUIRED: usize = 99;
/// Candidates of one answer that are looked at; an answer that needs more is a flood, not an answer.
const MOST_CANDIDATES: usize = 1000;

/// One instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Countdown {
    /// From large to small.
    numbers: Vec<u64>,
    target: u64,
    required: usize,
}

impl Countdown {
    /// An instance that has as many solutions as it asks for.
    ///
    /// # Errors
    /// [`BadCountdown`] that says what to do. A search that would take too long to finish (six numbers
    /// without solutions, say) accepts the instance.
    pub fn new(numbers: Vec<u64>, target: u64, required: usize) -> Result<Self, BadCountdown> {
        let task = Self::in_range(numbers, target, required)?;
        let solved = solve(&task.numbers, target as i64, Values::Any, required);
        if solved.complete && solved.solutions.is_empty() {
            return Err(BadCountdown::Unsolvable(target, listed(&task.numbers, " ")));
        }
        if solved.complete && solved.solutions.len() < required {
            return Err(BadCountdown::TooFew(solved.solutions.len(), required));
        }
        Ok(task)
    }

    fn in_range(mut numbers: Vec<u64>, target: u64, required: usize) -> Result<Self, BadCountdown> {
        if !(2..=MOST_NUMBERS).contains(&numbers.len()) {
            return Err(BadCountdown::Count(numbers.len()));
        }
        if let Some(bad) = numbers
            .iter()
            .chain([&target])
            .find(|n| !(1..=LARGEST).contains(*n))
        {
            return Err(BadCountdown::Number(bad.to_string()));
        }
        if !(1..=MOST_REQUIRED).contains(&required) {
            return Err(BadCountdown::Required(required.to_string()));
        }
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self {
            numbers,
            target,
            required,
        })
    }

    /// An instance of which the preset is known to have enough solutions.
    fn known(numbers: Vec<u64>, target: u64) -> Self {
        Self {
            numbers,
            target,
            required: DEFAULT_REQUIRED,
        }
    }

    /// The numbers, from large to small.
    #[must_use]
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// What they shall make.
    #[must_use]
    pub fn target(&self) -> u64 {
        self.target
    }

    /// How many distinct solutions are wanted.
    #[must_use]
    pub fn required(&self) -> usize {
        self.required
    }

    /// The task for a model: the spec on the first line (all that the tiny model reads), then prose.
    #[must_use]
    pub fn query(&self) -> String {
        let wanted = match self.required {
            1 => "one solution".to_owned(),
            n => format!(
                "{n} distinct solutions; solutions that differ only in the order of terms or factors, or in \
                 parentheses that change nothing, are the same"
            ),
        };
        format!(
            "{self}\n\nMake {} from the numbers {}, using each of them exactly once, with + - * / and \
             parentheses. Give {wanted}. Write one expression on each line of the answer.",
            self.target,
            listed(&self.numbers, ", "),
        )
    }

    /// Verifies an answer.
    #[must_use]
    pub fn check(&self, answer: &str) -> Checked {
        let mut seen: HashSet<Key> = HashSet::new();
        let found = self.written(answer).into_iter().map(|written| Found {
            distinct: written.found.correct && seen.insert(written.key),
            ..written.found
        });
        Checked::new(found.collect(), self.required)
    }

    /// What an answer holds, each expression named by its normal form.
    #[must_use]
    pub(super) fn written(&self, answer: &str) -> Vec<Written> {
        let read = |candidate: &Candidate<'_>| {
            let expression = parse(&candidate.lexemes);
            let few = |e: &Expression| e.numbers().take(MOST_NUMBERS + 1).count() <= MOST_NUMBERS;
            let normal = expression.as_ref().filter(|e| few(e)).and_then(normal);
            let verdict = match (&expression, &normal) {
                (None, _) => Err(Wrong::Unreadable),
                (Some(expression), normal) => self.judge(expression, normal.as_ref()),
            };
            let found = Found {
                text: candidate.text.to_owned(),
                correct: verdict.is_ok(),
                distinct: verdict.is_ok(),
                why: verdict.err(),
            };
            let key = normal.map_or_else(|| Key::text(candidate.text), Key::Expression);
            Written { key, found }
        };
        let candidates = candidates(answer);
        candidates.iter().take(MOST_CANDIDATES).map(read).collect()
    }

    fn judge(&self, expression: &Expression, normal: Option<&Normal>) -> Result<(), Wrong> {
        let mut used: Vec<u64> = expression.numbers().take(MOST_NUMBERS + 1).collect();
        used.sort_unstable_by(|a, b| b.cmp(a));
        if used != self.numbers {
            return Err(Wrong::OtherNumbers);
        }
        match expression.value() {
            Err(NoValue::DivisionByZero) => Err(Wrong::DivisionByZero),
            Err(NoValue::TooLarge) => Err(Wrong::TooLarge),
            Ok(value) if value.as_whole() == Some(i128::from(self.target)) => {
                normal.map(|_| ()).ok_or(Wrong::TooLarge)
            }
            Ok(value) => Err(Wrong::Value(value.to_string())),
        }
    }

    /// Distinct solutions as text, at most `most`.
    #[must_use]
    pub fn solutions(&self, most: usize) -> Vec<String> {
        let solved = solve(&self.numbers, self.target as i64, Values::Any, most);
        solved.solutions.into_iter().map(|s| s.text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Countdown {
        Countdown::parse("10 6 5 3 = 30").expect("an instance")
    }

    #[test]
    fn a_spec_reads_back_as_itself() {
        for spec in ["countdown 10 6 5 3 = 30", "countdown 12 9 6 4 = 30 find 2"] {
            let rest = spec.strip_prefix("countdown").expect("a prefix");
            assert_eq!(
                Countdown::parse(rest).map(|t| t.to_string()),
                Ok(spec.to_owned())
            );
        }
        assert_eq!(Countdown::parse("3, 5,6 10->30"), Ok(task()));
        assert!(task().query().starts_with("countdown 10 6 5 3 = 30\n"));
    }

    #[test]
    fn bad_specs_say_what_is_wrong() {
        let error = |spec: &str| Countdown::parse(spec).expect_err(spec).to_string();
        assert!(error("10 6 5 3").contains("no `=`"));
        assert!(error("10 6 5 3 =").contains("no target"));
        assert!(error("10 0 5 3 = 30").starts_with("0 is no number"));
        assert!(error("10 -6 5 3 = 30").starts_with("-6 is no number"));
        assert!(error("10 6 5 3 = -30").starts_with("-30 is no number"));
        assert!(error("10 6.5 5 3 = 30").starts_with("6.5 is no number"));
        assert!(error(&format!("10 {} = 30", "9".repeat(500))).len() < 120);
        assert!(error("5 = 5").starts_with("1 numbers"));
        assert!(error("= 5").starts_with("0 numbers"));
        assert!(error("1 2 3 4 5 6 7 = 5").starts_with("7 numbers"));
        assert!(error("2 2 = 50").contains("cannot be made of 2 2"));
        assert!(error("3 2 = 6").contains("write `find 1`"));
        assert!(error("10 6 5 3 = 30 find 0").contains("cannot ask for 0"));
        assert!(error("10 6 5 3 = 30 find x").contains("cannot ask for x"));
        assert!(error("10 6 5 3 = 30 now").contains("\"now\""));
        assert!(error("10 6 5 3 = 30 find 2 3").contains("\"3\""));
    }

    #[test]
    fn right_wrong_and_repeated_solutions_are_told_apart() {
        let task = Countdown::parse("12 9 6 4 = 18 find 2").expect("an instance");
        let checked = task.check(
            "A1 ( 12 - 9 ) * 4 + 6 B1 6 + 4 * ( 12 - 9 ) C1 12 + 9 - 6 / 2 D1 12 + 6 * ( 9 / 4 )",
        );
        let marks: Vec<(bool, bool)> = checked
            .found
            .iter()
            .map(|f| (f.correct, f.distinct))
            .collect();
        assert_eq!(
            marks,
            [(true, true), (true, false), (false, false), (false, false)]
        );
        assert_eq!(checked.found[2].why, Some(Wrong::OtherNumbers));
        assert_eq!(checked.found[3].why, Some(Wrong::Value("51/2".into())));
        assert_eq!((checked.n_correct, checked.required), (1, 2));
        assert!((checked.accuracy_reward() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn every_number_must_be_used_exactly_once() {
        let check = |answer: &str| {
            task()
                .check(answer)
                .found
                .into_iter()
                .next()
                .and_then(|f| f.why)
        };
        assert_eq!(check("10 * 3"), Some(Wrong::OtherNumbers));
        assert_eq!(check("10 * 3 + 6 - 6 * 5 / 5"), Some(Wrong::OtherNumbers));
        assert_eq!(check("106 - 53"), Some(Wrong::OtherNumbers));
        assert_eq!(check("10 / (6 - 6) + 5"), Some(Wrong::OtherNumbers));
        assert_eq!(check("10 / (5 + 3 - 6 - 2)"), Some(Wrong::OtherNumbers));
        let zero = Countdown::new(vec![6, 3, 3, 2], 4, 1).expect("an instance");
        assert_eq!(
            zero.check("6 / (3 - 3) + 2").found[0].why,
            Some(Wrong::DivisionByZero)
        );
    }

    #[test]
    fn own_solutions_pass() {
        let solutions = task().solutions(usize::MAX);
        let checked = task().check(&solutions.join("\n"));
        assert_eq!(checked.n_correct, solutions.len());
        assert!(checked.n_correct >= 4 && checked.found.iter().all(|f| f.distinct));
    }

    #[test]
    fn hostile_answers_cost_little_and_count_nothing() {
        let deep = format!("{}10+6{}", "(".repeat(10_000), ")".repeat(10_000));
        let flood = "1+1\n".repeat(20_000);
        for answer in [
            deep.as_str(),
            &flood,
            &"9".repeat(1 << 20),
            &"1+".repeat(1 << 18),
            "",
            "\u{0}\u{feff}",
        ] {
            assert_eq!(task().check(answer).n_correct, 0);
        }
        assert_eq!(task().check(&flood).found.len(), MOST_CANDIDATES);
    }
}
