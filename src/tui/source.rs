//! What feeds a screen: a session that is being decoded, or a recording.

use super::model::{Model, Playback};
use super::replay::Replay;
use super::update::{Effect, Input};
use crate::live::{Batch, Mailbox};
use crate::org::{Command, Place};
use crate::record::SessionFile;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

/// A running session: takes commands, posts what happens.
pub struct LiveSource {
    /// Where commands go.
    pub commands: Sender<Command>,
    /// Where events arrive.
    pub mailbox: Arc<Mailbox>,
}

/// What feeds a screen.
pub enum Source {
    /// A session that is being decoded.
    Live(LiveSource),
    /// A recorded one.
    Replay(Box<Replay>),
}

impl Source {
    /// Where a recording stands.
    #[must_use]
    pub fn playback(&self) -> Option<Playback> {
        match self {
            Self::Live(_) => None,
            Self::Replay(replay) => Some(replay.playback()),
        }
    }

    /// What the screen needs before anything else.
    ///
    /// # Errors
    /// A recording can't be read any more.
    pub fn open(&mut self) -> io::Result<Vec<Input>> {
        match self {
            Self::Live(_) => Ok(Vec::new()),
            Self::Replay(replay) => replay.open(),
        }
    }

    /// Waits until a session has posted something.
    pub async fn posted(&self) {
        match self {
            Self::Live(live) => live.mailbox.posted().await,
            Self::Replay(_) => std::future::pending().await,
        }
    }

    /// Everything posted and not taken yet.
    pub fn take(&mut self) -> Option<Batch> {
        match self {
            Self::Live(live) => Some(live.mailbox.take()),
            Self::Replay(_) => None,
        }
    }

    /// The session on screen, to be read from its file.
    ///
    /// # Errors
    /// In words: it is not recorded, or its file does not open.
    pub fn session(&self, file: Option<&Path>) -> Result<SessionFile, String> {
        match (self, file) {
            (Self::Replay(replay), _) => Ok(replay.file().clone()),
            (Self::Live(_), Some(path)) => SessionFile::open(path).map_err(|e| e.to_string()),
            (Self::Live(_), None) => {
                Err("this session is not recorded: nothing to read from".into())
            }
        }
    }

    /// Where a recording stands, to go on from there.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Live(_) => None,
            Self::Replay(replay) => Some(replay.place()),
        }
    }

    /// When a recording goes on.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Live(_) => None,
            Self::Replay(replay) => replay.due(),
        }
    }

    /// What of a recording is due by `now`.
    ///
    /// # Errors
    /// It can't be read any more.
    pub fn tick(&mut self, now: Instant) -> io::Result<Vec<Input>> {
        match self {
            Self::Live(_) => Ok(Vec::new()),
            Self::Replay(replay) => replay.tick(now),
        }
    }

    /// Asks a session; `false` if it takes no more commands.
    pub fn send(&mut self, command: Command) -> bool {
        match self {
            Self::Live(live) => live.commands.send(command).is_ok(),
            Self::Replay(_) => false,
        }
    }

    /// Moves a recording.
    ///
    /// # Errors
    /// It can't be read any more.
    pub fn control(&mut self, effect: &Effect, model: &Model) -> io::Result<Vec<Input>> {
        match self {
            Self::Live(_) => Ok(Vec::new()),
            Self::Replay(replay) => replay.control(effect, model),
        }
    }
}
