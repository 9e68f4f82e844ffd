//! What the screen derives from the organization: ideal time, the critical path, lanes.
//!
//! Exact measures are recomputed when the structure changed; what merely grows with the tokens ("so
//! far") at most once a frame, and more seldom with very many threads. Nothing here is a second truth:
//! everything can be dropped and derived again.

use crate::org::{
    Change, Link, Metrics, Organization, Schedule, ThreadId, blame, critical_path, simulate, slack,
    slack_of,
};
use crate::tui::widget::timeline::tracks::Tracks;
use std::collections::BTreeMap;

/// With more workers than this, slack is computed for the selected one only.
const MOST_SLACKS: usize = 48;

/// Everything derived.
#[derive(Debug, Clone, Default)]
pub struct Ideal {
    /// When each thread would have begun, waited and finished.
    pub schedule: Schedule,
    /// The chain that realises `T`.
    pub path: Vec<Link>,
    /// Tokens each worker could still have taken.
    pub slack: BTreeMap<ThreadId, u64>,
    /// Steps waited, per waiting thread and worker.
    pub blame: BTreeMap<(ThreadId, ThreadId), u64>,
    /// The measures so far.
    pub metrics: Metrics,
    /// Lanes in the unit on screen.
    pub tracks: Tracks,
    made_of: Option<Made>,
}

/// What the current values were made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Made {
    revision: u64,
    step: u64,
    us: u64,
    lived: bool,
    selected: ThreadId,
}

impl Ideal {
    /// Forgets everything, for instance after a seek.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Brings everything up to date.
    pub fn refresh(&mut self, organization: &Organization, lived: bool, selected: ThreadId) {
        let now = Made {
            revision: organization.revision(),
            step: organization.now.step.0,
            us: organization.now.us,
            lived,
            selected,
        };
        let stride = (organization.threads().len() as u64 / 64).max(1);
        let structural = match self.made_of {
            Some(made) if made == now => return,
            Some(made)
                if made.revision == now.revision
                    && made.lived == lived
                    && made.selected == selected
                    && now.step.saturating_sub(made.step) < stride
                    && (!lived || now.us.saturating_sub(made.us) < 30_000 * stride) =>
            {
                return;
            }
            Some(made) => made.revision != now.revision || made.selected != selected,
            None => true,
        };
        let traces = organization.traces();
        self.schedule = simulate(&traces, organization.capacity);
        self.path = critical_path(&self.schedule);
        self.metrics = organization.metrics_of(&self.schedule);
        if structural {
            self.slack = if traces.len() <= MOST_SLACKS {
                slack(&traces, organization.capacity, &self.schedule)
            } else {
                slack_of(selected, &traces, organization.capacity, &self.schedule)
                    .map(|s| (selected, s))
                    .into_iter()
                    .collect()
            };
        }
        self.blame = blame(&self.schedule);
        self.tracks = if lived {
            Tracks::lived(organization)
        } else {
            Tracks::ideal(organization, &self.schedule, &self.path, &self.slack)
        };
        self.made_of = Some(now);
    }

    /// Steps the organizer stood at Joins and blocked Forks, and the worker that cost it most.
    #[must_use]
    pub fn organizer_waited(&self) -> Option<(u64, ThreadId)> {
        let own = self
            .blame
            .iter()
            .filter(|((waiting, _), steps)| waiting.is_organizer() && **steps > 0);
        let total: u64 = own.clone().map(|(_, steps)| steps).sum();
        let ((_, child), _) = own.max_by_key(|(_, steps)| **steps)?;
        Some((total, *child))
    }

    /// `T` as it would be after `change` to a worker that is there.
    #[must_use]
    pub fn latency_after(&self, organization: &Organization, change: Change) -> Option<u64> {
        let (Change::Without(worker) | Change::TwiceAsFast(worker)) = change;
        organization
            .thread(worker)
            .filter(|t| !t.id.is_organizer())?;
        let traces = organization.traces();
        Some(change.predict(&traces, organization.capacity).latency)
    }
}
