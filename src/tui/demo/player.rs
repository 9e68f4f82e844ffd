//! Playing a script: time, events and the person's keys in; keys, commands and captions out.

use super::script::{Line, Script};
use crate::live::Happened;
use crate::org::{Body, Command, Event, Organization};
use crate::tui::keymap::{Key, parse_key};
use std::time::Duration;

/// Between two keys. A prompt takes no answer that comes sooner, and people could not follow.
const KEY_GAP: Duration = Duration::from_millis(350);

/// Between two characters of typed text.
const TYPING: Duration = Duration::from_millis(45);

/// Longest wait for what becomes of a command.
const PATIENCE: Duration = Duration::from_secs(3);

/// What plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A person's script.
    Demo,
    /// The tour: leaving asks nothing.
    Tour,
}

impl Manner {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Tour => "tour",
        }
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Press a key.
    Key(Key),
    /// Ask the session.
    Ask(Command),
    /// A caption is shown from now on; empty: none.
    Say(String),
}

/// What a key of the person means to a demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// Nothing: it does what it always does.
    Theirs,
    /// It went on.
    Taken,
    /// It stops the demo.
    Stop,
    /// It leaves the program.
    Leave,
}

/// A script that is being played.
#[derive(Debug, Clone)]
pub struct Demo {
    script: Script,
    manner: Manner,
    at: usize,
    /// Keys or characters of the present line that are done.
    done: usize,
    /// When the present line was come to; `None` before the run begins.
    since: Option<Duration>,
    /// Nothing happens before.
    ready: Duration,
    /// The last time it was asked.
    now: Duration,
    /// When the person last pressed a key.
    touched: Duration,
    /// A key of the person ends the present wait.
    skipped: bool,
    /// Commands of which nobody knows yet what becomes of them, and since when.
    unanswered: Option<(usize, Duration)>,
    /// What lies over the panes by the demo's doing.
    popups: usize,
    happened: Happened,
    caption: Option<String>,
}

impl Demo {
    /// From the beginning.
    #[must_use]
    pub fn new(script: Script, manner: Manner) -> Self {
        Self {
            script,
            manner,
            at: 0,
            done: 0,
            since: None,
            ready: Duration::ZERO,
            now: Duration::ZERO,
            touched: Duration::ZERO,
            skipped: false,
            unanswered: None,
            popups: 0,
            happened: Happened::default(),
            caption: None,
        }
    }

    /// Takes in an event, after `organization` has.
    pub fn note(&mut self, event: &Event, organization: &Organization) {
        self.happened.note(event, organization);
        if matches!(event.body, Body::Effect { .. }) {
            self.unanswered = match self.unanswered {
                Some((count, since)) if count > 1 => Some((count - 1, since)),
                _ => None,
            };
        }
    }

    /// A recording goes on from another place.
    pub fn recall(&mut self, organization: &Organization) {
        self.happened.recall(organization);
    }

    /// What it did was carried out: `asked` commands went to the session, and so many popups are open.
    pub fn carried_out(&mut self, asked: usize, popups: usize) {
        if asked > 0 {
            let before = self.unanswered.map_or(0, |(count, _)| count);
            self.unanswered = Some((before + asked, self.now));
        }
        self.popups = popups;
    }

    /// What to do now, if anything. To be asked again until there is nothing.
    pub fn next(&mut self, now: Duration, organization: &Organization) -> Option<Deed> {
        self.now = now;
        if organization.threads().len() == 0 || now < self.ready {
            return None;
        }
        let since = *self.since.get_or_insert(now);
        if let Some((_, asked)) = self.unanswered {
            if now < asked + PATIENCE {
                return None;
            }
            self.unanswered = None;
        }
        loop {
            let mut line = &self.script.lines.get(self.at)?.1;
            while let Line::Unless { what, then } = line {
                if self.done == 0 && what.met(organization, &self.happened) {
                    self.pass();
                    return self.next(now, organization);
                }
                line = then;
            }
            match line {
                Line::Say(text) => {
                    let text = text.clone();
                    self.caption = (!text.is_empty()).then(|| text.clone());
                    self.pass();
                    return Some(Deed::Say(text));
                }
                Line::Wait { time, .. } => {
                    let over = time.is_some_and(|time| now >= since + time);
                    if !over && !self.skipped {
                        return None;
                    }
                    self.pass();
                    return self.next(now, organization);
                }
                Line::Until { what, within } => {
                    let from = since.max(self.touched);
                    let over = within.is_some_and(|time| now >= from + time);
                    if !over && !what.met(organization, &self.happened) {
                        return None;
                    }
                    self.pass();
                    return self.next(now, organization);
                }
                Line::Keys(keys) => {
                    let key = keys.get(self.done).copied();
                    self.ready = now + KEY_GAP;
                    self.one_more(keys.len());
                    if let Some(key) = key {
                        return Some(Deed::Key(key));
                    }
                }
                Line::Type(text) => {
                    let key = text.chars().nth(self.done).map(Key::of_char);
                    self.ready = now + TYPING;
                    self.one_more(text.chars().count());
                    if let Some(key) = key {
                        return Some(Deed::Key(key));
                    }
                }
                Line::Ask(command) => {
                    let command = command.clone();
                    self.pass();
                    return Some(Deed::Ask(command));
                }
                Line::Unless { .. } => return None,
            }
        }
    }

