//! The presets: which instances there are, and who may see them.

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
