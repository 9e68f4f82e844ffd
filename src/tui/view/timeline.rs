//! The timeline with its frame: measures above, numbers below, lanes inside.

use super::frame::{fit, grouped, on_ground, put, span};
use crate::org::{Change, Status, ThreadId, WaitOn};
use crate::tui::model::{Focus, Model};
use crate::tui::popup::Popup;
use crate::tui::text::text_width;
use crate::tui::widget::timeline::Lanes;
use crate::tui::widget::timeline::geometry::Axis;
use crate::tui::widget::timeline::tracks::Doing;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

/// Cells between two numbers of the axis, at least.
const TICK_GAP: u16 = 12;

/// Which lanes are on screen, top to bottom, as indices into the tracks: the organizer always, and the
/// workers around the selected one, else the newest.
#[must_use]
pub fn lanes_in_view(model: &Model, area: Rect) -> Vec<usize> {
    let rows = usize::from(area.height.saturating_sub(3)).max(1);
    let shown = model.shown();
    let tracks = &model.ideal.tracks.tracks;
    let lanes: Vec<usize> = (0..tracks.len())
        .filter(|i| shown.binary_search(&tracks[*i].id).is_ok())
        .collect();
    if lanes.len() <= rows {
        return lanes;
    }
    let workers = &lanes[1..];
    let room = rows.saturating_sub(1);
    let last = workers.len().saturating_sub(room);
    let selected = workers.iter().position(|i| tracks[*i].id == model.selected);
    let first = selected.map_or(last, |at| at.saturating_sub(room / 2).min(last));
    lanes[..1]
        .iter()
        .chain(workers.iter().skip(first).take(room))
        .copied()
        .collect()
}

/// Draws the timeline.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    if area.height < 3 || area.width < 4 {
        return;
    }
    let look = &model.look;
    let focused = model.focus == Focus::Timeline && model.popups.is_empty();
    let (set, border) = if focused {
        (look.signs.focused_frame, "pane.border.focused")
    } else {
        (look.signs.frame, "pane.border")
    };
    Block::bordered()
        .border_set(set)
        .border_style(look.style(border))
        .render(area, buffer);
    let room = area.width - 2;
    put(
        buffer,
        area.x + 1,
        area.y,
        &title(model, usize::from(room)),
        room,
    );
    let axis = model.axis(area);
    let rows = lanes_in_view(model, area);
    let names = model.timeline_names();
    let inside = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: room,
        height: area.height - 2,
    };
    Lanes {
        tracks: &model.ideal.tracks,
        rows: &rows,
        axis,
        names,
        selected: model.selected,
        cursor: model.timeline.cursor,
        emphasis: !model.timeline.plain && !model.timeline.lived,
        slots: model.organization.capacity.saturating_sub(1),
        theme: &look.theme,
        signs: &look.signs,
    }
    .render(inside, buffer);
    ticks(model, axis, area, buffer);
    predictions(model, axis, area, buffer);
    bottom(model, rows.len(), area, buffer);
}

fn ticks(model: &Model, axis: Axis, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let left = area.x + 1 + model.timeline_names();
    let y = area.bottom() - 1;
    for (column, unit) in axis.ticks(TICK_GAP) {
        let label = if model.timeline.lived {
            milliseconds(unit)
        } else {
            grouped(unit)
        };
        let cells = u16::try_from(text_width(&label)).unwrap_or(0) + 1;
        if column + cells + 1 < axis.width {
            let x = left + column;
            put(
                buffer,
                x,
                y,
                &on_ground(
                    look,
                    Line::from(vec![
                        span(look.signs.axis[1], look.style("timeline.axis")),
                        span(label, look.style("timeline.axis")),
                    ]),
                ),
                cells,
            );
        }
    }
}

