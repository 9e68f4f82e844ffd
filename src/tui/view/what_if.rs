//! What hangs on whom: slack and blame of each worker, `T` without it and were it twice as fast. All exact,
//! in ideal time.

use super::frame::{grouped, popup, put, span};
use crate::org::{Change, ThreadId};
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::cmp::Ordering;

/// Draws the panel from row `scroll` on; returns the row that was really first.
pub fn draw(model: &Model, scroll: usize, area: Rect, buffer: &mut Buffer) -> usize {
    let look = &model.look;
    let workers: Vec<ThreadId> = model
        .organization
        .threads()
        .filter(|t| !t.id.is_organizer())
        .map(|t| t.id)
        .collect();
    let wanted = u16::try_from(workers.len() + 6).unwrap_or(u16::MAX);
    let so_far = if model.organization.end.is_some() {
        ""
    } else {
        " so far"
    };
    let inside = popup(
        look,
        &format!("What if{so_far}"),
        "esc closes",
        (80, wanted.clamp(8, 24)),
        area,
        buffer,
    );
    if inside.height < 4 {
        return 0;
    }
    let metrics = &model.ideal.metrics;
    let summary = format!(
        "T {} {} work {} {} {}{:.2} {} reward of concurrency {:.2}",
        grouped(metrics.latency),
        look.signs.dot,
        grouped(metrics.work),
        look.signs.dot,
        look.signs.times,
        metrics.speedup,
        look.signs.dot,
        metrics.r_eta,
    );
    put(
        buffer,
        inside.x,
        inside.y,
        &Line::from(span(summary, look.style("ui.text"))),
        inside.width,
    );
    let heading = format!(
        "{:<8} {:>8} {:>10} {:>8}  {:<18} {}",
        "worker", "tokens", "slack", "waited", "T without it", "T twice as fast"
    );
    put(
        buffer,
        inside.x,
        inside.y + 2,
        &Line::from(span(heading, look.style("ui.dim"))),
        inside.width,
    );
    let top = inside.y + 3;
    let rows = usize::from(inside.bottom().saturating_sub(top)).max(1);
    let first = scroll.min(workers.len().saturating_sub(rows));
    if workers.is_empty() {
        let line = Line::from(span("nobody was forked yet", look.style("ui.dim")));
        put(buffer, inside.x, top, &line, inside.width);
    }
    for (y, id) in (top..inside.bottom()).zip(workers.iter().skip(first)) {
        put(buffer, inside.x, y, &row(model, *id), inside.width);
        if *id == model.selected {
            let rect = Rect {
                y,
                height: 1,
                ..inside
            };
            buffer.set_style(rect, look.style("ui.selection"));
        }
    }
    first
}

fn row(model: &Model, id: ThreadId) -> Line<'static> {
    let look = &model.look;
    let ideal = &model.ideal;
    let tokens = model.organization.thread(id).map_or(0, |t| t.tokens);
    let slack = match ideal.slack.get(&id) {
        Some(slack) => grouped(*slack),
        None => "not joined".to_owned(),
    };
    let blame: u64 = ideal
        .blame
        .iter()
        .filter(|((_, on), _)| *on == id)
        .map(|(_, steps)| *steps)
        .sum();
    let latency = ideal.metrics.latency;
    let predicted = |change| {
        ideal
            .latency_after(&model.organization, change)
            .map_or_else(String::new, |t| match t.cmp(&latency) {
                Ordering::Equal => format!("{} (no change)", grouped(t)),
                Ordering::Less => {
                    format!(
                        "{} ({}{})",
                        grouped(t),
                        look.signs.dash,
                        grouped(latency - t)
                    )
                }
                Ordering::Greater => format!("{} (+{})", grouped(t), grouped(t - latency)),
            })
    };
    let without = predicted(Change::Without(id));
    let fast = predicted(Change::TwiceAsFast(id));
    let on_path = ideal.path.iter().any(|link| link.thread == id);
    let style = look.style(if on_path {
        "timeline.critical"
    } else {
        "ui.text"
    });
    Line::from(vec![
        span(format!("{:<8} ", id.to_string()), style),
        span(
            format!(
                "{:>8} {slack:>10} {:>8}  {without:<18} {fast}",
                grouped(tokens),
                grouped(blame)
            ),
            look.style("ui.text"),
        ),
    ])
}
