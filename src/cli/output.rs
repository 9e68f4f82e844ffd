//! Data on stdout, messages on stderr. Nothing that a model or a file says drives the terminal from here.

use crate::record::escape_controls;
use crate::tui::text::safe_text;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// Prints lines of data: made safe on a terminal, exact elsewhere. A reader that went away is no error:
/// there is nobody left to tell.
///
/// # Errors
/// Whatever else keeps stdout from taking it.
pub fn line(text: &str) -> io::Result<()> {
    let shown = if io::stdout().is_terminal() {
        safe_text(text)
    } else {
        Cow::Borrowed(text)
    };
    let mut out = io::stdout().lock();
    match writeln!(out, "{shown}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints one JSON document. Characters that drive terminals are written as escapes, which mean the same.
///
/// # Errors
/// As [`line`].
pub fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    escape_controls(&mut text, 0);
    Ok(line(&String::from_utf8(text)?)?)
}

/// Says something to the person on stderr, made safe; nobody listening is fine.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", safe_text(text));
}
