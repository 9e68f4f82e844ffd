//! When the next frame is due: on demand, at most 60 a second for input and 30 for streaming text.

use std::time::{Duration, Instant};

/// Why a frame is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A person did something.
    Input,
    /// The session went on.
    Stream,
    /// Something moves by itself.
    Animation,
}

impl Urgency {
    fn gap(self) -> Duration {
        match self {
            Self::Input => Duration::from_micros(16_600),
            Self::Stream => Duration::from_micros(33_300),
            Self::Animation => Duration::from_millis(120),
        }
    }
}

/// The one deadline of the screen.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl Pace {
    /// Asks for a frame.
    pub fn want(&mut self, urgency: Urgency, now: Instant) {
        let earliest = self
            .last
            .map_or(now, |last| (last + urgency.gap()).max(now));
        self.due = Some(self.due.map_or(earliest, |due| due.min(earliest)));
    }

    /// When to draw; `None`: nothing has changed.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, now: Instant) {
        self.last = Some(now);
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames drawn over one second when something is asked for every `every` microseconds.
    fn frames(urgency: Urgency, every: u64) -> usize {
        let start = Instant::now();
        let mut pace = Pace::default();
        let mut frames = 0;
        for us in (0..1_000_000).step_by(usize::try_from(every).unwrap()) {
            let now = start + Duration::from_micros(us);
            if pace.due().is_some_and(|due| due <= now) {
                frames += 1;
                pace.drawn(now);
            }
            pace.want(urgency, now);
        }
        frames
    }

    #[test]
    fn streaming_draws_thirty_times_a_second_and_input_sixty() {
        assert!((27..=31).contains(&frames(Urgency::Stream, 500)));
        assert!((55..=61).contains(&frames(Urgency::Input, 500)));
    }

    #[test]
    fn nothing_wanted_is_nothing_drawn() {
        let mut pace = Pace::default();
        assert_eq!(pace.due(), None);
        pace.want(Urgency::Input, Instant::now());
        pace.drawn(Instant::now());
        assert_eq!(pace.due(), None);
    }

    #[test]
    fn input_brings_a_streaming_frame_forward() {
        let now = Instant::now();
        let mut pace = Pace::default();
        pace.drawn(now);
        pace.want(Urgency::Stream, now);
        let slow = pace.due().unwrap();
        pace.want(Urgency::Input, now);
        assert!(pace.due().unwrap() < slow);
    }
}
