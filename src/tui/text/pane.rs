//! Where a pane stands in its text.
//!
//! A pane follows the end of its text or is anchored to the byte at its top; an anchor never moves
//! while text arrives or the size changes. Drawing is the widget's matter ([`super::TextPane`]).

use super::cluster::text_width;
use super::highlight::{Code, Highlighter};
use super::paint;
use super::transcript::Transcript;
use super::wrap::{Place, Wrap, row_starts};
use ratatui::layout::Rect;
use std::ops::Range;

/// Rows after which [`PaneState::new_below`] stops counting.
const COUNTED: usize = 9_999;

/// What a person asked a pane to do, done when it is laid out next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Lines(isize),
    Pages(isize),
    Top,
    Follow,
    Reveal(u64),
}

/// What the view is tied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// The end of the text.
    #[default]
    Follow,
    /// The byte of the thread's text at the top; everything up to `seen` was in view.
    Anchored { top: u64, seen: u64 },
}

/// Rows that arrived below, counted so far.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    /// What the count is valid for.
    revision: u64,
    width: usize,
    seen: u64,
    /// Rows in whole chunks before `chunk`.
    rows: usize,
    chunk: usize,
}

/// Where one pane stands in its text.
#[derive(Debug, Clone, Default)]
pub struct PaneState {
    mode: Mode,
    requests: Vec<Request>,
    wrap: Wrap,
    highlighter: Highlighter,
    below: Below,
    new_below: usize,
    /// Rows in view, as spans of the shown text.
    view: Vec<Range<usize>>,
    text_area: Rect,
}

impl PaneState {
    /// A pane that follows its text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the view by rows; scrolling down to the end follows again.
    pub fn scroll(&mut self, lines: isize) {
        self.requests.push(Request::Lines(lines));
    }

    /// Moves the view by pages, with one row of overlap.
    pub fn page(&mut self, pages: isize) {
        self.requests.push(Request::Pages(pages));
    }

    /// Goes to the beginning of the text.
    pub fn top(&mut self) {
        self.requests.push(Request::Top);
    }

    /// Follows the end of the text.
    pub fn follow(&mut self) {
        self.requests.push(Request::Follow);
    }

    /// Brings a byte of the thread's text into view, moving no more than needed.
    pub fn reveal(&mut self, byte: u64) {
        self.requests.push(Request::Reveal(byte));
    }

