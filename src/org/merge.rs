//! Joining token events: many steps as one event.

use super::event::{Body, Event};

impl Event {
    /// Appends the tokens of `next` if they go on, step by step and in the same manner, where the tokens of
    /// this event end and both together are at most `most` tokens. Gives `next` back if they do not.
    ///
    /// # Errors
    /// `next`, unchanged.
    pub fn append_tokens(&mut self, next: Self, most: usize) -> Result<(), Box<Self>> {
        if !self.continues_with(&next, most) {
            return Err(Box::new(next));
        }
        if let (
            Body::Tokens {
                ids,
                bytes,
                lens,
                logprobs,
                top,
            },
            Body::Tokens {
                ids: more_ids,
                bytes: more_bytes,
                lens: more_lens,
                logprobs: more_logprobs,
                top: more_top,
            },
        ) = (&mut self.body, next.body)
        {
            ids.extend(more_ids);
            bytes.0.extend(more_bytes.0);
            lens.extend(more_lens);
            logprobs.extend(more_logprobs);
            top.extend(more_top);
        }
        Ok(())
    }

    fn continues_with(&self, next: &Self, most: usize) -> bool {
        let (
            Body::Tokens {
                ids, logprobs, top, ..
            },
            Body::Tokens {
                ids: more,
                logprobs: more_logprobs,
                top: more_top,
                ..
            },
        ) = (&self.body, &next.body)
        else {
            return false;
        };
        ids.len().saturating_add(more.len()) <= most
            && self.last_step().next() == next.step
            && self.thread == next.thread
            && self.by == next.by
            && self.branch == next.branch
            && self.cause == next.cause
            && logprobs.is_empty() == more_logprobs.is_empty()
            && top.is_empty() == more_top.is_empty()
    }
}
