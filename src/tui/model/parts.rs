//! The pieces a model is made of.

use crate::org::{RunEnd, Seq, ThreadId};
use crate::tui::widget::timeline::geometry::Window;
use regex::Regex;
use std::time::Duration;

/// A running session without any event for this long is shown as frozen.
pub const FROZEN_AFTER: Duration = Duration::from_secs(5);

/// How long a notice stays.
pub const NOTICE_FOR: Duration = Duration::from_secs(4);

/// What feeds the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Feed {
    /// A session that is being decoded.
    Live,
    /// A recorded one.
    Replay(Playback),
}

/// Where a recording stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Playback {
    /// Whether it moves by itself.
    pub playing: bool,
    /// Times the recorded speed.
    pub speed: f32,
    /// Whether it begins again at the end.
    pub looping: bool,
    /// Microseconds from the beginning.
    pub position: u64,
    /// Microseconds in all.
    pub length: u64,
}

/// The state of the run, as the header names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The model is being loaded.
    Loading,
    /// Decoding.
    Live,
    /// Asked to pause, not there yet.
    Pausing,
    /// Held.
    Paused,
    /// Decoding, but nothing has come for a while.
    Frozen,
    /// Decoding faster than the screen takes it in.
    Lagging,
    /// A recording moves or is held.
    Replay,
    /// Over.
    Over(RunEnd),
    /// It broke down.
    Failed,
}

/// The line above the panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Banner {
    /// The session broke down.
    Failure(String),
    /// Something to know, such as a full disk.
    Warning(String),
    /// What the organizer answered.
    Answer(String),
}

/// What has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The selected thread's pane or row.
    Pane,
    /// The timeline.
    Timeline,
}

/// How far leaving has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Nobody wants to.
    No,
    /// Ctrl-C on a paused run: once more quits.
    Warned,
    /// The session was asked to stop and is being saved.
    Saving,
}

/// How the lanes are shown.
#[derive(Debug, Clone, Default)]
pub struct TimelineView {
    /// Which part of time.
    pub window: Window,
    /// Where the cursor stands, once it was moved.
    pub cursor: Option<u64>,
    /// Lived milliseconds instead of ideal steps.
    pub lived: bool,
    /// Critical path not set apart.
    pub plain: bool,
    /// First worker lane shown.
    pub scroll: usize,
}

/// The current search.
#[derive(Debug, Clone)]
pub struct Search {
    /// As typed.
    pub text: String,
    /// Compiled.
    pub pattern: Regex,
    /// The match that is marked: whose, and where in its text.
    pub current: Option<(ThreadId, std::ops::Range<u64>)>,
}

/// A short message for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub text: String,
    /// Since when.
    pub since: Duration,
    /// What it is about, where that can be settled before its time is up.
    pub about: Option<About>,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// What became of a command so far.
    Command(Seq),
    /// A seat that a person took: nothing more can be written there once the thread has ended.
    Seat(ThreadId),
}
