//! How fast tokens come, from a recent window of the session's own time.
//!
//! Bounded: old samples are dropped, whatever the session's length.

use std::collections::VecDeque;

/// Microseconds the header's rate looks back.
const WINDOW_US: u64 = 2_000_000;

/// Samples kept; beyond that neighbours are merged by dropping the older one.
const MOST_SAMPLES: usize = 256;

/// Tokens a second over the recent window.
#[derive(Debug, Clone, Default)]
pub struct Rate {
    samples: VecDeque<(u64, u64)>,
    total: u64,
}

impl Rate {
    /// `tokens` more were decoded by `us`.
    pub fn add(&mut self, us: u64, tokens: u64) {
        self.total += tokens;
        match self.samples.back_mut() {
            Some((last, total)) if us.saturating_sub(*last) < WINDOW_US / MOST_SAMPLES as u64 => {
                *total = self.total;
            }
            _ => self.samples.push_back((us, self.total)),
        }
        while self.samples.len() > MOST_SAMPLES
            || self
                .samples
                .get(1)
                .is_some_and(|(at, _)| us.saturating_sub(*at) > WINDOW_US)
        {
            self.samples.pop_front();
        }
    }

    /// Tokens a second; `None` before there are two samples.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let (first, before) = self.samples.front()?;
        let (last, total) = self.samples.back()?;
        (last > first).then(|| (total - before) as f64 * 1e6 / (last - first) as f64)
    }
}

/// Microseconds of one bar of a thread's sparkline.
const BUCKET_US: u64 = 500_000;

/// Bars of a thread's sparkline.
pub const BARS: usize = 16;

/// Tokens per half second of one thread, newest last.
#[derive(Debug, Clone, Default)]
pub struct History {
    bars: VecDeque<u32>,
    newest: u64,
}

impl History {
    /// `tokens` more were decoded at `us`.
    pub fn add(&mut self, us: u64, tokens: u64) {
        let bucket = us / BUCKET_US;
        let missing = bucket.saturating_sub(self.newest).min(BARS as u64);
        if self.bars.is_empty() {
            self.bars.push_back(0);
        } else {
            for _ in 0..missing {
                self.bars.push_back(0);
            }
        }
        self.newest = self.newest.max(bucket);
        while self.bars.len() > BARS {
            self.bars.pop_front();
        }
        if let Some(bar) = self.bars.back_mut() {
            *bar = bar.saturating_add(u32::try_from(tokens).unwrap_or(u32::MAX));
        }
    }

    /// The last [`BARS`] half seconds before `us`, oldest first.
    pub fn bars(&self, us: u64) -> impl Iterator<Item = u32> + '_ {
        let idle = usize::try_from((us / BUCKET_US).saturating_sub(self.newest))
            .unwrap_or(BARS)
            .min(BARS);
        let shown = self.bars.len().min(BARS - idle);
        let lead = BARS - idle - shown;
        std::iter::repeat_n(0, lead)
            .chain(self.bars.iter().skip(self.bars.len() - shown).copied())
            .chain(std::iter::repeat_n(0, idle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_two_seconds_only() {
        let mut rate = Rate::default();
        for ms in 0..10_000_u64 {
            rate.add(ms * 1000, if ms < 5_000 { 1 } else { 3 });
        }
        let per_second = rate.per_second().unwrap();
        assert!((2900.0..3100.0).contains(&per_second), "{per_second}");
        assert!(rate.samples.len() <= MOST_SAMPLES + 1);
    }

    #[test]
    fn a_history_shows_the_pause_as_empty_bars() {
        let mut history = History::default();
        history.add(100_000, 5);
        history.add(700_000, 7);
        let bars: Vec<u32> = history.bars(1_600_000).collect();
        assert_eq!(bars.len(), BARS);
        assert_eq!(bars[BARS - 4..], [5, 7, 0, 0]);
    }

    #[test]
    fn a_history_never_grows() {
        let mut history = History::default();
        for i in 0..10_000 {
            history.add(i * 300_000, 1);
            assert!(history.bars.len() <= BARS);
        }
    }
}
