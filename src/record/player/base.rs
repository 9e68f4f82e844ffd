//! The fold that a player goes on with, and seeks from.

use crate::org::{Body, Event, Organization, Seq, TextMark, ThreadId};
use crate::record::header::Header;
use crate::record::text::text_in;
use std::collections::BTreeMap;

/// Where the last text record of a thread lies, and how many of its tokens have happened (all: `None`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) offset: u64,
    pub(super) tokens: Option<usize>,
}

/// Everything that must be known at some line to go on from there.
#[derive(Debug, Clone)]
pub(super) struct Base {
    /// The fold of everything before.
    pub(super) state: Organization,
    /// Where the texts end.
    pub(super) tails: BTreeMap<ThreadId, Tail>,
    /// The place of the next event.
    pub(super) next: Seq,
    /// Whether events were lost since the last keyframe, so that the next one knows better.
    pub(super) lost: bool,
}

impl Base {
    /// Before the first event.
    pub(super) fn start(header: &Header) -> Self {
        Self {
            state: Organization::new(header.capacity, header.tau),
            tails: BTreeMap::new(),
            next: Seq(0),
            lost: false,
        }
    }

    /// As keyframe `seq` tells it.
    pub(super) fn keyframe(
        seq: Seq,
        state: Organization,
        texts: &BTreeMap<ThreadId, TextMark>,
    ) -> Self {
        let tails = texts
            .iter()
            .map(|(id, mark)| {
                let tail = Tail {
                    offset: mark.last,
                    tokens: None,
                };
                (*id, tail)
            })
            .collect();
        Self {
            state,
            tails,
            next: seq,
            lost: false,
        }
    }

    /// Folds `event`; `tail` says where it lies.
    pub(super) fn apply(&mut self, event: &Event, tail: Tail) {
        match (&event.body, event.thread) {
            (Body::Keyframe { state, texts, .. }, _) if self.lost => {
                let revision = self.state.revision();
                *self = Self::keyframe(event.seq, (**state).clone(), texts);
                self.state.succeed(revision);
            }
            (Body::Branch { texts, .. }, _) => {
                self.tails = texts.keys().map(|id| (*id, tail)).collect();
            }
            (Body::Thread { .. }, Some(id)) => {
                self.tails.remove(&id);
            }
            (_, Some(id)) if text_in(event).is_some() => {
                self.tails.insert(id, tail);
            }
            _ => {}
        }
        self.state.apply(event);
        self.next = event.seq.next();
    }
}
