//! Everything that happened in a session, kept so that any place on any of its branches can be gone back to.
//!
//! Holds the events as they lie in a file, keyframes aside: their number grows with the records, some
//! hundreds of bytes each. Pure: who goes back, and what follows from it, is the running session's business.

use super::header::Header;
use super::restore::RestoredThread;
use super::text::{TextPiece, split_tokens, stand};
use crate::org::{Body, BranchId, Event, Organization, Place, Step, TextStand, ThreadId};
use std::collections::BTreeMap;

/// The events of one branch: `events[first..]`, up to where the next branch begins.
#[derive(Debug, Clone)]
struct Segment {
    id: BranchId,
    from: Option<Place>,
    first: usize,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct History {
    events: Vec<Event>,
    segments: Vec<Segment>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            segments: vec![Segment {
                id: BranchId(0),
                from: None,
                first: 0,
            }],
        }
    }
}

impl History {
    /// Takes note of the next event.
    pub fn push(&mut self, event: Event) {
        match &event.body {
            Body::Keyframe { .. } | Body::Unknown => return,
            Body::Branch { from, .. } => self.segments.push(Segment {
                id: event.branch,
                from: Some(*from),
                first: self.events.len(),
            }),
            _ => {}
        }
        self.events.push(event);
    }

    /// All events in order, of all branches.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The last branch.
    #[must_use]
    pub fn present(&self) -> BranchId {
        self.segments.last().map_or(BranchId(0), |s| s.id)
    }

    /// The number that the next branch gets.
    #[must_use]
    pub fn next_branch(&self) -> BranchId {
        BranchId(self.present().0.saturating_add(1))
    }

    /// Whether there is such a branch.
    #[must_use]
    pub fn knows(&self, branch: BranchId) -> bool {
        self.segments.iter().any(|s| s.id == branch)
    }

    fn segment(&self, branch: BranchId) -> Option<(&Segment, &[Event])> {
        let at = self.segments.iter().position(|s| s.id == branch)?;
        let end = self
            .segments
            .get(at + 1)
            .map_or(self.events.len(), |next| next.first);
        let segment = &self.segments[at];
        Some((segment, &self.events[segment.first..end]))
    }

    /// Where `branch` ends: where it was left, or the present.
    #[must_use]
    pub fn tip(&self, branch: BranchId) -> Option<Place> {
        let (segment, events) = self.segment(branch)?;
        let from = segment.from.map_or(Step(0), |place| place.step);
        let step = events.iter().map(Event::last_step).max().unwrap_or(from);
        // The command that led away is no part of what it left.
        let turn = self.events.get(segment.first + events.len());
        let last = || events.iter().map(|e| e.seq.next()).max();
        let seq = turn.and_then(|e| e.cause).or_else(last).unwrap_or_default();
        Some(Place {
            branch,
            seq,
            step: step.max(from),
        })
    }

    /// The moment after `step` on the line of `branch`; its end if it did not come so far.
    #[must_use]
    pub fn at_step(&self, branch: BranchId, step: Step) -> Option<Place> {
        let (segment, events) = self.segment(branch)?;
        if let Some(from) = segment.from
            && step < from.step
        {
            return self.at_step(from.branch, step);
        }
        match events.iter().find(|e| e.step > step) {
            Some(beyond) => Some(Place {
                branch,
                seq: beyond.seq,
                step,
            }),
            None => self.tip(branch).map(|tip| Place {
                step: tip.step.min(step),
                ..tip
            }),
        }
    }

    /// Everything on the line of `place` before its event, but nobody ahead of a token that is still to
    /// come: threads decode in lock-step, and records hold many steps of one thread.
    #[must_use]
    pub fn settled(&self, place: Place) -> Place {
        let Some((segment, events)) = self.segment(place.branch) else {
            return place;
        };
        let reached = events.iter().filter(|e| e.seq < place.seq);
        let from = segment.from.map_or(Step(0), |from| from.step);
        let reached = reached.map(Event::last_step).max().unwrap_or(from);
        let next = events
            .iter()
            .filter(|e| e.seq >= place.seq && matches!(e.body, Body::Tokens { .. }))
            .map(|e| Step(e.step.0.saturating_sub(1)))
            .min()
            .unwrap_or(reached);
        Place {
            step: place.step.min(reached).min(next),
            ..place
        }
    }

