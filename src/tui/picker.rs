//! Choosing a session: a list with one line each, narrowed by typing.
//!
//! It knows no files: the caller says what there is and gets back which one was chosen.

use super::look::Look;
use super::plain::run_end_words;
use super::surface::Surface;
use super::terminal::signals::{Ending, Notice, watch};
use super::text::{safe_line, text_width};
use super::view::frame::{fit, fit_tail, popup_at, put, span};
use crate::record::Header;
use crate::record::store::{Entry, Writer};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::StreamExt;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use std::io;
use tokio::sync::mpsc::unbounded_channel;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// When it began, to the minute, or where it comes from.
    pub when: String,
    /// How it stands, in a word or two.
    pub state: String,
    /// What was asked, or why it does not open.
    pub what: String,
    /// Model and size.
    pub detail: String,
    /// Whether it can be chosen.
    pub opens: bool,
}

impl Item {
    /// The line of a stored session.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        let name = entry
            .path
            .file_stem()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        match &entry.session {
            Ok(session) => {
                let state = match (entry.writer, session.end) {
                    (Writer::Live, _) => "being recorded".to_owned(),
                    (Writer::None, Some(end)) => run_end_words(end).to_owned(),
                    (Writer::None, None) => "broken off".to_owned(),
                };
                let when: String = session.created.chars().take(16).collect();
                Self {
                    when: when.replace('T', " "),
                    state,
                    what: session.query.clone(),
                    detail: format!(
                        "{} c={} {} steps",
                        session.model, session.capacity, session.step
                    ),
                    opens: true,
                }
            }
            Err(why) => Self {
                when: name,
                state: "does not open".to_owned(),
                what: why.to_string(),
                detail: String::new(),
                opens: false,
            },
        }
    }

    /// The line of a session that ships with the program.
    #[must_use]
    pub fn shipped(header: &Header) -> Self {
        Self {
            when: "example".to_owned(),
            state: "ships along".to_owned(),
            what: header.query.clone(),
            detail: format!("{} c={}", header.engine.model.name, header.capacity),
            opens: true,
        }
    }

    fn holds(&self, wanted: &str) -> bool {
        [&self.when, &self.state, &self.what, &self.detail]
            .iter()
            .any(|text| text.to_lowercase().contains(wanted))
    }
}

/// What a key did to the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// Nothing final.
    NotYet,
    /// This item.
    Item(usize),
    /// None.
    Nothing,
    /// Go into the background.
    Suspend,
}

/// The list as it stands.
#[derive(Debug, Clone, Default)]
pub struct Picker {
    items: Vec<Item>,
    wanted: String,
    /// Position among the shown items.
    chosen: usize,
}

impl Picker {
    /// A list of `items`, the first one chosen.
    #[must_use]
    pub fn new(items: Vec<Item>) -> Self {
        Self {
            items,
            ..Self::default()
        }
    }

    /// Which items are shown, as indices.
    fn shown(&self) -> Vec<usize> {
        let wanted = self.wanted.to_lowercase();
        (0..self.items.len())
            .filter(|i| self.items[*i].holds(&wanted))
            .collect()
    }

