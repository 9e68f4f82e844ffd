//! The editor for a seat, a request or the board: whom the text goes to, and what sending does.

use super::composer::{LETTER, Sheet, editor_box};
use crate::org::{Organization, ThreadId};
use crate::tui::action::Action;
use crate::tui::letter::{Letter, Saying};
use crate::tui::model::Model;
use crate::tui::view::seat_words;
use ratatui::Frame;
use ratatui::layout::Rect;

/// The keys of the editor, as they are bound.
struct Keys {
    send: String,
    otherwise: String,
}

/// Draws the editor for `letter`.
pub fn draw(model: &mut Model, letter: Letter, saying: Saying, area: Rect, frame: &mut Frame<'_>) {
    let keys = Keys {
        send: model.key(Action::Send),
        otherwise: model.key(Action::SendOtherwise),
    };
    let kept = |verb: &str| format!("{} {verb}, esc keeps the draft", keys.send);
    let look = &model.look;
    let draft = model.letters.entry(letter).or_default();
    let (title, what, hint) = match letter {
        Letter::Seat(id) => {
            let organizes = model.header.as_ref().is_some_and(|h| h.organizes(id));
            seat(&model.organization, id, saying, organizes, &keys)
        }
        Letter::Approve(ask) => (
            format!("Approve request {ask} as …"),
            "This text takes effect in the place of what was asked; whoever asked is told.".into(),
            kept("approves"),
        ),
        Letter::Deny(ask) => (
            format!("Deny request {ask}: why?"),
            "Whoever asked sees the reason. It may be empty.".into(),
            kept("denies"),
        ),
        Letter::NewDraft => (
            "COMPOSE: a draft for the board".into(),
            format!(
                "It is forked when the plan is released. For {} ({}: somebody else).",
                seat_words(&draft.seat),
                keys.otherwise
            ),
            kept("sends"),
        ),
        Letter::Draft(number) => (
            format!("COMPOSE: draft {number}"),
            "The sub-query as its worker will get it.".into(),
            kept("sends"),
        ),
    };
    let lines: Vec<String> = what.lines().map(|line| look.safe(line)).collect();
    let what = lines.join("\n");
    let sheet = Sheet {
        title: &title,
        hint: &hint,
        what: &what,
        placeholder: "",
        size: LETTER,
    };
    let written = (&mut draft.editor, draft.complaint.as_deref());
    editor_box(look, &sheet, written, area, frame);
}

fn seat(
    organization: &Organization,
    thread: ThreadId,
    saying: Saying,
    organizes: bool,
    keys: &Keys,
) -> (String, String, String) {
    let query = organization
        .thread(thread)
        .map(|t| t.query.clone())
        .unwrap_or_default();
    let title = if thread.is_organizer() {
        "YOU ARE THE ORGANIZER".to_owned()
    } else {
        format!("YOU ARE WORKER {thread}")
    };
    let what = match (thread.is_organizer(), saying) {
        (true, Saying::Aloud) => {
            "Goes into the organizer's text; <FORK-i>…</FORK-i>, <JOIN-i> and <ANSWER>…</ANSWER> act."
        }
        (true, Saying::Result) => "Is the answer and ends the run.",
        (false, Saying::Aloud) if organizes => {
            "Goes into the worker's text; <FORK-i>…</FORK-i>, <JOIN-i> and <RETURN>…</RETURN> act."
        }
        (false, Saying::Aloud) => "Goes into the worker's text; <RETURN>…</RETURN> ends it.",
        (false, Saying::Result) => {
            "Is the result: it ends the worker and goes to whoever joins it."
        }
    };
    let (verb, other) = match (thread.is_organizer(), saying) {
        (_, Saying::Aloud) => ("writes", "as the result"),
        (true, Saying::Result) => ("answers", "think aloud"),
        (false, Saying::Result) => ("returns", "think aloud"),
    };
    let hint = format!(
        "{} {verb}, {}: {other}, esc closes",
        keys.send, keys.otherwise
    );
    // A query is one paragraph here, however it was written.
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    (title, format!("{query}\n{what}"), hint)
}
