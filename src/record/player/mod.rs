//! Replay: anywhere in a session at once, however long it is.
//!
//! Opening reads the header and the end of the file. Seeking finds the place by halving the file (events
//! are in order of place, time and step), goes back to the keyframe before it and folds on from there.
//! A scan on a thread of its own looks at every line for damage, and leaves bases to seek from where the
//! file has no keyframes. Texts are not held: they are read from the file, backwards, as far as asked.
//!
//! Not here: the pace of a replay, and everything on screen.

mod base;
mod scan;
mod seek;
mod text;

use super::damage::{Report, understand};
use super::error::OpenError;
use super::header::Header;
use super::line;
use super::lines::{Lines, LinesBack};
use super::reader::{Order, SessionFile};
use super::text::split_tokens;
use crate::org::{BranchId, Event, Organization, Place, Seq, Step};
use base::{Base, Tail};
use scan::Scan;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use text::{Older, Text, TextFrom, TextLimit};

/// Most events that one call of [`Player::advance`] gives.
pub const MAX_BATCH: usize = 4096;

/// Bytes at the end of a file that are searched for its last events.
const TAIL: u64 = 64 << 10;

/// A place to go to. The state there is after everything up to and including it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Before the first event.
    Start,
    /// After this event.
    Seq(Seq),
    /// After this step of the line that this is on, exactly, even inside a record of many steps.
    Step(Step),
    /// Here, on whatever branch.
    Place(Place),
    /// After the last event of this branch.
    Branch(BranchId),
    /// After all records that began by this time.
    Us(u64),
    /// After the last event.
    End,
}

/// How far to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// One event.
    Event,
    /// Through this event.
    Seq(Seq),
    /// Through this step of the present branch, exactly.
    Step(Step),
    /// To here, on whatever branch.
    Place(Place),
    /// Through all records that began by this time.
    Us(u64),
    /// To the end.
    End,
}

/// Where a player stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The place of the next event: everything before it has happened (but for steps that a split
    /// record still holds back).
    pub next: Seq,
    /// The last step that happened.
    pub step: Step,
    /// The last time seen.
    pub us: u64,
}

/// How long a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// How many events, were none lost.
    pub events: u64,
    /// Its last step.
    pub step: Step,
    /// Its last time.
    pub us: u64,
}

/// Which way to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the start.
    Back,
    /// Towards the end.
    Forward,
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// Anything that is not text flowing.
    Event,
    /// A mark.
    Mark,
}

impl Landmark {
    fn fits(self, line: &[u8]) -> bool {
        match (self, line::kind_of(line).as_deref()) {
            (Self::Mark, kind) => kind == Some("mark"),
            (Self::Event, Some("tokens" | "keyframe") | None) => false,
            (Self::Event, Some(_)) => true,
        }
    }
}

/// Plays one session; see the module.
pub struct Player {
    file: SessionFile,
    scan: Arc<Scan>,
    extent: Extent,
    here: Base,
    lines: Lines,
    /// Parts of records that lie beyond the step where the player stands.
    held: VecDeque<(Event, u64, usize)>,
    /// Where the line of the last folded event begins; the first event's before any.
    last_at: u64,
    order: Order,
}

