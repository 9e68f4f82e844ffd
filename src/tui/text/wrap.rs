//! Cutting text into rows.
//!
//! A text is kept in *chunks*: its lines, long lines in pieces of at most 4 KiB. Rows never
//! cross a chunk, so appending re-wraps one chunk only, any place is found by wrapping one chunk only,
//! and nothing grows with the length of the text. Rows follow one another without gaps: put together
//! they are the text.

use super::cluster::{cluster_len, cluster_width, floor_boundary};
use super::transcript::Transcript;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes after which a long line is cut.
pub(super) const CHUNK: usize = 4096;

/// Bytes at the end of a full chunk in which no cut is made, so that every cluster in front of the cut
/// is complete.
const MARGIN: usize = 128;

/// Chunks remembered with their rows.
const REMEMBERED: usize = 1024;

/// Where a long line is cut: after the last space that has text behind it, else between clusters.
/// Depends on the first [`CHUNK`] bytes only.
pub(super) fn cut_point(text: &str) -> usize {
    let window = &text.as_bytes()[..CHUNK - MARGIN];
    let space = (CHUNK / 2..window.len() - 1)
        .rev()
        .find(|i| window[*i] == b' ' && window[i + 1].is_ascii_graphic());
    if let Some(space) = space {
        return space + 1;
    }
    let window = &text[..floor_boundary(text, CHUNK)];
    let mut at = 0;
    while at < CHUNK - MARGIN {
        at += cluster_len(&window[at..]).max(1);
    }
    at
}

/// Where each row of a chunk begins, relative to it. Never empty.
///
/// A row is filled with as many clusters as fit and broken after its last space; one space may hang
/// over its end. A cluster wider than `width` gets a row of its own.
#[must_use]
pub fn row_starts(text: &str, width: usize) -> Vec<u32> {
    let width = width.max(1);
    let mut starts = vec![0];
    let (mut at, mut column) = (0, 0);
    // The last place where this row may be broken, and the column there.
    let mut space: Option<(usize, usize)> = None;
    let mut row = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.as_bytes()[0] == b'\n' {
            break;
        }
        let len = cluster_len(rest).max(1);
        let cluster = &rest[..len];
        let cells = cluster_width(cluster).min(width);
        let is_space = cluster == " ";
        if column + cells > width && !(is_space && column == width) {
            match space {
                Some((after, cells_before)) if after > row => {
                    row = after;
                    column -= cells_before;
                }
                _ => {
                    row = at;
                    column = 0;
                }
            }
            space = None;
            starts.push(u32::try_from(row).unwrap_or(u32::MAX));
            // The rest of a broken word may itself be too long for the row; look at it again.
            continue;
        }
        at += len;
        column += cells;
        if is_space {
            space = Some((at, column));
        }
    }
    starts
}

/// A row: the `row`-th of chunk `chunk`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Place {
    pub(super) chunk: usize,
    pub(super) row: usize,
}

/// Rows of the chunks that were looked at lately, for one width.
#[derive(Debug, Clone, Default)]
pub(super) struct Wrap {
    revision: u64,
    width: usize,
    chunks: HashMap<usize, (usize, Arc<[u32]>)>,
}

impl Wrap {
    /// Gets ready for `transcript` at `width`.
    pub(super) fn prepare(&mut self, transcript: &Transcript, width: usize) {
        let same = self.revision == transcript.revision() && self.width == width;
        if !same || self.chunks.len() > REMEMBERED {
            self.chunks.clear();
        }
        self.revision = transcript.revision();
        self.width = width;
    }

    fn rows(&mut self, transcript: &Transcript, chunk: usize) -> Arc<[u32]> {
        let span = transcript.display().chunk(chunk);
        // An unsettled tail can change without growing.
        let settled = span.end <= transcript.display().settled();
        if let Some((end, rows)) = self.chunks.get(&chunk)
            && *end == span.end
            && settled
        {
            return Arc::clone(rows);
        }
        let end = span.end;
        let rows: Arc<[u32]> = row_starts(&transcript.shown()[span], self.width).into();
        if settled {
            self.chunks.insert(chunk, (end, Arc::clone(&rows)));
        }
        rows
    }

    /// The row that shows byte `shown`.
    pub(super) fn place_of(&mut self, transcript: &Transcript, shown: usize) -> Place {
        let chunk = transcript.display().chunk_of(shown);
        let within = shown - transcript.display().chunk(chunk).start;
        let rows = self.rows(transcript, chunk);
        let row = rows
            .partition_point(|r| *r as usize <= within)
            .saturating_sub(1);
        Place { chunk, row }
    }

    /// The last row.
    pub(super) fn last(&mut self, transcript: &Transcript) -> Place {
        let chunk = transcript.display().chunk_count().saturating_sub(1);
        Place {
            chunk,
            row: self.rows(transcript, chunk).len() - 1,
        }
    }

    /// The bytes of the shown text in a row.
    pub(super) fn span(&mut self, transcript: &Transcript, place: Place) -> Range<usize> {
        let chunk = transcript.display().chunk(place.chunk);
        let rows = self.rows(transcript, place.chunk);
        let offset = |row: usize| rows.get(row).map(|r| chunk.start + *r as usize);
        let start = offset(place.row).unwrap_or(chunk.end);
        start..offset(place.row + 1).unwrap_or(chunk.end)
    }

    /// The row `lines` further up, or the first.
    pub(super) fn up(&mut self, transcript: &Transcript, from: Place, lines: usize) -> Place {
        let Place { mut chunk, mut row } = from;
        let mut left = lines;
        loop {
            if row >= left {
                return Place {
                    chunk,
                    row: row - left,
                };
            }
            if chunk == 0 {
                return Place::default();
            }
            left -= row + 1;
            chunk -= 1;
            row = self.rows(transcript, chunk).len() - 1;
        }
    }

    /// The row `lines` further down, or the last.
    pub(super) fn down(&mut self, transcript: &Transcript, from: Place, lines: usize) -> Place {
        let Place { mut chunk, mut row } = from;
        let mut left = lines;
        loop {
            let rows = self.rows(transcript, chunk).len();
            if row + left < rows {
                return Place {
                    chunk,
                    row: row + left,
                };
            }
            if chunk + 1 >= transcript.display().chunk_count() {
                return Place {
                    chunk,
                    row: rows - 1,
                };
            }
            left -= rows - row;
            chunk += 1;
            row = 0;
        }
    }
}

#[cfg(test)]
mod tests;
