//! A recording as a source of the screen: its pace, seeking, and older text on demand.
//!
//! Only what is on screen is read: a seek gives the organization and the newest text of each thread;
//! scrolling up asks for more. Stretches in which nothing happened are cut to a second.

use super::model::{Model, Playback};
use super::text::{Piece, Transcript};
use super::thread_view::ThreadView;
use super::update::{Effect, Input, Place};
use crate::org::{Body, Event, Step, ThreadId};
use crate::record::{
    Direction, Landmark, Older, Origin, Player, SessionFile, Target, TextFrom, TextLimit,
    TextPiece, Until,
};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Longest time without events, in microseconds of the recording at normal speed.
const IDLE: f64 = 1_000_000.0;

/// How often a playing recording looks for what is due.
const TICK: Duration = Duration::from_millis(30);

/// Text of one thread that a seek reads at once.
const AT_ONCE: TextLimit = TextLimit {
    bytes: 64 << 10,
    records: 400,
};

/// Which time of the recording was on screen when.
#[derive(Debug, Clone, Copy)]
struct Clock {
    wall: Instant,
    us: f64,
}

/// A recording that is played.
pub struct Replay {
    player: Player,
    playback: Playback,
    clock: Clock,
    older: BTreeMap<ThreadId, Older>,
    /// Whether the damage of the file was told.
    told: bool,
}

impl Replay {
    /// Plays `player` from where it stands.
    #[must_use]
    pub fn new(player: Player) -> Self {
        let length = player.extent().us;
        let us = player.position().us;
        Self {
            playback: Playback {
                playing: true,
                speed: 1.0,
                looping: false,
                position: us,
                length,
            },
            clock: Clock {
                wall: Instant::now(),
                us: us as f64,
            },
            older: BTreeMap::new(),
            told: false,
            player,
        }
    }

    /// The same at `speed` times the recorded pace.
    #[must_use]
    pub fn at_speed(mut self, speed: f32) -> Self {
        self.playback.speed = speed;
        self
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &SessionFile {
        self.player.file()
    }

    /// The place of the session that is shown.
    #[must_use]
    pub fn place(&self) -> crate::org::Place {
        self.player.organization().here()
    }

    /// Where it stands.
    #[must_use]
    pub fn playback(&self) -> Playback {
        self.playback.clone()
    }

    /// What the screen needs first.
    ///
    /// # Errors
    /// The file can't be read any more.
    pub fn open(&mut self) -> io::Result<Vec<Input>> {
        self.clock.wall = Instant::now();
        let mut inputs = vec![Input::Header(Box::new(self.player.header().clone()))];
        if self.player.position().next.0 > 0 {
            inputs.push(self.jump()?);
        }
        inputs.push(Input::Playback(self.playback()));
        Ok(inputs)
    }

    /// When to look again.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        (self.playback.playing || !self.told).then(|| Instant::now() + TICK)
    }

    /// What is due by `now`.
    ///
    /// # Errors
    /// The file can't be read any more.
    pub fn tick(&mut self, now: Instant) -> io::Result<Vec<Input>> {
        let mut inputs = Vec::new();
        if !self.told && self.player.scanned() {
            self.told = true;
            let report = self.player.report();
            if !report.is_clean() {
                let text = report.to_string();
                let mut lines = text.lines();
                let first = lines.next().unwrap_or_default();
                let more = match lines.count() {
                    0 => String::new(),
                    n => format!(" (and {n} more)"),
                };
                inputs.push(Input::Warning(format!("{first}{more}")));
            }
        }
        if !self.playback.playing {
            return Ok(inputs);
        }
        let passed = now.saturating_duration_since(self.clock.wall).as_secs_f64() * 1e6;
        let us = self.clock.us + passed * f64::from(self.playback.speed);
        let events = self.player.advance(Until::Us(us as u64))?;
        if !events.is_empty() {
            inputs.push(self.happened(events)?);
        } else if us - self.player.position().us as f64 > IDLE {
            let next = self.player.advance(Until::Event)?;
            if next.is_empty() {
                return self.at_the_end(inputs);
            }
            inputs.push(self.happened(next)?);
            self.set_clock(now);
        } else if self.player.position().us >= self.playback.length {
            return self.at_the_end(inputs);
        }
        if !inputs.is_empty() {
            self.playback.position = self.player.position().us;
            inputs.push(Input::Playback(self.playback()));
        }
        Ok(inputs)
    }

    fn at_the_end(&mut self, mut inputs: Vec<Input>) -> io::Result<Vec<Input>> {
        if self.playback.looping && self.player.extent().events > 0 {
            inputs.extend(self.go(Target::Start)?);
        } else {
            // Records of the same time may be left.
            let rest = self.player.advance(Until::End)?;
            if !rest.is_empty() {
                inputs.push(self.happened(rest)?);
                return Ok(inputs);
            }
            self.playback.playing = false;
            self.playback.position = self.player.position().us;
            inputs.push(Input::Playback(self.playback()));
        }
        Ok(inputs)
    }

