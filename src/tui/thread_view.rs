//! What the screen keeps of one thread besides the organization's own record of it.

use super::habit::Habit;
use super::rate::History;
use super::sign::status_words;
use super::text::{PaneState, Piece, Transcript};
use crate::org::{Body, Event, Seat, Status, Thread};
use crate::record::{Origin, RestoredThread, TextPiece};

/// Text, pane, speed and probabilities of one thread.
#[derive(Default)]
pub struct ThreadView {
    /// Its prompt's token ids.
    pub prompt: Vec<u32>,
    /// Its text.
    pub text: Transcript,
    /// How its pane is scrolled and wrapped.
    pub pane: PaneState,
    /// How fast it decoded lately.
    pub history: History,
    /// Whether it is stuck.
    pub habit: Habit,
    /// Own tokens before the first of `logprobs`.
    pub first_logprob: u64,
    /// Natural log probability per own token; empty where the engine gives none.
    pub logprobs: Vec<f32>,
    /// Alternatives per own token, best first; empty where the engine gives none.
    pub alternatives: Vec<Vec<(u32, f32)>>,
    tokens: u64,
}

impl ThreadView {
    /// A thread that begins at `us`.
    #[must_use]
    pub fn new(prompt: Vec<u32>, us: u64) -> Self {
        Self {
            prompt,
            habit: Habit::since(us),
            ..Self::default()
        }
    }

    /// A thread of which `tokens` tokens and some text come from a recording.
    #[must_use]
    pub fn with_text(text: Transcript, tokens: u64) -> Self {
        Self {
            text,
            tokens,
            ..Self::default()
        }
    }

    /// A thread whose text ends with these pieces of a recording, of which it knows `text`.
    #[must_use]
    pub fn recorded(text: Transcript, pieces: &[TextPiece]) -> Self {
        let before = text.tokens_before();
        let mut view = Self::with_text(text, before);
        for piece in pieces.iter().filter(|p| p.origin == Origin::Decoded) {
            view.keep(piece.ids.len(), &piece.logprobs, &piece.top);
        }
        view
    }

    /// A thread as it stands with this context, which it was given at `us`.
    #[must_use]
    pub fn of(context: &RestoredThread, us: u64) -> Self {
        let mut view = Self::new(context.prompt.clone(), us);
        for piece in &context.pieces {
            let kind = match piece.origin {
                Origin::Decoded => {
                    view.keep(piece.ids.len(), &piece.logprobs, &piece.top);
                    Piece::Decoded {
                        ids: &piece.ids,
                        lens: &piece.lens,
                    }
                }
                Origin::Spliced { kind, .. } => Piece::Spliced(kind),
            };
            view.text.push(&piece.bytes, &piece.by, kind);
        }
        view
    }

    /// Folds one event of this thread.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Tokens {
                ids,
                bytes,
                lens,
                logprobs,
                top,
            } => {
                self.text
                    .push(&bytes.0, &event.by, Piece::Decoded { ids, lens });
                self.history.add(event.us, ids.len() as u64);
                self.habit.add(event.us, ids, lens);
                self.keep(ids.len(), logprobs, top);
            }
            Body::Splice { splice, bytes, .. } => {
                self.text.push(&bytes.0, &event.by, Piece::Spliced(*splice));
            }
            Body::Resume => self.habit.wake(event.us),
            Body::End { .. } => self.text.finish(),
            _ => {}
        }
    }

    /// The words of its state, and of what it is stuck in.
    #[must_use]
    pub fn state_words(&self, thread: &Thread, now_us: u64) -> String {
        // a person or a tool takes its time
        let by_model = matches!(thread.seat, Seat::Model | Seat::Server(_));
        let running = thread.status == Status::Running && !thread.paused && by_model;
        match self.habit.word(now_us) {
            Some(word) if running => word.to_owned(),
            _ => status_words(thread),
        }
    }

    fn keep(&mut self, count: usize, logprobs: &[f32], top: &[Vec<(u32, f32)>]) {
        if self.logprobs.is_empty() && !logprobs.is_empty() {
            self.first_logprob = self.tokens;
        }
        if !logprobs.is_empty() || !self.logprobs.is_empty() {
            let known = logprobs.iter().copied().map(Some);
            let padded = known.chain(std::iter::repeat(None)).take(count);
            self.logprobs.extend(padded.map(|p| p.unwrap_or(f32::NAN)));
            let known = top.iter().cloned();
            self.alternatives
                .extend(known.chain(std::iter::repeat(Vec::new())).take(count));
        }
        self.tokens += count as u64;
    }

    /// Log probability and alternatives of own token `index`, where known.
    #[must_use]
    pub fn chances(&self, index: u64) -> Option<(f32, &[(u32, f32)])> {
        let i = usize::try_from(index.checked_sub(self.first_logprob)?).ok()?;
        let logprob = *self.logprobs.get(i)?;
        let alternatives = self.alternatives.get(i).map_or(&[][..], Vec::as_slice);
        (!logprob.is_nan()).then_some((logprob, alternatives))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, Seq, Step};

    #[test]
    fn a_thread_read_from_the_middle_of_a_recording_knows_its_chances() {
        let piece = TextPiece {
            seq: Seq(9),
            step: Step(9),
            us: 0,
            by: Author::Model,
            origin: Origin::Decoded,
            at: 40,
            bytes: b"ab".to_vec(),
            ids: vec![7, 8],
            lens: vec![1, 1],
            logprobs: vec![-0.5, -1.5],
            top: vec![vec![(9, -2.0)], vec![]],
        };
        let mut text = Transcript::starting_at(40, 10);
        let kind = Piece::Decoded {
            ids: &piece.ids,
            lens: &piece.lens,
        };
        text.push(&piece.bytes, &piece.by, kind);
        let view = ThreadView::recorded(text, &[piece]);
        assert_eq!(view.chances(9), None, "older text is not read yet");
        assert_eq!(view.chances(10), Some((-0.5, &[(9, -2.0)][..])));
        assert_eq!(view.chances(11), Some((-1.5, &[][..])));
    }
}
