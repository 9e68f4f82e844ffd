//! What can go wrong with a server, in words that say what was expected and what to do.
//!
//! Text that a server sent is hostile: it is quoted short, on one line, and without control characters.

use super::address::Address;
use crate::engine::contract::EngineError;
use std::time::Duration;

/// Longest quotation of a server's words, in characters.
const QUOTED: usize = 200;

/// Models listed in a message.
const LISTED: usize = 12;

/// Why a server does not serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It is no URL of a server.
    #[error("`{url}` is not a server's URL: {why}; expected something like http://localhost:8080")]
    Url {
        /// As given.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The key cannot be had.
    #[error("{why}")]
    KeySource {
        /// What is wrong, without the key.
        why: String,
    },
    /// Nobody answers there.
    #[error("{url}: no connection ({why}); is the server running, and is this its address?")]
    Unreachable {
        /// The server.
        url: String,
        /// What the system says.
        why: String,
    },
    /// Somebody answers, but no inference server.
    #[error(
        "{url}: this does not look like an inference server ({what}); expected vLLM, SGLang, llama.cpp's \
         server or Ollama at the root of the URL"
    )]
    NotAServer {
        /// What was asked.
        url: String,
        /// What came instead.
        what: String,
    },
    /// It does not have that model.
    #[error("{url} has no model `{asked}`; it has {}", list(.has))]
    NoSuchModel {
        /// The server.
        url: String,
        /// What was asked for.
        asked: String,
        /// What it has.
        has: Vec<String>,
    },
    /// It has several and none was chosen, or none at all.
    #[error("{url} serves {}; say which with --model NAME (or `model` in the config file)", list(.has))]
    WhichModel {
        /// The server.
        url: String,
        /// What it has.
        has: Vec<String>,
    },
    /// It wants another key.
    #[error("{url} refuses the key ({status}{}); it was {source_of_key}", said(.message))]
    Key {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Where the key came from, or that there was none.
        source_of_key: String,
        /// What the server says.
        message: String,
    },
    /// It is busy, and stayed so.
    #[error("{url} is busy (429{}){}", said(.message), after(*.wait))]
    Busy {
        /// The server.
        url: String,
        /// What the server says.
        message: String,
        /// How long it asks to be left alone.
        wait: Option<Duration>,
    },
    /// It failed.
    #[error("{url} failed ({status}{})", said(.message))]
    Failed {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What the server says.
        message: String,
        /// How long it asks to be left alone.
        wait: Option<Duration>,
    },
    /// It does not take the request.
    #[error("{url} does not take the request ({status}{})", said(.message))]
    Refused {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// The context is longer than it allows.
    #[error("{url}: the context is full{}", said(.message))]
    ContextFull {
        /// The server.
        url: String,
        /// What the server says.
        message: String,
    },
    /// The answer stopped in the middle.
    #[error("{url} stopped in the middle of its answer ({why})")]
    Cut {
        /// The server.
        url: String,
        /// How.
        why: String,
    },
    /// Nothing came for too long.
    #[error("{url} has been silent for {} s {when}", .after.as_secs())]
    Stalled {
        /// The server.
        url: String,
        /// How long.
        after: Duration,
        /// Before or in its answer.
        when: &'static str,
    },
    /// The answer is not what was asked for.
    #[error("{url} sends something else than was asked for ({what})")]
    Garbled {
        /// The server.
        url: String,
        /// What.
        what: String,
    },
}

impl RemoteError {
    /// How long to wait before trying again, if that can help: the wait that the server asks for, or zero
    /// for none.
    pub(super) fn try_again_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { wait, .. } => Some(wait.unwrap_or_default()),
            Self::Failed { wait, .. } => Some(wait.unwrap_or_default()),
            Self::Unreachable { .. } => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// From a failed exchange.
    pub(super) fn of_exchange(address: &Address, error: &reqwest::Error) -> Self {
        let why = innermost(error);
        let url = address.to_string();
        if error.is_connect() || error.is_timeout() || error.is_request() {
            Self::Unreachable { url, why }
        } else {
            Self::Cut { url, why }
        }
    }
}

impl From<RemoteError> for EngineError {
    fn from(error: RemoteError) -> Self {
        Self::Server(error.to_string())
    }
}

/// The cause behind the causes: what the system or the TLS library says.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    quote(&error.to_string())
}

/// A server's words: short, on one line, without control characters.
pub(super) fn quote(text: &str) -> String {
    let mut words = text
        .chars()
        .map(|c| if harmless(c) { c } else { ' ' })
        .take(QUOTED + 1)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if text.chars().nth(QUOTED).is_some() {
        words.push('…');
    }
    words
}

fn harmless(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns_text
}

fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn after(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |w| {
        format!("; it asks to be tried again in {} s", w.as_secs())
    })
}

fn list(models: &[String]) -> String {
    if models.is_empty() {
        return "no model at all".into();
    }
    let shown: Vec<String> = models
        .iter()
        .take(LISTED)
        .map(|m| format!("`{}`", quote(m)))
        .collect();
    let more = models.len().saturating_sub(LISTED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_words_are_quoted_short_and_harmless() {
        let hostile = format!("\x1b]0;owned\x07 bad\n\u{202e}{}", "x".repeat(1000));
        let quoted = quote(&hostile);
        assert!(quoted.chars().all(|c| !c.is_control()), "{quoted:?}");
        assert!(!quoted.contains('\u{202e}'));
        assert!(quoted.chars().count() <= QUOTED + 2);
    }

    #[test]
    fn a_wrong_model_lists_what_there_is() {
        let error = RemoteError::NoSuchModel {
            url: "http://x/".into(),
            asked: "a".into(),
            has: (0..15).map(|i| format!("m{i}")).collect(),
        };
        let text = error.to_string();
        assert!(
            text.contains("`m0`, `m1`") && text.contains("and 3 more"),
            "{text}"
        );
    }
}
