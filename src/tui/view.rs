//! Draws the model. One panel a file; each gets the model and a rectangle and changes nothing but how
//! panes remember their wrapped text and how far lists are scrolled.
//!
//! ```text
//! ┌ header ──────────────────────────────────────────────────────────┐
//! │ banner: a warning, or the answer                                 │
//! │ ╭ organizer ───────────╮╭ 1 ─────────╮╭ 2 ─────────╮             │
//! │ │ panes                ││            ││            │             │
//! │ ╰──────────────────────╯╰────────────╯╰────────────╯             │
//! │ ╭ T so far … ──────────────────────────────────────╮             │
//! │ │ timeline                                         │             │
//! │ ╰ 0 ──── 100 ──── 200 ─────────────────────────────╯             │
//! │ caption: what a demo says                                        │
//! │ footer: keys, a notice, or a field                               │
//! └──────────────────────────────────────────────────────────────────┘
//! ```

mod again;
mod approvals;
mod ask;
mod banner;
mod board;
pub mod breakpoints;
mod caption;
pub mod compare;
mod composer;
mod edit;
mod footer;
pub mod frame;
mod header;
mod help;
mod inspector;
mod letter;
mod loading;
mod palette;
mod panes;
mod pick;
mod rows;
mod stop;
pub mod timeline;
pub mod tree;
mod what_if;

use super::layout;
use super::model::Model;
use super::popup::Popup;
use crate::org::Seat;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws everything.
pub fn draw(model: &mut Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    model.size = (area.width, area.height);
    if area.area() == 0 {
        return;
    }
    let background = model
        .look
        .style("ui.text")
        .patch(model.look.style("ui.background"));
    frame.buffer_mut().set_style(area, background);
    if layout::too_small(area) {
        loading::too_small(model, area, frame.buffer_mut());
        return;
    }
    let screen = model.screen();
    let buffer = frame.buffer_mut();
    header::draw(model, screen.header, buffer);
    banner::draw(model, screen.banner, buffer);
    if model.organization.threads().len() == 0 {
        let middle = Rect {
            height: screen.body.height + screen.timeline.height,
            ..screen.body
        };
        loading::draw(model, middle, buffer);
    } else {
        match &screen.panes {
            layout::Panes::Tiles(tiles) => panes::draw(model, tiles, buffer),
            layout::Panes::Rows(inside) => rows::draw(model, screen.body, *inside, buffer),
        }
        timeline::draw(model, screen.timeline, buffer);
    }
    caption::draw(model, screen.caption, frame.buffer_mut());
    footer::draw(model, screen.footer, frame);
    // A caption is never hidden by what it talks about.
    let above = match screen.caption.height {
        0 => area,
        _ => Rect {
            height: screen.caption.y - area.y,
            ..area
        },
    };
    popups(model, above, frame);
}

/// Whom a sub-query is for, in words.
fn seat_words(seat: &Seat) -> String {
    match seat {
        Seat::Model => "the model".to_owned(),
        Seat::Human => "you".to_owned(),
        other => other.to_string(),
    }
}

fn popups(model: &mut Model, area: Rect, frame: &mut Frame<'_>) {
    for i in 0..model.popups.len() {
        let buffer = frame.buffer_mut();
        match &model.popups[i] {
            Popup::Help { scroll } => {
                let shown = help::draw(model, *scroll, area, buffer);
                model.popups[i] = Popup::Help { scroll: shown };
            }
            Popup::Inspector { scroll } => {
                let shown = inspector::draw(model, *scroll, area, buffer);
                model.popups[i] = Popup::Inspector { scroll: shown };
            }
            Popup::WhatIf { scroll } => {
                let shown = what_if::draw(model, *scroll, area, buffer);
                model.popups[i] = Popup::WhatIf { scroll: shown };
            }
            Popup::Compare { scroll } => {
                let shown = compare::draw(model, *scroll, area, buffer);
                model.popups[i] = Popup::Compare { scroll: shown };
            }
            Popup::Branches { chosen, marked } => {
                tree::draw(model, *chosen, *marked, area, buffer);
            }
            Popup::Breakpoints { chosen } => breakpoints::draw(model, *chosen, area, buffer),
            Popup::Edit => edit::draw(model, area, frame),
            Popup::Palette { text, chosen } => palette::draw(model, text, *chosen, area, frame),
            Popup::Stop => stop::draw(model, area, buffer),
            Popup::Again => again::draw(model, area, buffer),
            Popup::Composer => composer::draw(model, area, frame),
            Popup::Letter { letter, saying } => {
                letter::draw(model, *letter, *saying, area, frame);
            }
            Popup::Approvals { chosen, .. } => approvals::draw(model, *chosen, area, buffer),
            Popup::Board { chosen, .. } => board::draw(model, *chosen, area, buffer),
            Popup::Pick { workers, chosen } => pick::draw(model, workers, *chosen, area, buffer),
            Popup::Ask { question, .. } => ask::draw(model, *question, area, buffer),
            // Drawn by the footer.
            Popup::Field { .. } => {}
        }
    }
}
