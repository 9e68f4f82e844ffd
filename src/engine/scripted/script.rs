//! Reading a script: JSON lines, one a thread, and the tokens they are made of.

use crate::engine::contract::TokenId;
use base64::Engine as _;
use serde::Deserialize;
use std::collections::HashMap;

/// Ids below this stand for single bytes; above for the script's own tokens.
const BYTES: TokenId = 256;

/// A line that cannot be played.
#[derive(Debug, thiserror::Error)]
#[error("{path}, line {line}: {message}")]
pub struct ScriptError {
    /// The file.
    pub path: String,
    /// 1-based.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// A parsed script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) lines: Vec<Line>,
    /// Lines by thread (without bearers), in file order.
    by_thread: HashMap<String, Vec<usize>>,
    /// Bytes of each token of the script.
    vocabulary: Vec<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) tokens: Vec<TokenId>,
    pub(super) repeat: bool,
    pub(super) tokens_per_s: Option<f64>,
    pub(super) fail_at: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    thread: String,
    tokens: Option<Vec<RawToken>>,
    text: Option<String>,
    split: Option<Split>,
    #[serde(default)]
    repeat: bool,
    tokens_per_s: Option<f64>,
    fail_at: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a token is a string or {\"b64\": \"...\"}")]
enum RawToken {
    Text(String),
    Bytes { b64: String },
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`split` is \"char\", \"word\" or a number of bytes"
)]
enum Split {
    Named(NamedSplit),
    Bytes(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamedSplit {
    Char,
    Word,
}

impl Script {
    /// Parses a script; `path` is for messages.
    ///
    /// # Errors
    /// The first line that is not a script line, with what was expected.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        let mut known: HashMap<Vec<u8>, TokenId> = HashMap::new();
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            script
                .add_line(line, &mut known)
                .map_err(|message| ScriptError {
                    path: path.to_owned(),
                    line: i + 1,
                    message,
                })?;
        }
        Ok(script)
    }

    /// The threads it has lines for.
    pub fn threads(&self) -> impl Iterator<Item = &str> {
        self.by_thread.keys().map(String::as_str)
    }

    fn add_line(
        &mut self,
        line: &str,
        known: &mut HashMap<Vec<u8>, TokenId>,
    ) -> Result<(), String> {
        let raw: RawLine = serde_json::from_str(line).map_err(|e| {
            format!(
                "{e}; expected an object like {{\"thread\": \"1\", \"tokens\": [\"a\", \"b\"]}} or \
                 {{\"thread\": \"1\", \"text\": \"a b\", \"split\": \"word\"}}"
            )
        })?;
        if raw.thread.contains('~') {
            return Err(format!(
                "thread `{}`: name the index alone; the n-th line for it serves its n-th bearer",
                raw.thread
            ));
        }
        if raw
            .tokens_per_s
            .is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
        {
            return Err("tokens_per_s must be above 0; leave it out for no limit".into());
        }
        let pieces = match (raw.tokens, raw.text) {
            (Some(tokens), None) => tokens
                .into_iter()
                .map(raw_bytes)
                .collect::<Result<Vec<_>, _>>()?,
            (None, Some(text)) => split(&text, raw.split)?,
            _ => return Err("expected either `tokens` or `text`".into()),
        };
        let tokens = pieces
            .into_iter()
            .map(|bytes| {
                *known.entry(bytes).or_insert_with_key(|bytes| {
                    self.vocabulary.push(bytes.clone());
                    BYTES + TokenId::try_from(self.vocabulary.len() - 1).unwrap_or(TokenId::MAX)
                })
            })
            .collect();
        self.by_thread
            .entry(raw.thread)
            .or_default()
            .push(self.lines.len());
        self.lines.push(Line {
            tokens,
            repeat: raw.repeat,
            tokens_per_s: raw.tokens_per_s,
            fail_at: raw.fail_at,
        });
        Ok(())
    }

    pub(super) fn bytes(&self, token: TokenId) -> Vec<u8> {
        match u8::try_from(token) {
            Ok(byte) => vec![byte],
            Err(_) => self
                .vocabulary
                .get((token - BYTES) as usize)
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// The line that serves the sequence called `key`.
    pub(super) fn line_for(&self, key: &str) -> Option<usize> {
        let last = key.rsplit('.').next().unwrap_or(key);
        let bearer = last
            .split_once('~')
            .and_then(|(_, n)| n.parse::<usize>().ok())
            .unwrap_or(1);
        let plain: Vec<&str> = key
            .split('.')
            .map(|level| level.split('~').next().unwrap_or(level))
            .collect();
        self.by_thread
            .get(&plain.join("."))
            .and_then(|lines| lines.get(bearer - 1))
            .copied()
    }
}

fn raw_bytes(token: RawToken) -> Result<Vec<u8>, String> {
    match token {
        RawToken::Text(text) => Ok(text.into_bytes()),
        RawToken::Bytes { b64 } => base64::engine::general_purpose::STANDARD
            .decode(&b64)
            .map_err(|e| format!("`{b64}` is not base64: {e}")),
    }
}

fn split(text: &str, how: Option<Split>) -> Result<Vec<Vec<u8>>, String> {
    Ok(match how.unwrap_or(Split::Named(NamedSplit::Word)) {
        Split::Named(NamedSplit::Char) => {
            text.chars().map(|c| c.to_string().into_bytes()).collect()
        }
        Split::Named(NamedSplit::Word) => words(text),
        Split::Bytes(0) => return Err("split: a chunk needs at least 1 byte".into()),
        Split::Bytes(n) => text.as_bytes().chunks(n).map(<[u8]>::to_vec).collect(),
    })
}

/// Words with the white space before them, as most tokenizers cut.
fn words(text: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let starts = c.is_whitespace() && in_word;
        if starts || words.is_empty() {
            words.push(Vec::new());
        }
        in_word = !c.is_whitespace();
        if let Some(word) = words.last_mut() {
            word.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    words
}
