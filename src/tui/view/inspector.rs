//! Exactly what the selected thread sees: its instructions where it was given any, its prompt, every token with its id and,
//! where the engine gives them, probability and alternatives; spliced text at its place.
//!
//! The scroll position counts instruction lines first, then tokens, so that only rows on screen are
//! made, however long the text.

use super::frame::{fill, fit, grouped, popup_at, put, span};
use crate::org::Role;
use crate::tui::given::{self, Given};
use crate::tui::model::Model;
use crate::tui::text::{PieceKind, TokenRef, safe_text, text_width};
use crate::tui::thread_view::ThreadView;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Alternatives shown beside a token.
const ALTERNATIVES: usize = 4;

/// Bytes of spliced text shown at its place; the pane shows it whole.
const SPLICE: u64 = 400;

/// Said where the header's instructions are none of the prompt.
const OWN_FORMAT: &str = "this model was trained on this format: it takes no instructions";

/// Draws the inspector from row `scroll` on; returns the row that was really first.
pub fn draw(model: &Model, scroll: usize, area: Rect, buffer: &mut Buffer) -> usize {
    let look = &model.look;
    let id = model.selected;
    let rect = Rect {
        x: area.x + 2.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    let inside = popup_at(look, &format!("What {id} sees"), "esc closes", rect, buffer);
    let (Some(thread), Some(view)) = (model.organization.thread(id), model.threads.get(&id)) else {
        return 0;
    };
    let width = usize::from(inside.width).max(1);
    let head = head(model, thread.role == Role::Organizer, view, width);
    let first_token = thread
        .tokens
        .saturating_sub(known_tokens(view, thread.tokens));
    let rows = usize::from(inside.height).max(1);
    let total = head.len() + usize::try_from(thread.tokens - first_token).unwrap_or(usize::MAX);
    let first = scroll.min(total.saturating_sub(rows));
    let mut y = inside.y;
    let mut say = |line: &Line<'_>| {
        if y < inside.bottom() {
            put(buffer, inside.x, y, line, inside.width);
        }
        y += 1;
        y < inside.bottom()
    };
    for line in head.iter().skip(first) {
        if !say(line) {
            return first;
        }
    }
    let mut index = first_token + first.saturating_sub(head.len()) as u64;
    let mut end = index
        .checked_sub(1)
        .and_then(|before| view.text.token(before))
        .map_or(view.text.start(), |t| t.span.end);
    while let Some(token) = view.text.token(index) {
        for line in splices(model, view, end, token.span.start, width) {
            if !say(&line) {
                return first;
            }
        }
        if !say(&row(model, view, &token, width)) {
            return first;
        }
        end = token.span.end;
        index += 1;
    }
    for line in splices(model, view, end, view.text.end(), width) {
        if !say(&line) {
            break;
        }
    }
    first
}

/// How many of the thread's own tokens this screen has (a recording may begin midway).
fn known_tokens(view: &ThreadView, tokens: u64) -> u64 {
    let (mut low, mut high) = (0, tokens);
    while low < high {
        let middle = low + (high - low) / 2;
        if view.text.token(middle).is_some() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    tokens - low
}

/// What the thread was given at its beginning.
fn given(model: &Model, organizer: bool, view: &ThreadView) -> Given {
    let Some(header) = &model.header else {
        return Given::Instructions(String::new());
    };
    let prompts = &header.prompts;
    let instructions = if organizer {
        &prompts.organizer
    } else if header.organizes(model.selected) && !prompts.sub_organizer.is_empty() {
        &prompts.sub_organizer
    } else {
        &prompts.worker
    };
    given::given(header, instructions, &view.prompt)
}

fn head(model: &Model, organizer: bool, view: &ThreadView, width: usize) -> Vec<Line<'static>> {
    let look = &model.look;
    let mut lines = Vec::new();
    let mut section = |title: String, text: &str| {
        lines.push(Line::from(span(title, look.style("ui.accent"))));
        for line in fill(&look.shown(&safe_text(text)), width.saturating_sub(2)) {
            lines.push(Line::from(span(format!("  {line}"), look.style("ui.dim"))));
        }
    };
    if let Some(thread) = model.organization.thread(model.selected) {
        let ids: Vec<String> = view
            .prompt
            .iter()
            .take(24)
            .map(ToString::to_string)
            .collect();
        let more = if view.prompt.len() > ids.len() {
            format!(" {}", look.signs.ellipsis)
        } else {
            String::new()
        };
        let ids = format!("{}{more}", ids.join(" "));
        let prompt = format!("prompt, {} tokens", grouped(thread.prompt_tokens));
        match given(model, organizer, view) {
            Given::Instructions(instructions) => {
                if !instructions.is_empty() {
                    section("instructions".to_owned(), &instructions);
                }
                let what = if organizer { "query" } else { "sub-query" };
                section(what.to_owned(), &thread.query);
                section(prompt, &ids);
            }
            Given::OwnFormat(text) => {
                let text = text.map_or(String::new(), |text| text + "\n");
                section(prompt, &(text + &ids));
                lines.push(Line::from(span(OWN_FORMAT, look.style("ui.text"))));
            }
        }
        lines.push(Line::from(span(
            format!(
                "text, {} tokens decoded, {} spliced{}",
                grouped(thread.tokens),
                grouped(thread.spliced_tokens),
                match thread.vetoes {
                    0 => String::new(),
                    n => format!(", {} refused by the guard", grouped(n)),
                }
            ),
            look.style("ui.accent"),
        )));
    }
    lines
}

