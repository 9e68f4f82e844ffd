//! Going anywhere.

use super::base::Base;
use super::{MAX_BATCH, Player, Position, Target, Until};
use crate::org::{Body, Organization};
use crate::record::line::{self, Place};
use crate::record::lines::{Lines, LinesBack};
use crate::record::source::Source;
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
            Target::Step(step) => Until::Step(step),
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

    /// Whether reading on from here is the shortest way.
    fn near(&self, goal: u64, until: Until) -> bool {
        let here = self.lines.offset();
        let not_past = match until {
            Until::Step(step) => self.here.state.now.step <= step,
            _ => true,
        };
        here <= goal && goal - here <= NEAR && not_past
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
        let source = self.file.source();
        let (mut low, mut high) = (self.file.events_at(), source.len());
        if until == Until::End {
            return Ok(high);
        }
        let beyond = |place: Place| match until {
            Until::Event | Until::End => false,
            Until::Seq(limit) => place.seq > limit,
            Until::Step(limit) => place.step > limit,
            Until::Us(limit) => place.us > limit,
        };
        let mut found = high;
        while high - low > FEW {
            let middle = low + (high - low) / 2;
            let mut lines = Lines::after(Arc::clone(source), middle)?;
            match first_place(&mut lines, high)? {
                None => high = middle,
                Some(line) if beyond(line.place) => {
                    found = line.at;
                    high = middle;
                }
                Some(line) => low = line.end.min(high),
            }
        }
        let mut lines = Lines::new(Arc::clone(source), low);
        while let Some(line) = first_place(&mut lines, high)? {
            if beyond(line.place) {
                return Ok(line.at);
            }
        }
        Ok(found)
    }

    /// The nearest state before `goal` that is not beyond `until`: a keyframe, what the scan left, or the
    /// beginning.
    fn base_before(&self, goal: u64, until: Until) -> io::Result<(u64, Base)> {
        let within = |state: &Organization| match until {
            Until::Step(step) => state.now.step <= step,
            _ => true,
        };
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

/// A line with its place, and where it begins and ends.
struct Placed {
    at: u64,
    end: u64,
    place: Place,
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
