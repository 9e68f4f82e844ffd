//! The lines above the panes: a failure, a warning, or the answer with what it took and what it is worth.

use super::frame::{fit, grouped, put, span};
use crate::org::Metrics;
use crate::task::{Report, Reward};
use crate::tui::model::{Banner, Model};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the lines above the panes.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let look = &model.look;
    let (glyph, text, scope) = match model.banner() {
        Some(Banner::Failure(why)) => (look.signs.failed, why, "ui.badge.error"),
        Some(Banner::Warning(what)) => (look.signs.failed, what, "ui.badge.warn"),
        Some(Banner::Answer(answer)) => {
            if let Some(verdict) = model.verdict() {
                return draw_verdict(model, &verdict, area, buffer);
            }
            draw_cost(model, "answered", below(area), buffer);
            (look.signs.answered, answer, "tag.answer")
        }
        None => return,
    };
    let area = Rect { height: 1, ..area };
    buffer.set_style(area, look.style(scope));
    let room = usize::from(area.width).saturating_sub(4);
    let text = fit(&look.safe(&text), room, look.signs.ellipsis);
    let line = Line::from(span(format!(" {glyph} {text}"), look.style(scope)));
    put(buffer, area.x, area.y, &line, area.width);
}

/// What is left of an area below its first line.
fn below(area: Rect) -> Rect {
    Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// Says in a sentence what the answer took, where there is a line for it; returns how many lines that was.
fn draw_cost(model: &Model, what: &str, area: Rect, buffer: &mut Buffer) -> u16 {
    if area.height == 0 || !model.says_cost() {
        return 0;
    }
    let look = &model.look;
    let room = usize::from(area.width).saturating_sub(3);
    let text = fit(
        &cost(what, &model.ideal.metrics, room),
        room,
        look.signs.ellipsis,
    );
    let line = Line::from(span(format!("   {text}"), look.style("ui.text")));
    put(buffer, area.x, area.y, &line, area.width);
    1
}

/// What came of it in how many steps, and what one thread alone needs for it; how many times as long that is
/// where `room` cells hold it.
fn cost(what: &str, metrics: &Metrics, room: usize) -> String {
    let steps = grouped(metrics.latency);
    if metrics.work <= metrics.latency {
        return format!("{what} in {steps} steps");
    }
    let work = grouped(metrics.work);
    let said = format!("{what} in {steps} steps; one thread alone needs {work}");
    let times = format!(" ({:.1} times as long)", metrics.speedup);
    if said.len() + times.len() <= room {
        said + &times
    } else {
        said
    }
}

/// The verified answer of a task: every solution marked right, found again, or wrong; below, what it is worth.
fn draw_verdict(model: &Model, verdict: &Report, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let total = if verdict.n_correct >= verdict.required {
        "state.done"
    } else {
        "state.failed"
    };
    let count = format!(
        " {} {}/{} ",
        look.signs.answered, verdict.n_correct, verdict.required
    );
    let mut spans = vec![span(count, look.style(total))];
    for found in &verdict.found {
        let (sign, scope) = match (found.distinct, found.correct) {
            (true, _) => (look.signs.returned, "state.done"),
            (false, true) => (look.signs.again, "state.waiting"),
            (false, false) => (look.signs.failed, "state.failed"),
        };
        spans.push(span(format!(" {sign} "), look.style(scope)));
        spans.push(span(look.safe(&found.text), look.style("ui.text")));
    }
    put(buffer, area.x, area.y, &Line::from(spans), area.width);
    let found = format!("{} of {} found", verdict.n_correct, verdict.required);
    let below = below(area);
    let said = draw_cost(model, &found, below, buffer);
    let line = reward(model, &verdict.reward);
    if below.height > said {
        put(buffer, below.x, below.y + said, &line, below.width);
    }
}

/// The reward and what it is made of, by the names of the paper.
fn reward(model: &Model, reward: &Reward) -> Line<'static> {
    let look = &model.look;
    let part = |name: &str, value: f64| {
        [
            span(format!("  {name} "), look.style("ui.dim")),
            span(format!("{value:.2}"), look.style("ui.text")),
        ]
    };
    let mut spans = vec![span("   reward", look.style("ui.dim"))];
    spans.extend(part("R", reward.total));
    spans.extend(part("R_A", reward.r_a));
    spans.extend(part("R_FE", reward.r_fe));
    spans.extend(part(&format!("R_{}", look.signs.eta), reward.r_eta));
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(latency: u64, work: u64) -> Metrics {
        Metrics {
            latency,
            work,
            speedup: work as f64 / latency as f64,
            ..Metrics::default()
        }
    }

    #[test]
    fn what_an_answer_took_is_said_against_one_thread_alone() {
        assert_eq!(
            cost("4 of 4 found", &metrics(303, 784), 77),
            "4 of 4 found in 303 steps; one thread alone needs 784 (2.6 times as long)"
        );
    }

    #[test]
    fn on_a_narrow_screen_the_figures_stand_alone() {
        assert_eq!(
            cost("answered", &metrics(303, 784), 60),
            "answered in 303 steps; one thread alone needs 784"
        );
    }

    #[test]
    fn where_nothing_was_saved_nothing_is_compared() {
        for work in [120, 90] {
            let said = cost("answered", &metrics(120, work), 77);
            assert_eq!(said, "answered in 120 steps");
        }
    }
}
