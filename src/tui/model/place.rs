//! What of the organization is on screen, and where.

use super::Model;
use crate::org::ThreadId;
use crate::tui::layout::{self, Screen, Wanted};
use crate::tui::text::text_width;
use crate::tui::widget::timeline::geometry::Axis;
use ratatui::layout::Rect;

impl Model {
    /// Threads that are shown, in path order: the organizer, and whoever matches the filter.
    #[must_use]
    pub fn shown(&self) -> Vec<ThreadId> {
        let wanted = self.filter.to_lowercase();
        self.organization
            .threads()
            .filter(|thread| {
                wanted.is_empty()
                    || thread.id.is_organizer()
                    || thread.id.to_string() == wanted
                    || thread.query.to_lowercase().contains(&wanted)
                    || self.threads.get(&thread.id).is_some_and(|view| {
                        let state = view.state_words(thread, self.organization.now.us);
                        state.contains(&wanted)
                            || view.text.last_words(200).to_lowercase().contains(&wanted)
                    })
            })
            .map(|thread| thread.id)
            .collect()
    }

    /// Where everything goes.
    #[must_use]
    pub fn screen(&self) -> Screen {
        let threads = self.shown();
        layout::screen(
            Rect::new(0, 0, self.size.0, self.size.1),
            &Wanted {
                threads: &threads,
                lanes: threads.len(),
                free: if self.organization.end.is_some() || !self.filter.is_empty() {
                    0
                } else {
                    // A worker that has ended keeps its pane: panes do not move when one ends.
                    let workers = self.organization.threads().len().saturating_sub(1);
                    (self.organization.capacity as usize)
                        .saturating_sub(1)
                        .saturating_sub(workers)
                },
                choice: self.choice,
                zoomed: self.zoomed.then_some(self.selected),
                banner: self.banner_rows(),
                caption: self.caption_rows(),
            },
        )
    }

    /// Cells for names, left of the bars of the timeline.
    #[must_use]
    pub fn timeline_names(&self) -> u16 {
        let longest = self
            .organization
            .threads()
            .map(|t| text_width(&self.look.signs.hanging(t.id)))
            .max()
            .unwrap_or(0)
            .clamp(9, 14);
        u16::try_from(longest).unwrap_or(14) + 3
    }

    /// The axis of the timeline, whose frame is `area`.
    #[must_use]
    pub fn axis(&self, area: Rect) -> Axis {
        let width = area
            .width
            .saturating_sub(2)
            .saturating_sub(self.timeline_names());
        let growing = self.organization.end.is_none();
        Axis::new(
            self.timeline.window,
            self.ideal.tracks.length,
            growing,
            width,
        )
    }
}
