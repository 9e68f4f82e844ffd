//! Taking seats and writing in them: the actions, and what sending a letter asks for.

use super::Effect;
use crate::org::{Command, Seat, ThreadId};
use crate::tui::action::Action;
use crate::tui::letter::{Letter, Saying};
use crate::tui::model::Model;
use crate::tui::popup::{Draft, Popup, check_query};
use ratatui_textarea::TextArea;

/// Takes the seat of the selected thread, or gives it back to the model.
pub fn take_or_give(model: &mut Model) -> Vec<Effect> {
    let thread = model.selected;
    let Some(seat) = model.organization.thread(thread).map(|t| t.seat.clone()) else {
        return Vec::new();
    };
    let to = match seat {
        Seat::Model => Seat::Human,
        Seat::Human | Seat::Tool(_) | Seat::Server(_) => Seat::Model,
    };
    vec![Effect::Send(Command::Seat { thread, to })]
}

/// Opens the editor for the selected thread.
pub fn write(model: &mut Model) -> Vec<Effect> {
    let thread = model.selected;
    match model.organization.thread(thread) {
        Some(t) if t.ended() => model.say(format!("{thread} has ended")),
        Some(t) if t.seat == Seat::Human => {
            let saying = if thread.is_organizer() {
                Saying::Aloud
            } else {
                Saying::Result
            };
            open(model, Letter::Seat(thread), saying, String::new());
        }
        Some(t) => {
            let key = model.key(Action::Seat);
            let text = format!("{} writes {thread}: {key} takes its seat", t.seat);
            model.say(text);
        }
        None => {}
    }
    Vec::new()
}

/// Opens the editor for a letter; a draft that was kept goes on, else `first` stands there.
pub fn open(model: &mut Model, letter: Letter, saying: Saying, first: String) {
    model.letters.entry(letter).or_insert_with(|| draft(&first));
    model.popups.push(Popup::Letter { letter, saying });
}

fn draft(text: &str) -> Draft {
    let mut editor = TextArea::from(text.lines());
    editor.move_cursor(ratatui_textarea::CursorMove::Bottom);
    editor.move_cursor(ratatui_textarea::CursorMove::End);
    Draft {
        editor,
        ..Draft::default()
    }
}

/// Puts a text back that was refused, unless another was begun meanwhile.
pub fn keep(model: &mut Model, thread: ThreadId, text: &str) {
    let kept = model.letters.entry(Letter::Seat(thread)).or_default();
    if kept.text().is_empty() {
        *kept = draft(text);
    }
}

/// Changes what sending the open letter does: who a new draft is for, or what a seat's text becomes.
pub fn otherwise(model: &mut Model) {
    let Some(Popup::Letter { letter, saying }) = model.popups.last_mut() else {
        return;
    };
    match letter {
        Letter::Seat(_) => *saying = saying.other(),
        Letter::NewDraft => {
            let draft = model.letters.entry(*letter).or_default();
            draft.seat = next_seat(&draft.seat, &model.report.seats);
        }
        Letter::Approve(_) | Letter::Deny(_) | Letter::Draft(_) => {}
    }
}

/// Sends the open letter, or says in it why it cannot be sent.
pub fn send(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Letter { letter, saying }) = model.popups.last() else {
        return Vec::new();
    };
    let (letter, saying) = (*letter, *saying);
    let draft = model.letters.entry(letter).or_default();
    match command(letter, saying, draft) {
        Ok(command) => {
            model.popups.pop();
            model.letters.remove(&letter);
            vec![Effect::Send(command)]
        }
        Err(why) => {
            draft.complaint = Some(why);
            Vec::new()
        }
    }
}

/// What sending a letter asks for, or why it cannot be sent.
fn command(letter: Letter, saying: Saying, draft: &Draft) -> Result<Command, String> {
    let text = draft.text();
    match letter {
        Letter::Seat(thread) => match saying {
            // White space at its ends belongs to what is thought aloud.
            Saying::Aloud => match draft.editor.lines().join("\n") {
                text if text.is_empty() => Err("There is no text.".to_owned()),
                text => Ok(Command::Text { thread, text }),
            },
            Saying::Result => {
                let tag = if thread.is_organizer() {
                    "</ANSWER>"
                } else {
                    "</RETURN>"
                };
                if text.contains(tag) {
                    return Err(format!(
                        "The text contains `{tag}`, which is put after it by itself. Leave it out."
                    ));
                }
                Ok(Command::Submit { thread, text })
            }
        },
        Letter::Approve(ask) => Ok(Command::Approve {
            ask: Some(ask),
            text: Some(text),
        }),
        Letter::Deny(ask) => Ok(Command::Deny {
            ask: Some(ask),
            reason: text,
        }),
        Letter::NewDraft => {
            check_query(&text)?;
            Ok(Command::PlanAdd {
                query: text,
                seat: draft.address(),
            })
        }
        Letter::Draft(draft) => {
            check_query(&text)?;
            Ok(Command::PlanEdit {
                draft,
                query: Some(text),
                seat: None,
            })
        }
    }
}

/// The seat after `seat`: the model, a person, each of `others`, and around again.
#[must_use]
pub fn next_seat(seat: &Seat, others: &[Seat]) -> Seat {
    let other = |i: usize| others.get(i).cloned().unwrap_or_default();
    match seat {
        Seat::Model => Seat::Human,
        Seat::Human => other(0),
        seat => match others.iter().position(|other| other == seat) {
            Some(i) => other(i + 1),
            None => Seat::Model,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seat_comes_up_once_before_the_model_again() {
        let others = ["tool:calc", "server:big"].map(|s| s.parse().unwrap());
        let mut seats = vec![Seat::Model];
        loop {
            let next = next_seat(&seats[seats.len() - 1], &others);
            if next == Seat::Model {
                break;
            }
            seats.push(next);
        }
        let shown: Vec<String> = seats.iter().map(Seat::to_string).collect();
        assert_eq!(shown, ["model", "human", "tool:calc", "server:big"]);
        let gone = Seat::Server("gone".into());
        assert_eq!(next_seat(&gone, &others), Seat::Model);
    }
}
