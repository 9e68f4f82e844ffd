//! One context, and the request that continues it.

use super::answer::{Chunk, Finish};
use super::error::RemoteError;
use super::flow::{Flow, Item};
use crate::engine::contract::{Epoch, Priority, Sampling, TokenId};
use std::collections::VecDeque;

/// Fewest tokens that are asked for before a full context is believed.
const FEWEST: u32 = 32;

/// What comes next of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// A token.
    Chunk(Chunk),
    /// The model's end of turn.
    Eos,
    /// No room is left.
    Full,
    /// The server is lost.
    Lost(RemoteError),
}

/// One context.
#[derive(Debug)]
pub(super) struct Sequence {
    pub key: String,
    pub sampling: Sampling,
    pub priority: Priority,
    pub epoch: Epoch,
    /// Tokens, and whether each was decoded.
    context: Vec<(TokenId, bool)>,
    running: bool,
    /// Nothing can come any more unless the context changes.
    done: bool,
    flow: Option<Flow>,
    /// Arrived but not taken.
    waiting: VecDeque<Next>,
    /// Most tokens that the present request may bring, and how many it has brought.
    asked: u32,
    given: u32,
    /// What the server has shown to have room for.
    room: Option<u32>,
}

impl Sequence {
    pub fn new(
        key: String,
        sampling: Sampling,
        priority: Priority,
        context: Vec<(TokenId, bool)>,
    ) -> Self {
        Self {
            key,
            sampling,
            priority,
            epoch: Epoch::default(),
            context,
            running: false,
            done: false,
            flow: None,
            waiting: VecDeque::new(),
            asked: 0,
            given: 0,
            room: None,
        }
    }

    /// The first `len` tokens.
    pub fn prefix(&self, len: usize) -> Vec<(TokenId, bool)> {
        self.context.iter().take(len).copied().collect()
    }

    pub fn tokens(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.context.iter().map(|(id, _)| *id)
    }

    pub fn len(&self) -> usize {
        self.context.len()
    }

    fn decoded(&self) -> u32 {
        let n = self.context.iter().filter(|(_, decoded)| *decoded).count();
        u32::try_from(n).unwrap_or(u32::MAX)
    }

    /// Another context: what the server writes to the old one is not wanted any more.
    fn turn(&mut self) {
        self.flow = None;
        self.waiting.clear();
        self.done = false;
    }

    pub fn append(&mut self, tokens: &[TokenId], decoded: bool) {
        if tokens.is_empty() {
            return;
        }
        self.turn();
        self.context.extend(tokens.iter().map(|id| (*id, decoded)));
    }

    pub fn cut(&mut self, len: usize, epoch: Epoch) {
        self.turn();
        self.context.truncate(len);
        self.epoch = epoch;
        self.room = None;
    }

    pub fn run(&mut self) {
        self.running = true;
    }

    /// Drops the request; what has arrived is kept, since it continues the same context.
    pub fn hold(&mut self) {
        self.running = false;
        self.fetch_all();
        self.flow = None;
        self.waiting
            .retain(|next| matches!(next, Next::Chunk(_) | Next::Eos));
    }

    /// Draws the next tokens otherwise.
    pub fn sample(&mut self, sampling: Sampling) {
        if sampling != self.sampling {
            self.sampling = sampling;
            self.turn();
        }
    }

    /// Whether it wants tokens.
    pub fn runs(&self) -> bool {
        self.running && !self.done
    }

    /// How many tokens to ask for, if a request is due. `limit` is how many it may decode in all.
    pub fn due(&self, limit: u32) -> Option<u32> {
        let idle = self.runs() && self.flow.is_none() && self.waiting.is_empty();
        idle.then(|| {
            let left = limit.saturating_sub(self.decoded()).max(1);
            self.room.map_or(left, |room| left.min(room))
        })
    }

    /// Takes up the request that was made.
    pub fn follow(&mut self, flow: Flow, asked: u32) {
        self.flow = Some(flow);
        self.asked = asked;
        self.given = 0;
    }

    /// Whether something can be taken.
    pub fn ready(&mut self) -> bool {
        if self.waiting.is_empty() {
            self.fetch();
        }
        !self.waiting.is_empty()
    }

