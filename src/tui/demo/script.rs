//! The text of a demo.
//!
//! ```text
//! # a comment
//! say The organizer thinks; a line that is indented
//!     goes on with the one before it.
//! until fork 1 within 20s     # or: until step 40, until return 2, …
//! wait 2s                     # wait key, wait key n, wait 5s or key
//! key 2 t                     # keys as keymap.toml names them
//! type some text
//! unless return 2: submit 2 none
//! kill 1                      # any command of `orgtop commands`
//! ```

use super::condition::Condition;
use crate::org::{Command, parse_command};
use crate::tui::keymap::{Key, parse_key};
use std::time::Duration;

/// Longest wait.
const LONGEST: Duration = Duration::from_secs(3600);

/// Keys that end a wait where none are named.
const GO_ON: [&str; 2] = ["space", "enter"];

/// One thing of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Show a caption; without text: none.
    Say(String),
    /// Wait for one of these keys, for some time, or for whichever comes first.
    Wait {
        /// Keys that end it.
        keys: Vec<Key>,
        /// Time that ends it.
        time: Option<Duration>,
    },
    /// Wait for something to happen, or for a person who does nothing for some time.
    Until {
        /// What.
        what: Condition,
        /// For how long at most.
        within: Option<Duration>,
    },
    /// Something that is left out if something has happened.
    Unless {
        /// What must not have.
        what: Condition,
        /// What to do.
        then: Box<Line>,
    },
    /// Press keys.
    Keys(Vec<Key>),
    /// Type text.
    Type(String),
    /// Ask the session.
    Ask(Command),
}

/// A demo, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Line numbers, from 1, and what stands there.
    pub lines: Vec<(usize, Line)>,
}

/// A line that says nothing a demo could do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}, line {line}: {message}")]
pub struct ScriptError {
    /// The file.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

impl Script {
    /// Reads a script; `path` is for messages.
    ///
    /// # Errors
    /// The first line that is wrong, with what was expected.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScriptError> {
        let mut joined: Vec<(usize, String)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let words = line.trim();
            if words.is_empty() || words.starts_with('#') {
                continue;
            }
            let goes_on = line.starts_with([' ', '\t']);
            match joined.last_mut().filter(|_| goes_on) {
                Some((_, before)) => {
                    before.push(' ');
                    before.push_str(words);
                }
                None => joined.push((i + 1, words.to_owned())),
            }
        }
        let lines = joined
            .into_iter()
            .map(|(line, text)| match read(&text) {
                Ok(read) => Ok((line, read)),
                Err(message) => Err(ScriptError {
                    path: path.to_owned(),
                    line,
                    message,
                }),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { lines })
    }

    /// Takes out the commands that it begins with: they are given before the first step.
    pub fn take_opening(&mut self) -> Vec<Command> {
        let count = self
            .lines
            .iter()
            .take_while(|(_, line)| matches!(line, Line::Ask(_)))
            .count();
        let opening = self.lines.drain(..count);
        opening
            .filter_map(|(_, line)| match line {
                Line::Ask(command) => Some(command),
                _ => None,
            })
            .collect()
    }

    /// Makes all of it `pace` times as fast: waits, and limits of speed.
    pub fn hasten(&mut self, pace: f64) {
        fn line(one: &mut Line, pace: f64) {
            match one {
                Line::Wait {
                    time: Some(time), ..
                }
                | Line::Until {
                    within: Some(time), ..
                } => *time = time.div_f64(pace),
                Line::Ask(Command::Speed { tokens_per_s }) => {
                    // 0 lifts the limit and stays 0.
                    *tokens_per_s = (f64::from(*tokens_per_s) * pace).ceil() as u32;
                }
                Line::Unless { then, .. } => line(then, pace),
                _ => {}
            }
        }
        for (_, one) in &mut self.lines {
            line(one, pace);
        }
    }

