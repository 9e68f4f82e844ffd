//! Examples in batches, made ahead of the training.
//!
//! A batch is the next examples in order. Sequences are packed without padding, so there is nothing to win by
//! sorting them by length, and batches keep the mix of the dataset.

use super::Error;
use crate::learn::dataset::{Dataset, Example};
use crate::learn::network::{Learned, Network};
use std::sync::mpsc::SyncSender;

/// Endless examples, each a function of its index alone.
pub trait Examples: Sync {
    /// Example `index`.
    fn example(&self, index: u64) -> Example;
}

impl Examples for Dataset {
    fn example(&self, index: u64) -> Example {
        Dataset::example(self, index)
    }
}

/// The examples of one step.
#[derive(Debug)]
pub(super) struct Batch {
    pub examples: Vec<Example>,
    /// Index of the example after the last.
    pub next: u64,
}

impl Batch {
    /// Tokens of all examples.
    pub fn tokens(&self) -> usize {
        self.examples.iter().map(|e| e.tokens.len()).sum()
    }

    /// Tokens that count.
    pub fn learned(&self) -> usize {
        let learned = |e: &Example| e.loss_mask.iter().skip(1).filter(|l| **l).count();
        self.examples.iter().map(learned).sum()
    }

    pub fn sequences(&self) -> Vec<Learned<'_>> {
        let learned = |e| {
            let Example {
                tokens, loss_mask, ..
            }: &Example = e;
            Learned {
                tokens,
                mask: loss_mask,
            }
        };
        self.examples.iter().map(learned).collect()
    }
}

/// The batch that begins with example `next`.
pub(super) fn batch(
    examples: &dyn Examples,
    network: &Network,
    mut next: u64,
    batch_tokens: usize,
) -> Result<Batch, Error> {
    let (mut batch, mut tokens) = (Vec::new(), 0);
    while tokens < batch_tokens {
        let example = examples.example(next);
        let refuse = |message: &str| Error::Example {
            index: next,
            message: message.to_owned(),
        };
        if example.tokens.len() != example.loss_mask.len() || example.tokens.is_empty() {
            return Err(refuse(
                "tokens and loss mask must be of one length, and not empty",
            ));
        }
        if !network.fits(&example.tokens) {
            return Err(refuse(
                "longer than the context, or tokens outside the vocabulary",
            ));
        }
        tokens += example.tokens.len();
        batch.push(example);
        next += 1;
    }
    Ok(Batch {
        examples: batch,
        next,
    })
}

/// Send batch after batch from example `next` on, until nobody takes them or one is no good.
pub(super) fn produce(
    examples: &dyn Examples,
    network: &Network,
    mut next: u64,
    batch_tokens: usize,
    to: &SyncSender<Result<Batch, Error>>,
) {
    loop {
        let batch = batch(examples, network, next, batch_tokens);
        next = batch.as_ref().map_or(next, |b| b.next);
        let failed = batch.is_err();
        if to.send(batch).is_err() || failed {
            return;
        }
    }
}
