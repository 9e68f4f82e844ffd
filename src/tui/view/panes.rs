//! Threads as tiles: state and tokens in the frame, text inside, free slots as empty tiles.

use super::frame::{fit, grouped, pane, put, span};
use crate::org::{Role, Seat, Thread, ThreadId};
use crate::tui::action::Action;
use crate::tui::layout::Slot;
use crate::tui::model::{Feed, Focus, Model};
use crate::tui::sign::status_scope;
use crate::tui::text::{TextPane, text_width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::StatefulWidget;

/// Fewest inner rows at which a worker's sub-query gets one of them.
const ROWS_FOR_QUERY: u16 = 3;

/// Draws all tiles.
pub fn draw(model: &mut Model, tiles: &[(Rect, Slot)], buffer: &mut Buffer) {
    for (rect, slot) in tiles {
        match slot {
            Slot::Thread(id) => thread(model, *id, *rect, buffer),
            Slot::Free => free(model, *rect, buffer),
        }
    }
}

/// The clock of whoever writes in the model's place, and their keys as far as there is room.
fn writer(model: &Model, thread: &Thread, room: usize) -> Line<'static> {
    let Some(us) = model.writing_for(thread) else {
        return Line::default();
    };
    let look = &model.look;
    let steps = grouped(thread.written_steps(model.organization.now));
    let clock = format!(" {} s {} {steps} steps ", us / 1_000_000, look.signs.dot);
    let mut used = text_width(&clock);
    let mut spans = vec![span(clock, look.style(status_scope(thread)))];
    if thread.seat == Seat::Human && model.steerable() {
        for (action, word) in [(Action::Write, "writes"), (Action::Seat, "gives back")] {
            if let Some(key) = model.keymap.keys_of(action).first() {
                used += text_width(key) + text_width(word) + 2;
                if used > room {
                    break;
                }
                spans.push(span(key.clone(), look.style("ui.key")));
                spans.push(span(format!(" {word} "), look.style("ui.dim")));
            }
        }
    }
    Line::from(spans)
}

fn free(model: &Model, rect: Rect, buffer: &mut Buffer) {
    let look = &model.look;
    let dim = look.style("ui.dim");
    let empty = Line::default;
    let title = Line::from(span(" free ", dim));
    let inside = pane(look, false, title, empty(), empty(), rect, buffer);
    if model.steerable()
        && inside.height > 0
        && let Some(key) = model.keymap.keys_of(Action::Fork).first()
    {
        let hint = fit(
            &format!("{key} {} fork a sub-query", look.signs.dash),
            usize::from(inside.width.saturating_sub(2)),
            look.signs.ellipsis,
        );
        let middle = inside.y + (inside.height - 1) / 2;
        let width = u16::try_from(text_width(&hint)).unwrap_or(0);
        let x = inside.x + inside.width.saturating_sub(width) / 2;
        put(
            buffer,
            x,
            middle,
            &Line::from(span(hint, dim)),
            inside.width,
        );
    }
}

fn thread(model: &mut Model, id: ThreadId, rect: Rect, buffer: &mut Buffer) {
    let selected = model.selected == id;
    let focused = selected && model.focus == Focus::Pane && model.popups.is_empty();
    let room = usize::from(rect.width.saturating_sub(4));
    let clock = model.organization.thread(id);
    let clock = clock.map_or_else(Line::default, |t| writer(model, t, room));
    let (Some(thread), Some(view)) = (model.organization.thread(id), model.threads.get_mut(&id))
    else {
        return;
    };
    let look = &model.look;
    let signs = &look.signs;
    let tokens = format!(" {} ", grouped(thread.tokens));
    let name_style = look.style(if selected {
        "pane.title.focused"
    } else {
        "pane.title"
    });
    let name = match &thread.seat {
        seat @ Seat::Server(_) => format!(" {id} {seat} "),
        _ => format!(" {id} "),
    };
    let asked = model.organization.asked_of(id).is_some();
    let (glyph, words, scope) = if asked {
        (
            signs.waiting,
            "waits for your word".to_owned(),
            "state.waiting",
        )
    } else {
        let words = view.state_words(thread, model.organization.now.us);
        (signs.status(thread), words, status_scope(thread))
    };
    let state = format!("{glyph} {words} ");
    let for_state = room.saturating_sub(name.len() + tokens.len());
    let title = Line::from(vec![
        span(fit(&name, room, signs.ellipsis), name_style),
        span(fit(&state, for_state, signs.ellipsis), look.style(scope)),
    ]);
    let right = if room > name.len() + tokens.len() {
        Line::from(span(tokens, look.style("ui.dim")))
    } else {
        Line::default()
    };
    // How much is new is known once the text is laid out: lay out first, then frame.
    let mut inside = Rect {
        x: rect.x + 1.min(rect.width),
        y: rect.y + 1.min(rect.height),
        width: rect.width.saturating_sub(2),
        height: rect.height.saturating_sub(2),
    };
    let query = (thread.role == Role::Worker && inside.height >= ROWS_FOR_QUERY)
        .then(|| look.safe(&thread.query));
    let query_row = inside;
    if query.is_some() {
        inside.y += 1;
        inside.height -= 1;
    }
    view.pane
        .lay_out(&view.text, inside.width.saturating_sub(1), inside.height);
    let bottom = match (view.pane.is_following(), view.pane.new_below()) {
        (true, _) => clock,
        (false, 0) => Line::from(span(
            format!(" {} more ", signs.below),
            look.style("ui.dim"),
        )),
        (false, n) => Line::from(span(
            format!(" {} {n} new ", signs.below),
            look.style("ui.badge"),
        )),
    };
    pane(look, focused, title, right, bottom, rect, buffer);
    if let Some(query) = query {
        let room = usize::from(query_row.width).saturating_sub(2);
        let text = fit(&query, room, signs.ellipsis);
        let line = Line::from(span(
            format!("{} {text}", signs.prompt),
            look.style("ui.dim"),
        ));
        put(buffer, query_row.x, query_row.y, &line, query_row.width);
    }
    let live = match &model.feed {
        Feed::Live => true,
        Feed::Replay(playback) => playback.playing,
    };
    let streaming = live
        && model.organization.decodes(thread)
        && !model.organization.paused
        && model.organization.end.is_none();
    let search = model.search.as_ref();
    let current = search
        .and_then(|s| s.current.clone())
        .filter(|(of, _)| *of == id)
        .map(|(_, span)| span);
    TextPane::new(&view.text, &look.text)
        .glyphs(look.glyphs)
        .streaming(streaming)
        .refusals(&thread.refusals)
        .search(search.map(|s| &s.pattern))
        .selection(current)
        .render(inside, buffer, &mut view.pane);
}
