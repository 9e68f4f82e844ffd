//! One answer from several traces, by a rule that was fixed beforehand and knows nothing of right and wrong.

use super::{Task, Written};
use std::collections::HashSet;
use std::hash::Hash;

/// A solution's place: which trace, and which of its solutions.
pub type Place = (usize, usize);

/// Which of the solutions that the traces wrote are the common answer, given what each is called.
///
/// * Where several solutions are wanted: all in trace order, repetitions dropped, the first `required` of them.
/// * Where one is wanted: each trace has one vote, for the first that it wrote; most votes win, and of equals the
///   one that an earlier trace wrote.
#[must_use]
pub fn merge<K: Eq + Hash>(traces: &[Vec<K>], required: usize) -> Vec<Place> {
    if required == 1 {
        return vote(traces).into_iter().collect();
    }
    let mut seen = HashSet::new();
    let all = traces.iter().enumerate();
    all.flat_map(|(t, keys)| keys.iter().enumerate().map(move |(i, key)| ((t, i), key)))
        .filter(|(_, key)| seen.insert(*key))
        .map(|(place, _)| place)
        .take(required)
        .collect()
}

/// The common answer of several, one solution a line.
#[must_use]
pub fn merged(task: &Task, answers: &[&str]) -> String {
    let written: Vec<Vec<Written>> = answers.iter().map(|answer| task.written(answer)).collect();
    let keys = |own: &Vec<Written>| own.iter().map(|w| w.key.clone()).collect();
    let keys: Vec<Vec<_>> = written.iter().map(keys).collect();
    let texts = merge(&keys, task.required()).into_iter();
    let texts: Vec<&str> = texts
        .map(|(t, i)| written[t][i].found.text.trim())
        .collect();
    texts.join("\n")
}

fn vote<K: Eq>(traces: &[Vec<K>]) -> Option<Place> {
    let votes: Vec<(usize, &K)> = traces
        .iter()
        .enumerate()
        .filter_map(|(t, keys)| Some((t, keys.first()?)))
        .collect();
    let count = |key: &K| votes.iter().filter(|(_, other)| *other == key).count();
    // of equals the last is taken, so the earliest comes last
    let most = votes.iter().rev().max_by_key(|(_, key)| count(key));
    most.map(|(t, _)| (*t, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(traces: &[&[u32]], required: usize) -> Vec<u32> {
        let traces: Vec<Vec<u32>> = traces.iter().map(|t| t.to_vec()).collect();
        let places = merge(&traces, required);
        places.into_iter().map(|(t, i)| traces[t][i]).collect()
    }

    #[test]
    fn the_first_of_all_traces_in_order_without_repetitions() {
        assert_eq!(merged(&[&[1, 2, 1], &[2, 3], &[4, 5]], 4), [1, 2, 3, 4]);
        assert_eq!(merged(&[&[], &[7]], 4), [7]);
        assert_eq!(merged(&[&[1, 2, 3], &[4]], 2), [1, 2]);
        assert_eq!(merged(&[], 4), [0; 0]);
    }

    #[test]
    fn where_one_is_wanted_the_majority_decides_and_ties_go_to_the_earlier() {
        assert_eq!(merged(&[&[1], &[2], &[2]], 1), [2]);
        assert_eq!(merged(&[&[1], &[2], &[2], &[1]], 1), [1]);
        assert_eq!(merged(&[&[], &[3, 4], &[4]], 1), [3]);
        assert_eq!(merged(&[&[], &[]], 1), [0; 0]);
    }

    proptest! {
        #[test]
        fn what_is_merged_was_written_and_is_distinct(
            traces in prop::collection::vec(prop::collection::vec(0u32..6, 0..5), 0..5),
            required in 1usize..6,
        ) {
            let places = merge(&traces, required);
            let keys: Vec<u32> = places.iter().map(|(t, i)| traces[*t][*i]).collect();
            prop_assert!(keys.len() <= required);
            prop_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
            prop_assert!(places.is_sorted());
            prop_assert_eq!(keys.is_empty(), traces.iter().all(Vec::is_empty));
        }

        #[test]
        fn one_more_trace_takes_nothing_away_where_several_are_wanted(
            traces in prop::collection::vec(prop::collection::vec(0u32..6, 0..5), 1..5),
        ) {
            let fewer = merge(&traces[..traces.len() - 1], 4);
            let all = merge(&traces, 4);
            prop_assert_eq!(&all[..fewer.len()], &fewer[..]);
        }
    }

    #[test]
    fn answers_are_merged_as_text() {
        let task = Task::parse("countdown 12 6 5 4 = 14", 0).unwrap();
        let merged = super::merged(&task, &["A1 5 + 4 * 6 / 12 * 1", "12 + 6 - 4 * 1", ""]);
        assert_eq!(merged.lines().count(), 2);
    }
}
