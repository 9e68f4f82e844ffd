//! Inputs to changes: `update(model, input)` changes the model and says what else is to be done.
//!
//! Pure: no I/O, no clock. What a key means is looked up in the keymap; `act` and `steer` hold what each action
//! does, `choices` and `editor` the same for what is chosen and written, `popups` the keys of text fields, `mouse`
//! the mouse.

mod act;
mod breakpoints;
mod choices;
mod demo;
mod editor;
mod mouse;
mod popups;
mod queue;
mod seat;
mod select;
mod steer;
mod travel;

pub use popups::callable;
pub use seat::keep;

use super::action::{Action, Context};
use super::app::Next;
use super::compared::{Compared, LineRef};
use super::keymap::Key;
use super::model::{Leaving, Model, Playback};
use super::text::Transcript;
use super::theme::Theme;
use super::thread_view::ThreadView;
use crate::live::{Batch, Phase};
use crate::org::{Body, BranchId, Command, Event, Organization, ThreadId};
use crate::record::Header;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent};
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that happened to the screen.
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// Pasted text: never commands.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// A new size.
    Resize(u16, u16),
    /// What a running session posted.
    Batch(Batch),
    /// Events of a recording, in order.
    Events(Vec<Event>),
    /// A recording goes on from another place.
    Jump(Box<Organization>, BTreeMap<ThreadId, ThreadView>),
    /// What session a recording holds.
    Header(Box<Header>),
    /// Older text of a thread, to go before what is there.
    Older(ThreadId, Transcript),
    /// Two lines were compared, or why not.
    Compared(Result<Box<Compared>, String>),
    /// Something to know about a recording.
    Warning(String),
    /// Where a recording stands.
    Playback(Playback),
    /// The theme's files have changed: it anew, or what is wrong with it.
    Theme(Result<Theme, String>),
    /// The system asks the program to end (SIGTERM, SIGHUP).
    Terminate,
    /// Time passed.
    Tick,
}

/// Where to go in a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// One step back (negative) or on.
    Step(i32),
    /// The event before (negative) or the next: an action, an end, an error, a command or a mark.
    Event(i32),
    /// This many hundredths of the session, 0 to 100.
    Percent(f64),
    /// Where a branch was left, or has come to.
    Branch(BranchId),
    /// The beginning.
    Start,
    /// The end.
    End,
}

/// What is to be done outside of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the session.
    Send(Command),
    /// Move a recording.
    Seek(Place),
    /// Play or hold a recording.
    Play(bool),
    /// Play faster or slower.
    Speed(f32),
    /// Begin again at the end, or not.
    Loop(bool),
    /// Compare two lines.
    Compare(LineRef, LineRef),
    /// Leave the recording and go on live from where it stands.
    TakeOver,
    /// Read older text of a thread.
    Older(ThreadId),
    /// Put text into the clipboard.
    Copy(String),
    /// Show text in the pager.
    Pager(String),
    /// Give the mouse to the screen (`true`) or to the terminal.
    Mouse(bool),
    /// Draw everything again.
    Redraw,
    /// Go into the background.
    Suspend,
    /// Leave this session, which is saved, for another one.
    Again(Next),
    /// Leave: everything is saved.
    Quit,
    /// Leave now, whatever the session does.
    ForceQuit,
}

/// Changes `model` by `input`, which came `now` after the screen opened.
pub fn update(model: &mut Model, input: Input, now: Duration) -> Vec<Effect> {
    model.now = model.now.max(now);
    let mut effects = match input {
        Input::Key(key) => on_key(model, key),
        Input::Paste(text) => {
            demo::touched(model);
            popups::paste(model, &text);
            Vec::new()
        }
        Input::Mouse(event) => mouse::on_mouse(model, event),
        Input::Resize(width, height) => {
            model.size = (width, height);
            Vec::new()
        }
        Input::Batch(batch) => on_batch(model, batch),
        Input::Events(events) => {
            for event in &events {
                model.apply(event);
            }
            Vec::new()
        }
        Input::Jump(organization, views) => {
            model.restart(*organization, views);
            Vec::new()
        }
        Input::Header(header) => {
            model.begin(header);
            Vec::new()
        }
        Input::Older(id, text) => {
            if let Some(view) = model.threads.get_mut(&id) {
                view.text.prepend(text);
            }
            Vec::new()
        }
        Input::Compared(Ok(compared)) => {
            model.compared = Some(compared);
            model
                .popups
                .push(super::popup::Popup::Compare { scroll: 0 });
            Vec::new()
        }
        Input::Compared(Err(why)) => {
            model.say(why);
            Vec::new()
        }
        Input::Warning(text) => {
            model.report.banner = Some(text);
            Vec::new()
        }
        Input::Playback(playback) => {
            model.feed = super::model::Feed::Replay(playback);
            Vec::new()
        }
        Input::Theme(Ok(theme)) => {
            model.bad_theme = None;
            model.say(format!("theme {}: read again", theme.name()));
            model.look.wear(theme);
            Vec::new()
        }
        Input::Theme(Err(why)) => {
            model.bad_theme = Some(format!("theme: {why}"));
            Vec::new()
        }
        Input::Terminate => leave(model),
        Input::Tick => Vec::new(),
    };
    demo::play(model, &mut effects);
    model.refresh();
    effects
}

