//! What lies over the panes: its state, not its keys and not its looks.

use super::action::Context;
use super::letter::{Letter, Saying};
use crate::org::{BranchId, Seat, ThreadId};
use ratatui_textarea::TextArea;
use std::time::Duration;

/// A key pressed within this time of a prompt's appearance was meant for something else.
pub const REACTION: Duration = Duration::from_millis(250);

/// What a one-line field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A thread id to select.
    GoTo,
    /// A pattern to search for in the selected thread.
    Search,
    /// Words that the shown threads must match.
    Filter,
    /// A percentage of the session.
    Seek,
    /// The name of a mark.
    Mark,
    /// Another session to compare with.
    CompareWith,
    /// The query of the next session.
    Query,
    /// The spec of a breakpoint.
    Breakpoint,
}

impl Purpose {
    /// What stands before the field.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::GoTo => "go to thread",
            Self::Search => "search",
            Self::Filter => "show threads with",
            Self::Seek => "go to %",
            Self::Mark => "mark as",
            Self::CompareWith => "compare with session file",
            Self::Query => "new query",
            Self::Breakpoint => "break on fork:2, step:40, tokens:200, text:REGEX …",
        }
    }
}

/// A question with the answer no unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// End the run without an answer?
    Abort,
    /// Leave a session that is still running?
    Quit,
}

/// Something over the panes. Esc closes it.
#[derive(Debug, Clone)]
pub enum Popup {
    /// Every key.
    Help {
        /// First line shown.
        scroll: usize,
    },
    /// Any action by its name.
    Palette {
        /// What was typed.
        text: String,
        /// Which of the found actions is chosen.
        chosen: usize,
    },
    /// What the selected thread sees.
    Inspector {
        /// First row shown.
        scroll: usize,
    },
    /// Slack, blame, predictions.
    WhatIf {
        /// First row shown.
        scroll: usize,
    },
    /// The editor for a thread's text, which lives in [`super::model::Model::rewrite`].
    Edit,
    /// Every branch.
    Branches {
        /// Which row is chosen.
        chosen: usize,
        /// A branch to compare with.
        marked: Option<BranchId>,
    },
    /// Places at which the run stops by itself.
    Breakpoints {
        /// Which row is chosen.
        chosen: usize,
    },
    /// Two lines side by side: [`super::model::Model::compared`].
    Compare {
        /// First pair of lanes shown.
        scroll: usize,
    },
    /// Ways to stop the selected thread.
    Stop,
    /// What to run next.
    Again,
    /// The editor for a sub-query; its text lives in [`super::model::Model::draft`].
    Composer,
    /// The editor for a letter; its text lives in [`super::model::Model::letters`].
    Letter {
        /// What it is for.
        letter: Letter,
        /// What the text becomes, where that can be chosen.
        saying: Saying,
    },
    /// What waits for a person's word.
    Approvals {
        /// Which is chosen.
        chosen: usize,
        /// When the prompt appeared.
        since: Duration,
    },
    /// The board of drafts.
    Board {
        /// Which is chosen.
        chosen: usize,
        /// When it appeared.
        since: Duration,
    },
    /// One line of text.
    Field {
        /// For what.
        purpose: Purpose,
        /// So far.
        text: String,
    },
    /// Which worker to join.
    Pick {
        /// Candidates.
        workers: Vec<ThreadId>,
        /// Which is chosen.
        chosen: usize,
    },
    /// A question.
    Ask {
        /// Which.
        question: Question,
        /// When it appeared.
        since: Duration,
    },
}

impl Popup {
    /// Where the keys of a list work, if it is one.
    #[must_use]
    pub fn list(&self) -> Option<Context> {
        match self {
            Self::Approvals { .. } => Some(Context::Queue),
            Self::Board { .. } => Some(Context::Board),
            Self::Breakpoints { .. } => Some(Context::Breaks),
            Self::Branches { .. } => Some(Context::Tree),
            Self::Pick { .. } => Some(Context::Pick),
            _ => None,
        }
    }

    /// Whether it is text that scrolls.
    #[must_use]
    pub fn is_panel(&self) -> bool {
        matches!(
            self,
            Self::Help { .. } | Self::Inspector { .. } | Self::WhatIf { .. } | Self::Compare { .. }
        )
    }
}

/// A sub-query being written.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The editor.
    pub editor: TextArea<'static>,
    /// Why it was not sent.
    pub complaint: Option<String>,
    /// Who will serve it.
    pub seat: Seat,
    /// In whose text the Fork goes.
    pub thread: ThreadId,
}

impl Draft {
    /// The text as it would be sent.
    #[must_use]
    pub fn text(&self) -> String {
        self.editor.lines().join("\n").trim().to_owned()
    }

    /// Whom it is addressed to; `None` for the model.
    #[must_use]
    pub fn address(&self) -> Option<Seat> {
        (!self.seat.is_model()).then(|| self.seat.clone())
    }
}

/// Why `query` cannot be a sub-query, in words for the person who wrote it.
///
/// # Errors
/// Empty text, and text that would close the Fork early or look like another action.
pub fn check_query(query: &str) -> Result<(), String> {
    if query.trim().is_empty() {
        return Err("A sub-query must not be empty.".to_owned());
    }
    let forbidden = ["</FORK-", "<FORK-"]
        .into_iter()
        .find_map(|tag| query.find(tag).map(|at| (tag, at)));
    if let Some((tag, at)) = forbidden {
        let line = query[..at].matches('\n').count() + 1;
        return Err(format!(
            "Line {line} contains `{tag}…`: inside a Fork that would be read as its own tag. Leave it out."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_would_break_its_own_fork_is_explained() {
        assert!(check_query("multiply 3 and 4").is_ok());
        assert!(check_query("a < b, <JOIN-1> is text in here").is_ok());
        assert!(check_query("  \n ").is_err());
        let why = check_query("one\ntwo </FORK-2> three").unwrap_err();
        assert!(why.starts_with("Line 2 contains `</FORK-"), "{why}");
    }
}
