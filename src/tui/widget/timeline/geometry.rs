//! Where a unit of time lies on the row of cells, exactly.
//!
//! Pure integers: units are steps or microseconds, positions are eighths of a cell. Knows nothing of
//! threads or colours.

/// What part of time lies on how many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Unit at the left edge of the first cell.
    pub start: u64,
    /// Units over the whole width, at least 1.
    pub span: u64,
    /// Cells.
    pub width: u16,
}

/// Which part of time is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// Everything.
    #[default]
    Fit,
    /// The newest `span` units.
    Follow {
        /// Units over the whole width.
        span: u64,
    },
    /// `span` units from `start`.
    Fixed {
        /// Unit at the left edge.
        start: u64,
        /// Units over the whole width.
        span: u64,
    },
}

/// Fewest units over the width, however far one zooms in.
const LEAST_SPAN: u64 = 8;

impl Axis {
    /// The axis for `window` over a run that is `length` units long so far. While the run grows, the
    /// fitted span is rounded up so that bars do not shift with every step.
    #[must_use]
    pub fn new(window: Window, length: u64, growing: bool, width: u16) -> Self {
        let (start, span) = match window {
            Window::Fit if growing => (0, round_up(length.max(u64::from(width) / 2))),
            Window::Fit => (0, length),
            Window::Follow { span } => (length.saturating_sub(span.saturating_mul(15) / 16), span),
            Window::Fixed { start, span } => (start, span),
        };
        Self {
            start,
            span: span.max(1),
            width,
        }
    }

    /// Position of `unit` in eighths of a cell from the left edge; negative before it.
    #[must_use]
    pub fn eighths(&self, unit: u64) -> i64 {
        let offset = i128::from(unit) - i128::from(self.start);
        let position =
            (offset * i128::from(self.width) * 8).div_euclid(i128::from(self.span.max(1)));
        i64::try_from(position).unwrap_or(if position < 0 { i64::MIN } else { i64::MAX })
    }

    /// The cell that `unit` lies in.
    #[must_use]
    pub fn column(&self, unit: u64) -> Option<u16> {
        u16::try_from(self.eighths(unit).div_euclid(8))
            .ok()
            .filter(|c| *c < self.width)
    }

    /// First unit at or after the left edge of `column`.
    #[must_use]
    pub fn unit(&self, column: u16) -> u64 {
        let width = u128::from(self.width.max(1));
        let offset = (u128::from(column) * u128::from(self.span)).div_ceil(width);
        self.start
            .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Places for numbers under the axis: round units, at least `gap` cells apart.
    #[must_use]
    pub fn ticks(&self, gap: u16) -> Vec<(u16, u64)> {
        if self.width == 0 {
            return Vec::new();
        }
        let least =
            (u128::from(self.span) * u128::from(gap.max(1))).div_ceil(u128::from(self.width));
        let step = round_tick(u64::try_from(least).unwrap_or(u64::MAX));
        let mut unit = self.start.div_ceil(step).saturating_mul(step);
        let mut ticks = Vec::new();
        while let Some(column) = self.column(unit) {
            ticks.push((column, unit));
            let Some(next) = unit.checked_add(step) else {
                break;
            };
            unit = next;
        }
        ticks
    }
}

impl Window {
    /// Half or twice the units, keeping `anchor` (a unit on screen) where it is.
    #[must_use]
    pub fn zoomed(self, inwards: bool, axis: &Axis, length: u64, anchor: Option<u64>) -> Self {
        let span = if inwards {
            (axis.span / 2).max(LEAST_SPAN)
        } else {
            axis.span.saturating_mul(2)
        };
        if !inwards && span >= round_up(length.max(1)) {
            return Self::Fit;
        }
        match (self, anchor) {
            (Self::Fit | Self::Follow { .. }, None) => Self::Follow { span },
            (_, anchor) => {
                let anchor = anchor.unwrap_or(axis.start.saturating_add(axis.span / 2));
                let left = anchor.saturating_sub(axis.start).min(axis.span);
                let left = u128::from(left) * u128::from(span) / u128::from(axis.span);
                Self::Fixed {
                    start: anchor.saturating_sub(u64::try_from(left).unwrap_or(0)),
                    span,
                }
            }
        }
    }

