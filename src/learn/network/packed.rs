//! Sequences laid end to end, without padding.

use std::ops::Range;

/// Rows of a forward pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packed {
    tokens: Vec<u32>,
    positions: Vec<u32>,
    sequences: Vec<Range<usize>>,
    wanted: Vec<usize>,
    targets: Vec<u32>,
}

impl Packed {
    /// Append a sequence. `learned` says of each token whether predicting it counts; the first token, which
    /// nothing predicts, never does.
    pub fn push(&mut self, tokens: &[u32], learned: &[bool]) {
        let start = self.tokens.len();
        // the last token predicts nothing that counts, so it needs no row
        let rows = tokens.len().saturating_sub(1);
        for (row, (target, counts)) in tokens.iter().zip(learned).skip(1).enumerate() {
            if *counts {
                self.wanted.push(start + row);
                self.targets.push(*target);
            }
        }
        if rows > 0 {
            self.tokens.extend_from_slice(&tokens[..rows]);
            self.positions.extend(0..rows as u32);
            self.sequences.push(start..start + rows);
        }
    }

    /// Append a sequence of which the logits after each token are wanted, the last included.
    pub fn push_all(&mut self, tokens: &[u32]) {
        let start = self.tokens.len();
        self.tokens.extend_from_slice(tokens);
        self.positions.extend(0..tokens.len() as u32);
        self.sequences.push(start..self.tokens.len());
        self.wanted.extend(start..self.tokens.len());
    }

    /// Token of each row.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Position of each row in its sequence.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Rows of each sequence.
    #[must_use]
    pub fn sequences(&self) -> &[Range<usize>] {
        &self.sequences
    }

    /// Rows whose logits are wanted, ascending.
    #[must_use]
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// The token to predict at each wanted row that came with [`Packed::push`].
    #[must_use]
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.tokens.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_learned_tokens_are_targets_and_sequences_do_not_touch() {
        let mut packed = Packed::default();
        packed.push(&[7, 8, 9, 10], &[true, false, true, true]);
        packed.push(&[5], &[true]);
        packed.push(&[1, 2], &[false, true]);
        assert_eq!(packed.tokens(), [7, 8, 9, 1]);
        assert_eq!(packed.positions(), [0, 1, 2, 0]);
        assert_eq!(packed.sequences(), [0..3, 3..4]);
        assert_eq!(packed.wanted(), [1, 2, 3]);
        assert_eq!(packed.targets(), [9, 10, 2]);
    }
}
