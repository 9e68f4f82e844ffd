//! What one cell of a lane shows.

use super::geometry::Axis;
use super::tracks::{Doing, Stretch, Track};

/// Stretches looked at within one cell; more cannot be told apart in one character.
const MOST_PER_CELL: usize = 64;

/// Of two that fill as much of a cell, the later one is shown.
const LEAST_TELLING_FIRST: [Doing; 8] = [
    Doing::Wait,
    Doing::Paused,
    Doing::Decode,
    Doing::Critical,
    Doing::Tool,
    Doing::ToolCritical,
    Doing::Human,
    Doing::HumanCritical,
];

/// How much of its cell a piece fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// All of it.
    Whole,
    /// This many eighths from the left, 1..=7.
    Left(u8),
    /// Everything but this many eighths from the left, 1..=7.
    Right(u8),
}

/// The visible part of a lane in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// What the thread did for most of the cell's time.
    pub doing: Doing,
    /// Which part of the cell it fills.
    pub edge: Edge,
}

/// What `track` shows in `column`; `None` where it did nothing.
#[must_use]
pub fn piece(track: &Track, axis: &Axis, column: u16) -> Option<Piece> {
    let left = i64::from(column) * 8;
    let first = track.stretches.partition_point(|s| {
        axis.eighths(s.to)
            .max(axis.eighths(s.from).saturating_add(1))
            <= left
    });
    let mut covered = [0_i64; LEAST_TELLING_FIRST.len()];
    let (mut begin, mut end) = (8_i64, 0_i64);
    for stretch in track.stretches[first..].iter().take(MOST_PER_CELL) {
        let from = axis.eighths(stretch.from).saturating_sub(left);
        if from >= 8 {
            break;
        }
        let from = from.max(0);
        // What happened is shown, however short.
        let to = axis
            .eighths(stretch.to)
            .saturating_sub(left)
            .min(8)
            .max(from + 1);
        covered[kind(stretch)] += to - from;
        begin = begin.min(from);
        end = end.max(to);
    }
    let (most, amount) = covered
        .iter()
        .enumerate()
        .max_by_key(|(_, amount)| **amount)?;
    if *amount == 0 {
        return None;
    }
    let edge = match (begin, end) {
        (0, 8..) => Edge::Whole,
        (0, end) => Edge::Left(u8::try_from(end).unwrap_or(8)),
        (begin, 8..) => Edge::Right(u8::try_from(begin).unwrap_or(0)),
        (begin, end) => Edge::Left(u8::try_from(end - begin).unwrap_or(1)),
    };
    Some(Piece {
        doing: LEAST_TELLING_FIRST[most],
        edge,
    })
}

/// Later kinds win a tie.
fn kind(stretch: &Stretch) -> usize {
    match stretch.what {
        Doing::Wait => 0,
        Doing::Paused => 1,
        Doing::Decode => 2,
        Doing::Critical => 3,
        Doing::Tool => 4,
        Doing::ToolCritical => 5,
        Doing::Human => 6,
        Doing::HumanCritical => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tracks::Head;
    use super::*;
    use crate::org::ThreadId;
    use proptest::prelude::*;

    fn track(stretches: &[(u64, u64, Doing)]) -> Track {
        Track {
            id: ThreadId::ORGANIZER,
            stretches: stretches
                .iter()
                .map(|&(from, to, what)| Stretch { from, to, what })
                .collect(),
            flags: vec![],
            head: Head::Running,
            joined_at: None,
            slack: None,
        }
    }

    const AXIS: Axis = Axis {
        start: 0,
        span: 80,
        width: 10,
    };

    fn at(track: &Track, column: u16) -> Option<(Doing, Edge)> {
        piece(track, &AXIS, column).map(|p| (p.doing, p.edge))
    }

    #[test]
    fn a_bar_ends_on_the_eighth_of_its_last_step() {
        let t = track(&[(0, 19, Doing::Decode)]);
        assert_eq!(at(&t, 0), Some((Doing::Decode, Edge::Whole)));
        assert_eq!(at(&t, 2), Some((Doing::Decode, Edge::Left(3))));
        assert_eq!(at(&t, 3), None);
    }

    #[test]
    fn a_bar_begins_on_the_eighth_of_its_first_step() {
        let t = track(&[(13, 40, Doing::Critical)]);
        assert_eq!(at(&t, 0), None);
        assert_eq!(at(&t, 1), Some((Doing::Critical, Edge::Right(5))));
        assert_eq!(at(&t, 4), Some((Doing::Critical, Edge::Whole)));
    }

    #[test]
    fn the_longer_part_of_a_cell_decides_what_it_shows() {
        let t = track(&[(0, 10, Doing::Decode), (10, 30, Doing::Wait)]);
        assert_eq!(at(&t, 1), Some((Doing::Wait, Edge::Whole)));
    }

    #[test]
    fn one_step_in_a_long_run_is_still_seen() {
        let t = track(&[(500, 501, Doing::Decode)]);
        let axis = Axis {
            start: 0,
            span: 1_000_000,
            width: 10,
        };
        assert!(piece(&t, &axis, 0).is_some());
    }

    proptest! {
        #[test]
        fn a_cell_is_empty_only_where_nothing_happened(
            lengths in proptest::collection::vec(1_u64..50, 1..40), span in 1_u64..2000, width in 1_u16..200,
            column in 0_u16..200,
        ) {
            let column = column % width;
            let mut at = 0;
            let mut stretches = Vec::new();
            for (i, length) in lengths.iter().enumerate() {
                let what = [Doing::Decode, Doing::Wait, Doing::Critical, Doing::Paused][i % 4];
                stretches.push((at, at + length, what));
                at += length;
            }
            let t = track(&stretches);
            let axis = Axis { start: 0, span, width };
            // The last stretch is seen, however short.
            let last = stretches.last().map_or(0, |s| axis.eighths(s.0) + 1);
            let inside = axis.eighths(at).max(last) > i64::from(column) * 8;
            prop_assert_eq!(piece(&t, &axis, column).is_some(), inside);
        }
    }
}
