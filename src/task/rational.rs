//! Exact fractions. What does not fit is an error, never a rounded value.

use std::fmt;

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: i128,
    denominator: i128,
}

impl Rational {
    /// 1
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// A whole number.
    #[must_use]
    pub fn whole(n: i64) -> Self {
        Self {
            numerator: i128::from(n),
            denominator: 1,
        }
    }

    /// `numerator / denominator`; `None` for a denominator of 0 or terms that do not fit.
    #[must_use]
    pub fn new(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 || numerator == i128::MIN || denominator == i128::MIN {
            return None;
        }
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs()).max(1);
        let divisor = i128::try_from(divisor).ok()? * denominator.signum();
        Some(Self {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        })
    }

    /// Sum, where it fits.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        if self.denominator == 1 && other.denominator == 1 {
            return self
                .numerator
                .checked_add(other.numerator)
                .map(|numerator| Self {
                    numerator,
                    denominator: 1,
                });
        }
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Self::new(
            left.checked_add(right)?,
            self.denominator.checked_mul(other.denominator)?,
        )
    }

    /// Difference, where it fits.
    #[must_use]
    pub fn minus(self, other: Self) -> Option<Self> {
        self.plus(other.negated())
    }

    /// Product, where it fits.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        Self::new(
            self.numerator.checked_mul(other.numerator)?,
            self.denominator.checked_mul(other.denominator)?,
        )
    }

    /// Quotient, where it fits and `other` is not 0.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        Self::new(
            self.numerator.checked_mul(other.denominator)?,
            self.denominator.checked_mul(other.numerator)?,
        )
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        // numerators are never i128::MIN
        Self {
            numerator: -self.numerator,
            ..self
        }
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// Whether it is 1 or -1.
    #[must_use]
    pub fn is_unit(self) -> bool {
        self.denominator == 1 && self.numerator.unsigned_abs() == 1
    }

    /// As a whole number, if it is one.
    #[must_use]
    pub fn as_whole(self) -> Option<i128> {
        (self.denominator == 1).then_some(self.numerator)
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(n: i128, d: i128) -> Rational {
        Rational::new(n, d).expect("a fraction")
    }

    #[test]
    fn equal_values_are_equal() {
        assert_eq!(r(6, -4), r(-3, 2));
        assert_eq!(r(0, 7), Rational::whole(0));
        assert_eq!(r(1, 3).plus(r(1, 6)), Some(r(1, 2)));
        assert_eq!(r(2, 3).over(r(4, 9)), Some(r(3, 2)));
        assert_eq!(r(3, 2).to_string(), "3/2");
    }

    #[test]
    fn what_does_not_fit_is_nothing() {
        let large = r(i128::MAX, 1);
        assert_eq!(large.plus(Rational::ONE), None);
        assert_eq!(large.times(large), None);
        assert_eq!(Rational::ONE.over(Rational::whole(0)), None);
        assert_eq!(Rational::new(1, i128::MIN), None);
        assert_eq!(r(i128::MIN + 1, 1).minus(Rational::whole(2)), None);
    }
}