    /// Serves one key.
    pub fn key(&mut self, key: KeyEvent) -> Picked {
        if key.kind == KeyEventKind::Release {
            return Picked::NotYet;
        }
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Picked::Nothing,
            KeyCode::Char('z') if control => return Picked::Suspend,
            KeyCode::Esc if self.wanted.is_empty() => return Picked::Nothing,
            KeyCode::Esc => self.wanted.clear(),
            KeyCode::Enter => {
                if let Some(item) = shown.get(self.chosen)
                    && self.items[*item].opens
                {
                    return Picked::Item(*item);
                }
            }
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(10),
            KeyCode::PageDown => self.chosen = (self.chosen + 10).min(last),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            KeyCode::Backspace => {
                self.wanted.pop();
                self.chosen = 0;
            }
            KeyCode::Char('u') if control => self.wanted.clear(),
            KeyCode::Char(c) if !control => {
                self.wanted.push_str(&safe_line(c.encode_utf8(&mut [0; 4])));
                self.chosen = 0;
            }
            _ => {}
        }
        Picked::NotYet
    }

    /// Draws the list over the whole screen.
    pub fn draw(&self, look: &Look, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < 20 || area.height < 5 {
            return;
        }
        let shown = self.shown();
        let title = format!("Sessions ({} of {})", shown.len(), self.items.len());
        let hint = "enter opens, typing narrows, esc leaves";
        let inside = popup_at(look, &title, hint, area, frame.buffer_mut());
        let buffer = frame.buffer_mut();
        let room = usize::from(inside.width).saturating_sub(3);
        let typed = fit_tail(&self.wanted, room, look.signs.ellipsis);
        let cursor = inside.x + 2 + u16::try_from(text_width(&typed)).unwrap_or(0);
        let line = Line::from(vec![
            span(format!("{} ", look.signs.prompt), look.style("ui.accent")),
            span(typed, look.style("ui.text")),
        ]);
        put(buffer, inside.x, inside.y, &line, inside.width);
        let rows = usize::from(inside.height.saturating_sub(2)).max(1);
        let first = (self.chosen + 1).saturating_sub(rows);
        for (at, (y, index)) in (inside.y + 2..inside.bottom())
            .zip(shown.iter().skip(first))
            .enumerate()
        {
            let row = Rect {
                y,
                height: 1,
                ..inside
            };
            put(buffer, row.x, y, &self.line(look, *index, room), row.width);
            if first + at == self.chosen {
                buffer.set_style(row, look.style("ui.selection"));
            }
        }
        if shown.is_empty() {
            let text = if self.items.is_empty() {
                "nothing was recorded yet"
            } else {
                "no session has these words"
            };
            let line = Line::from(span(text, look.style("ui.dim")));
            put(buffer, inside.x, inside.y + 2, &line, inside.width);
        }
        frame.set_cursor_position(Position::new(cursor.min(inside.right()), inside.y));
    }

    fn line(&self, look: &Look, index: usize, room: usize) -> Line<'static> {
        let item = &self.items[index];
        let cut = |text: &str, width| fit(&safe_line(text), width, look.signs.ellipsis);
        let pad = |text: String, width: usize| {
            let missing = width.saturating_sub(text_width(&text));
            text + &" ".repeat(missing)
        };
        let detail = if room >= 90 {
            cut(&item.detail, 36)
        } else {
            String::new()
        };
        let left = room.saturating_sub(16 + 16 + text_width(&detail) + 2);
        let state = if item.opens { "ui.dim" } else { "state.failed" };
        Line::from(vec![
            span(pad(cut(&item.when, 16), 18), look.style("ui.text")),
            span(pad(cut(&item.state, 14), 16), look.style(state)),
            span(pad(cut(&item.what, left), left), look.style("ui.text")),
            span(format!(" {detail}"), look.style("ui.dim")),
        ])
    }
}

/// How the list was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// With this item.
    Item(usize),
    /// With none.
    Nothing,
    /// By a signal; hand it to [`super::terminal::signals::end_by`].
    Signal(Ending),
}

/// Lets the person choose one of `items`.
///
/// # Errors
/// The terminal is gone.
pub fn pick(items: Vec<Item>, look: &Look, surface: &mut impl Surface) -> io::Result<Choice> {
    let (send, mut signals) = unbounded_channel();
    let watch = watch(move |notice| {
        // Only fails when the list is gone, and then nobody needs it.
        let _ = send.send(notice);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let choice = runtime.block_on(async {
        let mut picker = Picker::new(items);
        let mut events = surface.events();
        loop {
            surface.draw(|frame| picker.draw(look, frame))?;
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(Event::Key(key))) => match picker.key(key) {
                        Picked::NotYet => {}
                        Picked::Suspend => {
                            surface.suspend()?;
                            events = surface.events();
                        }
                        Picked::Item(item) => return Ok(Choice::Item(item)),
                        Picked::Nothing => return Ok(Choice::Nothing),
                    },
                    Some(Ok(_)) => {}
                    Some(Err(e)) => return Err(e),
                    None => return Ok(Choice::Nothing),
                },
                Some(notice) = signals.recv() => match notice {
                    Notice::End(ending) => return Ok(Choice::Signal(ending)),
                    Notice::Continued => surface.repaint()?,
                },
            }
        }
    });
    drop(watch);
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let item = |what: &str, opens| Item {
            when: "2026-01-01 10:00".into(),
            state: "answered".into(),
            what: what.into(),
            detail: "organizer-1M".into(),
            opens,
        };
        Picker::new(vec![
            item("countdown", true),
            item("sudoku", true),
            item("torn", false),
        ])
    }

    fn press(picker: &mut Picker, code: KeyCode) -> Picked {
        picker.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn enter_opens_what_is_chosen() {
        let mut p = picker();
        press(&mut p, KeyCode::Down);
        assert_eq!(press(&mut p, KeyCode::Enter), Picked::Item(1));
    }

    #[test]
    fn typing_narrows_and_escape_widens_before_it_leaves() {
        let mut p = picker();
        for c in "sud".chars() {
            press(&mut p, KeyCode::Char(c));
        }
        assert_eq!(p.shown(), [1]);
        assert_eq!(press(&mut p, KeyCode::Enter), Picked::Item(1));
        assert_eq!(press(&mut p, KeyCode::Esc), Picked::NotYet);
        assert_eq!(p.shown().len(), 3);
        assert_eq!(press(&mut p, KeyCode::Esc), Picked::Nothing);
    }

    #[test]
    fn what_does_not_open_cannot_be_chosen() {
        let mut p = picker();
        press(&mut p, KeyCode::End);
        assert_eq!(press(&mut p, KeyCode::Enter), Picked::NotYet);
    }
}
