//! The widget that draws the rows of a thread's text that are in view. Borders and titles belong to the
//! panels.

use super::cluster::Glyphs;
use super::paint::{Look, Scene};
use super::pane::PaneState;
use super::style::TextStyles;
use super::transcript::Transcript;
use crate::org::Refusal;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::StatefulWidget;
use regex::Regex;
use std::ops::Range;

/// Draws the rows of a thread's text that are in view, with a gutter of one column.
#[derive(Debug, Clone)]
pub struct TextPane<'a> {
    transcript: &'a Transcript,
    look: Look<'a>,
}

impl<'a> TextPane<'a> {
    /// A plain view of `transcript`.
    #[must_use]
    pub fn new(transcript: &'a Transcript, styles: &'a TextStyles) -> Self {
        Self {
            transcript,
            look: Look::new(styles),
        }
    }

    /// Which characters the terminal can show.
    #[must_use]
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.look.glyphs = glyphs;
        self
    }

    /// Whether a mark behind the last character says that more is coming.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.look.streaming = streaming;
        self
    }

    /// The byte of the thread's text under the cursor.
    #[must_use]
    pub fn cursor(mut self, byte: Option<u64>) -> Self {
        self.look.cursor = byte;
        self
    }

    /// The selected bytes of the thread's text.
    #[must_use]
    pub fn selection(mut self, span: Option<Range<u64>>) -> Self {
        self.look.selection = span;
        self
    }

    /// What the guard refused, in order; what stands in its place is marked.
    #[must_use]
    pub fn refusals(mut self, refusals: &'a [Refusal]) -> Self {
        self.look.refusals = refusals;
        self
    }

    /// What is searched for; every match in view is marked.
    #[must_use]
    pub fn search(mut self, pattern: Option<&'a Regex>) -> Self {
        self.look.search = pattern;
        self
    }
}

impl StatefulWidget for TextPane<'_> {
    type State = PaneState;

    fn render(self, area: Rect, buf: &mut Buffer, state: &mut PaneState) {
        let area = area.intersection(buf.area);
        let text_area = Rect {
            x: area.x.saturating_add(1),
            width: area.width.saturating_sub(1),
            ..area
        };
        let Some((rows, words)) = state.rows_and_words(self.transcript, text_area) else {
            return;
        };
        Scene::new(self.transcript, rows, words, &self.look).paint(rows, text_area, buf);
    }
}
