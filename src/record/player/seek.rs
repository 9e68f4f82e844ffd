//! Going anywhere.

use super::base::Base;
use super::{MAX_BATCH, Order, Player, Position, Target, Until};
use crate::org::{Body, Organization, Place, Seq, Step};
use crate::record::line;
use crate::record::lines::{Lines, LinesBack};
use crate::record::source::Source;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Bytes that are read on rather than sought across.
const NEAR: u64 = 256 << 10;

/// Bytes below which halving stops and lines are read one by one.
const FEW: u64 = 64 << 10;

/// Bytes of one look back for a keyframe.
const WINDOW: u64 = 256 << 10;

const KEYFRAME: &[u8] = b"\"kind\":\"keyframe\"";

impl Player {
    /// Goes to `target`, forwards or backwards.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn seek(&mut self, target: Target) -> io::Result<Position> {
        let until = match target {
            Target::Start => {
                self.stand(self.file.events_at(), Base::start(self.file.header()));
                return Ok(self.position());
            }
            Target::Seq(seq) => Until::Seq(seq),
            Target::Step(step) => self.until_step(step)?,
            Target::Branch(branch) => match self.first_beyond(|p| p.branch > branch)? {
                Some(next) => Until::Seq(Seq(next.place.seq.0.saturating_sub(1))),
                None => Until::End,
            },
            Target::Place(place) => Until::Place(place),
            Target::Us(us) => Until::Us(us),
            Target::End => Until::End,
        };
        let goal = self.goal(until)?;
        if !self.near(goal, until) {
            let (offset, base) = self.base_before(goal, until)?;
            self.stand(offset, base);
        }
        // Folding without keeping the events.
        while self.advance(until)?.len() == MAX_BATCH {}
        Ok(self.position())
    }

    /// The moment after `step` on the line on which this stands: steps fall where a branch begins, but
    /// rise along every branch.
    fn until_step(&self, step: Step) -> io::Result<Until> {
        let branches = self.here.state.branches();
        let mut branch = self.here.state.branch();
        // Every parent is an earlier branch.
        while let Some(from) = branches
            .iter()
            .find(|b| b.id == branch)
            .and_then(|b| b.from)
            .filter(|from| step < from.step && from.branch < branch)
        {
            branch = from.branch;
        }
        let beyond =
            self.first_beyond(|p| p.branch > branch || p.branch == branch && p.step > step)?;
        Ok(Until::Place(Place {
            branch,
            seq: beyond.map_or(Seq(u64::MAX), |line| line.place.seq),
            step,
        }))
    }

    /// Everything that must be known at `place` of this file.
    pub(super) fn base_at(&self, place: Place) -> io::Result<Base> {
        let start = self.file.events_at();
        let mut other = Self {
            file: self.file.clone(),
            scan: Arc::default(),
            extent: self.extent,
            here: Base::start(self.file.header()),
            lines: Lines::new(Arc::clone(self.file.source()), start),
            held: VecDeque::new(),
            last_at: start,
            order: Order::default(),
        };
        other.seek(Target::Place(place))?;
        Ok(other.here.clone())
    }

    /// Whether reading on from here is the shortest way.
    fn near(&self, goal: u64, until: Until) -> bool {
        let here = self.lines.offset();
        here <= goal && goal - here <= NEAR && not_past(&self.here.state, until)
    }

    /// Stands at the line at `offset`, with what was before.
    fn stand(&mut self, offset: u64, base: Base) {
        let revision = self.here.state.revision();
        self.here = base;
        self.here.state.succeed(revision);
        self.order.resume_at(self.here.next);
        self.held.clear();
        self.last_at = offset;
        self.lines = Lines::new(Arc::clone(self.file.source()), offset);
    }

    /// Byte offset of the first event that lies beyond `until`, the end of the file if none does.
    fn goal(&self, until: Until) -> io::Result<u64> {
        let beyond = self.first_beyond(|place| match until {
            Until::Event | Until::Step(_) | Until::End => false,
            Until::Seq(limit) => place.seq > limit,
            Until::Place(limit) => place.seq >= limit.seq,
            Until::Us(limit) => place.us > limit,
        });
        Ok(beyond?.map_or(self.file.source().len(), |line| line.at))
    }

    /// The first line that is `beyond` something which no later line falls behind again.
    fn first_beyond(&self, beyond: impl Fn(line::Place) -> bool) -> io::Result<Option<Placed>> {
        let source = self.file.source();
        let (mut low, mut high) = (self.file.events_at(), source.len());
        let mut found = None;
        while high - low > FEW {
            let middle = low + (high - low) / 2;
            let mut lines = Lines::after(Arc::clone(source), middle)?;
            match first_place(&mut lines, high)? {
                None => high = middle,
                Some(line) if beyond(line.place) => {
                    found = Some(line);
                    high = middle;
                }
                Some(line) => low = line.end.min(high),
            }
        }
        let mut lines = Lines::new(Arc::clone(source), low);
        while let Some(line) = first_place(&mut lines, high)? {
            if beyond(line.place) {
                return Ok(Some(line));
            }
        }
        Ok(found)
    }

    /// The nearest state before `goal` that is not beyond `until`: a keyframe, what the scan left, or the
    /// beginning.
    fn base_before(&self, goal: u64, until: Until) -> io::Result<(u64, Base)> {
        let within = |state: &Organization| not_past(state, until);
        let left = self.scan.base(goal, |base| within(&base.state));
        let floor = left.as_ref().map_or(self.file.events_at(), |(at, _)| *at);
        let source = self.file.source();
        let mut before = goal;
        while let Some(at) = keyframe_before(source, before, floor)? {
            let mut lines = Lines::new(Arc::clone(source), at);
            if let Some(raw) = lines.next()?
                && let Ok(line) = line::parse(raw.bytes)
                && let Body::Keyframe { state, texts, .. } = line.event.body
                && within(&state)
            {
                return Ok((at, Base::keyframe(line.event.seq, *state, &texts)));
            }
            before = at;
        }
        Ok(match left {
            Some((at, base)) => (at, (*base).clone()),
            None => (floor, Base::start(self.file.header())),
        })
    }
}

