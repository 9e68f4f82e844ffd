//! The run loop: terminal events, the session or recording, signals and one frame deadline, in one
//! `select!` on the caller's thread.
//!
//! It owns nothing of what is shown: inputs go to [`update`], effects come back and are carried out
//! here. The first frame is drawn before anything has come. What a running session posts is taken only
//! when a frame is due, so that a fast session never makes the screen work more.

use super::compared::Compared;
use super::demo::Demo;
use super::escape::Escapes;
use super::keymap::Keymap;
use super::look::Look;
use super::model::{Feed, Model, RunState};
use super::pace::{Pace, Urgency};
use super::source::Source;
use super::surface::{Surface, page};
use super::terminal::Modes;
use super::terminal::signals::{Ending, Notice, watch};
use super::text::start_highlighting;
use super::theme::ThemeWatch;
use super::update::{Effect, Input, update};
use super::view;
use crate::org::Place;
use crossterm::event::{Event as TerminalEvent, MouseEventKind};
use futures_util::StreamExt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The run that is to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Another instance of the same task.
    Instance,
    /// The same query with another seed.
    Seed,
    /// This query, or this task.
    Query(String),
}

/// How the screen was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// By the person, or at the end; everything is saved.
    Done,
    /// By the person, for another run.
    Again(Next),
    /// The session did not answer and was left behind: end the process.
    Forced,
    /// To go on live from here, in a new session.
    TakeOver(Place),
    /// By a signal; hand it to [`super::terminal::signals::end_by`] once everything is saved.
    Signal(Ending),
}

/// How the screen is to be.
pub struct Options {
    /// Colours and characters.
    pub look: Look,
    /// Keys.
    pub keymap: Keymap,
    /// Mouse and keyboard.
    pub modes: Modes,
    /// What is being loaded, in a few words.
    pub loading: String,
    /// Whether a query can be run next.
    pub accepts: Accepts,
    /// The theme's files, where they are looked after.
    pub themes: Option<ThemeWatch>,
    /// What is played on it.
    pub demo: Option<Demo>,
}

/// Says why a query cannot be run next, where it cannot.
pub type Accepts = Box<dyn Fn(&str) -> Result<(), String>>;

