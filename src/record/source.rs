//! The bytes of a session file: on disk, or unpacked in memory.

use super::error::OpenError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that a compressed session may unpack to.
const MAX_UNPACKED: u64 = 1 << 30;

/// First bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How much of a compressed file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpack {
    /// Everything, or an error.
    All,
    /// At least so many bytes from the front.
    Front(u64),
}

/// Random access to a file as long as it was when it was opened.
#[derive(Debug)]
pub(super) enum Source {
    /// A plain file.
    File {
        /// Open for reading.
        file: File,
        /// Its length.
        len: u64,
    },
    /// A compressed file, unpacked.
    Memory(Vec<u8>),
}

impl Source {
    /// Opens a regular file; unpacks it if it is compressed, whatever its name.
    pub(super) fn open(path: &Path, how: Unpack) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        // Looked at before opening: opening a pipe would wait for its writer.
        let kind = std::fs::metadata(path).map_err(io)?.file_type();
        if !kind.is_file() {
            return Err(OpenError::NotAFile {
                path: path.to_owned(),
                what: if kind.is_dir() {
                    "a folder"
                } else {
                    "a pipe or device"
                },
            });
        }
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        let source = Self::File { file, len };
        let mut magic = [0; 4];
        let read = source.read_at(0, &mut magic).map_err(io)?;
        if read < 4 || magic != ZSTD_MAGIC {
            return Ok(source);
        }
        let Self::File { file, .. } = source else {
            return Ok(source);
        };
        unpack(file, how).map_err(|message| OpenError::Compressed {
            path: path.to_owned(),
            message,
        })
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it was unpacked.
    pub(super) fn compressed(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Fills as much of `buf` as there is from `offset` on.
    pub(super) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = buf.len().min(left);
        match self {
            Self::Memory(bytes) => {
                // `want` is 0 past the end, else `offset` fits as the length does.
                let from = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                buf[..want].copy_from_slice(&bytes[from..from + want]);
                Ok(want)
            }
            Self::File { file, .. } => {
                let mut done = 0;
                while done < want {
                    match pread(file, &mut buf[done..want], offset + done as u64) {
                        Ok(0) => break,
                        Ok(n) => done += n,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                Ok(done)
            }
        }
    }
}

#[cfg(unix)]
fn pread(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn pread(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

/// Unpacks the frames of a zstd file.
fn unpack(file: File, how: Unpack) -> Result<Source, String> {
    let most = match how {
        Unpack::All => MAX_UNPACKED,
        Unpack::Front(bytes) => bytes,
    };
    let mut packed = io::BufReader::with_capacity(1 << 20, file);
    let mut bytes = Vec::new();
    loop {
        let rest = io::BufRead::fill_buf(&mut packed).map_err(|e| e.to_string())?;
        if rest.is_empty() {
            return Ok(Source::Memory(bytes));
        }
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(&mut packed).map_err(|e| e.to_string())?;
        let room = most.saturating_sub(bytes.len() as u64);
        let read = decoder
            .take(room.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| e.to_string())?;
        if read as u64 > room {
            return match how {
                Unpack::All => Err(format!("it unpacks to more than {} MiB", most >> 20)),
                Unpack::Front(_) => Ok(Source::Memory(bytes)),
            };
        }
    }
}