    fn fetch_all(&mut self) {
        while self.fetch() {}
    }

    /// Moves the next arrived item over; false if there is none.
    fn fetch(&mut self) -> bool {
        let Some(item) = self.flow.as_mut().and_then(Flow::try_next) else {
            // Given up meanwhile: what it has brought stands, and the rest is asked for anew.
            if self.flow.as_ref().is_some_and(Flow::is_over) {
                self.flow = None;
            }
            return false;
        };
        match item {
            Item::Chunk(chunk) => {
                self.given += 1;
                self.waiting.push_back(Next::Chunk(chunk));
            }
            Item::Finish(Finish::Eos) => {
                self.flow = None;
                self.waiting.push_back(Next::Eos);
            }
            // Enough of this request; a new one goes on if there is room.
            Item::Finish(Finish::Length) => {
                self.flow = None;
                if self.given == 0 {
                    self.waiting.push_back(Next::Full);
                }
            }
            // Some servers refuse what might not fit, though less would.
            Item::Failed(RemoteError::ContextFull { .. }) if self.asked > FEWEST => {
                self.flow = None;
                self.room = Some((self.asked / 4).max(FEWEST));
            }
            Item::Failed(RemoteError::ContextFull { .. }) => {
                self.flow = None;
                self.waiting.push_back(Next::Full);
            }
            Item::Failed(error) => {
                self.flow = None;
                self.waiting.push_back(Next::Lost(error));
            }
        }
        true
    }

    /// Takes what comes next. After anything but text it no longer runs.
    pub fn take(&mut self) -> Option<Next> {
        let next = self.waiting.pop_front()?;
        match &next {
            Next::Chunk(_) => {}
            Next::Eos | Next::Full => self.done = true,
            Next::Lost(_) => {
                self.running = false;
                self.flow = None;
                self.waiting.clear();
            }
        }
        Some(next)
    }

    /// Notes a token that was taken.
    pub fn decode(&mut self, id: TokenId) {
        self.context.push((id, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence() -> Sequence {
        let mut s = Sequence::new(
            "1".into(),
            Sampling::default(),
            Priority::Worker,
            vec![(7, false)],
        );
        s.run();
        s
    }

    fn chunk(text: &str) -> Next {
        Next::Chunk(Chunk {
            bytes: text.into(),
            ..Chunk::default()
        })
    }

    #[test]
    fn what_arrived_before_a_hold_goes_on_after_it_and_nothing_after_an_append() {
        let mut s = sequence();
        s.waiting = VecDeque::from([chunk("a"), chunk("b")]);
        assert_eq!(s.take(), Some(chunk("a")));
        s.hold();
        s.run();
        assert_eq!(s.due(10), None);
        assert_eq!(s.take(), Some(chunk("b")));
        s.waiting = VecDeque::from([chunk("c")]);
        s.append(&[8], false);
        assert!(!s.ready());
        assert_eq!(s.due(10), Some(10));
    }

    #[test]
    fn a_request_is_capped_by_what_is_left() {
        let mut s = sequence();
        s.decode(1);
        s.decode(2);
        assert_eq!(s.due(10), Some(8));
        assert_eq!(s.due(1), Some(1));
        s.room = Some(3);
        assert_eq!(s.due(10), Some(3));
    }

    #[test]
    fn a_lost_server_is_asked_again_only_when_told_to_run() {
        let mut s = sequence();
        let lost = Next::Lost(RemoteError::Cut {
            url: "u".into(),
            why: "w".into(),
        });
        s.waiting.push_back(lost.clone());
        assert_eq!(s.take(), Some(lost));
        assert_eq!(s.due(10), None);
        s.hold();
        s.run();
        assert_eq!(s.due(10), Some(10));
    }

    #[test]
    fn the_end_of_a_turn_is_final_until_the_context_changes() {
        let mut s = sequence();
        s.waiting.push_back(Next::Eos);
        assert_eq!(s.take(), Some(Next::Eos));
        assert_eq!(s.due(10), None);
        s.cut(1, Epoch(1));
        assert_eq!(s.due(10), Some(10));
    }
}
