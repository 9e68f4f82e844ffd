//! From a running session to its screen, without ever making the session wait.
//!
//! The session posts events; the screen takes everything at once when it is ready to draw. What was not
//! taken yet is merged (token events of one thread on consecutive steps become one), never dropped, so
//! a slow screen costs memory only for text that it must hold anyway.

use crate::org::{Body, Event, Seat, ThreadId};
use crate::record::{Header, RestoredThread};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// How far a session has come.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Phase {
    /// The model is being loaded.
    #[default]
    Loading,
    /// Events flow.
    Running,
    /// The run has ended; only marks and quitting make sense.
    Over,
    /// It could not start or broke down.
    Failed(String),
}

/// Things about the session that are not events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// How far it has come.
    pub phase: Phase,
    /// Set once, before the first event.
    pub header: Option<Box<Header>>,
    /// Where it is recorded.
    pub file: Option<std::path::PathBuf>,
    /// A standing warning (disk full, read-only, …).
    pub banner: Option<String>,
    /// Cache pages used and in all.
    pub pages: (usize, usize),
    /// Sequences that wait for pages.
    pub queued: usize,
    /// Tools and servers that can take a seat, beside the model and a person.
    pub seats: Vec<Seat>,
}

impl Report {
    /// Whatever can change more than once, and whether the rest is there: cheap enough for every step.
    fn glance(&self) -> impl PartialEq + use<> {
        (
            self.phase.clone(),
            self.header.is_some(),
            self.file.is_some(),
            self.banner.clone(),
            self.pages,
            self.queued,
        )
    }
}

/// Everything posted since the last take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Events in order. Token events may be finer or coarser than in the file.
    pub events: Vec<Event>,
    /// For every `branch` event among them, in order: the contexts with which it goes on.
    pub lines: Vec<BTreeMap<ThreadId, RestoredThread>>,
    /// The current report.
    pub report: Report,
    /// Events merged away since the last take: how far the screen lags.
    pub merged: usize,
}

#[derive(Default)]
struct Inner {
    events: Vec<Event>,
    lines: Vec<BTreeMap<ThreadId, RestoredThread>>,
    /// What the next `branch` event goes on with.
    expected: Option<BTreeMap<ThreadId, RestoredThread>>,
    /// Where each thread's newest token event lies, as long as only tokens follow it.
    open: HashMap<ThreadId, usize>,
    report: Report,
    merged: usize,
}

/// One session posts, one screen takes.
#[derive(Default)]
pub struct Mailbox {
    inner: Mutex<Inner>,
    posted: Notify,
    /// How many without a screen may still ask for something.
    listeners: AtomicUsize,
}

impl Mailbox {
    /// Somebody without a screen may ask for something: a session that stands still waits from now on.
    pub fn listen(&self) {
        self.listeners.fetch_add(1, Ordering::AcqRel);
    }

    /// Somebody who might have asked for something will not any more.
    pub fn hang_up(&self) {
        self.listeners.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether somebody without a screen may still ask for something.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.listeners.load(Ordering::Acquire) > 0
    }

    /// Adds an event, merging tokens with what waits already.
    pub fn post(&self, event: Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.add(event);
        drop(inner);
        self.posted.notify_one();
    }

    /// The next `branch` event goes on with these contexts.
    pub fn expect_line(&self, contexts: BTreeMap<ThreadId, RestoredThread>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.expected = Some(contexts);
    }

    /// Changes the report; the screen is woken if that changes anything.
    pub fn report(&self, change: impl FnOnce(&mut Report)) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let before = inner.report.glance();
        change(&mut inner.report);
        let news = inner.report.glance() != before;
        drop(inner);
        if news {
            self.posted.notify_one();
        }
    }

    /// Takes everything.
    #[must_use]
    pub fn take(&self) -> Batch {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open.clear();
        Batch {
            events: std::mem::take(&mut inner.events),
            lines: std::mem::take(&mut inner.lines),
            merged: std::mem::take(&mut inner.merged),
            report: inner.report.clone(),
        }
    }

    /// Waits until something was posted since the last wait.
    pub async fn posted(&self) {
        self.posted.notified().await;
    }
}

impl Inner {
    fn add(&mut self, mut event: Event) {
        match (&event.body, event.thread) {
            (Body::Tokens { .. }, Some(thread)) => {
                if let Some(&earlier) = self.open.get(&thread) {
                    match self.events[earlier].append_tokens(event, usize::MAX) {
                        Ok(()) => {
                            self.merged += 1;
                            return;
                        }
                        Err(apart) => event = *apart,
                    }
                }
                self.open.insert(thread, self.events.len());
            }
            (Body::Branch { .. }, _) => {
                self.open.clear();
                self.lines.push(self.expected.take().unwrap_or_default());
            }
            _ => self.open.clear(),
        }
        self.events.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, BranchId, Seq, Step, TextBytes, ThreadId};

    fn tokens(thread: u16, step: u64, text: &str) -> Event {
        Event {
            seq: Seq(0),
            us: step,
            step: Step(step),
            branch: BranchId(0),
            thread: ThreadId::worker(thread),
            by: Author::Model,
            cause: None,
            body: Body::Tokens {
                ids: vec![7],
                bytes: TextBytes(text.as_bytes().to_vec()),
                lens: vec![u32::try_from(text.len()).unwrap()],
                logprobs: vec![],
                top: vec![],
            },
        }
    }

    fn texts(batch: &Batch) -> Vec<String> {
        batch
            .events
            .iter()
            .map(|e| match &e.body {
                Body::Tokens { bytes, .. } => String::from_utf8_lossy(&bytes.0).into_owned(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_slow_screen_gets_merged_text_in_order_and_nothing_is_lost() {
        let mailbox = Mailbox::default();
        for step in 1..=100 {
            mailbox.post(tokens(1, step, "a"));
            mailbox.post(tokens(2, step, "b"));
        }
        let batch = mailbox.take();
        assert_eq!(texts(&batch), ["a".repeat(100), "b".repeat(100)]);
        assert_eq!(batch.merged, 198);
        assert!(mailbox.take().events.is_empty());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_report_without_news_wakes_nobody() {
        let mailbox = Mailbox::default();
        mailbox.report(|report| report.pages = (1, 2));
        mailbox.posted().await;
        mailbox.report(|report| report.pages = (1, 2));
        let woken = tokio::time::timeout(std::time::Duration::from_millis(20), mailbox.posted());
        assert!(woken.await.is_err());
        mailbox.report(|report| report.banner = Some("disk full".into()));
        mailbox.posted().await;
    }

    #[test]
    fn text_never_moves_across_another_event() {
        let mailbox = Mailbox::default();
        mailbox.post(tokens(1, 1, "a"));
        let mut mark = tokens(1, 1, "");
        mark.body = Body::Mark { name: "m".into() };
        mailbox.post(mark);
        mailbox.post(tokens(1, 2, "b"));
        assert_eq!(mailbox.take().events.len(), 3);
    }

    #[test]
    fn steps_that_do_not_follow_stay_apart() {
        let mailbox = Mailbox::default();
        mailbox.post(tokens(1, 1, "a"));
        mailbox.post(tokens(1, 3, "b"));
        assert_eq!(texts(&mailbox.take()), ["a", "b"]);
    }
}