    /// Does what a person asked.
    ///
    /// # Errors
    /// The file can't be read any more.
    pub fn control(&mut self, effect: &Effect, model: &Model) -> io::Result<Vec<Input>> {
        let now = Instant::now();
        match effect {
            Effect::Play(playing) => {
                let ended = self.player.position().us >= self.playback.length;
                self.playback.playing = *playing;
                self.set_clock(now);
                if *playing && ended {
                    return self.go(Target::Start);
                }
            }
            Effect::Speed(speed) => {
                self.set_clock(now);
                self.playback.speed = *speed;
            }
            Effect::Loop(looping) => self.playback.looping = *looping,
            Effect::Seek(place) => return self.seek(*place),
            Effect::Older(thread) => return self.older(*thread, model),
            _ => {}
        }
        Ok(vec![Input::Playback(self.playback())])
    }

    fn seek(&mut self, place: Place) -> io::Result<Vec<Input>> {
        let step = self.player.position().step.0;
        match place {
            Place::Start => self.go(Target::Start),
            Place::End => self.go(Target::End),
            Place::Percent(percent) => {
                let us = self.playback.length as f64 * percent / 100.0;
                self.go(Target::Us(us as u64))
            }
            Place::Step(by) if by < 0 => {
                self.playback.playing = false;
                let to = step.saturating_sub(u64::from(by.unsigned_abs()));
                self.go(Target::Step(Step(to)))
            }
            Place::Step(by) => {
                self.playback.playing = false;
                let to = Step(step.saturating_add(u64::from(by.unsigned_abs())));
                let mut events = self.player.advance(Until::Step(to))?;
                if events.is_empty() {
                    // The branch ends here: on to the next one.
                    events = self.player.advance(Until::Event)?;
                }
                self.playback.position = self.player.position().us;
                Ok(vec![
                    self.happened(events)?,
                    Input::Playback(self.playback()),
                ])
            }
            Place::Branch(branch) => {
                self.playback.playing = false;
                self.go(Target::Branch(branch))
            }
            Place::Event(by) => {
                self.playback.playing = false;
                let direction = if by < 0 {
                    Direction::Back
                } else {
                    Direction::Forward
                };
                match self.player.find(direction, Landmark::Event)? {
                    Some(found) => {
                        let seq = crate::org::Seq(found.next.0.saturating_sub(1));
                        self.go(Target::Seq(seq))
                    }
                    None if by < 0 => self.go(Target::Start),
                    None => self.go(Target::End),
                }
            }
        }
    }

    fn go(&mut self, target: Target) -> io::Result<Vec<Input>> {
        self.player.seek(target)?;
        self.playback.position = self.player.position().us;
        self.set_clock(Instant::now());
        Ok(vec![self.jump()?, Input::Playback(self.playback())])
    }

    fn set_clock(&mut self, now: Instant) {
        self.clock = Clock {
            wall: now,
            us: self.player.position().us as f64,
        };
    }

    /// What the screen is told of `events`: after a turn to another place the texts are others.
    fn happened(&mut self, events: Vec<Event>) -> io::Result<Input> {
        let turns = events.iter().any(|e| matches!(e.body, Body::Branch { .. }));
        if turns {
            self.jump()
        } else {
            Ok(Input::Events(events))
        }
    }

    /// The organization here, with the newest text of each thread.
    fn jump(&mut self) -> io::Result<Input> {
        self.older.clear();
        let organization = self.player.organization().clone();
        let mut views = BTreeMap::new();
        for thread in organization.threads() {
            let text = self.player.text(thread.id, TextFrom::Here, AT_ONCE)?;
            if let Some(older) = text.older {
                self.older.insert(thread.id, older);
            }
            let told = transcript(&text.pieces, thread.tokens);
            views.insert(thread.id, ThreadView::recorded(told, &text.pieces));
        }
        Ok(Input::Jump(Box::new(organization), views))
    }

    fn older(&mut self, thread: ThreadId, model: &Model) -> io::Result<Vec<Input>> {
        let (Some(from), Some(view)) = (self.older.remove(&thread), model.threads.get(&thread))
        else {
            return Ok(Vec::new());
        };
        let text = self.player.text(thread, TextFrom::Older(from), AT_ONCE)?;
        if let Some(older) = text.older {
            self.older.insert(thread, older);
        }
        let here = transcript(&text.pieces, view.text.tokens_before());
        Ok(vec![Input::Older(thread, here)])
    }
}

/// The text of `pieces`, after which the thread has `tokens` own tokens.
fn transcript(pieces: &[TextPiece], tokens: u64) -> Transcript {
    let own: usize = pieces
        .iter()
        .filter(|p| p.origin == Origin::Decoded)
        .map(|p| p.ids.len())
        .sum();
    let start = pieces.first().map_or(0, |p| p.at);
    let mut text = Transcript::starting_at(start, tokens.saturating_sub(own as u64));
    for piece in pieces {
        let kind = match piece.origin {
            Origin::Decoded => Piece::Decoded {
                ids: &piece.ids,
                lens: &piece.lens,
            },
            Origin::Spliced { kind, .. } => Piece::Spliced(kind),
        };
        text.push(&piece.bytes, &piece.by, kind);
    }
    text
}
