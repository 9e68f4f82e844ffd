//! The first line: what runs, where, in which state, how far, how fast. What stands below it is the banner's.

use super::frame::{fit, grouped, put, span};
use crate::org::{RunEnd, Status};
use crate::tui::action::Action;
use crate::tui::model::{Feed, Model, RunState};
use crate::tui::plain::run_end_words;
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Fewest cells for the query before anything else gives way.
const LEAST_QUERY: usize = 14;

struct Part {
    /// Higher stays longer.
    rank: u8,
    spans: Vec<Span<'static>>,
}

impl Part {
    fn width(&self) -> usize {
        self.spans.iter().map(|s| text_width(&s.content)).sum()
    }
}

/// The line of a query that says most.
fn first_line(query: &str) -> &str {
    query
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// Draws the header.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    buffer.set_style(area, look.ground("ui.header"));
    let width = usize::from(area.width);
    let name = " orgtop ";
    let query = model.header.as_ref().map_or_else(
        || look.safe(&model.loading),
        |h| look.safe(first_line(&h.query)),
    );
    let mut parts = parts(model);
    let gap = 2;
    let total = |parts: &[Part]| -> usize { parts.iter().map(|p| p.width() + gap).sum() };
    let wanted = LEAST_QUERY.min(text_width(&query));
    while parts.len() > 1 && name.len() + 1 + wanted + total(&parts) > width {
        let lowest = parts.iter().enumerate().min_by_key(|(_, p)| p.rank);
        let Some((i, _)) = lowest else {
            break;
        };
        parts.remove(i);
    }
    put(
        buffer,
        area.x,
        area.y,
        &Line::from(span(name, look.style("ui.accent"))),
        area.width,
    );
    let used = total(&parts);
    let room = width.saturating_sub(name.len() + 1 + used);
    let query = fit(&query, room, look.signs.ellipsis);
    put(
        buffer,
        area.x + 9,
        area.y,
        &Line::from(span(query, look.style("ui.header"))),
        area.width.saturating_sub(9),
    );
    let mut x = area
        .right()
        .saturating_sub(u16::try_from(used).unwrap_or(area.width));
    for part in parts {
        x += 2;
        let cells = u16::try_from(part.width()).unwrap_or(0);
        put(
            buffer,
            x.saturating_sub(1),
            area.y,
            &Line::from(part.spans),
            cells,
        );
        x += cells;
    }
}

fn parts(model: &Model) -> Vec<Part> {
    let look = &model.look;
    let organization = &model.organization;
    let dim = look.style("ui.dim");
    let text = look.style("ui.text");
    let mut parts = Vec::new();
    let mut add = |rank: u8, spans: Vec<Span<'static>>| parts.push(Part { rank, spans });
    if let Some(header) = &model.header {
        let model_name = look.safe(&header.engine.model.name);
        let place = match header.engine.device.as_str() {
            "" => model_name,
            device => format!("{model_name}{}{}", look.signs.dot, look.safe(device)),
        };
        if !place.is_empty() {
            add(30, vec![span(fit(&place, 28, look.signs.ellipsis), dim)]);
        }
        add(40, vec![span(format!("c={}", organization.capacity), dim)]);
    }
    let (pages, all) = model.report.pages;
    if all > 0 && pages * 10 >= all * 9 {
        add(
            45,
            vec![span(
                format!("memory {}%", pages * 100 / all),
                look.style("ui.badge.warn"),
            )],
        );
    }
    if model.report.queued > 0 {
        add(
            46,
            vec![span(
                format!("{} queued", model.report.queued),
                look.style("ui.badge.warn"),
            )],
        );
    }
    add(100, state(model));
    if organization.threads().len() > 0 {
        add(
            80,
            vec![
                span("step ", dim),
                span(grouped(organization.now.step.0), text),
            ],
        );
        add(70, counts(model));
    }
    let held: Vec<String> = model.held_by_people().map(|t| t.id.to_string()).collect();
    if !held.is_empty() && model.steerable() {
        let text = format!(" {} you: {} ", look.signs.human, held.join(" "));
        add(93, vec![span(text, look.style("state.human"))]);
    }
    let asks = organization.open_asks().count();
    if asks > 0 {
        let key = model.keymap.keys_of(Action::Approvals);
        let key = key.first().map_or("", String::as_str);
        let text = format!(" {asks} to approve ({key}) ");
        add(95, vec![span(text, look.style("ui.badge.warn"))]);
    }
    let drafts = organization.plan.standing().count();
    if drafts > 0 {
        let key = model.keymap.keys_of(Action::Board);
        let key = key.first().map_or("", String::as_str);
        let text = format!(" {drafts} planned ({key}) ");
        add(94, vec![span(text, look.style("ui.badge"))]);
    }
    let errors = organization.errors.len();
    if errors > 0 {
        let s = if errors == 1 { "" } else { "s" };
        add(
            90,
            vec![span(
                format!(" {errors} error{s} "),
                look.style("ui.badge.error"),
            )],
        );
    }
    let vetoes: u64 = organization.threads().map(|t| t.vetoes).sum();
    if vetoes > 0 {
        let word = if vetoes == 1 { "veto" } else { "vetoes" };
        let text = format!(" {} {word} ", grouped(vetoes));
        add(50, vec![span(text, look.style("ui.badge.warn"))]);
    }
    match model.run_state() {
        RunState::Over(_) => {
            let rate = organization.recorded_metrics.map(|m| m.tok_per_s);
            if let Some(rate) = rate.filter(|r| *r > 0.0) {
                add(60, vec![span(format!("{rate:.0} tok/s"), dim)]);
            }
        }
        RunState::Live | RunState::Lagging | RunState::Pausing | RunState::Replay => {
            if let Some(rate) = model.rate.per_second() {
                let limit = match model.speed_limit {
                    0 => String::new(),
                    limit => format!(" (limit {limit})"),
                };
                add(60, vec![span(format!("{rate:.0} tok/s{limit}"), text)]);
            }
        }
        _ => {}
    }
    parts
}

