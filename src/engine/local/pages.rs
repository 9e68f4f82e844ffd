//! The pool of cache pages: a free list and reference counts.
//!
//! Pages are names only; the numbers behind them live in an arena of the device. A page is shared when
//! several sequences begin with the same full page; it returns to the free list with its last holder.

/// Tokens in one page.
pub const PAGE: usize = 32;

/// Names one page of every layer's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u32);

impl PageId {
    /// First token slot of this page in the arena.
    #[must_use]
    pub fn first_slot(self) -> usize {
        self.0 as usize * PAGE
    }
}

/// Hands out pages and counts their holders.
#[derive(Debug)]
pub struct PagePool {
    holders: Vec<u32>,
    free: Vec<PageId>,
}

impl PagePool {
    /// A pool of `pages` free pages.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        Self {
            holders: vec![0; pages as usize],
            free: (0..pages).rev().map(PageId).collect(),
        }
    }

    /// Pages in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.holders.len()
    }

    /// Pages nobody holds.
    #[must_use]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Pages somebody holds.
    #[must_use]
    pub fn used(&self) -> usize {
        self.total() - self.free()
    }

    /// Take a free page.
    pub fn take(&mut self) -> Option<PageId> {
        let page = self.free.pop()?;
        self.holders[page.0 as usize] = 1;
        Some(page)
    }

    /// Hold a page that somebody already holds.
    pub fn share(&mut self, page: PageId) {
        let holders = &mut self.holders[page.0 as usize];
        debug_assert!(*holders > 0, "only a held page can be shared");
        *holders += 1;
    }

    /// Let go of a page.
    pub fn release(&mut self, page: PageId) {
        let holders = &mut self.holders[page.0 as usize];
        debug_assert!(*holders > 0, "only a held page can be released");
        *holders -= 1;
        if *holders == 0 {
            self.free.push(page);
        }
    }

    /// Whether more than one sequence holds this page (so nobody may write it).
    #[must_use]
    pub fn is_shared(&self, page: PageId) -> bool {
        self.holders[page.0 as usize] > 1
    }
}

/// Pages that hold `tokens` tokens.
#[must_use]
pub fn pages_for(tokens: usize) -> usize {
    tokens.div_ceil(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_page_is_free_or_held_by_its_holders(ops in prop::collection::vec((0u8..3, 0usize..64), 1..300)) {
            let mut pool = PagePool::new(16);
            let mut held: Vec<PageId> = Vec::new();
            for (op, pick) in ops {
                match op {
                    0 => match pool.take() {
                        Some(page) => {
                            prop_assert!(!held.contains(&page), "a taken page was still held");
                            held.push(page);
                        }
                        None => prop_assert_eq!(pool.free(), 0),
                    },
                    1 if !held.is_empty() => {
                        let page = held[pick % held.len()];
                        pool.share(page);
                        held.push(page);
                    }
                    2 if !held.is_empty() => {
                        let page = held.swap_remove(pick % held.len());
                        pool.release(page);
                    }
                    _ => {}
                }
                let mut distinct = held.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(pool.used(), distinct.len());
                for page in distinct {
                    let holders = held.iter().filter(|p| **p == page).count();
                    prop_assert_eq!(pool.is_shared(page), holders > 1);
                }
            }
        }
    }

    #[test]
    fn pages_are_counted_from_tokens() {
        assert_eq!(
            [pages_for(0), pages_for(1), pages_for(32), pages_for(33)],
            [0, 1, 1, 2]
        );
    }
}
