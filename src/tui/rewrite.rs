//! A thread's text while a person edits it: what of it stays, and what is to be written anew.
//!
//! Pure. What is unchanged from the start stays as it was decoded, token by token.

use super::text::Transcript;
use crate::org::{BranchId, Command, ThreadId};
use ratatui_textarea::{CursorMove, TextArea};

/// Most bytes of a text that the editor opens with.
const OPENED: u64 = 8 << 10;

/// An edit that is being written.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// Whose text.
    pub thread: ThreadId,
    /// On which branch it was opened.
    pub branch: BranchId,
    /// The editor.
    pub editor: TextArea<'static>,
    /// Why it was not sent.
    pub complaint: Option<String>,
    /// What the editor opened with.
    original: String,
    /// Where that begins in the thread's text.
    start: u64,
    /// Own tokens before it.
    before: u64,
}

impl Rewrite {
    /// Opens the end of `text`, from own token `index` on if one is pointed at.
    #[must_use]
    pub fn open(
        thread: ThreadId,
        branch: BranchId,
        text: &Transcript,
        tokens: u64,
        index: Option<u64>,
    ) -> Self {
        let token = match index {
            Some(index) => text.token(index),
            None => {
                let from = text.end().saturating_sub(OPENED).max(text.start());
                // A text that was put in cannot be edited: from the first token after it.
                (from..text.end()).find_map(|byte| text.token_at(byte))
            }
        };
        let (start, before) = token.map_or((text.end(), tokens), |t| (t.span.start, t.index));
        let raw = usize::try_from(start.saturating_sub(text.start()))
            .ok()
            .and_then(|from| text.bytes().get(from..))
            .unwrap_or_default();
        let shown = text.logical_slice(start..text.end());
        // What could drive a terminal is not shown, so it cannot be kept in part either.
        let faithful = shown.as_bytes() == raw && !shown.contains('\r');
        let original = if faithful { shown } else { String::new() };
        let mut editor = TextArea::new(original.split('\n').map(str::to_owned).collect());
        if index.is_none() {
            editor.move_cursor(CursorMove::Bottom);
            editor.move_cursor(CursorMove::End);
        }
        Self {
            thread,
            branch,
            editor,
            complaint: None,
            original,
            start,
            before,
        }
    }

    /// How many own tokens come before what the editor opened with.
    #[must_use]
    pub fn before(&self) -> u64 {
        self.before
    }

    /// The command that makes the text what it is now.
    ///
    /// # Errors
    /// In words for the person who wrote it.
    pub fn command(&self, text: &Transcript, tokens: u64) -> Result<Command, String> {
        let edited = self.editor.lines().join("\n");
        if edited == self.original {
            return Err("Nothing is changed yet.".into());
        }
        let same = common_prefix(&self.original, &edited);
        let byte = self.start + same as u64;
        let (token, from) = if same == 0 {
            (self.before, 0)
        } else if let Some(token) = text.token_at(byte) {
            let within = usize::try_from(token.span.start.saturating_sub(self.start)).unwrap_or(0);
            (token.index, within)
        } else if byte == text.end() {
            (tokens, same)
        } else {
            return Err(
                "The first change lies in a text that was put in, not decoded: change what is before or \
                 after it."
                    .into(),
            );
        };
        Ok(Command::Edit {
            thread: self.thread,
            token,
            text: edited.get(from..).unwrap_or_default().to_owned(),
        })
    }
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.char_indices()
        .zip(b.chars())
        .find(|((_, x), y)| x != y)
        .map_or(a.len().min(b.len()), |((at, _), _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, SpliceKind};
    use crate::tui::text::Piece;

    fn text() -> Transcript {
        let mut text = Transcript::new();
        let decoded = |text: &mut Transcript, words: &[&str]| {
            let ids = vec![7; words.len()];
            let lens: Vec<u32> = words.iter().map(|w| w.len() as u32).collect();
            let kind = Piece::Decoded {
                ids: &ids,
                lens: &lens,
            };
            text.push(words.concat().as_bytes(), &Author::Model, kind);
        };
        decoded(&mut text, &["one", " two", " three"]);
        text.push(b"<r>", &Author::System, Piece::Spliced(SpliceKind::Result));
        decoded(&mut text, &[" four", " five"]);
        text
    }

    fn edited(
        index: Option<u64>,
        change: impl Fn(&str) -> String,
    ) -> Result<(u64, String), String> {
        let text = text();
        let mut rewrite = Rewrite::open(ThreadId::ORGANIZER, BranchId(0), &text, 5, index);
        let now = change(&rewrite.editor.lines().join("\n"));
        rewrite.editor = TextArea::new(now.split('\n').map(str::to_owned).collect());
        match rewrite.command(&text, 5)? {
            Command::Edit { token, text, .. } => Ok((token, text)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_unchanged_stays_token_by_token() {
        let all = "one two three<r> four five";
        assert_eq!(
            edited(None, |t| {
                assert_eq!(t, all);
                t.replace("three", "thirty")
            }),
            Ok((2, " thirty<r> four five".into()))
        );
        assert_eq!(edited(None, |t| format!("{t} six")), Ok((5, " six".into())));
        assert_eq!(
            edited(Some(3), |t| {
                assert_eq!(t, " four five");
                " other".into()
            }),
            Ok((3, " other".into()))
        );
        assert_eq!(edited(Some(4), |_| String::new()), Ok((4, String::new())));
    }

    #[test]
    fn what_was_put_in_is_not_edited_and_no_change_is_none() {
        assert!(edited(None, |t| t.replace("<r>", "<q>")).is_err());
        assert!(edited(None, str::to_owned).is_err());
    }
}