    /// Whether the view follows the end (as of the last layout).
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.mode == Mode::Follow
    }

    /// Rows that arrived below the view since it was detached (as of the last layout; at most 9,999).
    #[must_use]
    pub fn new_below(&self) -> usize {
        self.new_below
    }

    /// The byte of the thread's text at the top of a detached view.
    #[must_use]
    pub fn anchor(&self) -> Option<u64> {
        match self.mode {
            Mode::Follow => None,
            Mode::Anchored { top, .. } => Some(top),
        }
    }

    /// The byte of the thread's text that is drawn at a cell of the terminal.
    #[must_use]
    pub fn byte_at(&self, transcript: &Transcript, column: u16, row: u16) -> Option<u64> {
        if !self.text_area.contains((column, row).into()) {
            return None;
        }
        let span = self.view.get(usize::from(row - self.text_area.y))?;
        let text = transcript.shown().get(span.clone())?;
        let within = paint::offset_at(text, usize::from(column - self.text_area.x));
        Some(transcript.source_of(span.start + within))
    }

    /// The byte of the thread's text `lines` rows below `byte` (above, if negative) in about the same
    /// column, as of the last layout: for moving a cursor.
    #[must_use]
    pub fn rows_from(&mut self, transcript: &Transcript, byte: u64, lines: isize) -> u64 {
        let width = usize::from(self.text_area.width);
        self.wrap.prepare(transcript, width);
        let shown = transcript.shown_of(byte);
        let from = self.wrap.place_of(transcript, shown);
        let row = self.wrap.span(transcript, from);
        let column = text_width(&transcript.shown()[row.start..shown]);
        let to = if lines < 0 {
            self.wrap.up(transcript, from, lines.unsigned_abs())
        } else {
            self.wrap.down(transcript, from, lines.unsigned_abs())
        };
        let row = self.wrap.span(transcript, to);
        let within = paint::offset_at(&transcript.shown()[row.clone()], column);
        transcript.source_of(row.start + within)
    }

    /// Brings the view up to date: serves what was asked for, then finds the rows in view. Drawing
    /// does this; callers need it only to know [`Self::new_below`] before they draw.
    pub fn lay_out(&mut self, transcript: &Transcript, width: u16, height: u16) {
        let (width, height) = (usize::from(width), usize::from(height));
        self.view.clear();
        if width == 0 || height == 0 {
            return;
        }
        self.wrap.prepare(transcript, width);
        if self.anchor().is_some_and(|top| top > transcript.end()) {
            // The text was cut back to before the anchor.
            self.mode = Mode::Follow;
        }
        for request in std::mem::take(&mut self.requests) {
            self.serve(request, transcript, height);
        }
        let top = self.top_place(transcript, height);
        self.fill(transcript, top, height);
        self.count_below(transcript, width);
    }

    /// Lays out for `area` and gives the rows in view with the words of code in them, if any.
    pub(super) fn rows_and_words(
        &mut self,
        transcript: &Transcript,
        area: Rect,
    ) -> Option<(&[Range<usize>], Code)> {
        self.text_area = area;
        self.lay_out(transcript, area.width, area.height);
        let span = self.view.first()?.start..self.view.last()?.end;
        let words = self.highlighter.words(transcript, &span);
        Some((&self.view, words))
    }

    fn tail(&mut self, transcript: &Transcript, height: usize) -> Place {
        let last = self.wrap.last(transcript);
        self.wrap.up(transcript, last, height - 1)
    }

    fn top_place(&mut self, transcript: &Transcript, height: usize) -> Place {
        match self.mode {
            Mode::Follow => self.tail(transcript, height),
            Mode::Anchored { top, .. } => self.wrap.place_of(transcript, transcript.shown_of(top)),
        }
    }

    fn serve(&mut self, request: Request, transcript: &Transcript, height: usize) {
        let top = self.top_place(transcript, height);
        let page = height.saturating_sub(1).max(1);
        match request {
            Request::Lines(lines) => self.move_by(lines, top, transcript, height),
            Request::Pages(pages) => {
                let lines = pages.saturating_mul(isize::try_from(page).unwrap_or(isize::MAX));
                self.move_by(lines, top, transcript, height);
            }
            Request::Top => self.anchor_at(Place::default(), transcript, height),
            Request::Follow => self.mode = Mode::Follow,
            Request::Reveal(byte) => {
                let place = self.wrap.place_of(transcript, transcript.shown_of(byte));
                let bottom = self.wrap.down(transcript, top, height - 1);
                if place < top {
                    self.anchor_at(place, transcript, height);
                } else if place > bottom {
                    let new_top = self.wrap.up(transcript, place, height - 1);
                    self.anchor_at(new_top, transcript, height);
                }
            }
        }
    }

    fn move_by(&mut self, lines: isize, top: Place, transcript: &Transcript, height: usize) {
        let count = lines.unsigned_abs();
        let place = if lines < 0 {
            self.wrap.up(transcript, top, count)
        } else {
            self.wrap.down(transcript, top, count)
        };
        if lines != 0 {
            self.anchor_at(place, transcript, height);
        }
    }

    /// Ties the view to a row; at or past the tail it follows.
    fn anchor_at(&mut self, place: Place, transcript: &Transcript, height: usize) {
        if place >= self.tail(transcript, height) {
            self.mode = Mode::Follow;
            return;
        }
        let top = transcript.source_of(self.wrap.span(transcript, place).start);
        let seen = match self.mode {
            Mode::Follow => transcript.end(),
            Mode::Anchored { seen, .. } => seen,
        };
        self.mode = Mode::Anchored { top, seen };
    }

    fn fill(&mut self, transcript: &Transcript, top: Place, height: usize) {
        let mut place = top;
        let last = self.wrap.last(transcript);
        while self.view.len() < height {
            let span = self.wrap.span(transcript, place);
            self.view.push(span);
            if place == last {
                break;
            }
            place = self.wrap.down(transcript, place, 1);
        }
    }

    fn count_below(&mut self, transcript: &Transcript, width: usize) {
        let Mode::Anchored { top, seen } = self.mode else {
            self.new_below = 0;
            return;
        };
        let bottom = self.view.last().map_or(0, |row| row.end);
        let seen = seen.min(transcript.end()).max(transcript.source_of(bottom));
        self.mode = Mode::Anchored { top, seen };
        if seen >= transcript.end() {
            self.new_below = 0;
            return;
        }
        let from = transcript.shown_of(seen);
        let same = self.below.revision == transcript.revision()
            && self.below.width == width
            && self.below.seen == seen;
        if !same {
            self.below = Below {
                revision: transcript.revision(),
                width,
                seen,
                rows: 0,
                chunk: transcript.display().chunk_of(from),
            };
        }
        let rows_in = |chunk: usize| {
            let span = transcript.display().chunk(chunk);
            row_starts(&transcript.shown()[span.clone()], width)
                .iter()
                .filter(|start| span.start + **start as usize >= from)
                .count()
        };
        let last = transcript.display().chunk_count() - 1;
        while self.below.chunk < last && self.below.rows < COUNTED {
            self.below.rows += rows_in(self.below.chunk);
            self.below.chunk += 1;
        }
        let open = if self.below.chunk == last {
            rows_in(last)
        } else {
            0
        };
        self.new_below = (self.below.rows + open).min(COUNTED);
    }
}

#[cfg(test)]
mod tests;