/// While the what-if panel is open: where `T` would lie without the selected worker, and were it twice as
/// fast.
fn predictions(model: &Model, axis: Axis, area: Rect, buffer: &mut Buffer) {
    let open = model
        .popups
        .iter()
        .any(|popup| matches!(popup, Popup::WhatIf { .. }));
    if !open || model.timeline.lived {
        return;
    }
    let look = &model.look;
    let id = model.selected;
    let left = area.x + 1 + model.timeline_names();
    let style = look.style("timeline.edge");
    let mut free = left;
    let changes = [
        (Change::Without(id), format!("without {id}")),
        (Change::TwiceAsFast(id), format!("{id} twice as fast")),
    ];
    let mut marks: Vec<(u64, String)> = changes
        .into_iter()
        .filter_map(|(change, name)| {
            let latency = model.ideal.latency_after(&model.organization, change)?;
            Some((latency, name))
        })
        .collect();
    marks.sort();
    for (latency, name) in marks {
        let Some(column) = axis.column(latency) else {
            continue;
        };
        for y in area.y + 1..area.bottom() - 1 {
            if let Some(cell) = buffer.cell_mut((left + column, y)) {
                cell.set_symbol(look.signs.cursor);
                cell.set_style(style);
            }
        }
        let label = format!(" {name}: T {} ", grouped(latency));
        let cells = u16::try_from(text_width(&label)).unwrap_or(u16::MAX);
        let last = (area.right() - 1).saturating_sub(cells);
        let x = (left + column).min(last).max(free);
        if x + cells < area.right() {
            let line = on_ground(look, Line::from(span(label, style)));
            put(buffer, x, area.bottom() - 1, &line, cells);
            free = x + cells;
        }
    }
}

fn milliseconds(us: u64) -> String {
    match us {
        0 => "0".to_owned(),
        us if us % 1_000_000 == 0 => format!("{}s", us / 1_000_000),
        us if us >= 1_000_000 => format!("{:.2}s", us as f64 / 1e6),
        us if us % 1_000 == 0 => format!("{}ms", us / 1_000),
        us => format!("{:.2}ms", us as f64 / 1e3),
    }
}

/// The exact numbers at the cursor, and how many lanes are out of view.
fn bottom(model: &Model, rows: usize, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let y = area.bottom() - 1;
    let hidden = model.shown().len().saturating_sub(rows);
    let mut right = area.right().saturating_sub(1);
    if hidden > 0 {
        let word = if hidden == 1 { "lane" } else { "lanes" };
        let text = format!(" {hidden} more {word} ");
        let cells = u16::try_from(text.len()).unwrap_or(0);
        if cells < area.width {
            right = right.saturating_sub(cells);
            let line = on_ground(look, Line::from(span(text, look.style("ui.dim"))));
            put(buffer, right, y, &line, cells);
        }
    }
    let Some(unit) = model.timeline.cursor else {
        return;
    };
    let text = at_cursor(model, unit);
    let room = usize::from(right.saturating_sub(area.x + 2));
    let text = fit(&format!(" {text} "), room, look.signs.ellipsis);
    let cells = u16::try_from(text_width(&text)).unwrap_or(0);
    // On the side where the cursor is not.
    put(
        buffer,
        right.saturating_sub(cells + 1).max(area.x + 1),
        y,
        &on_ground(look, Line::from(span(text, look.style("timeline.cursor")))),
        cells,
    );
}

fn at_cursor(model: &Model, unit: u64) -> String {
    let tracks = &model.ideal.tracks;
    let dot = model.look.signs.dot;
    let place = if model.timeline.lived {
        milliseconds(unit)
    } else {
        format!("step {}", grouped(unit + 1))
    };
    let active = tracks
        .tracks
        .iter()
        .filter(|t| !t.id.is_organizer() && t.decodes_in(unit, unit + 1))
        .count();
    let selected = tracks.tracks.iter().find(|t| t.id == model.selected);
    let doing = selected.map_or_else(String::new, |t| {
        let what = match t.at(unit).map(|s| s.what) {
            Some(Doing::Decode) => "decodes",
            Some(Doing::Critical) => "decodes, on the critical path",
            Some(Doing::Wait) => "waits",
            Some(Doing::Paused) => "paused",
            Some(Doing::Human) => "is written by you",
            Some(Doing::HumanCritical) => "is written by you, on the critical path",
            Some(Doing::Tool) => "is with a tool",
            Some(Doing::ToolCritical) => "is with a tool, on the critical path",
            None => "is not there",
        };
        format!("{} {what} {dot} ", t.id)
    });
    format!("{place} {dot} {doing}{active} active")
}

