//! When two expressions are the same solution.
//!
//! The normal form of an expression does not change when terms or factors change places or parentheses that
//! change nothing come or go: a sum is two multisets (added, subtracted), a product is two multisets
//! (multiplied, divided), and a sign is moved out of factors, so that `a - (b - c) * d` and
//! `a + (c - b) * d` are one. For numbers that are all different, equal forms are equal functions of the
//! numbers and the other way round (the tests count 6, 68 and 1170 classes for 2, 3 and 4 numbers, as in
//! OEIS A140606).
//!
//! Three rules make it stricter, by value: a factor worth 1 (or -1) may be multiplied or divided, a whole
//! product worth 1 (or -1) may be turned upside down, and a product worth 0 may be added or subtracted; none
//! of this gives a new solution.

use super::expression::{Expression, Item, Operator};
use crate::task::rational::Rational;

/// A normal form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Normal {
    negative: bool,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Number(u64),
    /// Added and subtracted; neither holds a sum. The sign that makes the first list the lesser one is taken.
    Sum(Vec<Form>, Vec<Form>),
    /// Multiplied and divided; neither holds a product.
    Product(Vec<Form>, Vec<Form>),
}

/// A part of an expression on the way to its normal form.
#[derive(Debug, Clone)]
pub struct Part {
    negative: bool,
    shape: Shape,
    value: Rational,
}

#[derive(Debug, Clone)]
enum Shape {
    Number(u64),
    Sum(Vec<Form>, Vec<Form>),
    /// Multiplied and divided.
    Product(Vec<Factor>, Vec<Factor>),
}

/// A factor with its value, which the rules about 1 need.
type Factor = (Form, Rational);

impl Part {
    /// A number.
    #[must_use]
    pub fn number(n: u64) -> Option<Self> {
        let value = Rational::whole(i64::try_from(n).ok()?);
        Some(Self {
            negative: false,
            shape: Shape::Number(n),
            value,
        })
    }

    /// What it is worth.
    #[must_use]
    pub fn value(&self) -> Rational {
        self.value
    }

    /// Two parts joined; `None` where that has no value.
    #[must_use]
    pub fn joined(operator: Operator, left: Self, right: Self) -> Option<Self> {
        let value = operator.apply(left.value, right.value)?;
        Some(match operator {
            Operator::Plus | Operator::Minus => {
                let (mut plus, mut minus) = (Vec::new(), Vec::new());
                left.into_terms(false, &mut plus, &mut minus);
                right.into_terms(operator == Operator::Minus, &mut plus, &mut minus);
                plus.sort_unstable();
                minus.sort_unstable();
                // an empty list must not become the first one by being the lesser
                let swap = plus.is_empty() || (!minus.is_empty() && minus < plus);
                let shape = if swap {
                    Shape::Sum(minus, plus)
                } else {
                    Shape::Sum(plus, minus)
                };
                Self {
                    negative: swap,
                    shape,
                    value,
                }
            }
            Operator::Times | Operator::Over => {
                let negative = left.negative != right.negative;
                let (mut over, mut under) = left.into_factors();
                let (right_over, right_under) = right.into_factors();
                let (to_over, to_under) = match operator {
                    Operator::Over => (right_under, right_over),
                    _ => (right_over, right_under),
                };
                over.extend(to_over);
                under.extend(to_under);
                Self {
                    negative,
                    shape: Shape::Product(over, under),
                    value,
                }
            }
        })
    }

    /// The normal form of the whole.
    #[must_use]
    pub fn finish(self) -> Normal {
        let negative = self.negative;
        Normal {
            negative,
            form: self.into_form(),
        }
    }

    fn into_terms(self, flipped: bool, plus: &mut Vec<Form>, minus: &mut Vec<Form>) {
        let subtracted = self.negative != flipped;
        match self.shape {
            Shape::Sum(a, b) => {
                let (a, b) = if subtracted { (b, a) } else { (a, b) };
                plus.extend(a);
                minus.extend(b);
            }
            _ if subtracted && !self.value.is_zero() => minus.push(self.into_form()),
            _ => plus.push(self.into_form()),
        }
    }

    fn into_factors(self) -> (Vec<Factor>, Vec<Factor>) {
        match self.shape {
            Shape::Product(over, under) => (over, under),
            _ => {
                let value = self.value;
                (vec![(self.into_form(), value)], Vec::new())
            }
        }
    }

    /// Without its sign.
    fn into_form(self) -> Form {
        match self.shape {
            Shape::Number(n) => Form::Number(n),
            Shape::Sum(plus, minus) => Form::Sum(plus, minus),
            Shape::Product(mut over, under) => {
                let (units, under): (Vec<_>, Vec<_>) =
                    under.into_iter().partition(|(_, v)| v.is_unit());
                over.extend(units);
                let forms = |list: Vec<Factor>| {
                    let mut forms: Vec<Form> = list.into_iter().map(|(form, _)| form).collect();
                    forms.sort_unstable();
                    forms
                };
                let (over, under) = (forms(over), forms(under));
                if self.value.is_unit() && !under.is_empty() && under < over {
                    Form::Product(under, over)
                } else {
                    Form::Product(over, under)
                }
            }
        }
    }
}

/// The normal form of an expression; `None` where it has no value.
#[must_use]
pub fn normal(expression: &Expression) -> Option<Normal> {
    let mut stack: Vec<Part> = Vec::new();
    for item in expression.items() {
        let part = match item {
            Item::Number(n) => Part::number(*n)?,
            Item::Operator(operator) => {
                let right = stack.pop()?;
                Part::joined(*operator, stack.pop()?, right)?
            }
        };
        stack.push(part);
    }
    stack.pop().map(Part::finish)
}

#[cfg(test)]
mod tests;
