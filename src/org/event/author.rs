//! Who wrote or did something, as a word of the session file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Who wrote or did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Author {
    /// The model behind the thread's seat.
    #[default]
    Model,
    /// A person.
    Human,
    /// orgtop itself: splices, limits, policies.
    System,
    /// The guard that forbids illegal actions.
    Guard,
    /// A program.
    Tool(String),
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Human => f.write_str("human"),
            Self::System => f.write_str("system"),
            Self::Guard => f.write_str("guard"),
            Self::Tool(name) => write!(f, "tool:{name}"),
        }
    }
}

impl Serialize for Author {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Author {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Author;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an author")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Author, E> {
                Ok(match text {
                    "model" => Author::Model,
                    "human" => Author::Human,
                    "system" => Author::System,
                    "guard" => Author::Guard,
                    other => Author::Tool(other.strip_prefix("tool:").unwrap_or(other).to_owned()),
                })
            }
        }
        deserializer.deserialize_str(Text)
    }
}
