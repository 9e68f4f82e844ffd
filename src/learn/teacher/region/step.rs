//! Steps: what a value and another number make, and what they need to make a target.

use super::MAX_VALUE;
use crate::learn::teacher::expression::{Expression, word};
use crate::learn::words;

/// What a step does with a value on the left and another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Plus,
    Minus,
    /// The number minus the value.
    From,
    Times,
    Over,
    /// The number divided by the value.
    Into,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sum,
    Product,
}

impl Op {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Plus | Self::Minus | Self::From => Kind::Sum,
            Self::Times | Self::Over | Self::Into => Kind::Product,
        }
    }

    pub(super) fn word(self) -> u32 {
        match self {
            Self::Plus => words::PLUS,
            Self::Minus => words::MINUS,
            Self::From => words::FROM,
            Self::Times => words::TIMES,
            Self::Over => words::OVER,
            Self::Into => words::INTO,
        }
    }
}

/// The expression that a step makes.
pub(super) fn step(op: Op, value: &Expression, other: &Expression) -> Expression {
    match op {
        Op::From => Expression::joined(other, words::MINUS, value),
        Op::Into => Expression::joined(other, words::OVER, value),
        _ => Expression::joined(value, op.word(), other),
    }
}

/// A small list on the stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Few<T> {
    items: [T; 6],
    len: usize,
}

impl<T: Copy> Few<T> {
    pub(super) fn of(nothing: T) -> Self {
        Self {
            items: [nothing; 6],
            len: 0,
        }
    }

    pub(super) fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items[..self.len].iter().copied()
    }
}

/// What a value and another number make, in the order in which it is written.
pub(super) fn results(x: u32, q: u32) -> Few<(Op, u32)> {
    let mut out = Few::of((Op::Plus, 0));
    if x + q <= MAX_VALUE {
        out.push((Op::Plus, x + q));
    }
    if x > q {
        out.push((Op::Minus, x - q));
    } else if q > x {
        out.push((Op::From, q - x));
    }
    if x * q <= MAX_VALUE {
        out.push((Op::Times, x * q));
    }
    if q > 1 && x.is_multiple_of(q) {
        out.push((Op::Over, x / q));
    } else if x > 1 && q.is_multiple_of(x) {
        out.push((Op::Into, q / x));
    }
    out
}

/// All (op, y) with `y op last == target`.
pub(super) fn needs(target: u32, last: u32, sums: bool, products: bool) -> Few<(Op, u32)> {
    let mut out = Few::of((Op::Plus, 0));
    if sums {
        if target > last {
            out.push((Op::Plus, target - last));
        }
        if target + last <= MAX_VALUE {
            out.push((Op::Minus, target + last));
        }
        if last > target {
            out.push((Op::From, last - target));
        }
    }
    if products {
        if target.is_multiple_of(last) {
            out.push((Op::Times, target / last));
        }
        if last > 1 && target * last <= MAX_VALUE {
            out.push((Op::Over, target * last));
        }
        if last.is_multiple_of(target) && last > target {
            out.push((Op::Into, last / target));
        }
    }
    out
}

/// Writes each needed value once.
pub(super) fn write_needs(out: &mut Vec<u32>, needs: &Few<(Op, u32)>) {
    for (i, (_, y)) in needs.iter().enumerate() {
        if !needs.items[..i].iter().any(|(_, earlier)| *earlier == y) {
            out.push(word(y));
        }
    }
    out.push(words::COLON);
}
