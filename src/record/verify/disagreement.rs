//! On what a session can disagree with itself, and the words for it.

use super::scan::Found;
use crate::org::{Seq, TextMark, ThreadId};
use std::fmt;

/// One thing on which a session disagrees with itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// The line of the record, the header being line 1.
    pub line: u64,
    /// Its event.
    pub seq: Seq,
    /// On what.
    pub about: About,
}

/// What a disagreement is about.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    /// The state in a keyframe or branch is not the fold of the events before it.
    State,
    /// The text of a thread is not what a keyframe says.
    Text {
        /// Whose.
        thread: ThreadId,
        /// What the keyframe says.
        recorded: Option<TextMark>,
        /// What the records give.
        computed: Option<TextMark>,
    },
    /// An action or error that is not in the text.
    NotInText {
        /// Whose.
        thread: ThreadId,
        /// Where it should be.
        span: (u64, u64),
    },
    /// An action in the text of which nothing is recorded.
    NotRecorded {
        /// Whose.
        thread: ThreadId,
        /// The action.
        found: Found,
    },
    /// A measure.
    Metric {
        /// Which.
        name: &'static str,
        /// What the file says.
        recorded: f64,
        /// What the events give.
        computed: f64,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: event {}: ", self.line, self.seq)?;
        match &self.about {
            About::State => f.write_str("the state in it is not what the events before it give"),
            About::Text {
                thread,
                recorded,
                computed,
            } => {
                let bytes = |mark: &Option<TextMark>| mark.as_ref().map_or(0, |m| m.bytes);
                let (recorded, computed) = (bytes(recorded), bytes(computed));
                write!(f, "the text of {thread} differs from its keyframe: ")?;
                if recorded == computed {
                    f.write_str("same length, another hash")
                } else {
                    write!(f, "{recorded} bytes recorded, {computed} found")
                }
            }
            About::NotInText { thread, span } => write!(
                f,
                "recorded at bytes {}..{} of {thread}, where the text holds no such action",
                span.0, span.1
            ),
            About::NotRecorded { thread, found } => write!(
                f,
                "{:?} at bytes {}..{} of {thread} is in the text, but nothing is recorded of it",
                found.action, found.span.0, found.span.1
            ),
            About::Metric {
                name,
                recorded,
                computed,
            } => write!(
                f,
                "{name} is {recorded} in the file, {computed} by its events"
            ),
        }
    }
}
