//! Small text files that people write: settings, rosters, scripts, commands.
//!
//! What never ends is not read to its end, and what would make the program wait is not opened. Sessions and
//! checkpoints are read elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest text that a person writes by hand.
pub(crate) const LONGEST: u64 = 4 << 20;

/// Longest text that a program wrote: a script of many tokens.
pub(crate) const LONGEST_MADE: u64 = 64 << 20;

/// Whether what a shell puts in a file's place, as in `<(command)` and `/dev/stdin`, may stand where a text is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pipes {
    /// Only a regular file may.
    Refused,
    /// It is read, as far as a file would be.
    Read,
}

/// Reads a text of no more than `most` bytes.
///
/// # Errors
/// What the file system says; a folder, a pipe or a device where none is wanted; more than `most` bytes; bytes
/// that are no UTF-8. Each says by itself what was expected.
pub(crate) fn read(path: &Path, pipes: Pipes, most: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, pipes, most)?)
        .map_err(|_| wrong("it is not UTF-8 text".into()))
}

/// As [`read`], whatever the bytes are.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_bytes(path: &Path, pipes: Pipes, most: u64) -> io::Result<Vec<u8>> {
    // Looked at before opening: opening a pipe waits for its writer.
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(wrong("it is a folder; expected a file".into()));
    }
    // the one device that people name where they want no file
    let nothing = path == Path::new("/dev/null");
    if !kind.is_file() && !nothing && pipes == Pipes::Refused {
        return Err(wrong("it is a pipe or device; expected a file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let mib = most >> 20;
        return Err(wrong(format!(
            "it is longer than {mib} MiB, the most that is read here"
        )));
    }
    Ok(bytes)
}

fn wrong(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_up_to_its_longest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "12345678").unwrap();
        assert_eq!(read(&path, Pipes::Refused, 8).unwrap(), "12345678");
        let long = read(&path, Pipes::Refused, 7).unwrap_err().to_string();
        assert!(long.contains("longer than"), "{long}");
        std::fs::write(&path, b"\xff").unwrap();
        let binary = read(&path, Pipes::Refused, 8).unwrap_err().to_string();
        assert!(binary.contains("UTF-8"), "{binary}");
        let is_folder = read(folder.path(), Pipes::Refused, 8)
            .unwrap_err()
            .to_string();
        assert!(is_folder.contains("a folder"), "{is_folder}");
        let gone = read(&folder.path().join("b"), Pipes::Refused, 8).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn the_null_device_is_an_empty_file() {
        let text = read(Path::new("/dev/null"), Pipes::Refused, 8).unwrap();
        assert_eq!(text, "");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_refused_or_read_no_further_than_the_longest() {
        let zero = Path::new("/dev/zero");
        let refused = read(zero, Pipes::Refused, 8).unwrap_err().to_string();
        assert!(refused.contains("a pipe or device"), "{refused}");
        let endless = read(zero, Pipes::Read, 8).unwrap_err().to_string();
        assert!(endless.contains("longer than"), "{endless}");
    }
}
