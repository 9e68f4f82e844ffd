//! Reading expressions out of untrusted text.
//!
//! Everything is iterative and linear in the text, so that no nesting is too deep. The text is cut into
//! lexemes; whatever can be no part of an expression (words, labels, `=`, line ends) separates candidates.
//! A candidate has at least two numbers and an operator; whether it parses is said by [`parse`].

mod candidates;
mod lexer;
#[cfg(test)]
mod tests;

pub use candidates::{Candidate, candidates};
pub use lexer::{Lexeme, Placed};

use crate::task::rational::Rational;
use lexer::lexemes;

/// One of the four operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl Operator {
    fn binds(self) -> u8 {
        match self {
            Self::Plus | Self::Minus => 1,
            Self::Times | Self::Over => 2,
        }
    }

    /// The operation itself; `None` for a division by zero or a result that does not fit.
    #[must_use]
    pub fn apply(self, left: Rational, right: Rational) -> Option<Rational> {
        match self {
            Self::Plus => left.plus(right),
            Self::Minus => left.minus(right),
            Self::Times => left.times(right),
            Self::Over => left.over(right),
        }
    }

    /// Its sign in plain text.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Plus => '+',
            Self::Minus => '-',
            Self::Times => '*',
            Self::Over => '/',
        }
    }
}

/// One item of an expression in postfix order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Pushes a number.
    Number(u64),
    /// Joins the two newest values.
    Operator(Operator),
}

/// A well-formed expression in postfix order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(Vec<Item>);

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// Something is divided by zero.
    DivisionByZero,
    /// A value does not fit.
    TooLarge,
}

impl Expression {
    /// Its items in postfix order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.0
    }

    /// Its numbers in the order written.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().filter_map(|item| match item {
            Item::Number(n) => Some(*n),
            Item::Operator(_) => None,
        })
    }

    /// Its value.
    ///
    /// # Errors
    /// [`NoValue`] where it has none.
    pub fn value(&self) -> Result<Rational, NoValue> {
        let mut stack: Vec<Rational> = Vec::new();
        for item in &self.0 {
            let value = match item {
                Item::Number(n) => i64::try_from(*n)
                    .ok()
                    .map(Rational::whole)
                    .ok_or(NoValue::TooLarge)?,
                Item::Operator(operator) => {
                    let (Some(right), Some(left)) = (stack.pop(), stack.pop()) else {
                        return Err(NoValue::TooLarge);
                    };
                    if *operator == Operator::Over && right.is_zero() {
                        return Err(NoValue::DivisionByZero);
                    }
                    operator.apply(left, right).ok_or(NoValue::TooLarge)?
                }
            };
            stack.push(value);
        }
        stack.pop().ok_or(NoValue::TooLarge)
    }
}
/// A candidate's expression; `None` where it is not well-formed. There is no sign in front of numbers, and
/// nothing is multiplied without saying so.
#[must_use]
pub fn parse(lexemes: &[Placed]) -> Option<Expression> {
    #[derive(Clone, Copy)]
    enum Held {
        Operator(Operator),
        Open,
    }
    let mut items = Vec::with_capacity(lexemes.len());
    let mut held: Vec<Held> = Vec::new();
    let mut expects_number = true;
    for placed in lexemes {
        match (placed.lexeme, expects_number) {
            (Lexeme::Number(n), true) => {
                items.push(Item::Number(n));
                expects_number = false;
            }
            (Lexeme::Open, true) => held.push(Held::Open),
            (Lexeme::Operator(operator), false) => {
                while let Some(Held::Operator(earlier)) = held.last()
                    && earlier.binds() >= operator.binds()
                {
                    items.push(Item::Operator(*earlier));
                    held.pop();
                }
                held.push(Held::Operator(operator));
                expects_number = true;
            }
            (Lexeme::Close, false) => {
                while let Held::Operator(operator) = held.pop()? {
                    items.push(Item::Operator(operator));
                }
            }
            _ => return None,
        }
    }
    while let Some(operator) = held.pop() {
        match operator {
            Held::Operator(operator) => items.push(Item::Operator(operator)),
            Held::Open => return None,
        }
    }
    (!expects_number).then_some(Expression(items))
}

/// The only expression that makes up a whole text.
#[must_use]
pub fn parse_text(text: &str) -> Option<Expression> {
    let lexemes = lexemes(text);
    match lexemes.runs.as_slice() {
        [run] if !lexemes.interrupted => parse(run),
        _ => None,
    }
}
