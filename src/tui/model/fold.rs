//! Folding what comes: the header, events, another place of a recording.

use super::{About, Feed, Model};
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
        self.settle_notice(event);
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

    /// Takes away a line that this event has made untrue.
    fn settle_notice(&mut self, event: &Event) {
        let Some(about) = self.notice.as_ref().and_then(|n| n.about) else {
            return;
        };
        match (about, &event.body) {
            (_, Body::Effect { .. }) => {}
            (About::Command(seq), _) if event.cause == Some(seq) => {
                let records = &self.organization.commands;
                let queued = records
                    .iter()
                    .rev()
                    .find(|c| c.seq == seq && matches!(c.outcome, Some(Outcome::Queued { .. })));
                if let Some(record) = queued {
                    let text = format!("{}: done", record.command.name());
                    self.say_about(about, text);
                }
            }
            (About::Seat(thread), Body::End { .. }) if event.thread == Some(thread) => {
                self.notice = None;
            }
            (About::Seat(_), Body::RunEnd { .. }) => self.notice = None,
            _ => {}
        }
    }

    /// Says what became of a command where the screen does not show it by itself.
    fn tell_outcome(&mut self, event: &Event, outcome: &Outcome) {
        let record = self
            .organization
            .commands
            .iter()
            .rev()
            .find(|c| Some(c.seq) == event.cause)
            .map(|c| (c.seq, c.command.clone()));
        let Some((seq, command)) = record else {
            return;
        };
        let about = About::Command(seq);
        let settled = !matches!(outcome, Outcome::Queued { .. });
        if settled && matches!(command, Command::Pause { thread: None }) {
            self.pause_asked = false;
        }
        if let (Command::Speed { tokens_per_s }, Outcome::Done) = (&command, outcome) {
            self.speed_limit = *tokens_per_s;
        }
        match outcome {
            Outcome::Refused { why } => {
                self.say_about(about, format!("{}: refused: {why}", command.name()));
                if let Command::Text { thread, text } | Command::Submit { thread, text } = command
                    && self.feed == Feed::Live
                {
                    keep(self, thread, &text);
                }
            }
            Outcome::Queued { why } => {
                self.say_about(about, format!("{}: queued: {why}", command.name()));
            }
            Outcome::Unfired => self.say(format!("{}: never came due", command.name())),
            Outcome::Done => match command {
                Command::Mark { name } => self.say(format!("marked: {name}")),
                Command::Kill { thread } => {
                    self.say_about(
                        about,
                        format!("{thread} is stopped; its text so far is kept"),
                    );
                }
                Command::Seat {
                    thread,
                    to: Seat::Human,
                } => {
                    let (write, seat) = (self.key(Action::Write), self.key(Action::Seat));
                    let text = format!(
                        "you write {thread}: {write} opens the editor, {seat} gives the seat back"
                    );
                    self.say_about(About::Seat(thread), text);
                }
                Command::Fork { .. }
                | Command::Join { .. }
                | Command::Answer
                | Command::WrapUp { .. }
                | Command::Retry { .. } => {
                    // What was queued is done when it can be: the answer to a later command stands.
                    let later = self.notice.as_ref().and_then(|n| n.about);
                    if !matches!(later, Some(About::Command(other)) if other > seq) {
                        self.say_about(about, format!("{}: done", command.name()));
                    }
                }
                // The screen shows it by itself: what was said of a command before it goes.
                _ => {
                    self.notice.take_if(|n| n.about.is_some());
                }
            },
        }
    }
}