/// Whether going on from `state` can still lead to `until`.
fn not_past(state: &Organization, until: Until) -> bool {
    match until {
        Until::Place(place) => state.branch() != place.branch || state.now.step <= place.step,
        _ => true,
    }
}

/// A line with its place, and where it begins and ends.
struct Placed {
    at: u64,
    end: u64,
    place: line::Place,
}

/// The first line before `high` that has a place.
fn first_place(lines: &mut Lines, high: u64) -> io::Result<Option<Placed>> {
    while lines.offset() < high {
        let Some(raw) = lines.next()? else { break };
        let (at, place) = (raw.offset, line::place_of(raw.bytes));
        if let Ok(place) = place {
            let end = lines.offset();
            return Ok(Some(Placed { at, end, place }));
        }
    }
    Ok(None)
}

/// Where the last line between `floor` and `before` begins that says it is a keyframe.
fn keyframe_before(source: &Arc<Source>, before: u64, floor: u64) -> io::Result<Option<u64>> {
    let mut high = before;
    let mut buf = Vec::new();
    while high > floor {
        let low = high.saturating_sub(WINDOW).max(floor);
        // A word that reaches into the next window belongs to this one.
        let end = (high + KEYFRAME.len() as u64 - 1).min(before);
        buf.resize(usize::try_from(end - low).unwrap_or(0), 0);
        let read = source.read_at(low, &mut buf)?;
        if let Some(at) = memchr::memmem::rfind(&buf[..read], KEYFRAME) {
            let word = low + at as u64;
            // The beginning of its line: nearly always a few bytes back.
            let mut lines = LinesBack::new(Arc::clone(source), word, floor);
            return Ok(lines.next()?.map(|line| line.offset));
        }
        high = low;
    }
    Ok(None)
}