impl Player {
    /// Opens `path`, standing before the first event. Takes the same time for every length of session.
    ///
    /// # Errors
    /// [`OpenError`]; damage is no error, see [`Self::report`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::of(SessionFile::open(path)?)
    }

    /// Plays an open file.
    ///
    /// # Errors
    /// [`OpenError`] when its end cannot be read.
    pub fn of(file: SessionFile) -> Result<Self, OpenError> {
        let extent = extent(&file).map_err(|source| OpenError::Io {
            path: file.path().to_owned(),
            source,
        })?;
        let start = file.events_at();
        Ok(Self {
            scan: Scan::begin(&file),
            extent,
            here: Base::start(file.header()),
            lines: Lines::new(Arc::clone(file.source()), start),
            held: VecDeque::new(),
            last_at: start,
            order: Order::default(),
            file,
        })
    }

    /// What session it is.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.file.header()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file it plays.
    #[must_use]
    pub fn file(&self) -> &SessionFile {
        &self.file
    }

    /// What is wrong with the file, as far as it has been looked at: final once [`Self::scanned`].
    #[must_use]
    pub fn report(&self) -> Report {
        self.scan.report()
    }

    /// Whether the whole file has been looked at.
    #[must_use]
    pub fn scanned(&self) -> bool {
        self.scan.done()
    }

    /// How long the session is.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The organization as it is here.
    #[must_use]
    pub fn organization(&self) -> &Organization {
        &self.here.state
    }

    /// Where this is.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            next: self.here.state.next_seq,
            step: self.here.state.now.step,
            us: self.here.state.now.us,
        }
    }

    /// Goes on and gives what happens, in order; at most [`MAX_BATCH`] events a call. Nothing: the place
    /// is reached, or the end. A record that crosses the step asked for is split there.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn advance(&mut self, until: Until) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        while events.len() < MAX_BATCH {
            let Some(event) = self.step_on(until)? else {
                break;
            };
            events.push(event);
            if until == Until::Event {
                break;
            }
        }
        Ok(events)
    }

    /// Folds the next event that `until` allows.
    fn step_on(&mut self, until: Until) -> io::Result<Option<Event>> {
        if let Some((event, offset, done)) = self.held.pop_front() {
            if allows(until, &event, self.here.state.branch()) {
                return Ok(Some(self.take(event, offset, done, until)));
            }
            self.held.push_front((event, offset, done));
            // Threads that began later lie behind records that are held back in part.
            if !matches!(until, Until::Step(_) | Until::Place(_)) {
                return Ok(None);
            }
        }
        loop {
            let Some(raw) = self.lines.next()? else {
                return Ok(None);
            };
            let offset = raw.offset;
            let (Some(line), _) = understand(raw) else {
                self.order.lost_a_line();
                self.here.lost = true;
                continue;
            };
            if !allows(until, &line.event, self.here.state.branch()) {
                // Read again when it is due.
                self.lines.back_to(offset);
                return Ok(None);
            }
            self.here.lost |= self.order.saw(line.event.seq).is_some();
            return Ok(Some(self.take(line.event, offset, 0, until)));
        }
    }

    /// Folds `event` of the record at `offset`, `done` tokens of which have happened before, as far as
    /// `until` allows. What is beyond waits.
    fn take(&mut self, mut event: Event, offset: u64, done: usize, until: Until) -> Event {
        let mut tokens = None;
        if let Some(limit) = step_limit(until, event.branch)
            && event.last_step() > limit
        {
            // `allows` has seen that the first token lies within.
            let keep = limit.0.saturating_sub(event.step.0).saturating_add(1);
            let keep = usize::try_from(keep).unwrap_or(usize::MAX);
            if let Some(rest) = split_tokens(&mut event, keep) {
                tokens = Some(done + keep);
                self.held.push_back((rest, offset, done + keep));
            }
        }
        self.here.apply(&event, Tail { offset, tokens });
        self.last_at = offset;
        event
    }

    /// The nearest landmark that way, not counting where this is; go there with [`Target::Seq`].
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn find(&self, direction: Direction, landmark: Landmark) -> io::Result<Option<Position>> {
        let source = Arc::clone(self.file.source());
        let place = |line: &[u8]| {
            let place = line::place_of(line).ok()?;
            Some(Position {
                next: place.seq.next(),
                step: place.step,
                us: place.us,
            })
        };
        match direction {
            Direction::Back => {
                let mut lines = LinesBack::new(source, self.last_at, self.file.events_at());
                while let Some(line) = lines.next()? {
                    if landmark.fits(line.bytes)
                        && let Some(found) = place(line.bytes)
                    {
                        return Ok(Some(found));
                    }
                }
            }
            Direction::Forward => {
                let mut lines = Lines::new(source, self.lines.offset());
                while let Some(line) = lines.next()? {
                    if landmark.fits(line.bytes)
                        && let Some(found) = place(line.bytes)
                    {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.scan.stop();
    }
}

/// Whether `event` (or its first token) lies within `until`.
fn allows(until: Until, event: &Event, present: BranchId) -> bool {
    match until {
        Until::Event | Until::End => true,
        Until::Seq(seq) => event.seq <= seq,
        Until::Step(step) => event.step <= step && event.branch <= present,
        Until::Place(place) => {
            event.seq < place.seq && (event.branch != place.branch || event.step <= place.step)
        }
        Until::Us(us) => event.us <= us,
    }
}

/// The last step of `branch` that `until` allows.
fn step_limit(until: Until, branch: BranchId) -> Option<Step> {
    match until {
        Until::Step(step) => Some(step),
        Until::Place(place) => (branch == place.branch).then_some(place.step),
        _ => None,
    }
}

/// Reads how long a session is from the last lines of its file.
fn extent(file: &SessionFile) -> io::Result<Extent> {
    let mut extent = Extent::default();
    let mut lines = LinesBack::new(Arc::clone(file.source()), file.size(), file.events_at());
    let mut seen = 0;
    while let Some(raw) = lines.next()? {
        seen += raw.bytes.len() as u64 + 1;
        if let (Some(line), _) = understand(raw) {
            let event = line.event;
            extent.events = extent.events.max(event.seq.next().0);
            extent.step = extent.step.max(event.last_step());
            extent.us = extent.us.max(event.us);
        }
        if seen > TAIL && extent.events > 0 {
            break;
        }
    }
    Ok(extent)
}
