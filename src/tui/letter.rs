//! Texts that a person writes for a place other than a new worker: a seat, a request, the board.

use crate::org::ThreadId;

/// What a text is for. Each keeps its draft until it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Letter {
    /// The thread whose seat the person holds.
    Seat(ThreadId),
    /// What stands in the place of a request that is approved.
    Approve(u32),
    /// Why a request is denied.
    Deny(u32),
    /// A new draft on the board.
    NewDraft,
    /// Another sub-query for a draft on the board.
    Draft(u32),
}

/// What a text in a seat becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saying {
    /// Text of the thread, as it is; tags in it act.
    Aloud,
    /// A worker's result, or the organizer's answer.
    Result,
}

impl Saying {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Aloud => Self::Result,
            Self::Result => Self::Aloud,
        }
    }
}
