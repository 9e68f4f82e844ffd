//! Where on a lane a person or a tool wrote instead of the model.

use super::tracks::{Doing, Stretch};
use crate::org::{Moment, Seat, Thread};

/// A stretch of a thread's own line (or of lived time) in which somebody else wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    /// First unit.
    pub from: u64,
    /// Unit after the last.
    pub to: u64,
    /// Whether it was a person.
    pub person: bool,
}

impl Hand {
    fn doing(self, what: Doing) -> Doing {
        match (self.person, what) {
            (true, Doing::Critical) => Doing::HumanCritical,
            (true, _) => Doing::Human,
            (false, Doing::Critical) => Doing::ToolCritical,
            (false, _) => Doing::Tool,
        }
    }
}

/// In a thread's own steps: what it decoded and what was written, one after the other.
#[must_use]
pub fn in_own_steps(thread: &Thread, now: Moment) -> Vec<Hand> {
    let mut before = 0;
    thread
        .writing
        .iter()
        .map(|w| {
            let from = w.at + before;
            before += w.steps(now);
            Hand {
                from,
                to: w.at + before,
                person: w.by == Seat::Human,
            }
        })
        .collect()
}

/// In microseconds as they passed.
#[must_use]
pub fn in_lived_time(thread: &Thread, now: Moment) -> Vec<Hand> {
    thread
        .writing
        .iter()
        .map(|w| Hand {
            from: w.from.us,
            to: w.from.us + w.us(now),
            person: w.by == Seat::Human,
        })
        .collect()
}

/// Marks lived stretches.
#[must_use]
pub fn mark_lived(stretches: Vec<Stretch>, hands: &[Hand]) -> Vec<Stretch> {
    if hands.is_empty() {
        return stretches;
    }
    let mut out = Vec::with_capacity(stretches.len() + 2 * hands.len());
    for stretch in stretches {
        cut(stretch, stretch.from, hands, &mut out);
    }
    out
}

/// Marks ideal stretches: those that decode follow one another on the thread's own line.
#[must_use]
pub fn mark_ideal(stretches: Vec<Stretch>, hands: &[Hand]) -> Vec<Stretch> {
    if hands.is_empty() {
        return stretches;
    }
    let mut own = 0;
    let mut out = Vec::with_capacity(stretches.len() + 2 * hands.len());
    for stretch in stretches {
        cut(stretch, own, hands, &mut out);
        if stretch.what.works() {
            own += stretch.to - stretch.from;
        }
    }
    out
}

/// `stretch`, whose first unit is `own` in the units of `hands`, in pieces.
fn cut(stretch: Stretch, own: u64, hands: &[Hand], out: &mut Vec<Stretch>) {
    if !matches!(stretch.what, Doing::Decode | Doing::Critical) {
        out.push(stretch);
        return;
    }
    let end = own + (stretch.to - stretch.from);
    let mut at = own;
    let mut push = |from: u64, to: u64, what: Doing| {
        if to > from {
            out.push(Stretch {
                from: stretch.from + (from - own),
                to: stretch.from + (to - own),
                what,
            });
        }
    };
    for hand in hands.iter().filter(|h| h.to > own && h.from < end) {
        let (from, to) = (hand.from.max(at), hand.to.min(end));
        push(at, from, stretch.what);
        push(from, to, hand.doing(stretch.what));
        at = at.max(to);
    }
    push(at, end, stretch.what);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from: u64, to: u64, what: Doing) -> Stretch {
        Stretch { from, to, what }
    }

    fn hand(from: u64, to: u64) -> Hand {
        Hand {
            from,
            to,
            person: true,
        }
    }

    #[test]
    fn own_steps_skip_what_was_waited() {
        let lane = vec![
            stretch(0, 4, Doing::Decode),
            stretch(4, 9, Doing::Wait),
            stretch(9, 15, Doing::Critical),
        ];
        assert_eq!(
            mark_ideal(lane, &[hand(3, 6)]),
            [
                stretch(0, 3, Doing::Decode),
                stretch(3, 4, Doing::Human),
                stretch(4, 9, Doing::Wait),
                stretch(9, 11, Doing::HumanCritical),
                stretch(11, 15, Doing::Critical),
            ]
        );
    }

    #[test]
    fn lived_time_is_cut_where_it_passed() {
        let lane = vec![stretch(10, 30, Doing::Decode)];
        assert_eq!(
            mark_lived(lane, &[hand(5, 12), hand(12, 20)]),
            [
                stretch(10, 12, Doing::Human),
                stretch(12, 20, Doing::Human),
                stretch(20, 30, Doing::Decode),
            ]
        );
    }
}