/// Text between two tokens that nobody decoded.
fn splices(
    model: &Model,
    view: &ThreadView,
    from: u64,
    to: u64,
    width: usize,
) -> Vec<Line<'static>> {
    if to <= from {
        return Vec::new();
    }
    let look = &model.look;
    let by = view
        .text
        .origin_at(from)
        .map_or_else(String::new, |origin| {
            let what = match origin.kind {
                PieceKind::Decoded => "",
                PieceKind::Spliced(_) => "spliced by ",
            };
            format!("{what}{}", origin.author)
        });
    let text = look.shown(&view.text.logical_slice(from..to.min(from + SPLICE)));
    fill(text.trim_end(), width.saturating_sub(22).max(8))
        .into_iter()
        .enumerate()
        .map(|(i, line)| {
            let lead = if i == 0 { by.as_str() } else { "" };
            Line::from(vec![
                span(
                    format!("{:<20} ", fit(lead, 20, look.signs.ellipsis)),
                    look.style("pane.gutter.splice"),
                ),
                span(line, look.style("ui.text")),
            ])
        })
        .collect()
}

/// What the guard refused in the place of token `index` of the selected thread.
fn refused(model: &Model, index: u64) -> Option<&str> {
    let refusals = &model.organization.thread(model.selected)?.refusals;
    let at = refusals.binary_search_by_key(&index, |r| r.token).ok()?;
    refusals.get(at).map(|r| r.text.trim())
}

fn row(model: &Model, view: &ThreadView, token: &TokenRef, width: usize) -> Line<'static> {
    let look = &model.look;
    let text = view
        .text
        .logical_slice(token.span.clone())
        .replace('\n', "\\n");
    let text = fit(
        &format!("\u{2039}{}\u{203a}", look.safe(&text)),
        18,
        look.signs.ellipsis,
    );
    let text = if look.signs.ellipsis == "~" {
        text.replace('\u{2039}', "<").replace('\u{203a}', ">")
    } else {
        text
    };
    let pad = 18_usize.saturating_sub(text_width(&text));
    let mut spans = vec![
        span(
            format!("{:>7} {:>8}  ", token.index + 1, token.id),
            look.style("ui.dim"),
        ),
        span(format!("{text}{}", " ".repeat(pad)), look.style("ui.text")),
    ];
    if let Some(refused) = refused(model, token.index) {
        // It stands before everything else that is said of a token: it is rare, and what one looks for.
        let room = width.saturating_sub(56).clamp(8, 30);
        let text = fit(&look.safe(refused), room, look.signs.ellipsis);
        let text = format!(" {} {text} refused ", look.signs.times);
        spans.push(span(text, look.style("pane.gutter.veto")));
    }
    if let Some((logprob, alternatives)) = view.chances(token.index) {
        let percent = f64::from(logprob).exp() * 100.0;
        spans.push(span(
            format!(" {percent:>5.1}%"),
            look.style("syntax.number"),
        ));
        let others: Vec<String> = alternatives
            .iter()
            .filter(|(id, _)| *id != token.id)
            .take(ALTERNATIVES)
            .map(|(id, p)| format!("{id} {:.1}%", f64::from(*p).exp() * 100.0))
            .collect();
        if !others.is_empty() {
            let room = width.saturating_sub(45);
            let others = fit(
                &format!("  or {}", others.join(", ")),
                room,
                look.signs.ellipsis,
            );
            spans.push(span(others, look.style("ui.dim")));
        }
    }
    Line::from(spans)
}
