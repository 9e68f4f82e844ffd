//! Two lines of history: what changed, where they part, and their lanes side by side on one axis.
//!
//! ```text
//! a  branch 0        T 63 · η 0.40 · answer 42
//! b  branch 1        T 53 · η 0.08 · answer 42
//! ΔT −10 · Δη −0.32 · the same answer
//! they part in 1 after 4 tokens, step 23
//!   a  … t t t t│ t t t t
//!   b  … t t t t│<RETURN>short</RETURN>
//! a organizer ██████F1████J1┄┄┄┄██████
//! b organizer ██████F1████J1██████
//! ```

use super::frame::{fit, fit_tail, grouped, popup, put, span};
use crate::org::{Standing, ThreadId};
use crate::tui::compared::{Compared, Side};
use crate::tui::model::Model;
use crate::tui::widget::timeline::Lanes;
use crate::tui::widget::timeline::geometry::{Axis, Window};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

/// Cells for names, left of the bars.
const NAMES: u16 = 12;

/// Draws the comparison from lane pair `scroll` on; returns the pair that was really first.
pub fn draw(model: &Model, scroll: usize, area: Rect, buffer: &mut Buffer) -> usize {
    let look = &model.look;
    let Some(compared) = model.compared.as_deref() else {
        return 0;
    };
    let pairs = compared.comparison.threads.len();
    let parted = compared.comparison.divergence.is_some();
    let above = 5 + if parted { 2 } else { 0 };
    let wanted = u16::try_from(above + pairs * 2 + 2).unwrap_or(u16::MAX);
    let size = (
        area.width.saturating_sub(4),
        wanted.clamp(10, area.height.saturating_sub(2).max(10)),
    );
    let inside = popup(look, "Compare", "esc closes", size, area, buffer);
    let room = usize::from(inside.width);
    let mut y = inside.y;
    let mut say = |text: &str, style: Style, buffer: &mut Buffer| {
        if y < inside.bottom() {
            let line = Line::from(span(fit(text, room, look.signs.ellipsis), style));
            put(buffer, inside.x, y, &line, inside.width);
            y += 1;
        }
    };
    let text = look.style("ui.text");
    let comparison = &compared.comparison;
    say(
        &measures(model, 'a', &compared.a, &comparison.a),
        text,
        buffer,
    );
    say(
        &measures(model, 'b', &compared.b, &comparison.b),
        text,
        buffer,
    );
    let dot = look.signs.dot;
    let delta = format!(
        "change: T {:+} {dot} {} {:+.2} {dot} {}",
        comparison.latency_grew(),
        look.signs.eta,
        comparison.eta_grew(),
        if comparison.same_answer() {
            "the same answer"
        } else {
            "another answer"
        }
    );
    say(&delta, look.style("ui.accent"), buffer);
    match &comparison.divergence {
        None => say("every token is the same", look.style("ui.dim"), buffer),
        Some(d) => {
            let step = d.step().map_or(String::new(), |s| format!(", step {s}"));
            let words = format!("they part in {} after {} tokens{step}", d.thread, d.token);
            say(&words, look.style("ui.accent"), buffer);
            for (mark, side) in [('a', &compared.a), ('b', &compared.b)] {
                say(&parting(model, mark, side, room), text, buffer);
            }
        }
    }
    say("", text, buffer);
    let rows = usize::from(inside.bottom().saturating_sub(y));
    let first = scroll.min(pairs.saturating_sub((rows / 2).max(1)));
    let length = compared.a.tracks.length.max(compared.b.tracks.length);
    let lanes = Lane {
        model,
        axis: Axis::new(
            Window::Fit,
            length,
            false,
            inside.width.saturating_sub(NAMES + 2),
        ),
    };
    for pair in comparison.threads.iter().skip(first) {
        for (mark, side) in [("a ", &compared.a), ("b ", &compared.b)] {
            if y < inside.bottom() {
                lanes.draw(compared, mark, side, pair.id, (inside.x, y), buffer);
                y += 1;
            }
        }
    }
    first
}

fn measures(model: &Model, mark: char, side: &Side, standing: &Standing) -> String {
    let look = &model.look;
    let dot = look.signs.dot;
    let answer = standing
        .answer
        .as_deref()
        .unwrap_or("none")
        .replace('\n', " ");
    format!(
        "{mark}  {}  T {} {dot} {} {:.2} {dot} answer {}",
        look.safe(&side.name),
        grouped(standing.latency),
        look.signs.eta,
        standing.eta(),
        look.safe(&answer)
    )
}

/// The text around the place where they part.
fn parting(model: &Model, mark: char, side: &Side, room: usize) -> String {
    let look = &model.look;
    let Some((before, after)) = &side.text else {
        return format!("  {mark}  no such thread");
    };
    let one_line = |text: &str| look.safe(&text.replace(['\n', '\t'], " "));
    let half = room.saturating_sub(8) / 2;
    format!(
        "  {mark}  {}|{}",
        fit_tail(&one_line(before), half, look.signs.ellipsis),
        fit(&one_line(after), half, look.signs.ellipsis)
    )
}

struct Lane<'a> {
    model: &'a Model,
    axis: Axis,
}

impl Lane<'_> {
    fn draw(
        &self,
        compared: &Compared,
        mark: &str,
        side: &Side,
        id: ThreadId,
        (x, y): (u16, u16),
        buffer: &mut Buffer,
    ) {
        let look = &self.model.look;
        let dim = look.style("ui.dim");
        put(buffer, x, y, &Line::from(span(mark.to_owned(), dim)), 2);
        let Some(row) = side.tracks.tracks.iter().position(|t| t.id == id) else {
            let line = Line::from(span(format!("  {id} is not there"), dim));
            put(buffer, x + 2, y, &line, NAMES + self.axis.width);
            return;
        };
        let parts = compared.comparison.divergence.as_ref().map(|d| d.thread);
        Lanes {
            tracks: &side.tracks,
            rows: &[row],
            axis: self.axis,
            names: NAMES,
            selected: parts.unwrap_or(ThreadId::ORGANIZER),
            cursor: None,
            emphasis: true,
            slots: side.slots,
            theme: &look.theme,
            signs: &look.signs,
        }
        .render(
            Rect {
                x: x + 2,
                y,
                width: NAMES + self.axis.width,
                height: 1,
            },
            buffer,
        );
    }
}
