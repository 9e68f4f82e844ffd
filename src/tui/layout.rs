//! Where everything goes on a screen of a given size. Pure: sizes and threads in, rectangles out.
//!
//! ```text
//! header
//! banner (only with a warning)
//! panes: split | grid | rows | one
//! timeline
//! caption (only of a demo)
//! footer
//! ```

use crate::org::ThreadId;
use ratatui::layout::Rect;

/// Smallest screen on which anything useful can be shown.
pub const LEAST: (u16, u16) = (40, 10);

/// Smallest worker pane worth having.
const LEAST_PANE: (u16, u16) = (24, 5);

/// Smallest pane of the grid of many threads.
const LEAST_TILE: (u16, u16) = (22, 4);

/// Which layout a person asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The roomiest that shows every thread.
    #[default]
    Automatic,
    /// The organizer large, workers beside it.
    Split,
    /// The organizer over the whole width, workers small below: for a hall.
    Spotlight,
    /// All threads alike.
    Grid,
    /// One line a thread.
    Rows,
}

impl Choice {
    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Automatic => Self::Split,
            Self::Split => Self::Spotlight,
            Self::Spotlight => Self::Grid,
            Self::Grid => Self::Rows,
            Self::Rows => Self::Automatic,
        }
    }

    /// Its name on screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Split => "split",
            Self::Spotlight => "spotlight",
            Self::Grid => "grid",
            Self::Rows => "rows",
        }
    }
}

/// What a rectangle among the panes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A thread.
    Thread(ThreadId),
    /// Nobody: a free slot of the pool.
    Free,
}

/// The panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Panes {
    /// One rectangle each.
    Tiles(Vec<(Rect, Slot)>),
    /// A list that scrolls; the rectangle is its inside.
    Rows(Rect),
}

/// Everything on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// First line.
    pub header: Rect,
    /// A warning; without height if there is none.
    pub banner: Rect,
    /// All panes together.
    pub body: Rect,
    /// The panes.
    pub panes: Panes,
    /// The timeline with its frame; without height on low screens.
    pub timeline: Rect,
    /// What a demo says; without height if there is none.
    pub caption: Rect,
    /// Last line.
    pub footer: Rect,
}

/// What the layout depends on besides the size.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Threads to show, in order.
    pub threads: &'a [ThreadId],
    /// Threads there are, shown or not.
    pub lanes: usize,
    /// Slots of the pool that nobody has taken yet.
    pub free: usize,
    /// The layout asked for.
    pub choice: Choice,
    /// Only this thread, large.
    pub zoomed: Option<ThreadId>,
    /// Lines above the panes, for a warning or the answer.
    pub banner: u16,
    /// Lines above the footer, for a demo.
    pub caption: u16,
}

/// Whether nothing useful fits.
#[must_use]
pub fn too_small(area: Rect) -> bool {
    area.width < LEAST.0 || area.height < LEAST.1
}

/// Cuts `area` into the parts of the screen.
#[must_use]
pub fn screen(area: Rect, wanted: &Wanted<'_>) -> Screen {
    let mut rest = area;
    let mut take = |height: u16| {
        let height = height.min(rest.height);
        let part = Rect { height, ..rest };
        rest.y += height;
        rest.height -= height;
        part
    };
    let header = take(1);
    let banner = take(wanted.banner);
    let footer_height = 1.min(area.height.saturating_sub(1 + banner.height));
    let above = header.height + banner.height + footer_height;
    let caption_height = wanted.caption.min(area.height.saturating_sub(above));
    let inner = area.height.saturating_sub(above + caption_height);
    // Lanes that will come have their place, so that panes do not move when they do.
    let lanes = wanted.lanes.max(wanted.threads.len() + wanted.free.min(6));
    let timeline_height = timeline_height(inner, lanes);
    let body = take(inner - timeline_height);
    let timeline = take(timeline_height);
    let caption = take(caption_height);
    let footer = take(footer_height);
    Screen {
        header,
        banner,
        body,
        panes: panes(body, wanted),
        timeline,
        caption,
        footer,
    }
}

fn timeline_height(inner: u16, lanes: usize) -> u16 {
    if inner < 11 {
        return 0;
    }
    let lanes = u16::try_from(lanes.max(1)).unwrap_or(u16::MAX);
    // Frame above, axis below, the row of active workers.
    lanes.saturating_add(3).min((inner * 2 / 5).max(4))
}