/// The breakpoints at which the run stands.
fn stops(model: &Model) -> Vec<String> {
    let at = model.organization.stopped_at.iter();
    at.map(|on| model.look.safe(&on.to_string())).collect()
}

fn state(model: &Model) -> Vec<Span<'static>> {
    let look = &model.look;
    let signs = &look.signs;
    let one = |glyph: &str, word: &str, scope: &str| {
        vec![span(format!("{glyph} {word}"), look.style(scope))]
    };
    match model.run_state() {
        RunState::Loading => one(spinner(model), "LOADING", "state.waiting"),
        RunState::Live => one(signs.live, "LIVE", "state.running"),
        RunState::Pausing => one(signs.paused, "PAUSING", "state.paused"),
        RunState::Paused => {
            let mut spans = one(signs.paused, "PAUSED", "state.paused");
            let at: Vec<String> = stops(model);
            if !at.is_empty() {
                let text = fit(&format!(" at {}", at.join(", ")), 28, signs.ellipsis);
                spans.push(span(text, look.style("state.paused")));
            }
            spans
        }
        RunState::Frozen => {
            let idle = model.now.saturating_sub(model.last_event).as_secs();
            one(signs.failed, &format!("FROZEN {idle} s"), "ui.badge.error")
        }
        RunState::Lagging => one(
            signs.live,
            &format!("LAGGING {}", grouped(model.merged as u64)),
            "ui.badge.warn",
        ),
        RunState::Failed => one(signs.failed, "FAILED", "state.failed"),
        RunState::Over(end) => {
            let (glyph, scope) = match end {
                RunEnd::Answered => (signs.answered, "state.done"),
                RunEnd::NoAnswer => (signs.eos, "state.failed"),
                RunEnd::TokenLimit => (signs.limit, "state.failed"),
                RunEnd::Aborted => (signs.killed, "state.killed"),
                RunEnd::Interrupted => (signs.paused, "state.paused"),
                RunEnd::Failed => (signs.failed, "state.failed"),
            };
            one(glyph, &run_end_words(end).to_uppercase(), scope)
        }
        RunState::Replay => {
            let Feed::Replay(playback) = &model.feed else {
                return Vec::new();
            };
            let glyph = if playback.playing {
                signs.running
            } else {
                signs.paused
            };
            let percent = playback.position.saturating_mul(100) / playback.length.max(1);
            let looping = if playback.looping { " loop" } else { "" };
            vec![
                span(format!("{glyph} REPLAY"), look.style("state.paused")),
                span(
                    format!(
                        " {percent}% {}{}{looping}",
                        signs.times,
                        speed(playback.speed)
                    ),
                    look.style("ui.dim"),
                ),
            ]
        }
    }
}

fn speed(speed: f32) -> String {
    if speed >= 1.0 {
        format!("{speed:.0}")
    } else {
        format!("1/{:.0}", 1.0 / speed.max(0.001))
    }
}

/// The phase of the wait that is on screen.
pub fn spinner(model: &Model) -> &'static str {
    let phases = model.look.signs.spinner;
    if !model.look.animation {
        return phases[0];
    }
    let phase = usize::try_from(model.now.as_millis() / 120).unwrap_or(0);
    phases[phase % phases.len()]
}

fn counts(model: &Model) -> Vec<Span<'static>> {
    let look = &model.look;
    let (mut run, mut wait, mut held, mut done) = (0, 0, 0, 0);
    for thread in model.organization.threads() {
        match thread.status {
            Status::Ended(_) => done += 1,
            _ if thread.paused => held += 1,
            Status::Waiting(_) => wait += 1,
            Status::Running => run += 1,
        }
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (n, word, scope) in [
        (run, "run", "state.running"),
        (wait, "wait", "state.waiting"),
        (held, "held", "state.paused"),
        (done, "done", "state.done"),
    ] {
        if n > 0 {
            if !spans.is_empty() {
                spans.push(span(format!(" {} ", look.signs.dot), look.style("ui.dim")));
            }
            spans.push(span(format!("{n} {word}"), look.style(scope)));
        }
    }
    let free = model.organization.free_slots();
    if free > 0 && model.steerable() {
        spans.push(span(
            format!(" {} {free} free", look.signs.dot),
            look.style("ui.dim"),
        ));
    }
    spans
}
