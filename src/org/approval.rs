//! What waits for a person's word before it takes effect.

use super::ids::{Seq, ThreadId};
use super::thread::Moment;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// The organizer wants to fork a sub-query.
    Fork,
    /// The organizer wants to answer.
    Answer,
    /// A tool is about to run on a sub-query.
    Tool,
    /// The organizer wants to go on, and the plan has not been released.
    Plan,
}

impl AskKind {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Answer => "answer",
            Self::Tool => "tool",
            Self::Plan => "plan",
        }
    }
}

impl FromStr for AskKind {
    type Err = String;

    /// The kinds that can be asked for.
    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Fork, Self::Answer, Self::Tool]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("`{text}` cannot be asked about: expected fork, answer or tool"))
    }
}

/// What became of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It took effect, perhaps changed.
    Approved,
    /// It had no effect.
    Denied,
    /// Its thread ended first.
    Lapsed,
}

/// Something that waits, or waited, for a person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Its event.
    pub seq: Seq,
    /// How commands name it, 1, 2, ….
    pub number: u32,
    /// About what.
    pub kind: AskKind,
    /// Whose thread stands meanwhile.
    pub thread: ThreadId,
    /// Index of the sub-query that is to be forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u16>,
    /// The sub-query or the answer.
    pub text: String,
    /// Bytes of the thread's text, tag to tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(u64, u64)>,
    /// Since when.
    pub since: Moment,
    /// What became of it; `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}