fn panes(body: Rect, wanted: &Wanted<'_>) -> Panes {
    if let Some(id) = wanted.zoomed {
        return Panes::Tiles(vec![(body, Slot::Thread(id))]);
    }
    let tiles = match wanted.choice {
        Choice::Split => split(body, wanted, (12, 3)),
        Choice::Spotlight => spotlight(body, wanted),
        Choice::Grid => grid(
            body,
            wanted.threads.iter().map(|t| Slot::Thread(*t)).collect(),
            (12, 3),
        ),
        Choice::Rows => None,
        Choice::Automatic => split(body, wanted, LEAST_PANE).or_else(|| {
            grid(
                body,
                wanted.threads.iter().map(|t| Slot::Thread(*t)).collect(),
                LEAST_TILE,
            )
        }),
    };
    let inside = Rect {
        x: body.x + 1.min(body.width),
        y: body.y + 1.min(body.height),
        width: body.width.saturating_sub(2),
        height: body.height.saturating_sub(2),
    };
    tiles.map_or(Panes::Rows(inside), Panes::Tiles)
}

/// The organizer on the left, workers and free slots on the right.
fn split(body: Rect, wanted: &Wanted<'_>, least: (u16, u16)) -> Option<Vec<(Rect, Slot)>> {
    let organizer = *wanted.threads.first()?;
    let workers = &wanted.threads[1..];
    let mut slots: Vec<Slot> = workers.iter().map(|t| Slot::Thread(*t)).collect();
    // Free slots fill the places that workers will take, so that panes do not move when they come.
    let places = (workers.len() + wanted.free).min(workers.len().max(6));
    slots.resize(places, Slot::Free);
    if slots.is_empty() {
        return Some(vec![(body, Slot::Thread(organizer))]);
    }
    let left = (body.width * 9 / 20).max(body.width.min(20));
    let right = Rect {
        x: body.x + left,
        width: body.width - left,
        ..body
    };
    let mut tiles = vec![(
        Rect {
            width: left,
            ..body
        },
        Slot::Thread(organizer),
    )];
    let cells = grid(right, slots.clone(), least).or_else(|| {
        // Free slots are the first thing to go where room is short.
        slots.retain(|s| *s != Slot::Free);
        grid(right, slots, least)
    })?;
    tiles.extend(cells);
    Some(tiles)
}

/// The organizer over the whole width, three fifths of the height; the others below.
fn spotlight(body: Rect, wanted: &Wanted<'_>) -> Option<Vec<(Rect, Slot)>> {
    let organizer = *wanted.threads.first()?;
    let workers = wanted.threads[1..].iter().map(|t| Slot::Thread(*t));
    let free = if wanted.threads.len() > 1 {
        0
    } else {
        wanted.free.min(6)
    };
    let slots: Vec<Slot> = workers
        .chain(std::iter::repeat_n(Slot::Free, free))
        .collect();
    if slots.is_empty() {
        return Some(vec![(body, Slot::Thread(organizer))]);
    }
    let top = body.height * 3 / 5;
    let below = Rect {
        y: body.y + top,
        height: body.height - top,
        ..body
    };
    let mut tiles = vec![(
        Rect {
            height: top,
            ..body
        },
        Slot::Thread(organizer),
    )];
    tiles.extend(grid(below, slots, (12, 3))?);
    Some(tiles)
}

/// Tiles of nearly the same size, `None` if they would be smaller than `least`.
fn grid(area: Rect, slots: Vec<Slot>, least: (u16, u16)) -> Option<Vec<(Rect, Slot)>> {
    let count = u16::try_from(slots.len()).ok().filter(|n| *n > 0)?;
    let fits = |columns: u16| {
        let rows = count.div_ceil(columns);
        area.width / columns >= least.0 && area.height / rows >= least.1
    };
    // A character is about twice as high as wide; text wants lines of some length before it wants
    // many of them.
    let waste = |columns: u16| {
        let rows = count.div_ceil(columns);
        let (w, h) = (
            i32::from(area.width / columns),
            i32::from(area.height / rows),
        );
        let empty = i32::from(rows * columns - count);
        (w - 44).abs() + (h - 10).abs() * 2 + empty * 40
    };
    let columns = (1..=count).filter(|c| fits(*c)).min_by_key(|c| waste(*c))?;
    let rows = count.div_ceil(columns);
    let mut slots = slots.into_iter();
    let mut tiles = Vec::with_capacity(usize::from(count));
    for row in 0..rows {
        let (y, height) = share(area.y, area.height, row, rows);
        let in_row = columns.min(count - row * columns);
        for column in 0..in_row {
            let (x, width) = share(area.x, area.width, column, in_row);
            if let Some(slot) = slots.next() {
                tiles.push((
                    Rect {
                        x,
                        y,
                        width,
                        height,
                    },
                    slot,
                ));
            }
        }
    }
    Some(tiles)
}

/// Part `i` of `n` of a length, the parts differing by at most one cell.
fn share(start: u16, length: u16, i: u16, n: u16) -> (u16, u16) {
    let at =
        |k: u16| u16::try_from(u32::from(length) * u32::from(k) / u32::from(n)).unwrap_or(length);
    (start + at(i), at(i + 1) - at(i))
}