    /// The first line that asks something of a running session, and the name of the command.
    #[must_use]
    pub fn steers(&self) -> Option<(usize, &'static str)> {
        fn command(line: &Line) -> Option<&'static str> {
            match line {
                Line::Ask(command) => Some(command.name()),
                Line::Unless { then, .. } => command(then),
                _ => None,
            }
        }
        self.lines
            .iter()
            .find_map(|(number, line)| Some((*number, command(line)?)))
    }

    /// Every caption.
    pub fn captions(&self) -> impl Iterator<Item = &str> {
        Self::captions_of(&self.lines)
    }

    /// Every caption of some of its lines.
    pub(super) fn captions_of(lines: &[(usize, Line)]) -> impl Iterator<Item = &str> {
        lines.iter().filter_map(|(_, line)| {
            let mut line = line;
            while let Line::Unless { then, .. } = line {
                line = then;
            }
            match line {
                Line::Say(text) if !text.is_empty() => Some(text.as_str()),
                _ => None,
            }
        })
    }
}

fn read(text: &str) -> Result<Line, String> {
    let (word, rest) = match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    };
    match word {
        "say" => Ok(Line::Say(rest.to_owned())),
        "wait" => wait(rest),
        "until" => {
            let (what, within) = match rest.rsplit_once(" within ") {
                Some((what, time)) => (what.trim(), Some(duration(time.trim())?)),
                None => (rest, None),
            };
            Ok(Line::Until {
                what: Condition::parse(what)?,
                within,
            })
        }
        "unless" => {
            let (what, then) = rest.split_once(": ").ok_or(
                "unless: expected what has not happened, a colon and what to do then, as in `unless return 2: \
                 submit 2 none`",
            )?;
            Ok(Line::Unless {
                what: Condition::parse(what.trim())?,
                then: Box::new(read(then.trim())?),
            })
        }
        "key" if rest.is_empty() => Err("key: expected keys, as in `key f` or `key 2 enter`".into()),
        "key" => Ok(Line::Keys(keys(rest.split_whitespace())?)),
        "type" if rest.is_empty() => Err("type: expected text, as in `type seven`".into()),
        "type" => Ok(Line::Type(rest.to_owned())),
        _ => parse_command(text).map(Line::Ask).map_err(|why| {
            if why.contains("is no command") {
                format!(
                    "`{word}` is nothing that a demo does; expected say, wait, until, unless, key, type, or a \
                     command (`orgtop commands` lists them)"
                )
            } else {
                why
            }
        }),
    }
}

/// `2s`, `key`, `key n`, `2s or key n`.
fn wait(text: &str) -> Result<Line, String> {
    let expected = "expected a time, `key`, or either, as in `wait 2s`, `wait key`, `wait key n`, `wait 5s or key`";
    let (time, key) = match text.split_once(" or ") {
        Some((time, key)) => (Some(time.trim()), Some(key.trim())),
        None if text == "key" || text.starts_with("key ") => (None, Some(text)),
        None => (Some(text), None),
    };
    let time = time
        .map(duration)
        .transpose()
        .map_err(|why| format!("wait: {why}; {expected}"))?;
    let keys = match key {
        None => Vec::new(),
        Some(key) => {
            let mut words = key.split_whitespace();
            if words.next() != Some("key") {
                return Err(format!("wait: `{key}` is not `key`; {expected}"));
            }
            match keys(words)? {
                named if named.is_empty() => keys(GO_ON.into_iter())?,
                named => named,
            }
        }
    };
    Ok(Line::Wait { keys, time })
}

fn keys<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<Key>, String> {
    words
        .map(|word| {
            parse_key(word).ok_or_else(|| {
                format!(
                    "`{word}` is not a key; expected one like `x`, `space`, `enter`, `ctrl-s`, `f5`, as \
                     keymap.toml names them (`type` writes text)"
                )
            })
        })
        .collect()
}

/// `2s`, `0.5s`, `500ms`, `1m`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time like 2s, 0.5s, 500ms or 1m");
    let (number, unit) = if let Some(number) = text.strip_suffix("ms") {
        (number, 0.001)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60.0)
    } else {
        return Err(wrong());
    };
    let seconds: f64 = number.trim().parse().map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(seconds * unit).map_err(|_| wrong())?;
    if time > LONGEST {
        return Err(format!("`{text}` is longer than an hour"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests;