fn on_batch(model: &mut Model, batch: Batch) -> Vec<Effect> {
    let Batch {
        events,
        lines,
        report,
        merged,
    } = batch;
    let mut lines = lines.into_iter();
    if model.header.is_none()
        && let Some(header) = &report.header
    {
        model.begin(header.clone());
    }
    model.report = report;
    model.merged = merged;
    for event in &events {
        model.apply(event);
        if matches!(event.body, Body::Branch { .. }) {
            model.retell(&lines.next().unwrap_or_default());
        }
    }
    let over = matches!(model.report.phase, Phase::Over | Phase::Failed(_));
    if over && model.leaving == Leaving::Saving {
        return vec![Effect::Quit];
    }
    Vec::new()
}

fn on_key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if event.code == KeyCode::Char('c') && event.modifiers == KeyModifiers::CONTROL {
        return interrupt(model);
    }
    if model.leaving == Leaving::Warned {
        model.leaving = Leaving::No;
    }
    let key = Key::from_event(event);
    // Going into the background works in text fields too, as everywhere on a terminal.
    if event.modifiers.contains(KeyModifiers::CONTROL)
        && model.keymap.action(&[Context::Any], key) == Some(Action::Suspend)
    {
        return vec![Effect::Suspend];
    }
    if let Some(effects) = demo::key(model, key) {
        return effects;
    }
    press(model, event)
}

/// Serves a key, whoever pressed it.
fn press(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    if let Some(effects) = popups::key(model, event) {
        return effects;
    }
    let key = Key::from_event(event);
    let contexts = model.contexts();
    if let Some(action) = model.keymap.action(&contexts, key) {
        return act::act(model, action, Some(event));
    }
    if event.code == KeyCode::Esc {
        unwind(model);
    }
    Vec::new()
}

/// Closes the innermost open thing; never stops anything.
fn unwind(model: &mut Model) {
    if model.popups.pop().is_some() {
        return;
    }
    if model.search.take().is_some() {
        return;
    }
    if !model.filter.is_empty() {
        model.filter.clear();
    } else if model.timeline.cursor.take().is_some() {
    } else if model.zoomed {
        model.zoomed = false;
    } else {
        model.focus = super::model::Focus::Pane;
    }
}

/// Ctrl-C: pause, then warn, then save and quit, then quit at once.
fn interrupt(model: &mut Model) -> Vec<Effect> {
    if model.leaving == Leaving::Saving {
        return vec![Effect::ForceQuit];
    }
    if !model.running() {
        return vec![Effect::Quit];
    }
    if model.leaving == Leaving::Warned {
        return leave(model);
    }
    if model.organization.paused || model.pause_asked {
        model.leaving = Leaving::Warned;
        model.say("ctrl-c again to save and quit");
        return Vec::new();
    }
    model.pause_asked = true;
    model.say("pausing; ctrl-c twice more to save and quit");
    vec![Effect::Send(Command::Pause { thread: None })]
}

/// Saves a running session as interrupted, then quits; a finished one quits at once.
fn leave(model: &mut Model) -> Vec<Effect> {
    if !model.running() {
        return vec![Effect::Quit];
    }
    if model.leaving == Leaving::Saving {
        return Vec::new();
    }
    model.leaving = Leaving::Saving;
    model.popups.clear();
    model.say("saving the session; ctrl-c quits without waiting for it");
    vec![Effect::Send(Command::Interrupt)]
}
