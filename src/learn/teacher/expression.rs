//! Solutions in words, as they are written down and quoted.

use crate::learn::words;

/// Word of a number that is known to be small.
pub(super) fn word(n: u32) -> u32 {
    words::number(n.min(words::MAX_NUMBER)).unwrap_or(words::NONE)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Sum,
    Product,
    Leaf,
}

/// An expression in words: at most four numbers, three signs and two pairs of parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expression {
    words: [u32; Self::LONGEST],
    len: u8,
    rank: Rank,
}

impl Expression {
    const LONGEST: usize = 11;

    /// A number.
    #[must_use]
    pub fn leaf(n: u32) -> Self {
        let mut words = [0; Self::LONGEST];
        words[0] = word(n);
        Self {
            words,
            len: 1,
            rank: Rank::Leaf,
        }
    }

    /// Its words.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words[..usize::from(self.len)]
    }

    /// `left sign right`, with parentheses only where leaving them out would change the value.
    #[must_use]
    pub fn joined(left: &Self, sign: u32, right: &Self) -> Self {
        let rank = if sign == words::PLUS || sign == words::MINUS {
            Rank::Sum
        } else {
            Rank::Product
        };
        let swaps = sign == words::PLUS || sign == words::TIMES;
        let mut out = Self {
            words: [0; Self::LONGEST],
            len: 0,
            rank,
        };
        out.push_part(left, left.rank < rank);
        out.push(sign);
        out.push_part(right, right.rank < rank || (right.rank == rank && !swaps));
        out
    }

    fn push_part(&mut self, part: &Self, wrapped: bool) {
        if wrapped {
            self.push(words::OPEN);
        }
        for word in part.words() {
            self.push(*word);
        }
        if wrapped {
            self.push(words::CLOSE);
        }
    }

    fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(usize::from(self.len)) {
            *place = word;
            self.len += 1;
        }
    }
}
