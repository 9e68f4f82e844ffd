//! Data on stdout, messages on stderr.

use serde::Serialize;
use std::io::{self, Write};

/// Prints a line of data. A reader that went away is no error: there is nobody left to tell.
///
/// # Errors
/// Whatever else keeps stdout from taking it.
pub fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints one JSON document.
///
/// # Errors
/// As [`line`].
pub fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    Ok(line(&serde_json::to_string_pretty(value)?)?)
}

/// Says something to the person on stderr; nobody listening is fine.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
