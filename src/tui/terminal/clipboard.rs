//! The clipboard of the person's terminal (OSC 52).

use crossterm::clipboard::CopyToClipboard;
use crossterm::queue;

/// Longest text in bytes; encoded it stays below the 100,000 bytes that terminals take at most.
pub const LIMIT: usize = 74_000;

/// Why a text was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Longer than [`LIMIT`].
    #[error("{bytes} bytes are too many to copy ({LIMIT} at most); select less or open the pager")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The terminal is gone.
    #[error("cannot write to the terminal: {0}")]
    Write(#[from] std::io::Error),
}

/// What to write to put `text` into the clipboard.
pub(super) fn sequence(text: &str) -> Result<Vec<u8>, CopyError> {
    if text.len() > LIMIT {
        return Err(CopyError::TooLong { bytes: text.len() });
    }
    let mut out = Vec::new();
    queue!(out, CopyToClipboard::to_clipboard_from(text))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_travels_encoded() {
        let sequence = sequence("\x1b]0;x\x07").unwrap();
        assert_eq!(sequence, b"\x1b]52;c;G10wO3gH\x1b\\");
    }

    #[test]
    fn what_no_terminal_takes_is_refused() {
        assert!(sequence(&"x".repeat(LIMIT)).is_ok_and(|s| s.len() < 100_000));
        assert!(matches!(
            sequence(&"x".repeat(LIMIT + 1)),
            Err(CopyError::TooLong { bytes }) if bytes == LIMIT + 1
        ));
    }
}