    fn one_more(&mut self, of: usize) {
        self.done += 1;
        if self.done >= of {
            self.pass();
        }
    }

    fn pass(&mut self) {
        self.at += 1;
        self.done = 0;
        self.skipped = false;
        self.since = Some(self.now);
    }

    /// The present line, whatever its condition.
    fn line(&self) -> Option<&Line> {
        let mut line = &self.script.lines.get(self.at)?.1;
        while let Line::Unless { then, .. } = line {
            line = then;
        }
        Some(line)
    }

    /// When it goes on by itself, without events and keys.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        let line = self.line()?;
        let since = self.since?;
        if self.ready > self.now {
            return Some(self.ready);
        }
        if let Some((_, asked)) = self.unanswered {
            return Some(asked + PATIENCE);
        }
        match line {
            Line::Wait { time, .. } => time.map(|time| since + time),
            Line::Until { within, .. } => within.map(|time| since.max(self.touched) + time),
            _ => None,
        }
    }

    /// The person did something else than to press a key.
    pub fn touch(&mut self, now: Duration) {
        self.touched = now;
    }

    /// What a key of the person means, with so many popups open.
    pub fn key(&mut self, key: Key, popups: usize, now: Duration) -> Pressed {
        self.touched = now;
        self.popups = self.popups.min(popups);
        // What the person opened takes its keys as always.
        if popups > self.popups {
            return Pressed::Theirs;
        }
        if Some(key) == parse_key("esc") {
            return Pressed::Stop;
        }
        if self.manner == Manner::Tour && Some(key) == parse_key("q") {
            return Pressed::Leave;
        }
        match self.line() {
            Some(Line::Wait { keys, .. }) if keys.contains(&key) => {
                self.skipped = true;
                Pressed::Taken
            }
            _ => Pressed::Theirs,
        }
    }

    /// What plays.
    #[must_use]
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// The caption that is shown.
    #[must_use]
    pub fn caption(&self) -> Option<&str> {
        self.caption.as_deref()
    }

    /// Every caption that it has.
    pub fn captions(&self) -> impl Iterator<Item = &str> {
        self.script.captions()
    }

    /// Captions shown, and captions in all.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (
            Script::captions_of(&self.script.lines[..self.at.min(self.script.lines.len())]).count(),
            self.captions().count(),
        )
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.at >= self.script.lines.len()
    }

    /// Whether it waits for something that only a running session could bring.
    #[must_use]
    pub fn waits_for_event(&self) -> bool {
        matches!(self.line(), Some(Line::Until { within: None, .. }))
    }

    /// Passes over a wait for a key, where there are no keys.
    pub fn without_keys(&mut self) {
        if let Some(Line::Wait { time: None, .. }) = self.line() {
            self.skipped = true;
        }
    }

    /// Keys that mean something to it now, and what.
    #[must_use]
    pub fn hints(&self) -> Vec<(String, &'static str)> {
        let mut hints = Vec::new();
        if let Some(Line::Wait { keys, time }) = self.line()
            && let Some(key) = keys.first()
        {
            let word = if time.is_some() { "skip" } else { "go on" };
            hints.push((key.to_string(), word));
        }
        let stop = match self.manner {
            _ if self.is_over() => "close this",
            Manner::Demo => "stop the demo",
            Manner::Tour => "end the tour",
        };
        hints.push(("esc".to_owned(), stop));
        if self.manner == Manner::Tour {
            hints.push(("q".to_owned(), "leave"));
        }
        hints
    }
}

#[cfg(test)]
mod tests;
