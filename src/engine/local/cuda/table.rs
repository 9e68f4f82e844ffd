//! What the kernels are told once a step: where each row goes, and which queries read which pages.

use crate::engine::local::config::Config;
use crate::engine::local::model::{Batch, Segment};
use crate::engine::local::pages::PAGE;

/// Queries that one block of the kernel serves, `TILE` there.
pub const TILE: usize = 8;

/// Words of a row and of a tile, `Row` and `Tile` there.
const ROW: usize = 2;
const WORDS: usize = 5;

/// Rows, tiles and pages of one batch, in words, one part behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Everything, as it is copied to the device.
    pub words: Vec<u32>,
    /// Rows of the batch.
    pub rows: usize,
    /// Tiles of it.
    pub tiles: usize,
}

impl Table {
    /// Of `batch`, for a network of this shape.
    #[must_use]
    pub fn of(batch: &Batch, config: &Config) -> Self {
        let group = config.heads / config.kv_heads;
        let (mut words, mut tiles, mut pages) = (Vec::new(), Vec::new(), Vec::new());
        for segment in &batch.segments {
            let first_page = pages.len();
            pages.extend(segment.pages.iter().map(|page| page.0));
            for row in 0..segment.rows.len() {
                let position = segment.start + row;
                words.extend([position as u32, slot(segment, position)]);
            }
            let queries = segment.rows.len() * group;
            for query in (0..queries).step_by(TILE) {
                tiles.extend([
                    segment.rows.start as u32,
                    segment.start as u32,
                    query as u32,
                    TILE.min(queries - query) as u32,
                    first_page as u32,
                ]);
            }
        }
        let (rows, count) = (words.len() / ROW, tiles.len() / WORDS);
        words.append(&mut tiles);
        words.append(&mut pages);
        Self {
            words,
            rows,
            tiles: count,
        }
    }

    /// Where the tiles begin.
    #[must_use]
    pub fn tiles_at(&self) -> usize {
        self.rows * ROW
    }

    /// Where the pages begin.
    #[must_use]
    pub fn pages_at(&self) -> usize {
        self.tiles_at() + self.tiles * WORDS
    }
}

/// The slot of a position of a sequence, in pages of [`PAGE`].
pub fn slot(segment: &Segment, position: usize) -> u32 {
    (segment.pages[position / PAGE].first_slot() + position % PAGE) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::local::cuda::made_up;
    use crate::engine::local::pages::PageId;

    #[test]
    fn a_prompt_is_cut_into_tiles_and_a_decoding_row_is_one() {
        // two query heads a key/value head
        let config = made_up::config(4, 2, 16);
        let segment = |rows, start, pages: &[u32]| Segment {
            rows,
            start,
            pages: pages.iter().copied().map(PageId).collect(),
        };
        let batch = Batch {
            tokens: vec![0; 6],
            segments: vec![segment(0..5, 30, &[7, 2]), segment(5..6, 64, &[1, 0, 4])],
            wanted: Vec::new(),
        };
        let table = Table::of(&batch, &config);
        assert_eq!((table.rows, table.tiles), (6, 3));
        let rows = [
            [30, 254],
            [31, 255],
            [32, 64],
            [33, 65],
            [34, 66],
            [64, 128],
        ];
        assert_eq!(table.words[..table.tiles_at()], rows.concat());
        // ten queries of the prompt, two of the other sequence
        let tiles = [[0, 30, 0, 8, 0], [0, 30, 8, 2, 0], [5, 64, 0, 2, 2]];
        assert_eq!(
            table.words[table.tiles_at()..table.pages_at()],
            tiles.concat()
        );
        assert_eq!(table.words[table.pages_at()..], [7, 2, 1, 0, 4]);
    }
}
