//! Which region lists a solution: rules that can be checked on the spot.

use super::MAX_VALUE;
use super::step::{Kind, Op};

/// Whether the second step is listed here: `passes` says that its number is larger than the opening's second.
pub(super) fn second_is_owned(kind: Kind, opening: Op, second: Op, passes: bool) -> bool {
    match (kind, second.kind()) {
        (Kind::Sum, Kind::Sum) => !passes,
        (Kind::Product, Kind::Product) => match second {
            Op::Into => false,
            Op::Times => opening != Op::Over && !passes,
            _ => !(opening == Op::Over && passes),
        },
        _ => true,
    }
}

/// Whether a third step that reaches the target is a hit of this region.
pub(super) fn third_is_owned(
    kind: Kind,
    opening: Op,
    second: Op,
    third: Op,
    smaller_first: bool,
    last_below: bool,
) -> bool {
    match (second.kind(), third.kind()) {
        (Kind::Sum, Kind::Sum) => !smaller_first,
        (Kind::Product, Kind::Product) => {
            !(third == Op::Into
                || second == Op::Into
                || (second == third && smaller_first)
                || (second == Op::Times && third == Op::Over && kind == Kind::Product)
                || (second == Op::Over
                    && third == Op::Times
                    && !(opening == Op::Times && last_below)))
        }
        _ => true,
    }
}

/// Whether three factors and a divisor are listed as a chain: the two larger factors, divided, times the
/// smallest.
pub(super) fn is_chain(factors: [u32; 3], divisor: u32) -> bool {
    let smallest = factors.iter().copied().min().unwrap_or(1).max(1);
    let larger = factors.iter().product::<u32>() / smallest;
    larger <= MAX_VALUE && larger.is_multiple_of(divisor)
}

/// Whether two pairs joined like this are a hit of this region.
pub(super) fn pair_is_owned(kind: Kind, other: Op, join: Op) -> bool {
    match kind {
        Kind::Sum => other.kind() == Kind::Sum || (other == Op::Times && join == Op::Over),
        Kind::Product if join.kind() == Kind::Sum => other.kind() == Kind::Product,
        Kind::Product => other.kind() == Kind::Sum,
    }
}
