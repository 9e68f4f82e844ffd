//! What is wrong with a session file, line by line.

use super::header::Version;
use super::line::{self, Line, LineError};
use super::lines::{LineEnd, RawLine};
use crate::org::{Body, BranchId, Event, Seq};
use std::fmt;

/// Most damages that are kept one by one; further ones are counted.
const MAX_KEPT: usize = 1000;

/// One damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The line, the header being line 1.
    pub line: u64,
    /// Byte offset of that line.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamageKind {
    /// The last record was cut short while it was written.
    Torn {
        /// Bytes of it.
        bytes: u64,
    },
    /// Zero bytes, as a crash of the machine leaves them.
    Nuls {
        /// How many.
        bytes: u64,
    },
    /// It holds no event.
    Unreadable {
        /// Why.
        message: String,
    },
    /// Its place is known, its content is not understood (perhaps written by a newer version).
    NotUnderstood {
        /// Why.
        message: String,
    },
    /// Longer than any record.
    TooLong,
    /// Events are missing before it, or it is out of order.
    Gap {
        /// The place that should come.
        expected: Seq,
        /// The place that came.
        found: Seq,
    },
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn { bytes } => {
                write!(f, "the last record is torn ({bytes} bytes), set aside")
            }
            Self::Nuls { bytes } => write!(f, "{bytes} zero bytes, skipped"),
            Self::Unreadable { message } => write!(f, "skipped: {message}"),
            Self::NotUnderstood { message } => f.write_str(message),
            Self::TooLong => f.write_str("skipped: longer than any record"),
            Self::Gap { expected, found } if found > expected => {
                let missing = found.0 - expected.0;
                write!(
                    f,
                    "expected event {expected}, found {found}: {missing} missing"
                )
            }
            Self::Gap { expected, found } => {
                write!(f, "expected event {expected}, found {found} again")
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// Everything wrong with a file, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Damages in file order, the first thousand.
    pub damages: Vec<Damage>,
    /// Damages beyond those.
    pub further: u64,
    /// The file's version, where it is newer than this program's.
    pub newer: Option<Version>,
    /// Lines read, the header among them.
    pub lines: u64,
    /// Events read.
    pub events: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty() && self.newer.is_none()
    }

    /// How many damages there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.damages.len() as u64 + self.further
    }

    /// Notes a damage.
    pub(super) fn add(&mut self, line: u64, offset: u64, kind: DamageKind) {
        if self.damages.len() < MAX_KEPT {
            self.damages.push(Damage { line, offset, kind });
        } else {
            self.further += 1;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.newer {
            writeln!(f, "{}", newer_message(version))?;
        }
        for damage in &self.damages {
            writeln!(f, "{damage}")?;
        }
        if self.further > 0 {
            writeln!(f, "and {} more", self.further)?;
        }
        Ok(())
    }
}

/// What a file of a newer major version says.
pub(super) fn newer_message(version: Version) -> String {
    format!(
        "written in session format {}.{}, newer than this program's: opened read-only, shown as far as understood; update orgtop to see everything",
        version.major, version.minor
    )
}

/// Reads a line: the event in it, and what is wrong with it. Blank lines give neither.
pub(super) fn understand(raw: RawLine<'_>) -> (Option<Line>, Option<DamageKind>) {
    if raw.end == LineEnd::TooLong {
        return (None, Some(DamageKind::TooLong));
    }
    let nuls = raw.bytes.iter().take_while(|b| **b == 0).count();
    let bytes = &raw.bytes[nuls..];
    let zeros = (nuls > 0).then_some(DamageKind::Nuls { bytes: nuls as u64 });
    if bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) {
        return (None, zeros);
    }
    match line::parse(bytes) {
        Ok(line) => (Some(line), zeros),
        // A record that was written whole but for its newline is no loss.
        Err(_) if raw.end == LineEnd::EndOfFile => {
            let bytes = raw.bytes.len() as u64;
            (None, Some(DamageKind::Torn { bytes }))
        }
        Err(error @ LineError::Body { .. }) => {
            let message = error.to_string();
            let kept = line::place_of(bytes).ok().map(|place| Line {
                event: Event {
                    seq: place.seq,
                    us: place.us,
                    step: place.step,
                    branch: BranchId(0),
                    thread: None,
                    by: crate::org::Author::System,
                    cause: None,
                    body: Body::Unknown,
                },
                prev: None,
            });
            (kept, Some(DamageKind::NotUnderstood { message }))
        }
        Err(error) => {
            let message = error.to_string();
            (None, Some(DamageKind::Unreadable { message }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(bytes: &[u8], end: LineEnd) -> RawLine<'_> {
        RawLine {
            offset: 0,
            bytes,
            end,
        }
    }

    #[test]
    fn an_event_behind_zero_bytes_is_still_read() {
        let line = b"\0\0\0{\"seq\":1,\"us\":2,\"step\":3,\"kind\":\"resume\"}";
        let (event, damage) = understand(raw(line, LineEnd::Newline));
        assert!(event.is_some());
        assert_eq!(damage, Some(DamageKind::Nuls { bytes: 3 }));
    }

    #[test]
    fn a_whole_record_without_newline_is_no_damage_and_a_cut_one_is_torn() {
        let line = b"{\"seq\":1,\"us\":2,\"step\":3,\"kind\":\"resume\"}";
        assert_eq!(understand(raw(line, LineEnd::EndOfFile)).1, None);
        let cut = &line[..line.len() - 1];
        assert_eq!(
            understand(raw(cut, LineEnd::EndOfFile)),
            (
                None,
                Some(DamageKind::Torn {
                    bytes: cut.len() as u64
                })
            )
        );
    }

    #[test]
    fn what_is_not_understood_keeps_its_place() {
        let line = b"{\"seq\":9,\"us\":2,\"step\":3,\"kind\":\"end\",\"end\":\"tired\"}";
        let (event, damage) = understand(raw(line, LineEnd::Newline));
        assert_eq!(event.unwrap().event.seq, Seq(9));
        assert!(matches!(damage, Some(DamageKind::NotUnderstood { .. })));
    }
}
