//! How the panes share the room that is left for them.

use super::{Choice, Panes, Slot, Wanted};
use ratatui::layout::Rect;

/// Smallest worker pane worth having.
const LEAST_PANE: (u16, u16) = (24, 5);

/// Smallest pane of the grid of many threads.
const LEAST_TILE: (u16, u16) = (22, 4);

pub(super) fn panes(body: Rect, wanted: &Wanted<'_>) -> Panes {
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