/// `T so far 412 · alone 655 · ×1.59 · η 0.69 (η/c 0.17) · organizer waited 41 on 2`, in as much as
/// fits.
fn title(model: &Model, room: usize) -> Line<'static> {
    let look = &model.look;
    let signs = &look.signs;
    let metrics = &model.ideal.metrics;
    let dim = look.style("ui.dim");
    let text = look.style("ui.text");
    let so_far = if model.organization.end.is_some() {
        ""
    } else {
        "so far "
    };
    let mut parts: Vec<Vec<Span<'static>>> = Vec::new();
    if model.timeline.lived {
        parts.push(vec![
            span("lived ", dim),
            span(milliseconds(model.organization.now.us), text),
        ]);
    }
    parts.push(vec![
        span(format!("T {so_far}"), dim),
        span(grouped(metrics.latency), look.style("timeline.critical")),
    ]);
    if let Some(without) = metrics.latency_without_people {
        parts.push(vec![
            span("without you ", dim),
            span(grouped(without), look.style("timeline.human")),
        ]);
    }
    parts.push(vec![span("alone ", dim), span(grouped(metrics.work), text)]);
    parts.push(vec![span(
        format!("{}{:.2}", signs.times, metrics.speedup),
        text,
    )]);
    parts.push(vec![
        span(format!("{} ", signs.eta), dim),
        span(format!("{:.2}", metrics.eta), text),
        span(format!(" ({}/c {:.2})", signs.eta, metrics.eta_over_c), dim),
    ]);
    let eta = parts.len() - 1;
    parts.push(waited(model));
    parts.retain(|p| !p.is_empty());
    let cells = |part: &Vec<Span<'static>>| -> usize {
        3 + part.iter().map(|s| text_width(&s.content)).sum::<usize>()
    };
    if parts.iter().map(cells).sum::<usize>() + 11 > room
        && let Some(part) = parts.get_mut(eta)
    {
        part.truncate(2);
    }
    let mut line = vec![span(" Timeline ", look.style("pane.title"))];
    let mut used = text_width(&line[0].content);
    let separator = format!(" {} ", signs.dot);
    for (i, part) in parts.into_iter().enumerate() {
        let lead = if i == 0 {
            format!("{} ", signs.dash)
        } else {
            separator.clone()
        };
        let cells: usize =
            text_width(&lead) + part.iter().map(|s| text_width(&s.content)).sum::<usize>();
        if used + cells + 1 > room {
            break;
        }
        used += cells;
        line.push(span(lead, dim));
        line.extend(part);
    }
    line.push(span(" ", dim));
    on_ground(look, Line::from(line))
}

/// What the organizer stands at, or stood at longest.
fn waited(model: &Model) -> Vec<Span<'static>> {
    let look = &model.look;
    let dim = look.style("ui.dim");
    let Some((steps, worker)) = model.ideal.organizer_waited() else {
        return Vec::new();
    };
    let organizer = model.organization.thread(ThreadId::ORGANIZER);
    let now = match organizer.map(|t| t.status) {
        Some(Status::Waiting(WaitOn::Join(on) | WaitOn::Slot(on))) => Some(on),
        _ => None,
    };
    let verb = if now.is_some() { "waits" } else { "waited" };
    vec![
        span(format!("organizer {verb} "), dim),
        span(grouped(steps), look.style("state.waiting")),
        span(" on ", dim),
        span(
            now.unwrap_or(worker).to_string(),
            look.style("state.waiting"),
        ),
    ]
}
