//! Data on stdout, messages on stderr. Nothing that a model or a file says drives the terminal from here.

use crate::tui::text::{safe_line, safe_text};
use anyhow::Context;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};

/// Prints lines of data: made safe on a terminal, exact elsewhere.
///
/// # Errors
/// As [`taken`].
pub fn line(text: &str) -> anyhow::Result<()> {
    let shown = if io::stdout().is_terminal() {
        safe_text(text)
    } else {
        Cow::Borrowed(text)
    };
    let mut out = io::stdout().lock();
    taken(writeln!(out, "{shown}").and_then(|()| out.flush()))
}

/// Judges a write to stdout. A reader that went away is no error: there is nobody left to tell.
///
/// # Errors
/// Whatever else keeps stdout from taking it.
pub fn taken(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints one JSON document. Characters that drive terminals are written as escapes, which mean the same.
///
/// # Errors
/// As [`line()`].
pub fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&harmless(&serde_json::to_string_pretty(value)?))
}

/// JSON that means the same, with everything escaped that could drive or confuse a terminal.
fn harmless(json: &str) -> Cow<'_, str> {
    let drives = |c: char| c != '\n' && safe_line(c.encode_utf8(&mut [0; 4])).chars().ne([c]);
    if !json.contains(drives) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if drives(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Says something to the person on stderr, made safe; nobody listening is fine.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", safe_text(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_drives_no_terminal() {
        let text = "a\u{9b}2J \u{202e}b\u{7f} \u{1b}[0m 漢字 🧠 é\n";
        let json = serde_json::to_string(text).unwrap();
        let shown = harmless(&json);
        assert!(!shown.chars().any(char::is_control) && !shown.contains('\u{202e}'));
        assert!(shown.contains("漢字 🧠 é"));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
