//! What is on the screen, as data.
//!
//! Everything about the organization is folded from events here ([`Model::apply`]); everything about
//! the person's view (focus, layout, popups) is changed by [`super::update`]. The views only read,
//! except that panes remember how they wrapped their text. No I/O, no clock: `now` comes with each
//! input.

mod parts;
mod state;

pub use state::CAPTION_MARGINS;

pub use parts::{
    Banner, FROZEN_AFTER, Feed, Focus, Leaving, NOTICE_FOR, Notice, Playback, RunState, Search,
    TimelineView,
};

use super::action::{Action, Context};
use super::app::Accepts;
use super::compared::Compared;
use super::demo::Demo;
use super::ideal::Ideal;
use super::keymap::Keymap;
use super::layout::{self, Choice, Screen, Wanted};
use super::letter::Letter;
use super::look::Look;
use super::popup::{Draft, Popup};
use super::rate::Rate;
use super::rewrite::Rewrite;
use super::text::{Transcript, text_width};
use super::thread_view::ThreadView;
use super::update::keep;
use super::widget::timeline::geometry::Axis;
use crate::eval::verdict;
use crate::live::Report;
use crate::org::{Body, Command, Event, Organization, Outcome, Seat, ThreadId};
use crate::record::{Header, RestoredThread};
use crate::task::Report as Verdict;
use ratatui::layout::Rect;
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

    /// Takes in the header: the organization begins.
    pub fn begin(&mut self, header: Box<Header>) {
        if self.organization.next_seq.0 == 0 {
            self.organization = Organization::new(header.capacity, header.tau);
        }
        self.header = Some(header);
    }

    /// Forgets what was folded, to begin again from another place of a recording.
    pub fn restart(&mut self, organization: Organization, views: BTreeMap<ThreadId, ThreadView>) {
        self.organization = organization;
        let mut views = views;
        self.threads = self
            .organization
            .threads()
            .map(|t| {
                let unread = || ThreadView::with_text(Transcript::default(), t.tokens);
                (t.id, views.remove(&t.id).unwrap_or_else(unread))
            })
            .collect();
        self.ideal.forget();
        self.rate = Rate::default();
        if let Some(demo) = &mut self.demo {
            demo.recall(&self.organization);
        }
        if let Some(search) = &mut self.search {
            search.current = None;
        }
    }

    /// Tells the texts of the threads anew: the organization has gone to another place.
    pub fn retell(&mut self, contexts: &BTreeMap<ThreadId, RestoredThread>) {
        let us = self.organization.now.us;
        self.threads = contexts
            .iter()
            .map(|(id, context)| (*id, ThreadView::of(context, us)))
            .collect();
        self.ideal.forget();
        self.timeline.cursor = None;
        if let Some(search) = &mut self.search {
            search.current = None;
        }
    }

    /// Folds one event.
    pub fn apply(&mut self, event: &Event) {
        self.last_event = self.now;
        if let (Body::Thread { prompt, .. }, Some(id)) = (&event.body, event.thread) {
            self.threads
                .insert(id, ThreadView::new(prompt.clone(), event.us));
        }
        self.organization.apply(event);
        if let Some(demo) = &mut self.demo {
            demo.note(event, &self.organization);
        }
        if let Some(view) = event.thread.and_then(|id| self.threads.get_mut(&id)) {
            view.apply(event);
        }
        match &event.body {
            Body::Tokens { ids, .. } => self.rate.add(event.us, ids.len() as u64),
            Body::Effect { outcome } => self.tell_outcome(event, outcome),
            Body::Ask { number, .. } => {
                self.ask_since.insert(*number, self.now);
            }
            Body::Error { message, .. } => {
                let who = event.thread.unwrap_or(ThreadId::ORGANIZER);
                self.say(format!("{who}: {message}"));
            }
            _ => {}
        }
    }

    /// Says what became of a command where the screen does not show it by itself.
    fn tell_outcome(&mut self, event: &Event, outcome: &Outcome) {
        let command = self
            .organization
            .commands
            .iter()
            .rev()
            .find(|c| Some(c.seq) == event.cause)
            .map(|c| c.command.clone());
        let Some(command) = command else {
            return;
        };
        let settled = !matches!(outcome, Outcome::Queued { .. });
        if settled && matches!(command, Command::Pause { thread: None }) {
            self.pause_asked = false;
        }
        if let (Command::Speed { tokens_per_s }, Outcome::Done) = (&command, outcome) {
            self.speed_limit = *tokens_per_s;
        }
        match outcome {
            Outcome::Refused { why } => {
                self.say(format!("{}: refused: {why}", command.name()));
                if let Command::Text { thread, text } | Command::Submit { thread, text } = command
                    && self.feed == Feed::Live
                {
                    keep(self, thread, &text);
                }
            }
            Outcome::Queued { why } => self.say(format!("{}: queued: {why}", command.name())),
            Outcome::Unfired => self.say(format!("{}: never came due", command.name())),
            Outcome::Done => match command {
                Command::Mark { name } => self.say(format!("marked: {name}")),
                Command::Seat {
                    thread,
                    to: Seat::Human,
                } => self.say(format!(
                    "you write {thread}: {} opens the editor, {} gives the seat back",
                    self.key(Action::Write),
                    self.key(Action::Seat)
                )),
                _ => {}
            },
        }
    }

    /// Shows a short message.
    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            since: self.now,
        });
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
