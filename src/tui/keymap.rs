//! Keys to actions: the defaults of the action table, changed by the user's `keymap.toml`.
//!
//! The file has one table per context, `"key" = "action"`; `"none"` unbinds a key. Unknown contexts,
//! actions and keys and keys bound twice are errors that name file and line. Text fields do not look
//! here; editors do, before a key goes into their text.

use super::action::{Action, Context, TABLE};
use crate::small_file::{self, Pipes};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// A key with its modifiers, in one normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Key {
    /// Normalises what a terminal sent: Shift is part of the character, Shift-Tab is `BackTab`.
    #[must_use]
    pub fn from_event(event: KeyEvent) -> Self {
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match event.code {
            KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            KeyCode::Char(c)
                if modifiers.contains(KeyModifiers::SHIFT) && c.is_ascii_lowercase() =>
            {
                KeyCode::Char(c.to_ascii_uppercase())
            }
            code => code,
        };
        if matches!(code, KeyCode::Char(_) | KeyCode::BackTab) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code, modifiers }
    }

    /// The key of a character.
    #[must_use]
    pub fn of_char(c: char) -> Self {
        Self {
            code: KeyCode::Char(c),
            modifiers: KeyModifiers::NONE,
        }
    }

    /// As a terminal would send it.
    #[must_use]
    pub fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }
}

const NAMED: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (KeyModifiers::CONTROL, "ctrl-"),
            (KeyModifiers::ALT, "alt-"),
            (KeyModifiers::SHIFT, "shift-"),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "f{n}"),
            _ => f.write_str("key"),
        }
    }
}

/// Reads `x`, `X`, `space`, `ctrl-c`, `alt-enter`, `shift-left`, `f1`. `None` if it is no key.
#[must_use]
pub fn parse_key(text: &str) -> Option<Key> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    loop {
        let (modifier, after) = if let Some(after) = rest.strip_prefix("ctrl-") {
            (KeyModifiers::CONTROL, after)
        } else if let Some(after) = rest.strip_prefix("alt-") {
            (KeyModifiers::ALT, after)
        } else if let Some(after) = rest.strip_prefix("shift-") {
            (KeyModifiers::SHIFT, after)
        } else {
            break;
        };
        if after.is_empty() {
            return None;
        }
        modifiers |= modifier;
        rest = after;
    }
    let code = if let Some((_, code)) = NAMED.iter().find(|(name, _)| *name == rest) {
        *code
    } else if let Some(n) = rest
        .strip_prefix('f')
        .and_then(|n| n.parse::<u8>().ok())
        .filter(|n| (1..=24).contains(n))
    {
        KeyCode::F(n)
    } else {
        let mut chars = rest.chars();
        let c = chars.next().filter(|c| !c.is_control())?;
        if chars.next().is_some() {
            return None;
        }
        KeyCode::Char(c)
    };
    Some(Key::from_event(KeyEvent::new(code, modifiers)))
}

/// What is wrong with a keymap file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct KeymapError {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// What was expected and what to do.
    pub message: String,
}

/// Which key does what in which context.
#[derive(Debug, Clone)]
pub struct Keymap {
    bindings: HashMap<(Context, Key), Action>,
}

impl Default for Keymap {
    fn default() -> Self {
        let bindings = TABLE
            .iter()
            .flat_map(|row| {
                row.keys
                    .iter()
                    .filter_map(|key| Some(((row.context, parse_key(key)?), row.action)))
            })
            .collect();
        Self { bindings }
    }
}

