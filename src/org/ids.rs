//! Names and counters that cross module borders.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Deepest nesting of workers that an id can name.
pub const MAX_DEPTH: usize = 4;

/// Largest sub-query index of the protocol.
pub const MAX_INDEX: u16 = 9999;

/// One level of a thread's path: the sub-query index and how many bearers of it came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
struct Segment {
    index: u16,
    bearer: u16,
}

/// A thread's name: `organizer`, `1`, `2.1` (nested), `1~2` (second bearer of index 1).
///
/// Ordered by path: the organizer first, then by index and bearer at each level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ThreadId {
    path: [Segment; MAX_DEPTH],
}

impl ThreadId {
    /// The root thread.
    pub const ORGANIZER: Self = Self {
        path: [Segment {
            index: 0,
            bearer: 0,
        }; MAX_DEPTH],
    };

    /// How many levels below the organizer.
    #[must_use]
    pub fn depth(self) -> usize {
        self.path.iter().take_while(|s| s.index != 0).count()
    }

    /// Whether this is the organizer.
    #[must_use]
    pub fn is_organizer(self) -> bool {
        self.depth() == 0
    }

    /// The child that serves sub-query `index` of this thread as its `bearer`-th bearer (1-based).
    /// `None` when the path would be too deep or the index is 0.
    #[must_use]
    pub fn child(self, index: u16, bearer: u16) -> Option<Self> {
        let depth = self.depth();
        if depth == MAX_DEPTH || index == 0 || index > MAX_INDEX || bearer == 0 {
            return None;
        }
        let mut path = self.path;
        path[depth] = Segment { index, bearer };
        Some(Self { path })
    }

    /// A worker of the organizer, first bearer of `index` (1..=9999).
    #[must_use]
    pub fn worker(index: u16) -> Option<Self> {
        Self::ORGANIZER.child(index, 1)
    }

    /// The thread that forked this one; `None` for the organizer.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        let depth = self.depth();
        if depth == 0 {
            return None;
        }
        let mut path = self.path;
        path[depth - 1] = Segment::default();
        Some(Self { path })
    }

    /// Whether it serves `ancestor`, directly or through others.
    #[must_use]
    pub fn is_below(self, ancestor: Self) -> bool {
        std::iter::successors(self.parent(), |id| id.parent()).any(|id| id == ancestor)
    }

    /// The names that threads below this one can have, first to last in path order; `None` where there can be
    /// none.
    #[must_use]
    pub fn below(self) -> Option<std::ops::RangeInclusive<Self>> {
        let first = self.child(1, 1)?;
        let mut last = self;
        for segment in last.path.iter_mut().skip(self.depth()) {
            *segment = Segment {
                index: u16::MAX,
                bearer: u16::MAX,
            };
        }
        Some(first..=last)
    }

    /// Its sub-query index; `None` for the organizer.
    #[must_use]
    pub fn index(self) -> Option<u16> {
        let depth = self.depth();
        (depth > 0).then(|| self.path[depth - 1].index)
    }

    /// Which bearer of its index it is, 1-based; 1 for the organizer.
    #[must_use]
    pub fn bearer(self) -> u16 {
        let depth = self.depth();
        if depth == 0 {
            1
        } else {
            self.path[depth - 1].bearer
        }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_organizer() {
            return f.write_str("organizer");
        }
        for (level, segment) in self.path.iter().take(self.depth()).enumerate() {
            if level > 0 {
                f.write_str(".")?;
            }
            write!(f, "{}", segment.index)?;
            if segment.bearer > 1 {
                write!(f, "~{}", segment.bearer)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Text that does not name a thread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a thread id: expected `organizer`, an index like `2`, or a path like `2.1` or `1~2`"
)]
pub struct BadThreadId(String);

impl FromStr for ThreadId {
    type Err = BadThreadId;

    fn from_str(text: &str) -> Result<Self, BadThreadId> {
        let bad = || BadThreadId(text.chars().take(40).collect());
        if text == "organizer" || text == "0" {
            return Ok(Self::ORGANIZER);
        }
        let number = |part: &str| -> Option<u16> {
            (part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0'))
                .then(|| part.parse().ok())
                .flatten()
        };
        text.split('.').try_fold(Self::ORGANIZER, |id, level| {
            let (index, bearer) = match level.split_once('~') {
                Some((index, bearer)) => (number(index), number(bearer)),
                None => (number(level), Some(1)),
            };
            index
                .zip(bearer)
                .and_then(|(index, bearer)| id.child(index, bearer))
                .ok_or_else(bad)
        })
    }
}

impl Serialize for ThreadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ThreadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = ThreadId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a thread id")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ThreadId, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter!(
    /// Position of an event in its session, gapless from 0.
    Seq(u64)
);
counter!(
    /// A global decoding step, 1, 2, …; 0 is before the first.
    Step(u64)
);
counter!(
    /// A line of history; 0 is the first.
    BranchId(u32)
);

impl Step {
    /// The step after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_as_they_parse() {
        for text in ["organizer", "1", "9999", "2.1", "1~2", "3~2.4~7"] {
            assert_eq!(text.parse::<ThreadId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "01",
            "10000",
            "-1",
            "+1",
            "1.",
            "1~",
            "1~0",
            "x",
            "1.1.1.1.1",
            "1 ",
        ] {
            assert!(text.parse::<ThreadId>().is_err(), "{text}");
        }
    }

    #[test]
    fn those_below_a_thread_are_one_stretch_of_path_order() {
        let id = |text: &str| text.parse::<ThreadId>().unwrap();
        let all = [
            "organizer",
            "1",
            "1.1",
            "1.9999~7.3",
            "1~2",
            "1~2.1",
            "2",
            "2.1.1.1",
        ]
        .map(id);
        for ancestor in all {
            let range = ancestor.below();
            for other in all {
                let inside = range.as_ref().is_some_and(|range| range.contains(&other));
                assert_eq!(inside, other.is_below(ancestor), "{other} below {ancestor}");
            }
        }
        assert!(id("2.1.1.1").below().is_none());
    }

    #[test]
    fn path_order_puts_parents_before_children_and_indices_in_number_order() {
        let mut ids: Vec<ThreadId> = ["10", "2", "2.1", "organizer", "1~2", "1"]
            .map(|t| t.parse().unwrap())
            .to_vec();
        ids.sort();
        let text: Vec<String> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["organizer", "1", "1~2", "2", "2.1", "10"]);
    }
}
