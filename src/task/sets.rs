//! The committed test sets: the instances that results are told by.
//!
//! They lie in `assets/tasks/`, one spec a line, and are part of the program. Each can be made again from its
//! seed ([`Set::make`]); a test compares.

use super::countdown::preset::{Split, large, small_instances};
use super::rng::Rng;
use super::{Countdown, Sudoku, Task};

/// A committed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Set {
    /// 200 small countdowns to choose by.
    CountdownDev,
    /// 400 small countdowns to report.
    CountdownTest,
    /// 400 large countdowns to report.
    CountdownLarge,
    /// 200 sudokus to choose by.
    SudokuDev,
    /// 400 sudokus to report.
    SudokuTest,
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::CountdownDev,
        Self::CountdownTest,
        Self::CountdownLarge,
        Self::SudokuDev,
        Self::SudokuTest,
    ];

    /// File name in `assets/tasks/`.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::CountdownDev => "countdown-small-dev.txt",
            Self::CountdownTest => "countdown-small-test.txt",
            Self::CountdownLarge => "countdown-large-test.txt",
            Self::SudokuDev => "sudoku-dev.txt",
            Self::SudokuTest => "sudoku-test.txt",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::CountdownDev => include_str!("../../assets/tasks/countdown-small-dev.txt"),
            Self::CountdownTest => include_str!("../../assets/tasks/countdown-small-test.txt"),
            Self::CountdownLarge => include_str!("../../assets/tasks/countdown-large-test.txt"),
            Self::SudokuDev => include_str!("../../assets/tasks/sudoku-dev.txt"),
            Self::SudokuTest => include_str!("../../assets/tasks/sudoku-test.txt"),
        }
    }

    /// Decides which instances are in it.
    #[must_use]
    pub fn seed(self) -> u64 {
        match self {
            Self::CountdownDev => 101,
            Self::CountdownTest => 102,
            Self::CountdownLarge => 103,
            Self::SudokuDev => 104,
            Self::SudokuTest => 105,
        }
    }

    /// How many instances it holds.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::CountdownDev | Self::SudokuDev => 200,
            Self::CountdownTest | Self::CountdownLarge | Self::SudokuTest => 400,
        }
    }

    /// Its instances.
    #[must_use]
    pub fn tasks(self) -> Vec<Task> {
        let specs = self.text().lines().filter(|line| !line.starts_with('#'));
        specs.filter_map(parse_known).collect()
    }

    /// Its first `count` instances, made anew.
    #[must_use]
    pub fn make(self, count: usize) -> Vec<Task> {
        let count = count.min(self.size());
        let mut rng = Rng::new(&[self.seed()]);
        let small = |split: Split, rng: &mut Rng| {
            let mut all = small_instances(split);
            rng.shuffle(&mut all);
            all.truncate(count);
            all.into_iter().map(Task::Countdown).collect()
        };
        match self {
            Self::CountdownDev => small(Split::Dev, &mut rng),
            Self::CountdownTest => small(Split::Test, &mut rng),
            Self::CountdownLarge => (0..count)
                .map(|_| Task::Countdown(large(&mut rng)))
                .collect(),
            Self::SudokuDev | Self::SudokuTest => sudokus(count, &mut rng),
        }
    }

    /// The text of its file, made anew.
    #[must_use]
    pub fn make_text(self) -> String {
        let tasks = self.make(self.size());
        let mut text = format!(
            "# {} instances by seed {}; see src/task/sets.rs\n",
            tasks.len(),
            self.seed()
        );
        for task in tasks {
            text += &format!("{task}\n");
        }
        text
    }
}

fn parse_known(spec: &str) -> Option<Task> {
    match spec.split_once(' ')? {
        ("countdown", rest) => Countdown::parse_known(rest).ok().map(Task::Countdown),
        (_, rest) => Sudoku::parse(rest).ok().map(Task::Sudoku),
    }
}

/// As many of each number of clues from 4 to 11.
fn sudokus(count: usize, rng: &mut Rng) -> Vec<Task> {
    (0..count)
        .filter_map(|i| Sudoku::random(4 + i % 8, rng).ok())
        .map(Task::Sudoku)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Writes the files instead of comparing, when the variable is set.
    const BLESS: &str = "ORGTOP_BLESS_TASKS";

    #[test]
    fn the_committed_sets_can_be_made_again() {
        for set in Set::ALL {
            if std::env::var_os(BLESS).is_some() {
                let path = format!("{}/assets/tasks/{}", env!("CARGO_MANIFEST_DIR"), set.file());
                std::fs::write(path, set.make_text()).expect("written");
                continue;
            }
            let committed = set.tasks();
            assert_eq!(committed.len(), set.size(), "{set:?}");
            // large instances take long to make
            let count = if set == Set::CountdownLarge {
                3
            } else {
                set.size()
            };
            assert_eq!(set.make(count), committed[..count], "{set:?}");
        }
    }

    #[test]
    fn instances_are_distinct_and_splits_share_no_number_set() {
        let sets = |set: Set| -> HashSet<Vec<u64>> {
            let numbers = |t: &Task| {
                if let Task::Countdown(t) = t {
                    Some(t.numbers().to_vec())
                } else {
                    None
                }
            };
            set.tasks().iter().filter_map(numbers).collect()
        };
        assert!(sets(Set::CountdownDev).is_disjoint(&sets(Set::CountdownTest)));
        for set in [Set::CountdownDev, Set::CountdownTest, Set::CountdownLarge] {
            assert_eq!(set.tasks().iter().collect::<HashSet<_>>().len(), set.size());
        }
    }
}
