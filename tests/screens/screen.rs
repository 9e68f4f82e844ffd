//! A model on a test screen, and the screen as text: characters, then a letter per style, then what
//! the letters mean.

use super::story::Story;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use orgtop::live::{Batch, Phase, Report};
use orgtop::tui::keymap::Keymap;
use orgtop::tui::look::Look;
use orgtop::tui::model::{Feed, Model};
use orgtop::tui::theme::{ColorDepth, Theme};
use orgtop::tui::update::{Effect, Input, update};
use orgtop::tui::view;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use std::fmt::Write;
use std::time::Duration;

pub struct Screen {
    pub model: Model,
    pub now: Duration,
    terminal: Terminal<TestBackend>,
}

pub fn look(theme: &str, ascii: bool) -> Look {
    let theme = Theme::load(theme, &[], ColorDepth::Ansi16).unwrap();
    Look::new(theme, ascii, false)
}

impl Screen {
    pub fn new(width: u16, height: u16, look: Look, feed: Feed) -> Self {
        let mut model = Model::new(
            look,
            Keymap::default(),
            feed,
            "organizer-1M, built in".to_owned(),
        );
        update(&mut model, Input::Resize(width, height), Duration::ZERO);
        Self {
            model,
            now: Duration::from_secs(1),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
        }
    }

    pub fn live(width: u16, height: u16, story: &Story) -> Self {
        let mut screen = Self::new(width, height, look("terminal", false), Feed::Live);
        screen.tell(story);
        screen
    }

    pub fn tell(&mut self, story: &Story) -> Vec<Effect> {
        let phase = match story.organization.end {
            Some(_) => Phase::Over,
            None => Phase::Running,
        };
        let report = Report {
            phase,
            header: Some(Box::new(story.header.clone())),
            ..Report::default()
        };
        self.input(Input::Batch(Batch {
            lines: Vec::new(),
            events: story.events.clone(),
            report,
            merged: 0,
        }))
    }

    pub fn input(&mut self, input: Input) -> Vec<Effect> {
        update(&mut self.model, input, self.now)
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.input(Input::Resize(width, height));
    }

    /// Presses keys one after another, each half a second later; what they caused.
    pub fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys.split_whitespace() {
            self.now += Duration::from_millis(500);
            effects.extend(self.input(Input::Key(key_event(key))));
        }
        effects
    }

    pub fn draw(&mut self) -> &Buffer {
        let model = &mut self.model;
        self.terminal
            .draw(|frame| view::draw(model, frame))
            .unwrap();
        self.terminal.backend().buffer()
    }

    /// The characters only.
    pub fn text(&mut self) -> String {
        chars(self.draw())
    }

    /// Characters and styles.
    pub fn picture(&mut self) -> String {
        let buffer = self.draw();
        let mut out = chars(buffer);
        out.push_str(&styles(buffer));
        out
    }
}

/// `a`, `G`, `space`, `enter`, `ctrl-c`, …
pub fn key_event(text: &str) -> KeyEvent {
    let (modifiers, rest) = match text.strip_prefix("ctrl-") {
        Some(rest) => (KeyModifiers::CONTROL, rest),
        None => match text.strip_prefix("alt-") {
            Some(rest) => (KeyModifiers::ALT, rest),
            None => (KeyModifiers::NONE, text),
        },
    };
    let code = match rest {
        "space" => KeyCode::Char(' '),
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backspace" => KeyCode::Backspace,
        "backtab" => KeyCode::BackTab,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "f1" => KeyCode::F(1),
        "shift-left" => KeyCode::Left,
        "shift-right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        other => KeyCode::Char(other.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

fn chars(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
            }
            skip = orgtop::tui::text::text_width(symbol)
                .max(skip)
                .saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn styles(buffer: &Buffer) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut map = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let mut name = String::new();
            if cell.fg != Color::Reset {
                write!(name, "{:?}", cell.fg).unwrap();
            }
            if cell.bg != Color::Reset {
                write!(name, " on {:?}", cell.bg).unwrap();
            }
            if cell.modifier != Modifier::empty() {
                write!(name, " {:?}", cell.modifier).unwrap();
            }
            let name = name.trim().to_owned();
            if name.is_empty() {
                line.push('.');
                continue;
            }
            let at = known.iter().position(|k| *k == name).unwrap_or_else(|| {
                known.push(name);
                known.len() - 1
            });
            line.push(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 52] as char);
        }
        map.push_str(line.trim_end_matches('.'));
        map.push('\n');
    }
    for (i, name) in known.iter().enumerate() {
        let letter = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 52] as char;
        writeln!(map, "{letter}: {name}").unwrap();
    }
    map
}
