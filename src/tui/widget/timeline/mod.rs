//! The lanes of an organization on one axis of time.
//!
//! ```text
//! ▶ organizer ██████F1██F2██████████████J1┄┄┄┄┄┄██
//! ✓ 1               ╰▄▄▄▄▄▄▄▄▄▄▄▄ slack 22│
//! ▶ 2                    ███F1███████████─╯▶
//! ▶ ╰2.1                    ▄▄▄▄▄▄▄▄▄▄▄▶
//! active            ▃▃▃▃▃▇▇▇▇▇▇▇▇▇▃▃▃▃▃▃▃
//! ```
//!
//! [`geometry`] says where a unit of time lies, [`tracks`] what each thread did, [`cell`] what one cell
//! shows; this file paints. Only the cells on screen are looked at, by binary search.

pub mod cell;
pub mod geometry;
pub mod tracks;
pub mod writing;

use crate::org::{ThreadEnd, ThreadId};
use crate::tui::sign::{Signs, end_scope};
use crate::tui::theme::Theme;
use cell::{Edge, Piece, piece};
use geometry::Axis;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tracks::{Doing, Head, Track, Tracks};
use unicode_width::UnicodeWidthStr;

/// What to paint.
pub struct Lanes<'a> {
    /// Everything that happened.
    pub tracks: &'a Tracks,
    /// Which of them are on screen, top to bottom, as indices into `tracks`.
    pub rows: &'a [usize],
    /// The scale; its width is the width of the bars.
    pub axis: Axis,
    /// Cells for names, left of the bars.
    pub names: u16,
    /// Whose elbows are drawn and whose name is marked.
    pub selected: ThreadId,
    /// Where the cursor stands.
    pub cursor: Option<u64>,
    /// Whether the critical path is thick and everything else thin.
    pub emphasis: bool,
    /// How many workers can be active at once.
    pub slots: u32,
    /// Colours.
    pub theme: &'a Theme,
    /// Characters.
    pub signs: &'a Signs,
}

