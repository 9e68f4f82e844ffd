//! Drawing a training.

use super::board::{Board, Chart as Curves};
use crate::tui::look::Look;
use crate::tui::text::Glyphs;
use crate::tui::view::frame::{fit, put, span};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, LegendPosition, Widget};
use std::time::Duration;

/// Colours of the lines, by meaning in other places; told apart by the legend.
const LINES: [&str; 5] = [
    "ui.accent",
    "state.done",
    "state.waiting",
    "state.human",
    "state.failed",
];

/// Draws it over the whole screen.
pub fn draw(board: &Board, look: &Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < 20 || area.height < 6 {
        return;
    }
    let [head, state, middle, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    header(board, look, head, frame);
    let doing = if board.stopping() {
        "stopping; everything up to the last checkpoint is kept"
    } else {
        &board.doing
    };
    let text = format!(" {}  {doing}", board.summary);
    let text = fit(
        &look.safe(&text),
        usize::from(state.width),
        look.signs.ellipsis,
    );
    put(
        frame.buffer_mut(),
        state.x,
        state.y,
        &Line::from(span(text, look.style("ui.text"))),
        state.width,
    );
    let rows = Layout::vertical(board.charts.iter().map(|_| Constraint::Fill(1))).split(middle);
    for (chart, area) in board.charts.iter().zip(rows.iter()) {
        curves(chart, board.steps, look, *area, frame);
    }
    let keys = if board.over() {
        " the training is over    q leave"
    } else {
        " q save and stop    ctrl-z background"
    };
    let line = Line::from(span(keys, look.style("ui.footer")));
    put(frame.buffer_mut(), foot.x, foot.y, &line, foot.width);
}

fn header(board: &Board, look: &Look, area: Rect, frame: &mut Frame<'_>) {
    let buffer = frame.buffer_mut();
    buffer.set_style(area, look.style("ui.header"));
    let left = board
        .left()
        .filter(|_| !board.over())
        .map_or_else(String::new, |left| format!("   {} left", clock(left)));
    let text = format!(
        " orgtop  {}   step {} of {}{left}",
        board.title, board.step, board.steps
    );
    let text = fit(
        &look.safe(&text),
        usize::from(area.width),
        look.signs.ellipsis,
    );
    let line = Line::from(span(text, look.style("ui.header")));
    put(buffer, area.x, area.y, &line, area.width);
}

/// `2 h 05 min`, `3 min 20 s`, `12 s`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

fn curves(chart: &Curves, steps: u64, look: &Look, area: Rect, frame: &mut Frame<'_>) {
    let values = || chart.series.iter().flat_map(|s| &s.points).map(|p| p.1);
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    let block = Block::bordered()
        .border_set(look.signs.frame)
        .border_style(look.style("pane.border"))
        .title(Span::styled(
            format!(" {} ", look.safe(chart.title)),
            look.style("pane.title"),
        ));
    if low > high {
        block.render(area, frame.buffer_mut());
        return;
    }
    let margin = ((high - low) * 0.05).max(high.abs() * 1e-3).max(1e-9);
    let bounds = [low - margin, high + margin];
    let label =
        |value: f64| Span::styled(number(value, bounds[1] - bounds[0]), look.style("ui.dim"));
    let last = values().count().max(1);
    let most = chart
        .series
        .iter()
        .flat_map(|s| s.points.last())
        .map(|p| p.0)
        .fold(1.0, f64::max);
    // room for what is to come, unless that would press what is there into a corner
    let most = if (steps as f64) < most * 4.0 {
        most.max(steps as f64)
    } else {
        most
    };
    let marker = if look.glyphs == Glyphs::Ascii || last == 1 {
        Marker::Dot
    } else {
        Marker::Braille
    };
    let datasets = chart
        .series
        .iter()
        .zip(LINES.iter().cycle())
        .map(|(s, scope)| {
            Dataset::default()
                .name(look.safe(s.name))
                .marker(marker)
                .graph_type(GraphType::Line)
                .style(look.style(scope))
                .data(&s.points)
        });
    Chart::new(datasets.collect())
        .block(block)
        .style(Style::default())
        .legend_position(Some(LegendPosition::TopRight))
        .hidden_legend_constraints((Constraint::Percentage(60), Constraint::Percentage(60)))
        .x_axis(
            Axis::default()
                .style(look.style("ui.dim"))
                .bounds([0.0, most])
                .labels([
                    Span::styled("0", look.style("ui.dim")),
                    Span::styled(format!("{most:.0} steps"), look.style("ui.dim")),
                ]),
        )
        .y_axis(
            Axis::default()
                .style(look.style("ui.dim"))
                .bounds(bounds)
                .labels([label(bounds[0]), label(bounds[1])]),
        )
        .render(area, frame.buffer_mut());
}

/// With as many digits as a range of this size needs.
fn number(value: f64, range: f64) -> String {
    let digits = (1.0 - range.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.digits$}")
}
