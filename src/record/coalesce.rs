//! Single steps to records: tokens of one thread on consecutive steps become one event.
//!
//! Any other event first writes out the tokens of *all* threads, so that the order in the file is the
//! order in which things happened. Pure: time comes with the events.

use super::text::{split_tokens, text_in};
use crate::org::{Body, Event, Seq, ThreadId};
use std::collections::BTreeMap;

/// Longest time whose tokens go into one event.
const MAX_US: u64 = 50_000;

/// Most tokens in one event.
const MAX_TOKENS: usize = 64;

/// Merges token events and numbers everything.
#[derive(Debug, Default)]
pub struct Coalescer {
    open: BTreeMap<ThreadId, Event>,
    /// When the oldest open token came.
    since: Option<u64>,
    next: Seq,
    /// Times never decrease in a session, whatever clock they come from.
    us: u64,
}

impl Coalescer {
    /// One whose first event gets the number `next`: for a session that goes on.
    #[must_use]
    pub fn starting_at(next: Seq) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// The number of the event that comes out next.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// Takes an event (its own number is ignored) and appends to `out` what is ready, in order. Gives the
    /// number of any event that is not tokens.
    pub fn push(&mut self, event: Event, out: &mut Vec<Event>) -> Option<Seq> {
        let (Body::Tokens { ids, .. }, Some(thread)) = (&event.body, event.thread) else {
            self.flush(out);
            return Some(self.emit(event, out));
        };
        if ids.is_empty() && text_in(&event).is_none_or(<[u8]>::is_empty) {
            return None;
        }
        self.flush_due(event.us, out);
        let event = match self.open.get_mut(&thread) {
            None => event,
            Some(earlier) => match earlier.append_tokens(event, MAX_TOKENS) {
                Ok(()) => return None,
                Err(event) => {
                    self.flush(out);
                    *event
                }
            },
        };
        self.since = Some(self.since.map_or(event.us, |us| us.min(event.us)));
        self.open.insert(thread, event);
        None
    }

    /// Writes out all tokens if the oldest have waited long enough at time `us`. Worth a call when no
    /// event came for a while.
    pub fn flush_due(&mut self, us: u64, out: &mut Vec<Event>) {
        if self
            .since
            .is_some_and(|since| us >= since.saturating_add(MAX_US))
        {
            self.flush(out);
        }
    }

