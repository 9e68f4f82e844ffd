//! The editor for a sub-query: whom it goes to, what will happen, why it was not sent.

use super::frame::{fill, fit, popup, put, span};
use super::seat_words;
use crate::org::Status;
use crate::tui::action::Action;
use crate::tui::look::Look;
use crate::tui::model::Model;
use crate::tui::popup::Draft;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use ratatui_textarea::{TextArea, WrapMode};

/// Draws the composer.
pub fn draw(model: &mut Model, area: Rect, frame: &mut Frame<'_>) {
    let what = format!(
        "{} For {} ({}: somebody else).",
        consequence(model),
        seat_words(&model.draft.seat),
        model.key(Action::SendOtherwise)
    );
    let hint = format!("{} sends, esc keeps the draft", model.key(Action::Send));
    let title = match model.draft.thread {
        id if id.is_organizer() => "COMPOSE: a sub-query for a new worker".to_owned(),
        id => format!("COMPOSE: a sub-query for a new worker of {id}"),
    };
    let sheet = Sheet {
        title: &title,
        hint: &hint,
        what: &what,
        placeholder: "what should the worker do?",
        size: LETTER,
    };
    let Draft {
        editor, complaint, ..
    } = &mut model.draft;
    editor_box(
        &model.look,
        &sheet,
        (editor, complaint.as_deref()),
        area,
        frame,
    );
}

/// What stands around an editor.
pub struct Sheet<'a> {
    /// Whom the text goes to.
    pub title: &'a str,
    /// Keys.
    pub hint: &'a str,
    /// What sending does.
    pub what: &'a str,
    /// Shown while there is no text.
    pub placeholder: &'a str,
    /// Widest and lowest: columns, lines around the words.
    pub size: (u16, u16),
}

/// Size of an editor for a few lines.
pub const LETTER: (u16, u16) = (76, 8);

/// An editor in the middle of the screen.
pub fn editor_box(
    look: &Look,
    sheet: &Sheet<'_>,
    (editor, complaint): (&mut TextArea<'static>, Option<&str>),
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let width = sheet.size.0.min(area.width.saturating_sub(2));
    let room = usize::from(width.saturating_sub(4)).max(1);
    let what = fill(sheet.what, room);
    let complaint = complaint.map_or_else(Vec::new, |text| fill(text, room));
    let inner = what.len() + complaint.len() + usize::from(sheet.size.1);
    let height = u16::try_from(inner)
        .unwrap_or(u16::MAX)
        .min(area.height.saturating_sub(2));
    let inside = popup(
        look,
        sheet.title,
        sheet.hint,
        (width, height),
        area,
        frame.buffer_mut(),
    );
    let buffer = frame.buffer_mut();
    let mut y = inside.y;
    let mut say = |line: &str, style| {
        if y < inside.bottom() {
            let line = Line::from(span(fit(line, room, look.signs.ellipsis), style));
            put(buffer, inside.x, y, &line, inside.width);
            y += 1;
        }
    };
    for line in &what {
        say(line, look.style("ui.dim"));
    }
    for line in &complaint {
        say(line, look.style("ui.badge.error"));
    }
    say("", look.style("ui.dim"));
    let editor_area = Rect {
        y,
        height: inside.bottom().saturating_sub(y),
        ..inside
    };
    // A line is as long as it is: it goes on in the next row, and is still one line.
    editor.set_wrap_mode(WrapMode::WordOrGlyph);
    editor.set_style(look.style("ui.popup").patch(look.style("ui.text")));
    editor.set_cursor_style(look.style("ui.cursor"));
    editor.set_cursor_line_style(look.style("ui.popup"));
    editor.set_selection_style(look.style("ui.selection"));
    editor.set_placeholder_text(sheet.placeholder);
    editor.set_placeholder_style(look.style("ui.dim"));
    if editor_area.area() > 0 {
        editor.render(editor_area, frame.buffer_mut());
    }
}

/// What sending will do, now.
fn consequence(model: &Model) -> String {
    let id = model.draft.thread;
    let status = model.organization.thread(id).map(|t| t.status);
    let whose = if id.is_organizer() {
        "the organizer's".to_owned()
    } else {
        format!("{id}'s")
    };
    let slot = if model.organization.free_slots() > 0 {
        "A new worker starts with it at the next step"
    } else {
        "All slots are taken: a new worker starts with it when one gets free"
    };
    let when = match status {
        Some(Status::Waiting(_)) => "as soon as it goes on",
        _ => "at the next token",
    };
    format!("{slot}. The Fork goes into {whose} text {when}.")
}
