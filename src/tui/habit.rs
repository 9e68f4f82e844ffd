//! What a running thread is stuck in, if it is: a loop, silence, or a crawl.
//!
//! Told from its newest tokens only: bounded, and the same live and in a replay.

use std::collections::VecDeque;

/// Longest loop that is noticed, in tokens.
const LONGEST_LOOP: usize = 16;

/// Tokens that must repeat those before them until a thread counts as looping.
const LOOPING_AFTER: u32 = 96;

/// Tokens without any text until a thread counts as silent.
const SILENT_AFTER: u32 = 48;

/// Microseconds without a token, while the session goes on, until a thread counts as slow.
const SLOW_AFTER_US: u64 = 5_000_000;

/// The newest tokens of one thread.
#[derive(Debug, Clone, Default)]
pub struct Habit {
    recent: VecDeque<u32>,
    /// Per period 1, 2, …: how many tokens in a row equal the one that many before.
    repeats: [u32; LONGEST_LOOP],
    silent: u32,
    last_us: Option<u64>,
}

impl Habit {
    /// Of a thread that began at `us`.
    #[must_use]
    pub fn since(us: u64) -> Self {
        Self {
            last_us: Some(us),
            ..Self::default()
        }
    }

    /// Takes in tokens that came by `us`; `lens` are the lengths of their text in bytes.
    pub fn add(&mut self, us: u64, ids: &[u32], lens: &[u32]) {
        self.last_us = Some(us);
        for (i, id) in ids.iter().enumerate() {
            for (before, repeats) in self.recent.iter().rev().zip(&mut self.repeats) {
                *repeats = if before == id {
                    repeats.saturating_add(1)
                } else {
                    0
                };
            }
            if self.recent.len() == LONGEST_LOOP {
                self.recent.pop_front();
            }
            self.recent.push_back(*id);
            let spoke = lens.get(i).is_some_and(|len| *len > 0);
            self.silent = if spoke {
                0
            } else {
                self.silent.saturating_add(1)
            };
        }
    }

    /// It decodes again after a wait: only now can it be slow.
    pub fn wake(&mut self, us: u64) {
        self.last_us = Some(us);
    }

    /// The word for what it is stuck in at `now_us`, if it is.
    #[must_use]
    pub fn word(&self, now_us: u64) -> Option<&'static str> {
        let last = self.last_us?;
        if now_us.saturating_sub(last) >= SLOW_AFTER_US {
            Some("slow")
        } else if self.silent >= SILENT_AFTER {
            Some("silent")
        } else if self.repeats.iter().any(|n| *n >= LOOPING_AFTER) {
            Some("looping")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(ids: impl Iterator<Item = u32>, len: u32) -> Option<&'static str> {
        let mut habit = Habit::default();
        for id in ids {
            habit.add(7, &[id], &[len]);
        }
        habit.word(7)
    }

    #[test]
    fn a_loop_of_any_short_period_is_noticed_and_honest_text_is_not() {
        for period in 1..=16 {
            assert_eq!(
                after((0..200).map(|i| i % period), 3),
                Some("looping"),
                "{period}"
            );
            assert_eq!(after((0..90).map(|i| i % period), 3), None, "{period}");
        }
        assert_eq!(after((0..500).map(|i| i % 40), 3), None);
        let broken = (0..200).map(|_| 1).chain([2]);
        assert_eq!(after(broken, 3), None);
    }

    #[test]
    fn tokens_without_text_are_silence_until_one_has_some() {
        assert_eq!(after(0..60, 0), Some("silent"));
        let mut habit = Habit::default();
        habit.add(0, &[1; 60], &[0; 60]);
        habit.add(0, &[2], &[1]);
        assert_eq!(habit.word(0), None);
    }

    #[test]
    fn a_thread_that_lags_behind_the_session_is_slow() {
        let mut habit = Habit::default();
        assert_eq!(habit.word(60_000_000), None);
        assert_eq!(Habit::since(7).word(60_000_000), Some("slow"));
        habit.add(1_000_000, &[1], &[1]);
        assert_eq!(habit.word(5_900_000), None);
        assert_eq!(habit.word(6_000_000), Some("slow"));
    }

    #[test]
    fn a_wait_is_not_slowness() {
        let mut habit = Habit::since(0);
        habit.add(1_000_000, &[1], &[1]);
        assert_eq!(habit.word(60_000_000), Some("slow"));
        habit.wake(60_000_000);
        assert_eq!(habit.word(60_500_000), None);
    }
}