    /// Writes out the tokens of all threads, by the step they began at.
    pub fn flush(&mut self, out: &mut Vec<Event>) {
        self.since = None;
        let mut open: Vec<Event> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|e| e.step);
        for mut event in open {
            while let Some(rest) = split_tokens(&mut event, MAX_TOKENS) {
                self.emit(event, out);
                event = rest;
            }
            self.emit(event, out);
        }
    }

    fn emit(&mut self, mut event: Event, out: &mut Vec<Event>) -> Seq {
        let seq = self.next;
        event.seq = seq;
        self.us = self.us.max(event.us);
        event.us = self.us;
        self.next = seq.next();
        out.push(event);
        seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, BranchId, Step, TextBytes};
    use proptest::prelude::*;

    fn token(thread: u16, step: u64, us: u64) -> Event {
        Event {
            seq: Seq(99),
            us,
            step: Step(step),
            branch: BranchId(0),
            thread: ThreadId::worker(thread),
            by: Author::Model,
            cause: None,
            body: Body::Tokens {
                ids: vec![u32::try_from(step).unwrap()],
                bytes: TextBytes(vec![b'a' + thread as u8]),
                lens: vec![1],
                logprobs: vec![],
                top: vec![],
            },
        }
    }

    fn mark(step: u64, us: u64) -> Event {
        let mut event = token(1, step, us);
        event.thread = None;
        event.body = Body::Mark { name: "m".into() };
        event
    }

    fn shape(events: &[Event]) -> Vec<(u64, Option<u16>, u64, usize)> {
        events
            .iter()
            .map(|e| {
                let tokens = text_in(e).map_or(0, <[u8]>::len);
                (
                    e.seq.0,
                    e.thread.and_then(ThreadId::index),
                    e.step.0,
                    tokens,
                )
            })
            .collect()
    }

    #[test]
    fn tokens_merge_until_something_else_happens() {
        let (mut coalescer, mut out) = (Coalescer::default(), Vec::new());
        for step in 1..=3 {
            for thread in 1..=2 {
                assert_eq!(
                    coalescer.push(token(thread, step, step * 10), &mut out),
                    None
                );
            }
        }
        assert!(out.is_empty());
        assert_eq!(coalescer.push(mark(3, 31), &mut out), Some(Seq(2)));
        assert_eq!(
            shape(&out),
            [(0, Some(1), 1, 3), (1, Some(2), 1, 3), (2, None, 3, 0)]
        );
        assert_eq!(coalescer.next_seq(), Seq(3));
    }

    #[test]
    fn a_token_waits_no_longer_than_50_ms() {
        let (mut coalescer, mut out) = (Coalescer::starting_at(Seq(5)), Vec::new());
        coalescer.push(token(1, 1, 0), &mut out);
        coalescer.push(token(1, 2, 49_999), &mut out);
        assert!(out.is_empty());
        coalescer.push(token(2, 3, 50_000), &mut out);
        assert_eq!(shape(&out), [(5, Some(1), 1, 2)]);
        coalescer.flush_due(99_999, &mut out);
        assert_eq!(out.len(), 1);
        coalescer.flush_due(100_000, &mut out);
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn an_event_holds_at_most_64_tokens() {
        let (mut coalescer, mut out) = (Coalescer::default(), Vec::new());
        for step in 1..=65 {
            coalescer.push(token(1, step, 0), &mut out);
        }
        assert_eq!(shape(&out), [(0, Some(1), 1, 64)]);
        let mut pasted = token(1, 70, 0);
        pasted.body = Body::Tokens {
            ids: vec![1; 130],
            bytes: TextBytes(vec![b'x'; 130]),
            lens: vec![1; 130],
            logprobs: vec![],
            top: vec![],
        };
        coalescer.push(pasted, &mut out);
        coalescer.flush(&mut out);
        let sizes: Vec<usize> = shape(&out).iter().map(|s| s.3).collect();
        assert_eq!(sizes, [64, 1, 64, 64, 2]);
    }

    #[test]
    fn a_skipped_step_or_another_author_begins_a_new_event() {
        let (mut coalescer, mut out) = (Coalescer::default(), Vec::new());
        coalescer.push(token(1, 1, 0), &mut out);
        coalescer.push(token(1, 3, 0), &mut out);
        let mut typed = token(1, 4, 0);
        typed.by = Author::Human;
        coalescer.push(typed, &mut out);
        coalescer.flush(&mut out);
        assert_eq!(out.len(), 3);
    }

    proptest! {
        #[test]
        fn numbers_are_gapless_steps_and_times_never_fall_and_no_token_is_lost(
            script in prop::collection::vec((1u16..4, 0u64..2, 0u64..30_000, 0u8..12), 0..200),
        ) {
            let (mut coalescer, mut out) = (Coalescer::default(), Vec::new());
            let (mut step, mut us) = (1, 0);
            let mut want: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
            let mut last: BTreeMap<u16, u64> = BTreeMap::new();
            for (thread, steps, pause, other) in script {
                step += steps;
                us += pause;
                if other == 0 {
                    coalescer.push(mark(step, us), &mut out);
                } else {
                    // A thread decodes one token a step.
                    if last.insert(thread, step) == Some(step) {
                        continue;
                    }
                    want.entry(thread).or_default().push(step as u32);
                    coalescer.push(token(thread, step, us), &mut out);
                }
            }
            coalescer.flush(&mut out);
            let mut got: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
            for (i, event) in out.iter().enumerate() {
                prop_assert_eq!(event.seq, Seq(i as u64));
                if let (Body::Tokens { ids, .. }, Some(thread)) = (&event.body, event.thread) {
                    let index = thread.index().unwrap();
                    got.entry(index).or_default().extend(ids);
                }
            }
            prop_assert!(out.windows(2).all(|w| w[0].step <= w[1].step && w[0].us <= w[1].us));
            prop_assert_eq!(got, want);
        }
    }
}
