//! The presets: which instances there are, and who may see them.

use super::solve::{Values, forms_by_target, solve};
use super::{Countdown, DEFAULT_REQUIRED};
use crate::task::rng::Rng;
use serde::{Deserialize, Serialize};

/// Which share of the number sets an instance comes from. No set is in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// To learn from.
    Train,
    /// To choose by: grammars, rates, checkpoints.
    Dev,
    /// To report.
    Test,
}

/// Smallest and largest number of the small preset.
pub const SMALL_NUMBERS: std::ops::RangeInclusive<u32> = 2..=12;
/// Targets of the small preset.
pub const SMALL_TARGETS: std::ops::RangeInclusive<u32> = 10..=50;
/// Values that occur on the way in the small preset.
pub const SMALL_MOST: u32 = 99;

/// Decides which number sets are whose. Never changes: results are told by it.
const SPLIT_SEED: u64 = 7;
const TEST_SETS: usize = 80;
const DEV_SETS: usize = 40;

/// The number sets of a share of the small preset, each from large to small, in a fixed order.
#[must_use]
pub fn small_sets(split: Split) -> Vec<[u32; 4]> {
    let mut sets = Vec::new();
    for a in SMALL_NUMBERS {
        for b in *SMALL_NUMBERS.start()..a {
            for c in *SMALL_NUMBERS.start()..b {
                sets.extend((*SMALL_NUMBERS.start()..c).map(|d| [a, b, c, d]));
            }
        }
    }
    Rng::new(&[SPLIT_SEED]).shuffle(&mut sets);
    let range = match split {
        Split::Test => 0..TEST_SETS,
        Split::Dev => TEST_SETS..TEST_SETS + DEV_SETS,
        Split::Train => TEST_SETS + DEV_SETS..sets.len(),
    };
    sets[range].to_vec()
}

/// All instances of a share of the small preset: those with at least four distinct solutions whose values on
/// the way are whole numbers from 1 to 99.
#[must_use]
pub fn small_instances(split: Split) -> Vec<Countdown> {
    let mut out = Vec::new();
    for set in small_sets(split) {
        let numbers = set.map(u64::from);
        let forms = forms_by_target(
            &numbers,
            SMALL_TARGETS,
            Values::Whole(i64::from(SMALL_MOST)),
        );
        let rich = forms
            .into_iter()
            .filter(|(_, forms)| forms.len() >= DEFAULT_REQUIRED);
        out.extend(rich.map(|(target, _)| Countdown::known(numbers.to_vec(), u64::from(target))));
    }
    out
}

/// One of [`small_instances`], by chance.
#[must_use]
pub fn small(split: Split, rng: &mut Rng) -> Countdown {
    let sets = small_sets(split);
    let width = (SMALL_TARGETS.end() - SMALL_TARGETS.start() + 1) as usize;
    loop {
        let set = sets[rng.below(sets.len())].map(u64::from);
        let target = SMALL_TARGETS.start() + rng.below(width) as u32;
        let values = Values::Whole(i64::from(SMALL_MOST));
        if solve(&set, i64::from(target), values, DEFAULT_REQUIRED)
            .solutions
            .len()
            == DEFAULT_REQUIRED
        {
            return Countdown::known(set.to_vec(), u64::from(target));
        }
    }
}

/// Targets of the large preset.
pub const LARGE_TARGETS: std::ops::RangeInclusive<u64> = 100..=1000;
/// Numbers of a large instance.
const LARGE_COUNT: usize = 6;
/// Largest number of the large preset.
const LARGE_NUMBER: usize = 100;

/// One of the large preset: six different numbers up to 100, a target from 100 to 1000, at least four distinct
/// solutions in whole numbers.
#[must_use]
pub fn large(rng: &mut Rng) -> Countdown {
    loop {
        let mut numbers: Vec<u64> = (1..=LARGE_NUMBER as u64).collect();
        rng.shuffle(&mut numbers);
        numbers.truncate(LARGE_COUNT);
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let width = (LARGE_TARGETS.end() - LARGE_TARGETS.start() + 1) as usize;
        let target = LARGE_TARGETS.start() + rng.below(width) as u64;
        let solved = solve(
            &numbers,
            target as i64,
            Values::Whole(10_000),
            DEFAULT_REQUIRED,
        );
        if solved.solutions.len() == DEFAULT_REQUIRED {
            return Countdown::known(numbers, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_number_set_is_in_two_splits_and_none_is_missing() {
        let all: Vec<[u32; 4]> = [Split::Train, Split::Dev, Split::Test]
            .into_iter()
            .flat_map(small_sets)
            .collect();
        assert_eq!(all.len(), 330);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 330);
        assert!(all.iter().all(|s| s.is_sorted_by(|a, b| a > b)));
    }
}