impl Lanes<'_> {
    /// Paints one row per lane, then the row of active workers if there is room for it.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.width <= self.names || area.height == 0 {
            return;
        }
        let lanes = area
            .height
            .min(u16::try_from(self.rows.len()).unwrap_or(u16::MAX));
        for (row, &index) in (area.y..area.y + lanes).zip(self.rows) {
            if let Some(track) = self.tracks.tracks.get(index) {
                self.name(track, area.x, row, buffer);
                self.bar(track, area.x + self.names, row, buffer);
                self.flags(track, area.x + self.names, row, buffer);
            }
        }
        self.elbows(area, buffer);
        if lanes < area.height {
            self.active(area.x, area.y + lanes, buffer);
        }
        self.cursor_line(area, buffer);
    }

    fn style(&self, scope: &str) -> Style {
        self.theme.style(scope)
    }

    fn name(&self, track: &Track, x: u16, y: u16, buffer: &mut Buffer) {
        let (glyph, scope) = match track.head {
            Head::Running => (self.signs.running, "state.running"),
            Head::Waiting => (self.signs.waiting, "state.waiting"),
            Head::Paused => (self.signs.paused, "state.paused"),
            Head::Human => (self.signs.human, "state.human"),
            Head::Tool => (self.signs.tool, "state.tool"),
            Head::Ended(end) => (self.signs.end(end), end_scope(end)),
        };
        buffer.set_string(x, y, glyph, self.style(scope));
        let mut style = self.style("ui.text");
        if track.id == self.selected {
            style = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        }
        let room = usize::from(self.names.saturating_sub(3));
        buffer.set_stringn(x + 2, y, self.signs.hanging(track.id), room, style);
    }

    fn bar(&self, track: &Track, x: u16, y: u16, buffer: &mut Buffer) {
        for column in 0..self.axis.width {
            if let Some(piece) = piece(track, &self.axis, column) {
                let (symbol, style) = self.look(piece);
                put(buffer, x + column, y, symbol, style);
            }
        }
        let Some(finish) = track.finish() else {
            return;
        };
        let after = (self.axis.eighths(finish) + 7).div_euclid(8);
        let Ok(after) = u16::try_from(after) else {
            return;
        };
        let mut at = after;
        let sign = match track.head {
            Head::Running => Some((self.signs.running, "state.running")),
            Head::Paused => Some((self.signs.paused, "state.paused")),
            Head::Human => Some((self.signs.human, "state.human")),
            Head::Tool => Some((self.signs.tool, "state.tool")),
            Head::Waiting => None,
            Head::Ended(ThreadEnd::Returned) => None,
            Head::Ended(end) => Some((self.signs.end(end), end_scope(end))),
        };
        if let Some((symbol, scope)) = sign
            && at < self.axis.width
        {
            put(buffer, x + at, y, symbol, self.style(scope));
            at += 1;
        }
        if let Some(slack) = track.slack.filter(|s| *s > 0 && self.emphasis) {
            let text = format!(" slack {slack}");
            if usize::from(self.axis.width.saturating_sub(at)) > text.width() {
                buffer.set_string(x + at, y, text, self.style("ui.dim"));
            }
        }
    }

    fn look(&self, piece: Piece) -> (&'static str, Style) {
        let g = self.signs;
        let thick = |edge| match edge {
            Edge::Whole => (g.thick[8], false),
            Edge::Left(eighths) => (g.thick[usize::from(eighths.min(8))], false),
            // A block that begins inside its cell is the reverse of one that ends there.
            Edge::Right(gap) => (g.thick[usize::from(gap.min(8))], true),
        };
        match (piece.doing, self.emphasis) {
            (Doing::Critical, true) => reverse(thick(piece.edge), self.style("timeline.critical")),
            (Doing::Critical | Doing::Decode, false) => {
                reverse(thick(piece.edge), self.style("timeline.decode"))
            }
            (Doing::Decode, true) => {
                let symbol = match piece.edge {
                    Edge::Left(1..=4) => g.thin[0],
                    Edge::Right(4..) => g.thin[1],
                    _ => g.thin[2],
                };
                (symbol, self.style("timeline.decode"))
            }
            (Doing::Wait, _) => (g.wait, self.style("timeline.wait")),
            (Doing::Paused, _) => (g.hold, self.style("timeline.pause")),
            (Doing::Human, _) => (g.person, self.style("timeline.human")),
            (Doing::Tool, _) => (g.tool, self.style("timeline.tool")),
            (Doing::HumanCritical, emphasis) => {
                (g.person, self.critical("timeline.human", emphasis))
            }
            (Doing::ToolCritical, emphasis) => (g.tool, self.critical("timeline.tool", emphasis)),
        }
    }

    /// Somebody else than the model, on the critical path: told by the glyph, set apart in bold.
    fn critical(&self, scope: &str, emphasis: bool) -> Style {
        let style = self.style(scope);
        if emphasis {
            style.add_modifier(Modifier::BOLD)
        } else {
            style
        }
    }

    /// `F1`, `J1` over the bar where there is room, else a single letter, never two on one cell.
    fn flags(&self, track: &Track, x: u16, y: u16, buffer: &mut Buffer) {
        let first = track.flags.partition_point(|f| f.at < self.axis.start);
        let mut free_from = 0;
        let mut flags = track.flags[first..].iter().peekable();
        while let Some(flag) = flags.next() {
            let Some(column) = self
                .axis
                .column(flag.at.saturating_sub(1).max(self.axis.start))
            else {
                break;
            };
            if column < free_from {
                // Flags too dense to tell apart: go on at the next free cell.
                let unit = self.axis.unit(free_from);
                while flags.next_if(|f| f.at <= unit).is_some() {}
                continue;
            }
            let letter = if flag.join { "J" } else { "F" };
            let full = match flag.child.index() {
                Some(index) => format!("{letter}{index}"),
                None => letter.to_owned(),
            };
            let next = flags
                .peek()
                .and_then(|f| self.axis.column(f.at.saturating_sub(1)))
                .unwrap_or(self.axis.width);
            let room = next.min(self.axis.width).saturating_sub(column);
            let text = if full.width() <= usize::from(room) {
                full.as_str()
            } else {
                letter
            };
            let scope = if flag.join { "tag.join" } else { "tag.fork" };
            buffer.set_string(x + column, y, text, self.style(scope));
            // A letter without its number keeps some of the bar in view.
            let gap = u16::from(text.len() == 1);
            free_from = column + u16::try_from(text.width()).unwrap_or(1) + gap;
        }
    }

    /// From the Fork to the first token and from the last token to the Join of the selected lane.
    fn elbows(&self, area: Rect, buffer: &mut Buffer) {
        let place = |id: ThreadId| {
            self.rows
                .iter()
                .position(|i| self.tracks.tracks.get(*i).is_some_and(|t| t.id == id))
        };
        let (Some(parent), Some(own)) = (self.selected.parent(), place(self.selected)) else {
            return;
        };
        let (Some(above), Some(track)) = (
            place(parent),
            self.rows.get(own).and_then(|i| self.tracks.tracks.get(*i)),
        ) else {
            return;
        };
        let style = self.style("timeline.edge");
        let [down_right, up_left, across, down] = self.signs.elbow;
        let x = area.x + self.names;
        let row = |i: usize| area.y + u16::try_from(i).unwrap_or(u16::MAX);
        if row(own) >= area.bottom() {
            return;
        }
        let blank = |buffer: &mut Buffer, column: u16, y: u16, symbol: &'static str| {
            if column < self.axis.width
                && let Some(cell) = buffer.cell_mut((x + column, y))
                && cell.symbol() == " "
            {
                cell.set_symbol(symbol).set_style(style);
            }
        };
        if let Some(begin) = track.begin().and_then(|b| self.axis.column(b)) {
            let column = begin.saturating_sub(1);
            for i in above + 1..own {
                blank(buffer, column, row(i), down);
            }
            blank(buffer, column, row(own), down_right);
        }
        if let (Some(finish), Some(joined)) = (track.finish(), track.joined_at)
            && let Some(to) = self.axis.column(joined)
        {
            let from = (self.axis.eighths(finish) + 7).div_euclid(8);
            for column in u16::try_from(from.max(0)).unwrap_or(u16::MAX)..to {
                blank(buffer, column, row(own), across);
            }
            blank(buffer, to, row(own), up_left);
            for i in above + 1..own {
                blank(buffer, to, row(i), down);
            }
        }
    }

    fn active(&self, x: u16, y: u16, buffer: &mut Buffer) {
        let room = usize::from(self.names.saturating_sub(1));
        buffer.set_stringn(x, y, "active", room, self.style("timeline.axis"));
        let counts = self.tracks.active_per_cell(&self.axis);
        let top = counts
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
            .max(self.slots)
            .max(1);
        let style = self.style("timeline.sparkline");
        for (column, count) in (0..).zip(counts) {
            if count > 0 {
                let level = (count * 8).div_ceil(top).clamp(1, 8);
                let symbol = self.signs.spark[usize::try_from(level).unwrap_or(8)];
                put(buffer, x + self.names + column, y, symbol, style);
            }
        }
    }

    fn cursor_line(&self, area: Rect, buffer: &mut Buffer) {
        let Some(column) = self.cursor.and_then(|unit| self.axis.column(unit)) else {
            return;
        };
        for y in area.y..area.bottom() {
            if let Some(cell) = buffer.cell_mut((area.x + self.names + column, y)) {
                if cell.symbol() == " " {
                    cell.set_symbol(self.signs.cursor);
                }
                cell.set_style(self.style("timeline.cursor"));
            }
        }
    }
}

fn reverse((symbol, reversed): (&'static str, bool), style: Style) -> (&'static str, Style) {
    if reversed {
        (symbol, style.add_modifier(Modifier::REVERSED))
    } else {
        (symbol, style)
    }
}

fn put(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    if let Some(cell) = buffer.cell_mut((x, y)) {
        cell.set_symbol(symbol).set_style(style);
    }
}
