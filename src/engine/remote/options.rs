//! Which server, how patiently, and its key.

use super::error::RemoteError;
use super::probe::Kind;
use super::template::Template;
use crate::small_file::{self, Pipes};
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The environment variable that holds a key where no other is named.
pub const DEFAULT_KEY_ENV: &str = "ORGTOP_API_KEY";

/// A server as flags or the config file name it. Holds no key, only where to find one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerOptions {
    /// Where it listens.
    pub url: String,
    /// Which of its models; the only one if absent.
    #[serde(default)]
    pub model: Option<String>,
    /// What kind of server it is; found out if absent.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// How prompts are written; found out if absent.
    #[serde(default)]
    pub template: Option<Template>,
    /// Environment variable that holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// File that holds the key.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Longest context in tokens; what the server says if absent.
    #[serde(default)]
    pub context: Option<u32>,
    /// Seconds to wait for a connection.
    #[serde(default = "connect_s")]
    pub connect_s: u32,
    /// Seconds to wait for the first piece of an answer.
    #[serde(default = "first_byte_s")]
    pub first_byte_s: u32,
    /// Seconds of silence in the middle of an answer that count as a stall.
    #[serde(default = "idle_s")]
    pub idle_s: u32,
    /// How often a request is tried again before its first byte.
    #[serde(default = "retries")]
    pub retries: u32,
    /// One line about it, for an organizer that can choose.
    #[serde(default)]
    pub about: Option<String>,
}

fn connect_s() -> u32 {
    5
}

fn first_byte_s() -> u32 {
    120
}

fn idle_s() -> u32 {
    30
}

fn retries() -> u32 {
    3
}

impl ServerOptions {
    /// The server at `url`, with everything else as it usually is.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            model: None,
            kind: None,
            template: None,
            key_env: None,
            key_file: None,
            context: None,
            connect_s: connect_s(),
            first_byte_s: first_byte_s(),
            idle_s: idle_s(),
            retries: retries(),
            about: None,
        }
    }

    /// Values that cannot be meant.
    ///
    /// # Errors
    /// Which one, and what was expected.
    pub fn check(&self) -> Result<(), String> {
        for (name, seconds) in [
            ("connect_s", self.connect_s),
            ("first_byte_s", self.first_byte_s),
            ("idle_s", self.idle_s),
        ] {
            if !(1..=3600).contains(&seconds) {
                return Err(format!("{name} is {seconds}; expected 1 to 3600"));
            }
        }
        if self.retries > 20 {
            return Err(format!("retries is {}; expected 0 to 20", self.retries));
        }
        if self.key_env.is_some() && self.key_file.is_some() {
            return Err("give key_env or key_file, not both".into());
        }
        super::address::Address::parse(&self.url)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }

    pub(super) fn patience(&self) -> Patience {
        let seconds = |s: u32| Duration::from_secs(u64::from(s));
        Patience {
            connect: seconds(self.connect_s),
            first_byte: seconds(self.first_byte_s),
            idle: seconds(self.idle_s),
            retries: self.retries,
        }
    }

    /// The key, if there is one.
    ///
    /// # Errors
    /// A variable that was named but is not set, a file that cannot be read, text that is no key.
    pub(super) fn key(&self) -> Result<Option<Key>, RemoteError> {
        let wrong = |why: String| RemoteError::KeySource { why };
        let text = if let Some(path) = &self.key_file {
            small_file::read(path, Pipes::Read, small_file::LONGEST)
                .map_err(|e| wrong(format!("{}: cannot read the key: {e}", path.display())))?
        } else {
            let name = self.key_env.as_deref().unwrap_or(DEFAULT_KEY_ENV);
            match std::env::var(name) {
                Ok(text) => text,
                Err(_) if self.key_env.is_none() => return Ok(None),
                Err(_) => {
                    return Err(wrong(format!(
                        "the environment variable {name} is not set; it should hold the server's key"
                    )));
                }
            }
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(wrong(
                "the server's key holds characters that no key has; expected one word of printable ASCII"
                    .into(),
            ));
        }
        Ok(Some(Key(text.to_owned())))
    }

    /// Whether there is a key.
    ///
    /// # Errors
    /// One was named and cannot be had.
    pub fn key_is_there(&self) -> Result<bool, RemoteError> {
        self.key().map(|key| key.is_some())
    }

    /// Where the key comes from, in words.
    #[must_use]
    pub fn key_source(&self) -> String {
        match (&self.key_file, &self.key_env) {
            (Some(path), _) => format!("the file {}", path.display()),
            (None, Some(name)) => format!("the environment variable {name}"),
            (None, None) => format!("the environment variable {DEFAULT_KEY_ENV}"),
        }
    }
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub connect: Duration,
    pub first_byte: Duration,
    pub idle: Duration,
    pub retries: u32,
}

/// A server's key. It is written into one header and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// `text` without the key: a server may repeat what it was sent.
    pub fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_printed_and_hidden_where_a_server_repeats_it() {
        let key = Key("sk-secret".into());
        assert!(!format!("{key:?}").contains("secret"));
        assert_eq!(key.hide_in("bad key sk-secret!"), "bad key [key]!");
    }

    #[test]
    fn a_key_file_is_read_and_a_missing_or_odd_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let options = ServerOptions {
            key_file: Some(path.clone()),
            ..ServerOptions::at("http://x")
        };
        let error = options.key().unwrap_err().to_string();
        assert!(error.contains("cannot read the key"), "{error}");
        std::fs::write(&path, "sk-1\n").unwrap();
        assert_eq!(options.key().unwrap(), Some(Key("sk-1".into())));
        std::fs::write(&path, "sk 1\u{e9}").unwrap();
        let error = options.key().unwrap_err().to_string();
        assert!(!error.contains("sk 1"), "{error}");
    }

    #[test]
    fn a_named_variable_must_be_set() {
        let options = ServerOptions {
            key_env: Some("ORGTOP_TEST_NO_SUCH_KEY".into()),
            ..ServerOptions::at("http://x")
        };
        let error = options.key().unwrap_err().to_string();
        assert!(error.contains("ORGTOP_TEST_NO_SUCH_KEY"), "{error}");
    }

    #[test]
    fn values_that_cannot_be_meant_are_named() {
        let mut options = ServerOptions::at("http://x");
        assert!(options.check().is_ok());
        options.idle_s = 0;
        assert!(options.check().unwrap_err().contains("idle_s"));
    }
}