impl Keymap {
    /// The defaults, changed by the file at `path` if there is one.
    ///
    /// # Errors
    /// An unreadable file, and whatever [`Keymap::parse`] finds wrong.
    pub fn load(path: &Path) -> Result<Self, KeymapError> {
        match small_file::read(path, Pipes::Refused, small_file::LONGEST) {
            Ok(text) => Self::parse(path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(KeymapError {
                file: path.to_owned(),
                line: 1,
                message: format!("cannot be read: {e}"),
            }),
        }
    }

    /// The defaults, changed by `text`.
    ///
    /// # Errors
    /// Text that is no TOML; unknown contexts, actions, keys; a key bound twice in one context.
    pub fn parse(file: &Path, text: &str) -> Result<Self, KeymapError> {
        let fail = |at: usize, message: String| KeymapError {
            file: file.to_owned(),
            line: 1 + text.bytes().take(at).filter(|b| *b == b'\n').count(),
            message,
        };
        let table = toml::de::DeTable::parse(text).map_err(|e| {
            fail(
                e.span().map_or(0, |s| s.start),
                format!("{} (expected `\"key\" = \"action\"`)", e.message()),
            )
        })?;
        let mut keymap = Self::default();
        // In file order, so that the second of two is the one complained about.
        let mut sections: Vec<_> = table.get_ref().iter().collect();
        sections.sort_by_key(|(name, _)| name.span().start);
        for (name, section) in sections {
            let context = Context::ALL
                .into_iter()
                .find(|c| c.name() == name.get_ref())
                .ok_or_else(|| {
                    fail(
                        name.span().start,
                        format!(
                            "`{}` is not a context: use one of {}",
                            name.get_ref(),
                            Context::ALL.map(Context::name).join(", ")
                        ),
                    )
                })?;
            let Some(section) = section.get_ref().as_table() else {
                return Err(fail(
                    section.span().start,
                    format!("`{}` must be a table of keys", context.name()),
                ));
            };
            let mut seen: HashSet<Key> = HashSet::new();
            let mut entries: Vec<_> = section.iter().collect();
            entries.sort_by_key(|(key, _)| key.span().start);
            for (key_text, value) in entries {
                let at = key_text.span().start;
                let key = parse_key(key_text.get_ref()).ok_or_else(|| {
                    fail(
                        at,
                        format!(
                            "`{}` is not a key: use one like `x`, `space`, `ctrl-p`, `alt-enter`, `f5`",
                            key_text.get_ref()
                        ),
                    )
                })?;
                if !seen.insert(key) {
                    return Err(fail(
                        at,
                        format!("`{key}` is bound twice in [{}]", context.name()),
                    ));
                }
                let id = value.get_ref().as_str().unwrap_or_default();
                if id == "none" {
                    keymap.bindings.remove(&(context, key));
                    continue;
                }
                let action = Action::from_id(id).ok_or_else(|| {
                    fail(
                        value.span().start,
                        format!("`{id}` is not an action: `?` lists them; `none` unbinds a key"),
                    )
                })?;
                keymap.bindings.insert((context, key), action);
            }
        }
        Ok(keymap)
    }

    /// What `key` does in the first of `contexts` that binds it.
    #[must_use]
    pub fn action(&self, contexts: &[Context], key: Key) -> Option<Action> {
        contexts
            .iter()
            .find_map(|context| self.bindings.get(&(*context, key)).copied())
    }

    /// The keys of `action`, shortest first, as people write them.
    #[must_use]
    pub fn keys_of(&self, action: Action) -> Vec<String> {
        let mut keys: Vec<String> = self
            .bindings
            .iter()
            .filter(|(_, bound)| **bound == action)
            .map(|((_, key), _)| key.to_string())
            .collect();
        let defaults = action.row().keys;
        keys.sort_by_key(|key| {
            (
                defaults
                    .iter()
                    .position(|d| d == key)
                    .unwrap_or(defaults.len()),
                key.len(),
                key.clone(),
            )
        });
        keys.dedup();
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Keymap, KeymapError> {
        Keymap::parse(Path::new("keymap.toml"), text)
    }

    fn key(text: &str) -> Key {
        parse_key(text).unwrap()
    }

    #[test]
    fn every_default_key_is_a_key_and_no_context_binds_one_twice() {
        let mut seen = HashMap::new();
        for row in TABLE {
            for text in row.keys {
                let key = parse_key(text).unwrap_or_else(|| panic!("{text}"));
                assert_eq!(key.to_string(), *text);
                let before = seen.insert((row.context, key), row.id);
                assert_eq!(before, None, "{text} in {}", row.context.name());
            }
        }
    }

    #[test]
    fn shifted_letters_are_one_key_however_the_terminal_sends_them() {
        let plain = KeyEvent::new(KeyCode::Char('A'), KeyModifiers::NONE);
        let shifted = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::SHIFT);
        let both = KeyEvent::new(KeyCode::Char('A'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(plain), Key::from_event(shifted));
        assert_eq!(Key::from_event(plain), Key::from_event(both));
        let back = KeyEvent::new(KeyCode::Tab, KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(back), key("backtab"));
    }

    #[test]
    fn a_user_file_adds_changes_and_unbinds() {
        let keymap =
            parse("[any]\n\"ctrl-q\" = \"quit\"\nq = \"none\"\n[live]\nF = \"fork\"\n").unwrap();
        let contexts = [Context::Live, Context::Any];
        assert_eq!(keymap.action(&contexts, key("ctrl-q")), Some(Action::Quit));
        assert_eq!(keymap.action(&contexts, key("q")), None);
        assert_eq!(keymap.keys_of(Action::Fork), ["f", "F"]);
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let line = |text: &str| {
            let e = parse(text).unwrap_err();
            (e.line, e.to_string())
        };
        let (at, text) = line("[any]\nq = \"quit\"\nx = \"explode\"\n");
        assert_eq!(at, 3);
        assert!(
            text.starts_with("keymap.toml:3: `explode` is not an action"),
            "{text}"
        );
        assert_eq!(line("[any]\n\n\"hyper-x\" = \"quit\"\n").0, 3);
        assert_eq!(line("[nowhere]\nx = \"quit\"\n").0, 1);
        assert_eq!(line("[any]\nspace = \"quit\"\n\" \" = \"help\"\n").0, 3);
        assert_eq!(line("[any]\nx = \"quit\"\nx = \"help\"\n").0, 3);
        assert_eq!(line("any = 3\n").0, 1);
        assert_eq!(line("[any\n").0, 1);
    }

    #[test]
    fn the_innermost_context_wins() {
        let keymap = Keymap::default();
        assert_eq!(
            keymap.action(&[Context::Stop, Context::Panes], key("k")),
            Some(Action::Kill)
        );
        assert_eq!(
            keymap.action(&[Context::Panes, Context::Any], key("k")),
            Some(Action::Up)
        );
    }
}