/// The tile that lies next to `from` in a direction, by the distance of their middles.
#[must_use]
pub fn neighbour(tiles: &[(Rect, Slot)], from: ThreadId, left: bool) -> Option<ThreadId> {
    let middle = |r: &Rect| {
        (
            i32::from(r.x) * 2 + i32::from(r.width),
            i32::from(r.y) * 2 + i32::from(r.height),
        )
    };
    let (own, _) = tiles.iter().find(|(_, s)| *s == Slot::Thread(from))?;
    let (x, y) = middle(own);
    tiles
        .iter()
        .filter_map(|(rect, slot)| match slot {
            Slot::Thread(id) if *id != from => {
                let (ox, oy) = middle(rect);
                let ahead = if left { x - ox } else { ox - x };
                (ahead > 0).then_some((ahead + 3 * (oy - y).abs(), *id))
            }
            _ => None,
        })
        .min()
        .map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(n: u16) -> Vec<ThreadId> {
        std::iter::once(ThreadId::ORGANIZER)
            .chain((1..=n).filter_map(ThreadId::worker))
            .collect()
    }

    fn wanted(threads: &[ThreadId], free: usize) -> Wanted<'_> {
        Wanted {
            threads,
            lanes: threads.len(),
            free,
            choice: Choice::Automatic,
            zoomed: None,
            banner: 0,
            caption: 0,
        }
    }

    fn tiles(n: u16, free: usize, width: u16, height: u16) -> Option<Vec<(Rect, Slot)>> {
        match screen(Rect::new(0, 0, width, height), &wanted(&ids(n), free)).panes {
            Panes::Tiles(tiles) => Some(tiles),
            Panes::Rows(_) => None,
        }
    }

    #[test]
    fn few_threads_leave_the_organizer_large() {
        let tiles = tiles(3, 0, 120, 36).unwrap();
        assert_eq!(tiles.len(), 4);
        let area = |i: usize| tiles[i].0.area();
        assert!((1..4).all(|i| area(0) > 2 * area(i)));
    }

    #[test]
    fn the_spotlight_gives_the_organizer_the_whole_width() {
        let threads = ids(6);
        let wanted = Wanted {
            choice: Choice::Spotlight,
            ..wanted(&threads, 0)
        };
        for (width, height) in [(100, 30), (80, 24), (160, 48)] {
            let screen = screen(Rect::new(0, 0, width, height), &wanted);
            let Panes::Tiles(tiles) = screen.panes else {
                panic!("six workers fit {width}x{height}");
            };
            assert_eq!((tiles.len(), tiles[0].0.width), (7, width));
            let others = tiles[1..].iter().map(|t| t.0.area()).max();
            assert!(tiles[0].0.area() > 2 * others.unwrap_or(0));
        }
    }

    #[test]
    fn a_fork_takes_the_place_of_a_free_slot() {
        let before = tiles(1, 2, 120, 36).unwrap();
        let after = tiles(2, 1, 120, 36).unwrap();
        let rects = |t: &[(Rect, Slot)]| t.iter().map(|(r, _)| *r).collect::<Vec<_>>();
        assert_eq!(rects(&before), rects(&after));
    }

    #[test]
    fn more_threads_become_a_grid_and_then_rows() {
        assert!(tiles(12, 0, 160, 48).is_some());
        assert!(tiles(64, 0, 80, 24).is_none());
    }

    #[test]
    fn left_and_right_find_the_nearest_tile() {
        let tiles = tiles(3, 0, 120, 36).unwrap();
        let one = ThreadId::worker(1).unwrap();
        assert_eq!(neighbour(&tiles, ThreadId::ORGANIZER, true), None);
        assert!(neighbour(&tiles, ThreadId::ORGANIZER, false).is_some());
        assert_eq!(neighbour(&tiles, one, true), Some(ThreadId::ORGANIZER));
    }

    proptest! {
        #[test]
        fn parts_never_overlap_and_never_leave_the_screen(
            width in 0_u16..700, height in 0_u16..200, n in 0_u16..80, free in 0_usize..9, choice in 0_usize..4,
            banner in 0u16..3, caption in 0_u16..6, zoom in any::<bool>()
        ) {
            let threads = ids(n);
            let choice = [Choice::Automatic, Choice::Split, Choice::Grid, Choice::Rows][choice];
            let zoomed = zoom.then_some(ThreadId::ORGANIZER);
            let area = Rect::new(0, 0, width, height);
            let s = screen(area, &Wanted { choice, banner, caption, zoomed, ..wanted(&threads, free) });
            let mut parts = vec![s.header, s.banner, s.timeline, s.caption, s.footer];
            match s.panes {
                Panes::Tiles(tiles) => parts.extend(tiles.iter().map(|(r, _)| *r)),
                Panes::Rows(r) => parts.push(r),
            }
            parts.retain(|r| r.area() > 0);
            for (i, a) in parts.iter().enumerate() {
                prop_assert_eq!(a.intersection(area), *a);
                for b in &parts[i + 1..] {
                    prop_assert!(!a.intersects(*b), "{:?} {:?}", a, b);
                }
            }
        }
    }
}
