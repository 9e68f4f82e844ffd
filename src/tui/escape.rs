//! Keys whose bytes arrived in pieces.
//!
//! Alt and cursor keys begin with the byte of Escape. Over a slow line that byte may come alone: the reader then
//! reports Escape, and what follows as plain characters, which would be commands. So an Escape is held for a
//! moment that no finger is fast enough for; what arrives within it belongs to it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// How long the rest of a key may take.
const GAP: Duration = Duration::from_millis(40);

/// Longest sequence that is put together, in characters.
const LONGEST: usize = 32;

/// Puts pieces of keys together.
#[derive(Debug, Default)]
pub struct Escapes {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    escape: KeyEvent,
    /// After `[` or `O`: what came of the sequence.
    sequence: Option<String>,
    until: Instant,
}

impl Escapes {
    /// Takes a key that was reported at `now`; the keys that are whole by now.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<KeyEvent> {
        let mut whole = self.expired(now);
        let held = self.held.take();
        let is_escape = key.code == KeyCode::Esc && key.modifiers.is_empty();
        match held {
            _ if is_escape => {
                whole.extend(held.map(Held::alone));
                self.hold(key, None, now);
            }
            None => whole.push(key),
            Some(Held {
                escape,
                sequence: None,
                ..
            }) => match key.code {
                KeyCode::Char(c @ ('[' | 'O')) => {
                    self.hold(escape, Some(String::from(c)), now);
                }
                _ => whole.push(KeyEvent {
                    modifiers: key.modifiers | KeyModifiers::ALT,
                    ..key
                }),
            },
            Some(Held {
                escape,
                sequence: Some(mut sequence),
                ..
            }) => {
                let KeyCode::Char(c) = key.code else {
                    whole.push(key);
                    return whole;
                };
                sequence.push(c);
                if matches!(c, '0'..='?') && sequence.len() < LONGEST {
                    self.hold(escape, Some(sequence), now);
                } else {
                    whole.extend(read(&sequence));
                }
            }
        }
        whole
    }

    /// When to look again at what is held.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.until)
    }

    /// The key that is whole because nothing more came.
    pub fn expired(&mut self, now: Instant) -> Vec<KeyEvent> {
        let over = self.held.take_if(|held| held.until <= now);
        over.map(Held::alone).into_iter().collect()
    }

    fn hold(&mut self, escape: KeyEvent, sequence: Option<String>, now: Instant) {
        self.held = Some(Held {
            escape,
            sequence,
            until: now + GAP,
        });
    }
}

impl Held {
    fn alone(self) -> KeyEvent {
        match self.sequence.as_deref().and_then(|s| s.chars().next()) {
            Some(c) => KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT),
            None => self.escape,
        }
    }
}

/// The key that a whole sequence (without its Escape) means; `None` for reports and keys that nothing uses.
fn read(sequence: &str) -> Option<KeyEvent> {
    let last = sequence.chars().next_back()?;
    let inner = sequence.get(1..sequence.len() - last.len_utf8())?;
    let mut numbers = inner.split(';').map(|n| n.parse::<u8>().unwrap_or(1));
    let first = numbers.next().unwrap_or(1);
    let bits = numbers.next().unwrap_or(1).saturating_sub(1);
    let code = match (last, first) {
        ('A', _) => KeyCode::Up,
        ('B', _) => KeyCode::Down,
        ('C', _) => KeyCode::Right,
        ('D', _) => KeyCode::Left,
        ('F', _) | ('~', 4 | 8) => KeyCode::End,
        ('H', _) | ('~', 1 | 7) => KeyCode::Home,
        ('Z', _) => KeyCode::BackTab,
        ('P', _) => KeyCode::F(1),
        ('~', 3) => KeyCode::Delete,
        ('~', 5) => KeyCode::PageUp,
        ('~', 6) => KeyCode::PageDown,
        _ => return None,
    };
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ] {
        if bits & bit != 0 {
            modifiers |= modifier;
        }
    }
    Some(KeyEvent::new(code, modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(c: char) -> KeyEvent {
        let code = match c {
            '\x1b' => KeyCode::Esc,
            '\r' => KeyCode::Enter,
            c => KeyCode::Char(c),
        };
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    /// Keys as they come out when characters arrive `gap` ms apart.
    fn typed(text: &str, gap: u64) -> Vec<(KeyCode, KeyModifiers)> {
        let mut escapes = Escapes::default();
        let mut now = Instant::now();
        let mut keys = Vec::new();
        for c in text.chars() {
            keys.extend(escapes.key(key(c), now));
            now += Duration::from_millis(gap);
        }
        keys.extend(escapes.expired(now + GAP));
        keys.into_iter().map(|k| (k.code, k.modifiers)).collect()
    }

    #[test]
    fn escape_and_a_later_key_stay_two() {
        let none = KeyModifiers::NONE;
        assert_eq!(
            typed("\x1b\r", 80),
            [(KeyCode::Esc, none), (KeyCode::Enter, none)]
        );
        assert_eq!(typed("\x1b", 0), [(KeyCode::Esc, none)]);
        assert_eq!(
            typed("\x1b\x1b", 5),
            [(KeyCode::Esc, none), (KeyCode::Esc, none)]
        );
    }

    #[test]
    fn an_alt_key_in_two_pieces_is_one_key() {
        assert_eq!(
            typed("\x1bx", 20),
            [(KeyCode::Char('x'), KeyModifiers::ALT)]
        );
        assert_eq!(typed("\x1b\r", 20), [(KeyCode::Enter, KeyModifiers::ALT)]);
    }

    #[test]
    fn a_cursor_key_in_pieces_is_no_letter() {
        assert_eq!(typed("\x1b[A", 20), [(KeyCode::Up, KeyModifiers::NONE)]);
        assert_eq!(typed("\x1bOA", 20), [(KeyCode::Up, KeyModifiers::NONE)]);
        assert_eq!(
            typed("\x1b[1;5D", 20),
            [(KeyCode::Left, KeyModifiers::CONTROL)]
        );
        assert_eq!(
            typed("\x1b[5~", 20),
            [(KeyCode::PageUp, KeyModifiers::NONE)]
        );
    }

    #[test]
    fn a_report_in_pieces_is_no_key_at_all() {
        assert!(typed("\x1b[<0;10;20M", 5).is_empty());
        assert!(typed("\x1b[I", 5).is_empty());
    }
}
