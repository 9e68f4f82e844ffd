//! Lines of history: going back makes a branch, and nothing of what was left is lost.
//!
//! A session is one log with several lines in it. A `branch` event takes the whole organization to a
//! [`Place`] of an earlier line and goes on from there; the events after it belong to the new branch until
//! the next one. The *present line* of a branch is the path to it: what its parent's line holds up to the
//! place it left from, and its own events. One branch is live at a time.
//!
//! What a person did (commands) belongs to the session and stays known on every branch; everything else of
//! the fold belongs to the line.

use super::command::Command;
use super::event::{Author, Event, RunEnd};
use super::ids::{BranchId, Seq, Step, ThreadId};
use super::metrics::worker_steps;
use super::organization::{CommandRecord, Organization};
use super::thread::Moment;
use serde::{Deserialize, Serialize};

/// A moment of a session: everything on the line of `branch` before event `seq`, as far as it happened by
/// `step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Whose line.
    pub branch: BranchId,
    /// The first event that has not happened.
    pub seq: Seq,
    /// The last step that has.
    pub step: Step,
}

/// Why the organization went elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// To write a thread anew from some token on.
    Edit,
    /// To live on from there.
    Branch,
    /// To the state before the last steering command.
    Undo,
    /// To the state that an undo left.
    Redo,
}

impl Turn {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Branch => "branch",
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

/// How a line stood when it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its last step.
    pub step: Step,
    /// Ideal latency.
    #[serde(rename = "T")]
    pub latency: u64,
    /// Steps of workers within `T`.
    pub worker_steps: u64,
    /// How its run ended, if it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// Its answer, whole or partial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Standing {
    /// Mean number of active workers over the `T` steps.
    #[must_use]
    pub fn eta(&self) -> f64 {
        if self.latency == 0 {
            0.0
        } else {
            self.worker_steps as f64 / self.latency as f64
        }
    }
}

/// One branch of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// Its number, in order of making.
    pub id: BranchId,
    /// Where it left its parent; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Place>,
    /// Why it was made; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// The thread that was pointed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// How many of its tokens were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// How it stood when it was left; `None` for the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Standing>,
}

impl BranchRecord {
    /// The line that every session begins with.
    fn first() -> Self {
        Self {
            id: BranchId(0),
            from: None,
            turn: None,
            thread: None,
            token: None,
            left: None,
        }
    }

    /// The branch it left from.
    #[must_use]
    pub fn parent(&self) -> Option<BranchId> {
        self.from.map(|place| place.branch)
    }
}

/// States to go back to and on to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trail {
    /// Before each steering command that made this state, oldest first.
    pub back: Vec<Place>,
    /// What undoing left, oldest first.
    pub on: Vec<Place>,
}

impl Trail {
    /// Whether there is nowhere to go.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.back.is_empty() && self.on.is_empty()
    }
}

impl Organization {
    /// The branch that is live.
    #[must_use]
    pub fn branch(&self) -> BranchId {
        self.branch
    }

    /// The end of the present line.
    #[must_use]
    pub fn here(&self) -> Place {
        Place {
            branch: self.branch,
            seq: self.next_seq,
            step: self.now.step,
        }
    }

    /// All branches in order of making, the present one last among those that are not left.
    #[must_use]
    pub fn branches(&self) -> Vec<BranchRecord> {
        if self.branches.is_empty() {
            vec![BranchRecord::first()]
        } else {
            self.branches.clone()
        }
    }

    /// How the present line stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let schedule = self.schedule();
        Standing {
            step: self.now.step,
            latency: schedule.latency,
            worker_steps: worker_steps(&schedule),
            end: self.end,
            answer: self.answer.clone(),
        }
    }

    /// Where undo and redo lead.
    #[must_use]
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// This state as a `branch` event carries it: what belongs to the whole session is left to the fold
    /// that goes there, and what follows from the rest is left out.
    #[must_use]
    pub fn as_branch_state(mut self) -> Self {
        self.branches.clear();
        // Measured again where it is asked for.
        self.recorded_metrics = None;
        self.breakpoints.clear();
        self.stopped_at.clear();
        self
    }

    /// Goes to `state`, which is that of `from`.
    pub(super) fn apply_branch(
        &mut self,
        event: &Event,
        from: Place,
        turn: Turn,
        token: Option<u64>,
        state: &Self,
    ) {
        let left = self.standing();
        let tip = Place {
            branch: self.branch,
            seq: event.cause.unwrap_or(event.seq),
            step: left.step,
        };
        let mut next = state.clone();
        next.branch = event.branch;
        next.branches = std::mem::take(&mut self.branches);
        if next.branches.is_empty() {
            next.branches.push(BranchRecord::first());
        }
        if let Some(present) = next.branches.iter_mut().find(|b| b.id == self.branch) {
            present.left = Some(left);
        }
        next.branches.push(BranchRecord {
            id: event.branch,
            from: Some(from),
            turn: Some(turn),
            thread: event.thread,
            token,
            left: None,
        });
        next.trail.on = match turn {
            Turn::Edit | Turn::Branch => {
                next.trail.back.push(tip);
                Vec::new()
            }
            Turn::Undo => {
                let mut on = std::mem::take(&mut self.trail.on);
                on.push(tip);
                on
            }
            Turn::Redo => {
                let mut on = std::mem::take(&mut self.trail.on);
                on.pop();
                on
            }
        };
        next.commands = merge_commands(std::mem::take(&mut self.commands), &state.commands);
        next.now = Moment {
            step: from.step,
            us: self.now.us,
        };
        next.next_seq = self.next_seq.max(event.seq.next());
        // Holding is the person's hand on the run, not the run's own state: it stays as it is.
        let (now, held) = (next.now, self.paused);
        if held {
            next.hold(now);
        } else {
            next.release(now);
        }
        // So are the places to stop at.
        next.breakpoints = std::mem::take(&mut self.breakpoints);
        next.stopped_at.clear();
        next.succeed(self.revision());
        *self = next;
    }

    /// Takes note that `command` takes effect: before it is a state to go back to.
    pub(super) fn remember(&mut self, record: &CommandRecord) {
        if record.by == Author::Human && record.command.changes_the_run() {
            self.trail.back.push(Place {
                branch: self.branch,
                seq: record.seq,
                step: record.step,
            });
            self.trail.on.clear();
        }
    }
}

/// All commands of the session; those of the line are as they stood there.
fn merge_commands(all: Vec<CommandRecord>, line: &[CommandRecord]) -> Vec<CommandRecord> {
    all.into_iter()
        .map(|record| {
            line.binary_search_by_key(&record.seq, |r| r.seq)
                .map_or(record, |i| line[i].clone())
        })
        .collect()
}

impl Command {
    /// Whether it makes another run of it, so that undoing it means something. Going elsewhere does too,
    /// but remembers by itself where it came from.
    #[must_use]
    pub fn changes_the_run(&self) -> bool {
        !matches!(
            self,
            Self::Pause { .. }
                | Self::Resume { .. }
                | Self::Step
                | Self::Next
                | Self::Interrupt
                | Self::Continue
                | Self::Mark { .. }
                | Self::Speed { .. }
                | Self::Break { .. }
        ) && !self.travels()
    }

    /// Whether it takes the organization to another place.
    #[must_use]
    pub fn travels(&self) -> bool {
        matches!(
            self,
            Self::Edit { .. } | Self::Branch { .. } | Self::Undo | Self::Redo
        )
    }
}