/// Runs until the person leaves.
///
/// # Errors
/// The terminal is gone, or a recording can't be read any more.
pub fn run(source: Source, options: Options, surface: &mut impl Surface) -> io::Result<Exit> {
    let (send, signals) = unbounded_channel();
    let watch = watch(move |notice| {
        // Only fails when the loop is gone, and then nobody needs it.
        let _ = send.send(notice);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let coloured = Arc::new(Notify::new());
    let wake = Arc::clone(&coloured);
    let app = App::new(source, options, surface);
    let exit = runtime.block_on(app.run(signals, coloured, move || {
        start_highlighting(move || wake.notify_one());
    }));
    drop(watch);
    exit
}

/// One screen with its source.
pub struct App<'a, S: Surface> {
    model: Model,
    source: Source,
    surface: &'a mut S,
    pace: Pace,
    escapes: Escapes,
    began: Instant,
    ending: Option<Ending>,
    exit: Option<Exit>,
    themes: Option<ThemeWatch>,
    /// The terminal was used by somebody else: its events are read anew.
    reopen: bool,
}

impl<'a, S: Surface> App<'a, S> {
    /// A screen that has not been drawn yet.
    pub fn new(source: Source, options: Options, surface: &'a mut S) -> Self {
        let feed = match &source {
            Source::Live(_) => Feed::Live,
            Source::Replay(replay) => Feed::Replay(replay.playback()),
        };
        let mut model = Model::new(options.look, options.keymap, feed, options.loading);
        model.mouse = options.modes.mouse;
        model.accepts = options.accepts;
        model.demo = options.demo;
        if let Ok((width, height)) = surface.size() {
            model.size = (width, height);
        }
        Self {
            model,
            source,
            surface,
            pace: Pace::default(),
            escapes: Escapes::default(),
            began: Instant::now(),
            ending: None,
            exit: None,
            themes: options.themes,
            reopen: false,
        }
    }

    /// Runs until there is a reason to leave. `after_first` is called once the first frame is on
    /// screen; `coloured` says that there is more to draw of what is on screen already.
    ///
    /// # Errors
    /// The terminal is gone, or a recording can't be read any more.
    pub async fn run(
        mut self,
        mut signals: UnboundedReceiver<Notice>,
        coloured: Arc<Notify>,
        after_first: impl FnOnce(),
    ) -> io::Result<Exit> {
        let mut events = self.surface.events();
        self.frame()?;
        after_first();
        for input in self.source.open()? {
            self.serve(input, Urgency::Input)?;
        }
        loop {
            if self.pace.due().is_some_and(|due| due <= Instant::now()) {
                self.take()?;
                self.frame()?;
            }
            if let Some(exit) = self.exit.take() {
                return Ok(match (exit, self.ending) {
                    (Exit::Done, Some(ending)) => Exit::Signal(ending),
                    (exit, _) => exit,
                });
            }
            if std::mem::take(&mut self.reopen) {
                events = self.surface.events();
            }
            let deadline = self.deadline();
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(event)) => self.on_terminal(event)?,
                    Some(Err(e)) => return Err(e),
                    None => return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the terminal gives no more input",
                    )),
                },
                Some(notice) = signals.recv() => match notice {
                    Notice::End(ending) => {
                        self.ending = Some(ending);
                        self.serve(Input::Terminate, Urgency::Input)?;
                    }
                    Notice::Continued => {
                        self.surface.repaint()?;
                        self.pace.want(Urgency::Input, Instant::now());
                    }
                },
                () = coloured.notified() => self.pace.want(Urgency::Stream, Instant::now()),
                () = self.source.posted() => self.pace.want(Urgency::Stream, Instant::now()),
                () = wait(deadline) => self.on_time()?,
            }
        }
    }

    /// When something is due without anything happening.
    fn deadline(&self) -> Option<Instant> {
        let change = self.model.next_change().map(|at| self.began + at);
        let spin = (self.model.look.animation && self.model.run_state() == RunState::Loading)
            .then(|| Instant::now() + Duration::from_millis(120));
        let key = self.escapes.due();
        let theme = self.themes.as_ref().map(ThemeWatch::due);
        [self.pace.due(), change, spin, key, theme, self.source.due()]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_time(&mut self) -> io::Result<()> {
        let now = Instant::now();
        for key in self.escapes.expired(now) {
            self.serve(Input::Key(key), Urgency::Input)?;
        }
        if let Some(theme) = self.themes.as_mut().and_then(|themes| themes.look(now)) {
            self.serve(Input::Theme(theme), Urgency::Input)?;
        }
        for input in self.source.tick(now)? {
            self.serve(input, Urgency::Stream)?;
        }
        let changes = self
            .model
            .next_change()
            .is_some_and(|at| self.began + at <= now);
        let spins = self.model.look.animation && self.model.run_state() == RunState::Loading;
        if changes || spins {
            self.serve(Input::Tick, Urgency::Animation)?;
        }
        Ok(())
    }

    fn on_terminal(&mut self, event: TerminalEvent) -> io::Result<()> {
        let input = match event {
            TerminalEvent::Key(key) => {
                for key in self.escapes.key(key, Instant::now()) {
                    self.serve(Input::Key(key), Urgency::Input)?;
                }
                return Ok(());
            }
            TerminalEvent::Paste(text) => Input::Paste(text),
            // Nothing on screen follows the mouse around.
            TerminalEvent::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => return Ok(()),
            TerminalEvent::Mouse(mouse) => Input::Mouse(mouse),
            TerminalEvent::Resize(width, height) => Input::Resize(width, height),
            TerminalEvent::FocusGained | TerminalEvent::FocusLost => return Ok(()),
        };
        self.serve(input, Urgency::Input)
    }

    /// Takes what a running session has posted.
    fn take(&mut self) -> io::Result<()> {
        if let Some(batch) = self.source.take() {
            let now = self.began.elapsed();
            let effects = update(&mut self.model, Input::Batch(batch), now);
            self.carry_out(effects)?;
        }
        Ok(())
    }

    fn serve(&mut self, input: Input, urgency: Urgency) -> io::Result<()> {
        let effects = update(&mut self.model, input, self.began.elapsed());
        self.pace.want(urgency, Instant::now());
        self.carry_out(effects)
    }

    fn frame(&mut self) -> io::Result<()> {
        let model = &mut self.model;
        model.refresh();
        self.surface.draw(|frame| view::draw(model, frame))?;
        self.pace.drawn(Instant::now());
        Ok(())
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        for effect in effects {
            match effect {
                Effect::Quit => self.exit = Some(Exit::Done),
                Effect::Again(next) => self.exit = Some(Exit::Again(next)),
                Effect::ForceQuit => self.exit = Some(Exit::Forced),
                Effect::Send(command) => {
                    if !self.source.send(command) {
                        self.model
                            .say("the session does not take commands any more");
                    }
                }
                Effect::Copy(text) => match self.surface.copy(&text) {
                    Ok(()) => {
                        let lines = text.lines().count();
                        let s = if lines == 1 { "" } else { "s" };
                        self.model.say(format!("copied {lines} line{s}"));
                    }
                    Err(why) => self.model.say(why),
                },
                Effect::Mouse(on) => self.surface.set_mouse(on)?,
                Effect::Redraw => self.surface.repaint()?,
                Effect::Suspend => {
                    self.surface.suspend()?;
                    self.reopen = true;
                }
                Effect::Pager(text) => {
                    if let Err(why) = self.surface.outside(|| page(&text))? {
                        self.model.say(format!("pager: {why}"));
                    }
                    self.reopen = true;
                }
                Effect::TakeOver => self.exit = self.source.place().map(Exit::TakeOver),
                Effect::Compare(a, b) => {
                    let file = self.model.report.file.clone();
                    let compared = Compared::read(&a, &b, || self.source.session(file.as_deref()));
                    let input = Input::Compared(compared.map(Box::new));
                    self.serve(input, Urgency::Input)?;
                }
                Effect::Seek(_)
                | Effect::Play(_)
                | Effect::Speed(_)
                | Effect::Loop(_)
                | Effect::Older(_) => {
                    for input in self.source.control(&effect, &self.model)? {
                        self.serve(input, Urgency::Input)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Waits until then, or for ever.
pub(super) async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}
