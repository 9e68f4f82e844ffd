//! Where tokens begin and end in a thread's text, a little over five bytes each.

use std::collections::BTreeMap;
use std::ops::Range;

/// Tokens between two positions that are stored in full.
const BLOCK: usize = 128;

/// A length that is kept aside.
const LONG: u8 = u8::MAX;

/// One decoded token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRef {
    /// Own decoded tokens of the thread before it.
    pub index: u64,
    /// Index into the vocabulary.
    pub id: u32,
    /// Its bytes in the thread's text.
    pub span: Range<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    token: usize,
    byte: u64,
}

/// Token boundaries, append-only.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    /// Tokens that came before the first one here.
    before: u64,
    ids: Vec<u32>,
    lens: Vec<u8>,
    long: BTreeMap<usize, u32>,
    blocks: Vec<Block>,
    /// Where the next token would begin if nothing was spliced in between.
    end: u64,
}

impl Tokens {
    pub(super) fn starting_at(before: u64) -> Self {
        Self {
            before,
            ..Self::default()
        }
    }

    pub(super) fn before(&self) -> u64 {
        self.before
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Adds tokens whose `bytes` bytes begin at `byte`. Lengths that reach past them (a damaged
    /// file) are shortened.
    pub(super) fn push(&mut self, byte: u64, bytes: u64, ids: &[u32], lens: &[u32]) {
        let mut at = byte;
        let limit = byte.saturating_add(bytes);
        for (id, len) in ids.iter().zip(lens) {
            let len = u64::from(*len).min(limit - at) as u32;
            let token = self.ids.len();
            let in_block = self.blocks.last().map_or(BLOCK, |b| token - b.token);
            if in_block >= BLOCK || at != self.end {
                self.blocks.push(Block { token, byte: at });
            }
            self.ids.push(*id);
            self.lens.push(u8::try_from(len).unwrap_or(LONG));
            if len >= u32::from(LONG) {
                self.long.insert(token, len);
            }
            at += u64::from(len);
            self.end = at;
        }
    }

    fn len_of(&self, token: usize) -> u64 {
        match self.lens[token] {
            LONG => u64::from(self.long.get(&token).copied().unwrap_or(u32::from(LONG))),
            len => u64::from(len),
        }
    }

    /// The token that holds byte `byte`.
    pub(super) fn at(&self, byte: u64) -> Option<TokenRef> {
        let block = self
            .blocks
            .partition_point(|b| b.byte <= byte)
            .checked_sub(1)?;
        let last = self
            .blocks
            .get(block + 1)
            .map_or(self.ids.len(), |b| b.token);
        let Block { token, byte: start } = self.blocks[block];
        let mut start = start;
        for token in token..last {
            let end = start + self.len_of(token);
            if (start..end).contains(&byte) {
                return Some(self.describe(token, start));
            }
            start = end;
        }
        None
    }

    /// The token with that many own tokens before it.
    pub(super) fn get(&self, index: u64) -> Option<TokenRef> {
        let wanted = usize::try_from(index.checked_sub(self.before)?).ok()?;
        if wanted >= self.ids.len() {
            return None;
        }
        let block = self
            .blocks
            .partition_point(|b| b.token <= wanted)
            .checked_sub(1)?;
        let Block { token, byte } = self.blocks[block];
        let start = byte + (token..wanted).map(|t| self.len_of(t)).sum::<u64>();
        Some(self.describe(wanted, start))
    }

    fn describe(&self, token: usize, start: u64) -> TokenRef {
        TokenRef {
            index: self.before.saturating_add(token as u64),
            id: self.ids[token],
            span: start..start + self.len_of(token),
        }
    }

    /// Ids and lengths of the tokens `[from, to)` counted from the first one here, as many as begin
    /// within `bytes` bytes.
    pub(super) fn slice(&self, from: usize, to: usize, bytes: usize) -> (&[u32], Vec<u32>) {
        let mut left = bytes as u64;
        let mut lens = Vec::new();
        for token in from..to {
            if left == 0 {
                break;
            }
            let len = self.len_of(token);
            lens.push(u32::try_from(len).unwrap_or(u32::MAX));
            left = left.saturating_sub(len);
        }
        (&self.ids[from..from + lens.len()], lens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_finds_its_token_around_splices() {
        let mut tokens = Tokens::starting_at(10);
        tokens.push(0, 6, &[7, 8, 9], &[1, 2, 3]);
        tokens.push(100, 304, &[5, 6, 7], &[0, 300, 4]);
        let at = |byte| tokens.at(byte).map(|t| (t.index, t.id, t.span));
        assert_eq!(at(0), Some((10, 7, 0..1)));
        assert_eq!(at(5), Some((12, 9, 3..6)));
        assert_eq!(at(6), None, "spliced bytes belong to no token");
        assert_eq!(at(100), Some((14, 6, 100..400)));
        assert_eq!(at(403), Some((15, 7, 400..404)));
        assert_eq!(at(404), None);
        assert_eq!(tokens.get(13).map(|t| t.span), Some(100..100));
        assert_eq!(tokens.get(15).map(|t| t.span), Some(400..404));
        assert_eq!(tokens.get(16), None);
        assert_eq!(tokens.get(9), None);
    }

    #[test]
    fn blocks_change_nothing() {
        let lens: Vec<u32> = (0..1000).map(|i| i % 7).collect();
        let ids: Vec<u32> = (0..1000).collect();
        let bytes = lens.iter().sum::<u32>();
        let mut tokens = Tokens::default();
        tokens.push(0, u64::from(bytes), &ids, &lens);
        let mut start = 0;
        for (id, len) in ids.iter().zip(&lens) {
            for byte in start..start + len {
                assert_eq!(tokens.at(u64::from(byte)).map(|t| t.id), Some(*id));
            }
            assert_eq!(
                tokens.get(u64::from(*id)).map(|t| t.span.start),
                Some(u64::from(start))
            );
            start += len;
        }
    }

    #[test]
    fn lengths_beyond_the_text_are_shortened() {
        let mut tokens = Tokens::default();
        tokens.push(0, 3, &[1, 2], &[2, u32::MAX]);
        assert_eq!(tokens.at(2).map(|t| t.span), Some(2..3));
        assert_eq!(tokens.at(3), None);
    }
}
