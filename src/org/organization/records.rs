//! What an organization keeps of errors, commands and marks: one record each, in order.

use crate::org::command::{Command, Outcome};
use crate::org::event::{Author, ErrorKind};
use crate::org::ids::{Seq, Step, ThreadId};
use crate::org::thread::Moment;
use serde::{Deserialize, Serialize};

/// A recorded error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Which.
    pub kind: ErrorKind,
    /// Whose.
    pub thread: ThreadId,
    /// When.
    pub step: Step,
    /// For people.
    pub message: String,
}

/// A recorded command with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// Its event.
    pub seq: Seq,
    /// What was asked.
    pub command: Command,
    /// Who asked.
    #[serde(default = "a_person")]
    pub by: Author,
    /// When it was asked.
    pub step: Step,
    /// Its latest effect; `None` while there is none.
    pub outcome: Option<Outcome>,
}

/// Who asked where a keyframe does not say.
fn a_person() -> Author {
    Author::Human
}

/// A named moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkRecord {
    /// Its event.
    pub seq: Seq,
    /// When.
    pub at: Moment,
    /// Its name.
    pub name: String,
}
