//! What is on the screen, as data.
//!
//! Everything about the organization is folded from events here ([`Model::apply`]); everything about
//! the person's view (focus, layout, popups) is changed by [`super::update`]. The views only read,
//! except that panes remember how they wrapped their text. No I/O, no clock: `now` comes with each
//! input.

mod fold;
mod parts;
mod place;
mod state;

pub use state::CAPTION_MARGINS;

pub use parts::{
    About, Banner, FROZEN_AFTER, Feed, Focus, Leaving, NOTICE_FOR, Notice, Playback, RunState,
    Search, TimelineView,
};

use super::action::{Action, Context};
use super::app::Accepts;
use super::compared::Compared;
use super::demo::Demo;
use super::ideal::Ideal;
use super::keymap::Keymap;
use super::layout::Choice;
use super::letter::Letter;
use super::look::Look;
use super::popup::{Draft, Popup};
use super::rate::Rate;
use super::rewrite::Rewrite;
use super::thread_view::ThreadView;
use crate::eval::verdict;
use crate::live::Report;
use crate::org::{Organization, ThreadId};
use crate::record::Header;
use crate::task::Report as Verdict;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything on screen.
pub struct Model {
    /// Colours and characters.
    pub look: Look,
    /// Keys.
    pub keymap: Keymap,
    /// What feeds it.
    pub feed: Feed,
    /// The organization as folded so far.
    pub organization: Organization,
    /// The session's header, once known.
    pub header: Option<Box<Header>>,
    /// What the session says besides events.
    pub report: Report,
    /// What the loading screen names.
    pub loading: String,
    /// Text and history per thread.
    pub threads: BTreeMap<ThreadId, ThreadView>,
    /// What is derived from the organization.
    pub ideal: Ideal,
    /// Recent speed.
    pub rate: Rate,
    /// Which thread is selected.
    pub selected: ThreadId,
    /// Pane or timeline.
    pub focus: Focus,
    /// Layout asked for.
    pub choice: Choice,
    /// The selected pane alone.
    pub zoomed: bool,
    /// First row of the rows layout.
    pub first_row: usize,
    /// Only threads that match.
    pub filter: String,
    /// What was searched for last.
    pub search: Option<Search>,
    /// How the lanes are shown.
    pub timeline: TimelineView,
    /// What lies over the panes, topmost last.
    pub popups: Vec<Popup>,
    /// The sub-query being written; kept when the composer closes.
    pub draft: Draft,
    /// The edit of a thread's text being written.
    pub rewrite: Option<Rewrite>,
    /// Two lines side by side.
    pub compared: Option<Box<Compared>>,
    /// Other texts being written, by what they are for.
    pub letters: BTreeMap<Letter, Draft>,
    /// When each request appeared on this screen.
    pub ask_since: BTreeMap<u32, Duration>,
    /// A short message.
    pub notice: Option<Notice>,
    /// Tokens a second and thread; 0: no limit.
    pub speed_limit: u32,
    /// How far leaving has come.
    pub leaving: Leaving,
    /// Time since the screen opened.
    pub now: Duration,
    /// When the last event came.
    pub last_event: Duration,
    /// Events merged away in the last take.
    pub merged: usize,
    /// A pause was asked for and has not come yet.
    pub pause_asked: bool,
    /// Whether the mouse belongs to the screen.
    pub mouse: bool,
    /// What is wrong with the theme as it was last edited; the one before is in use.
    pub bad_theme: Option<String>,
    /// A demo that is being played.
    pub demo: Option<Demo>,
    /// Whether a query can be run next.
    pub accepts: Accepts,
    /// Size of the screen.
    pub size: (u16, u16),
}

