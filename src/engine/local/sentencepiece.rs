//! SentencePiece's BPE, as GGUF files of kind `llama` carry it: pieces with scores, bytes as a fallback.
//!
//! The adjacent pair whose union has the best score is merged first, the leftmost of equals; what is in no
//! piece is spelled out in byte tokens. (Kudo and Richardson, *SentencePiece*, 2018.)

use crate::engine::contract::TokenId;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// How a space is written inside pieces.
pub const SPACE: char = '▁';

/// A vocabulary of scored pieces.
#[derive(Debug)]
pub struct SentencePiece {
    pieces: HashMap<String, (TokenId, f32)>,
    bytes: Vec<Option<TokenId>>,
}

/// A run of characters that has become one symbol; a doubly linked list in a vector.
struct Symbol {
    start: usize,
    end: usize,
    before: Option<usize>,
    after: Option<usize>,
}

/// A possible merge of the symbols `left` and `right`, which together have `bytes` bytes.
struct Merge {
    score: f32,
    left: usize,
    right: usize,
    bytes: usize,
}

impl SentencePiece {
    /// Build from pieces and the 256 byte tokens (absent where the vocabulary lacks them).
    #[must_use]
    pub fn new(pieces: HashMap<String, (TokenId, f32)>, bytes: Vec<Option<TokenId>>) -> Self {
        Self { pieces, bytes }
    }

    /// Encode text, without any leading space of its own.
    ///
    /// # Errors
    /// The first byte that no token stands for.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, u8> {
        let mut out = Vec::new();
        for (i, part) in text.split(SPACE).enumerate() {
            if i > 0 {
                // the sign itself must not come back as a space
                self.spell(SPACE.encode_utf8(&mut [0; 4]), &mut out)?;
            }
            self.encode_part(&part.replace(' ', "▁"), &mut out)?;
        }
        Ok(out)
    }

    fn encode_part(&self, text: &str, out: &mut Vec<TokenId>) -> Result<(), u8> {
        let mut symbols: Vec<Symbol> = text
            .char_indices()
            .enumerate()
            .map(|(i, (start, c))| Symbol {
                start,
                end: start + c.len_utf8(),
                before: i.checked_sub(1),
                after: Some(i + 1),
            })
            .collect();
        let Some(last) = symbols.last_mut() else {
            return Ok(());
        };
        last.after = None;
        let mut heap = BinaryHeap::new();
        for right in 1..symbols.len() {
            heap.extend(self.merge(text, &symbols, right - 1, right));
        }
        while let Some(merge) = heap.pop() {
            let (left, right) = (&symbols[merge.left], &symbols[merge.right]);
            let stale = left.after != Some(merge.right) || right.end - left.start != merge.bytes;
            if stale || left.start == left.end || right.start == right.end {
                continue;
            }
            let (end, after) = (right.end, right.after);
            symbols[merge.right].end = symbols[merge.right].start;
            symbols[merge.left].end = end;
            symbols[merge.left].after = after;
            if let Some(after) = after {
                symbols[after].before = Some(merge.left);
                heap.extend(self.merge(text, &symbols, merge.left, after));
            }
            if let Some(before) = symbols[merge.left].before {
                heap.extend(self.merge(text, &symbols, before, merge.left));
            }
        }
        let mut at = Some(0);
        while let Some(i) = at {
            let piece = &text[symbols[i].start..symbols[i].end];
            match self.pieces.get(piece) {
                Some((id, _)) => out.push(*id),
                None => self.spell(&piece.replace(SPACE, " "), out)?,
            }
            at = symbols[i].after;
        }
        Ok(())
    }

    fn merge(&self, text: &str, symbols: &[Symbol], left: usize, right: usize) -> Option<Merge> {
        let (start, end) = (symbols[left].start, symbols[right].end);
        let (_, score) = self.pieces.get(&text[start..end])?;
        Some(Merge {
            score: *score,
            left,
            right,
            bytes: end - start,
        })
    }

    fn spell(&self, text: &str, out: &mut Vec<TokenId>) -> Result<(), u8> {
        for byte in text.bytes() {
            out.push(
                self.bytes
                    .get(usize::from(byte))
                    .copied()
                    .flatten()
                    .ok_or(byte)?,
            );
        }
        Ok(())
    }
}

impl Ord for Merge {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Merge {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids 0..256 are bytes; then the pieces with falling scores.
    fn vocabulary(pieces: &[&str]) -> SentencePiece {
        let pieces = pieces.iter().enumerate();
        SentencePiece::new(
            pieces
                .map(|(i, p)| ((*p).to_owned(), (256 + i as TokenId, -(i as f32))))
                .collect(),
            (0..256).map(Some).collect(),
        )
    }

    #[test]
    fn the_best_scored_pair_merges_first() {
        let spm = vocabulary(&["bc", "ab", "a", "b", "c", "abc"]);
        // `bc` scores higher than `ab`, so `abc` can only come from `a` + `bc`
        assert_eq!(spm.encode("abc"), Ok(vec![256 + 5]));
        let spm = vocabulary(&["bc", "ab", "a", "b", "c"]);
        assert_eq!(spm.encode("abc"), Ok(vec![256 + 2, 256]));
    }

    #[test]
    fn equal_scores_merge_leftmost_first() {
        let spm = vocabulary(&["aa", "a"]);
        assert_eq!(spm.encode("aaa"), Ok(vec![256, 257]));
    }

    #[test]
    fn unknown_characters_and_the_space_sign_itself_are_spelled_in_bytes() {
        let spm = vocabulary(&["▁", "x"]);
        assert_eq!(spm.encode("é x"), Ok(vec![0xc3, 0xa9, 256, 257]));
        assert_eq!(spm.encode("▁x"), Ok(vec![0xe2, 0x96, 0x81, 257]));
        assert_eq!(spm.encode(""), Ok(vec![]));
    }

    #[test]
    fn a_byte_without_a_token_is_named() {
        let spm = SentencePiece::new(HashMap::new(), vec![None; 256]);
        assert_eq!(spm.encode("A"), Err(b'A'));
    }
}
