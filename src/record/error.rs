//! What can go wrong with session files, in words for the person who has one.

use std::io;
use std::path::PathBuf;

/// Why a session file does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused.
    #[error("{path}: cannot read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{path} is {what}, not a session file: give a `.jsonl` or `.jsonl.zst` file")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Nothing in it.
    #[error(
        "{path} is empty (0 bytes): expected a session header on line 1; nothing was recorded, the file can be deleted"
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Something else.
    #[error(
        "{path}: line 1: not a session: expected `{{\"format\":\"orgtop-session\",…}}`, found {found}"
    )]
    NotASession {
        /// The file.
        path: PathBuf,
        /// How it begins.
        found: String,
    },
    /// The first line says it is a session, but cannot be used.
    #[error(
        "{path}: line 1: bad header: {message}; the file was left as it is, `orgtop recover` writes a readable copy"
    )]
    BadHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A compressed file that does not unpack.
    #[error("{path}: cannot decompress: {message}; unpack it with `zstd -d` to see more")]
    Compressed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// Why a session cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Recording never overwrites.
    #[error(
        "{path} exists already and is never overwritten: choose another name, or resume it with `orgtop resume`"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("{path}: cannot {doing}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Another program writes it.
    #[error("{path} is being written by another orgtop: it can only be watched (`orgtop replay`)")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It can be read, not continued.
    #[error("{path} is read-only: {why}")]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The end of a session could not be written.
    #[error(
        "{path}: the last {records} records ({bytes} bytes) could not be written: {why}; free some space before the next run"
    )]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// How many.
        records: usize,
        /// How much.
        bytes: u64,
        /// Why.
        why: String,
    },
}
