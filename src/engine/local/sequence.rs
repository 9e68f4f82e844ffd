//! One sequence as the engine keeps it: its tokens are the truth, its pages a cache of them.

use super::pages::{PAGE, PageId, PagePool};
use crate::engine::contract::{Epoch, Priority, Sampling, SeqId, TokenId};
use crate::engine::sampler::Key;
use crate::engine::veto::Veto;

/// A sequence.
#[derive(Debug)]
pub struct Sequence {
    /// Its name.
    pub id: SeqId,
    /// What its draws depend on.
    pub key: Key,
    /// How it samples.
    pub sampling: Sampling,
    /// Its rank when memory is short.
    pub priority: Priority,
    /// What it may not draw.
    pub forbid: Option<Veto>,
    /// How often it was cut.
    pub epoch: Epoch,
    /// Whether it decodes.
    pub running: bool,
    /// Everything in it.
    pub tokens: Vec<TokenId>,
    /// Which of `tokens` count as decoded.
    pub decoded: Vec<bool>,
    /// How many of `tokens` have keys and values in `pages`.
    pub computed: usize,
    /// Its pages, in order; they cover at least `computed` tokens.
    pub pages: Vec<PageId>,
    /// A sequence that begins with the same tokens, and how many of them.
    pub parent: Option<(SeqId, usize)>,
    /// Its pages were taken away; a template is then not computed again before somebody needs it.
    pub evicted: bool,
}

impl Sequence {
    /// Tokens that are not in the cache yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.tokens.len() - self.computed
    }

    /// Whether the only token not in the cache is the one it decoded last.
    #[must_use]
    pub fn is_decoding(&self) -> bool {
        self.pending() == 1 && self.decoded.last() == Some(&true)
    }

    /// Push tokens.
    pub fn append(&mut self, tokens: &[TokenId], decoded: bool) {
        self.tokens.extend_from_slice(tokens);
        self.decoded.resize(self.tokens.len(), decoded);
    }

    /// Keep the first `len` tokens and let go of pages past them.
    pub fn cut(&mut self, len: usize, pool: &mut PagePool) {
        self.tokens.truncate(len);
        self.decoded.truncate(len);
        // The last token is computed again: what comes next is drawn from it.
        self.forget_from(self.tokens.len().saturating_sub(1), pool);
        if let Some((_, shared)) = &mut self.parent {
            *shared = (*shared).min(len);
        }
    }

    /// Take the cache back to `len` tokens (or fewer: a page that others hold is let go as a whole, because
    /// it may not be written).
    pub fn forget_from(&mut self, len: usize, pool: &mut PagePool) {
        self.computed = self.computed.min(len);
        let mut keep = self.computed.div_ceil(PAGE);
        if let Some(page) = self.pages.get(self.computed / PAGE)
            && pool.is_shared(*page)
        {
            keep = self.computed / PAGE;
            self.computed = keep * PAGE;
        }
        for page in self.pages.drain(keep.min(self.pages.len())..) {
            pool.release(page);
        }
    }

    /// Let go of all pages.
    pub fn evict(&mut self, pool: &mut PagePool) {
        for page in self.pages.drain(..) {
            pool.release(page);
        }
        self.computed = 0;
        self.evicted = true;
    }

    /// Begin with pages of a parent that cover its first `tokens` tokens (a multiple of the page size).
    pub fn adopt(&mut self, pages: &[PageId], tokens: usize, pool: &mut PagePool) {
        for page in pages {
            pool.share(*page);
        }
        for page in std::mem::replace(&mut self.pages, pages.to_vec()) {
            pool.release(page);
        }
        self.computed = tokens;
    }

    /// Tokens it decoded so far.
    pub fn decoded_tokens(&self) -> impl Iterator<Item = TokenId> + Clone + '_ {
        let pairs = self.tokens.iter().zip(&self.decoded);
        pairs
            .filter(|(_, decoded)| **decoded)
            .map(|(token, _)| *token)
    }
}