impl Model {
    /// A screen to which nothing has come yet.
    #[must_use]
    pub fn new(look: Look, keymap: Keymap, feed: Feed, loading: String) -> Self {
        Self {
            look,
            keymap,
            feed,
            organization: Organization::default(),
            header: None,
            report: Report::default(),
            loading,
            threads: BTreeMap::new(),
            ideal: Ideal::default(),
            rate: Rate::default(),
            selected: ThreadId::ORGANIZER,
            focus: Focus::Pane,
            choice: Choice::default(),
            zoomed: false,
            first_row: 0,
            filter: String::new(),
            search: None,
            timeline: TimelineView::default(),
            popups: Vec::new(),
            draft: Draft::default(),
            rewrite: None,
            compared: None,
            letters: BTreeMap::new(),
            ask_since: BTreeMap::new(),
            notice: None,
            speed_limit: 0,
            leaving: Leaving::No,
            now: Duration::ZERO,
            last_event: Duration::ZERO,
            merged: 0,
            pause_asked: false,
            mouse: true,
            bad_theme: None,
            demo: None,
            accepts: Box::new(|_| Ok(())),
            size: (80, 24),
        }
    }

    /// The task that is worked on, where there is one.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.header.as_ref()?.task.as_deref()
    }

    /// The verdict on the answer, where there is a task and an answer.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.organization.answer.as_ref()?;
        verdict(self.header.as_ref()?, &self.organization)
    }

    /// Shows a short message.
    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            since: self.now,
            about: None,
        });
    }

    /// Shows a short message that goes when what it is about is settled.
    pub fn say_about(&mut self, about: About, text: impl Into<String>) {
        self.say(text);
        if let Some(notice) = &mut self.notice {
            notice.about = Some(about);
        }
    }

    /// The key of an action, for messages; without one, its name in the palette.
    #[must_use]
    pub fn key(&self, action: Action) -> String {
        let keys = self.keymap.keys_of(action);
        keys.into_iter()
            .next()
            .unwrap_or_else(|| format!("`{action}`"))
    }

    /// The keys of a list, in one line.
    #[must_use]
    pub fn hints(&self, actions: &[Action]) -> String {
        let hints = actions
            .iter()
            .map(|action| format!("{} {}, ", self.key(*action), action.row().short));
        hints.collect::<String>() + "esc closes"
    }

    /// Contexts in which a key is looked up, innermost first.
    #[must_use]
    pub fn contexts(&self) -> Vec<Context> {
        let feed = match self.feed {
            Feed::Live => Context::Live,
            Feed::Replay(_) => Context::Replay,
        };
        match self.popups.last() {
            Some(Popup::Stop) => vec![Context::Stop],
            Some(Popup::Again) => vec![Context::Again],
            Some(Popup::Inspector { .. } | Popup::WhatIf { .. } | Popup::Compare { .. }) => {
                vec![Context::Panel, feed, Context::Any]
            }
            Some(Popup::Help { .. }) => vec![Context::Panel],
            Some(Popup::Ask { .. }) => vec![Context::Question],
            Some(Popup::Composer | Popup::Edit | Popup::Letter { .. }) => vec![Context::Editor],
            Some(popup) if popup.list().is_some() => {
                let list = popup.list().into_iter();
                list.chain([Context::List, Context::Any]).collect()
            }
            Some(_) => Vec::new(),
            None => self.contexts_below_popups(),
        }
    }

    /// Contexts that hold when nothing lies over the panes.
    #[must_use]
    pub fn contexts_below_popups(&self) -> Vec<Context> {
        let feed = match self.feed {
            Feed::Live => Context::Live,
            Feed::Replay(_) => Context::Replay,
        };
        let focus = match self.focus {
            Focus::Pane => Context::Panes,
            Focus::Timeline => Context::Timeline,
        };
        vec![focus, feed, Context::Any]
    }

    /// Brings everything derived up to date and keeps the selection on a thread that is there.
    pub fn refresh(&mut self) {
        if self.organization.thread(self.selected).is_none() {
            self.selected = ThreadId::ORGANIZER;
        }
        if self.organization.open_asks().next().is_none() {
            self.popups
                .retain(|popup| !matches!(popup, Popup::Approvals { .. }));
        }
        self.ideal
            .refresh(&self.organization, self.timeline.lived, self.selected);
        if self
            .notice
            .as_ref()
            .is_some_and(|n| self.now.saturating_sub(n.since) >= NOTICE_FOR)
        {
            self.notice = None;
        }
    }
}
