//! What state the run is in, as a person sees it, and when that changes by itself.

use super::super::demo::Demo;
use super::super::view::frame::fill;
use super::{Banner, FROZEN_AFTER, Feed, Model, NOTICE_FOR, RunState};
use crate::live::Phase;
use crate::org::{RunEnd, Seat, Thread};
use std::time::Duration;

/// Cells beside a caption.
pub const CAPTION_MARGINS: usize = 4;

/// Screens of fewer lines need each for something else than what the answer took.
const ROOMY: u16 = 24;

/// Merged events in one take from which the screen says that it lags.
const LAG: usize = 2000;

impl Model {
    /// Whether the run can still be steered.
    #[must_use]
    pub fn steerable(&self) -> bool {
        self.feed == Feed::Live
            && self.report.phase == Phase::Running
            && self.organization.end.is_none()
    }

    /// Whether quitting would cut a run short.
    #[must_use]
    pub fn running(&self) -> bool {
        self.feed == Feed::Live
            && match self.report.phase {
                Phase::Running => self.organization.end.is_none(),
                Phase::Loading | Phase::Over | Phase::Failed(_) => false,
            }
    }

    /// The state of the run, as the header names it.
    #[must_use]
    pub fn run_state(&self) -> RunState {
        if matches!(self.feed, Feed::Replay(_)) {
            return RunState::Replay;
        }
        match (&self.report.phase, self.organization.end) {
            (Phase::Failed(_), _) => RunState::Failed,
            (_, Some(end)) => RunState::Over(end),
            (Phase::Loading, _) => RunState::Loading,
            (Phase::Over, None) => RunState::Over(RunEnd::Interrupted),
            _ if self.organization.paused => RunState::Paused,
            _ if self.pause_asked => RunState::Pausing,
            _ if self.frozen() => RunState::Frozen,
            _ if self.merged >= LAG => RunState::Lagging,
            _ => RunState::Live,
        }
    }

    fn frozen(&self) -> bool {
        let decoding = self
            .organization
            .threads()
            .any(|t| self.organization.decodes(t));
        decoding
            && self.speed_limit == 0
            && self.now.saturating_sub(self.last_event) >= FROZEN_AFTER
    }

    /// Threads that go on and whose seat a person holds.
    pub fn held_by_people(&self) -> impl Iterator<Item = &Thread> {
        self.organization
            .threads()
            .filter(|t| t.seat == Seat::Human && !t.ended())
    }

    /// How long whoever holds the seat of `thread` has written on, in microseconds.
    #[must_use]
    pub fn writing_for(&self, thread: &Thread) -> Option<u64> {
        let open = thread.writing.last().filter(|w| w.to.is_none())?;
        let since_event = if self.steerable() {
            self.now.saturating_sub(self.last_event)
        } else {
            Duration::ZERO
        };
        let more = u64::try_from(since_event.as_micros()).unwrap_or(u64::MAX);
        Some(open.us(self.organization.now).saturating_add(more))
    }

    /// When the screen changes by itself next, without input or events.
    #[must_use]
    pub fn next_change(&self) -> Option<Duration> {
        let notice = self.notice.as_ref().map(|n| n.since + NOTICE_FOR);
        let frozen = match self.run_state() {
            RunState::Live if self.speed_limit == 0 => Some(self.last_event + FROZEN_AFTER),
            // The header counts the seconds.
            RunState::Frozen => Some(Duration::from_secs(self.now.as_secs() + 1)),
            _ => None,
        };
        // A person's clock counts the seconds too.
        let clock = (self.steerable() && self.held_by_people().next().is_some())
            .then(|| Duration::from_secs(self.now.as_secs() + 1));
        let demo = self.demo.as_ref().and_then(Demo::due);
        [notice, frozen, clock, demo]
            .into_iter()
            .flatten()
            .filter(|at| *at > self.now)
            .min()
    }

    /// Lines above the panes: one, or with an answer what it took and, where it is verified, what it is worth.
    #[must_use]
    pub fn banner_rows(&self) -> u16 {
        match self.banner() {
            None => 0,
            Some(Banner::Answer(_)) => {
                1 + u16::from(self.says_cost()) + u16::from(self.task().is_some())
            }
            Some(_) => 1,
        }
    }

    /// Whether the screen has a line to say what the answer took.
    #[must_use]
    pub fn says_cost(&self) -> bool {
        self.size.1 >= ROOMY && self.organization.end == Some(RunEnd::Answered)
    }

    /// Lines for captions, the same for all of a demo: nothing moves when another one comes. A quarter of the
    /// screen at most.
    #[must_use]
    pub fn caption_rows(&self) -> u16 {
        let Some(demo) = &self.demo else { return 0 };
        let width = usize::from(self.size.0).saturating_sub(CAPTION_MARGINS);
        let lines = demo.captions().map(|text| fill(text, width).len()).max();
        let rows = lines.map_or(0, |lines| u16::try_from(lines + 1).unwrap_or(u16::MAX));
        rows.min(self.size.1 / 4)
    }

    /// What stands above the panes: a failure, a warning, or the answer.
    #[must_use]
    pub fn banner(&self) -> Option<Banner> {
        if let Phase::Failed(why) = &self.report.phase {
            return Some(Banner::Failure(why.clone()));
        }
        if let Some(warning) = &self.report.banner {
            return Some(Banner::Warning(warning.clone()));
        }
        if let Some(why) = &self.bad_theme {
            return Some(Banner::Warning(why.clone()));
        }
        let answer = self.organization.answer.as_ref()?;
        Some(Banner::Answer(answer.trim().to_owned()))
    }
}