    /// The step in which `thread` decoded its token `index` (from 0) on the line that ends at `place`.
    #[must_use]
    pub fn step_of(&self, place: Place, thread: ThreadId, index: u64) -> Option<Step> {
        let mut left = index;
        let mut found = None;
        self.visit(place, &mut |event| {
            if found.is_some() || event.thread != Some(thread) {
                return;
            }
            match &event.body {
                Body::Thread { .. } => left = index,
                Body::Tokens { ids, .. } => {
                    let count = ids.len() as u64;
                    if left < count {
                        found = Some(Step(event.step.0 + left));
                    } else {
                        left -= count;
                    }
                }
                _ => {}
            }
        });
        found
    }

    /// The events on the line that ends at `place`, without the turns from branch to branch.
    #[must_use]
    pub fn line(&self, place: Place) -> Vec<Event> {
        let mut events = Vec::new();
        self.visit(place, &mut |event| events.push(event.into_owned()));
        events
    }

    fn visit<'a>(&'a self, place: Place, see: &mut dyn FnMut(std::borrow::Cow<'a, Event>)) {
        let Some((segment, events)) = self.segment(place.branch) else {
            return;
        };
        if let Some(from) = segment.from {
            self.visit(from, see);
        }
        for event in events {
            if let Some(event) = within(event, place)
                && !matches!(event.body, Body::Branch { .. })
            {
                see(event);
            }
        }
    }

    /// The fold of everything before `place`, as a reader of the file has it there.
    #[must_use]
    pub fn state(&self, place: Place, header: &Header) -> Organization {
        let mut state = Organization::new(header.capacity, header.tau);
        let Some((segment, events)) = self.segment(place.branch) else {
            return state;
        };
        for event in &self.events[..segment.first] {
            state.apply(event);
        }
        for event in events {
            if let Some(event) = within(event, place) {
                state.apply(&event);
            }
        }
        state
    }

    /// The contexts of all threads at `place`.
    #[must_use]
    pub fn contexts(&self, place: Place) -> BTreeMap<ThreadId, RestoredThread> {
        let mut threads: BTreeMap<ThreadId, RestoredThread> = BTreeMap::new();
        self.visit(place, &mut |event| {
            let Some(id) = event.thread else { return };
            if let Body::Thread { prompt, .. } = &event.body {
                let prompt = prompt.clone();
                let pieces = Vec::new();
                threads.insert(id, RestoredThread { prompt, pieces });
                return;
            }
            if super::text::text_in(&event).is_none() {
                return;
            }
            let thread = threads.entry(id).or_default();
            let at = thread
                .pieces
                .last()
                .map_or(0, |last| last.at + last.bytes.len() as u64);
            thread.pieces.extend(TextPiece::of(event.into_owned(), at));
        });
        threads
    }
}

/// Where the texts of `threads` stand, for a `branch` event.
#[must_use]
pub fn stands(threads: &BTreeMap<ThreadId, RestoredThread>) -> BTreeMap<ThreadId, TextStand> {
    threads
        .iter()
        .filter(|(_, thread)| !thread.pieces.is_empty())
        .map(|(id, thread)| {
            let bytes: Vec<u8> = thread
                .pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect();
            (*id, stand(&bytes))
        })
        .collect()
}

/// What of `event`, of the branch of `place`, has happened there.
fn within(event: &Event, place: Place) -> Option<std::borrow::Cow<'_, Event>> {
    use std::borrow::Cow;
    if event.seq >= place.seq || event.step > place.step {
        return None;
    }
    if event.last_step() <= place.step {
        return Some(Cow::Borrowed(event));
    }
    let keep = place.step.0 - event.step.0 + 1;
    let mut head = event.clone();
    // The first token lies within, the last does not.
    let _ = split_tokens(&mut head, usize::try_from(keep).unwrap_or(usize::MAX));
    Some(Cow::Owned(head))
}
