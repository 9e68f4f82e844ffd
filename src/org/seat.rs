//! Who writes a thread: seats, as words too, and the stretches in which somebody else than the model writes.

use super::thread::Moment;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Longest name of a tool or server.
const LONGEST_NAME: usize = 64;

/// Who writes a thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Seat {
    /// The session's model.
    #[default]
    Model,
    /// A person.
    Human,
    /// Another engine.
    Server(String),
    /// A program.
    Tool(String),
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Human => f.write_str("human"),
            Self::Server(name) => write!(f, "server:{name}"),
            Self::Tool(name) => write!(f, "tool:{name}"),
        }
    }
}

impl Serialize for Seat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(match text.split_once(':') {
            Some(("server", name)) => Self::Server(name.to_owned()),
            Some(("tool", name)) => Self::Tool(name.to_owned()),
            _ if text == "human" => Self::Human,
            _ => Self::Model,
        })
    }
}

/// Text that names no seat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a seat: expected model, human, tool:NAME or server:NAME")]
pub struct BadSeat(String);

impl FromStr for Seat {
    type Err = BadSeat;

    fn from_str(text: &str) -> Result<Self, BadSeat> {
        let bad = || BadSeat(text.chars().take(40).collect());
        let named = |name: &str| -> Result<String, BadSeat> {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
                return Err(bad());
            }
            Ok(name.to_owned())
        };
        match text.split_once(':') {
            None if text == "model" => Ok(Self::Model),
            None if text == "human" => Ok(Self::Human),
            Some(("tool", name)) => named(name).map(Self::Tool),
            Some(("server", name)) => named(name).map(Self::Server),
            _ => Err(bad()),
        }
    }
}

impl Seat {
    /// Whether the session's own model decodes here.
    #[must_use]
    pub fn is_model(&self) -> bool {
        *self == Self::Model
    }

    /// Whether an engine decodes here, the session's own or another.
    #[must_use]
    pub fn decodes(&self) -> bool {
        matches!(self, Self::Model | Self::Server(_))
    }
}

/// Reads a seat and refuses what is none: for commands, where a slip must not pass for `model`.
///
/// # Errors
/// Text that names no seat.
pub fn strict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seat, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

/// Like [`strict`], for a field that may be absent.
///
/// # Errors
/// Text that names no seat.
pub fn strict_if_given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Seat>, D::Error> {
    strict(deserializer).map(Some)
}

/// A stretch in which a person or a tool held the seat of a thread that could go on. In ideal time it
/// takes the steps that other threads decoded meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Who.
    pub by: Seat,
    /// Since when.
    pub from: Moment,
    /// Until when; `None` while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Moment>,
    /// Tokens that the thread had decoded before.
    pub at: u64,
    /// Forks and Joins that the thread had done before.
    pub ops: usize,
}

impl Writing {
    /// Steps that other threads decoded meanwhile, up to `now` if it lasts.
    #[must_use]
    pub fn steps(&self, now: Moment) -> u64 {
        let to = self.to.unwrap_or(now);
        to.step.0.saturating_sub(self.from.step.0)
    }

    /// Microseconds it took, up to `now` if it lasts.
    #[must_use]
    pub fn us(&self, now: Moment) -> u64 {
        self.to.unwrap_or(now).us.saturating_sub(self.from.us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_print_as_they_parse() {
        for text in ["model", "human", "tool:wc", "server:box-1.local"] {
            assert_eq!(text.parse::<Seat>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_seat_is_refused() {
        for text in [
            "", "Human", "tool", "tool:", "tool:a b", "robot:x", "human:x",
        ] {
            assert!(text.parse::<Seat>().is_err(), "{text}");
        }
    }
}
