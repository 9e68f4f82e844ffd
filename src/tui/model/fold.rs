//! Folding what comes: the header, events, another place of a recording.

use super::{Feed, Model};
use crate::org::{Body, Command, Event, Organization, Outcome, Seat, ThreadId};
use crate::record::{Header, RestoredThread};
use crate::tui::action::Action;
use crate::tui::rate::Rate;
use crate::tui::text::Transcript;
use crate::tui::thread_view::ThreadView;
use crate::tui::update::keep;
use std::collections::BTreeMap;

impl Model {
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
}
