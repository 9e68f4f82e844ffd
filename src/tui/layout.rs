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

mod panes;

use crate::org::ThreadId;
use panes::panes;
use ratatui::layout::Rect;

/// Smallest screen on which anything useful can be shown.
pub const LEAST: (u16, u16) = (40, 10);

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
mod tests;