    /// Moved by a quarter of the width.
    #[must_use]
    pub fn panned(axis: &Axis, right: bool, length: u64) -> Self {
        let by = (axis.span / 4).max(1);
        let start = if right {
            (axis.start.saturating_add(by)).min(length.saturating_sub(axis.span / 2))
        } else {
            axis.start.saturating_sub(by)
        };
        Self::Fixed {
            start,
            span: axis.span,
        }
    }
}

/// The smallest of 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten that is not below `n`.
fn round_up(n: u64) -> u64 {
    let mut power: u64 = 1;
    while power.saturating_mul(10) < n && power < u64::MAX / 10 {
        power *= 10;
    }
    [100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000]
        .into_iter()
        .map(|m| u64::try_from(u128::from(power) * m / 100).unwrap_or(u64::MAX))
        .find(|candidate| *candidate >= n)
        .unwrap_or(n)
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `n`.
fn round_tick(n: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for m in [1, 2, 5] {
            let candidate = power.saturating_mul(m);
            if candidate >= n.max(1) {
                return candidate;
            }
        }
        let Some(next) = power.checked_mul(10) else {
            return n;
        };
        power = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_steps_on_ten_cells_lie_ten_to_a_cell() {
        let axis = Axis::new(Window::Fit, 100, false, 10);
        assert_eq!(axis.eighths(0), 0);
        assert_eq!(axis.eighths(5), 4);
        assert_eq!(axis.eighths(100), 80);
        assert_eq!(axis.column(99), Some(9));
        assert_eq!(axis.column(100), None);
        assert_eq!(axis.unit(3), 30);
    }

    #[test]
    fn a_growing_run_keeps_its_scale_for_a_while() {
        let spans: Vec<u64> = (101..=125)
            .map(|t| Axis::new(Window::Fit, t, true, 80).span)
            .collect();
        assert!(spans.iter().all(|s| *s == 125), "{spans:?}");
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let axis = Axis::new(Window::Fit, 412, false, 100);
        let ticks = axis.ticks(12);
        assert_eq!(ticks[1].1, 50);
        assert!(ticks.windows(2).all(|t| t[1].0 - t[0].0 >= 12));
    }

    #[test]
    fn zooming_in_keeps_the_cursor_in_place_and_out_ends_at_everything() {
        let axis = Axis::new(Window::Fit, 1000, false, 100);
        let window = Window::Fit.zoomed(true, &axis, 1000, Some(300));
        let closer = Axis::new(window, 1000, false, 100);
        assert_eq!(closer.column(300), axis.column(300));
        assert_eq!(window.zoomed(false, &closer, 1000, None), Window::Fit);
    }

    proptest! {
        #[test]
        fn later_units_never_lie_further_left(
            start in any::<u64>(), span in 1..u64::MAX, width in 0..700_u16, a in any::<u64>(), b in any::<u64>()
        ) {
            let axis = Axis { start, span, width };
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(axis.eighths(a) <= axis.eighths(b));
        }

        #[test]
        fn a_cell_contains_the_unit_it_begins_with(
            start in 0..1_000_000_u64, span in 1..1_000_000_u64, width in 1..700_u16, c in 0..700_u16
        ) {
            let axis = Axis { start, span, width };
            let c = c % width;
            let unit = axis.unit(c);
            // With fewer units than cells several cells share one unit.
            if span >= u64::from(width) && unit < start + span {
                prop_assert_eq!(axis.column(unit), Some(c));
            }
        }

        #[test]
        fn no_window_panics(
            length in any::<u64>(), span in any::<u64>(), start in any::<u64>(), width in 0..700_u16,
            inwards in any::<bool>(), growing in any::<bool>(), cursor in proptest::option::of(any::<u64>())
        ) {
            for window in [Window::Fit, Window::Follow { span }, Window::Fixed { start, span }] {
                let axis = Axis::new(window, length, growing, width);
                let _ = axis.ticks(8);
                let _ = Axis::new(window.zoomed(inwards, &axis, length, cursor), length, growing, width);
                let _ = Axis::new(Window::panned(&axis, inwards, length), length, growing, width);
            }
        }
    }
}
