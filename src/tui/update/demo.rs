//! A demo's part in what happens on the screen: what it does, and which keys of the person are its own.

use super::{Effect, leave, press};
use crate::org::Command;
use crate::tui::demo::{Deed, Manner, Pressed};
use crate::tui::keymap::Key;
use crate::tui::model::Model;

/// Does whatever the demo wants done by now.
pub fn play(model: &mut Model, effects: &mut Vec<Effect>) {
    while let Some(demo) = &mut model.demo {
        let Some(deed) = demo.next(model.now, &model.organization) else {
            if demo.is_over() && demo.caption().is_none() {
                model.demo = None;
            }
            return;
        };
        let before = effects.len();
        match deed {
            Deed::Key(key) => effects.extend(press(model, key.event())),
            Deed::Ask(command) => effects.push(Effect::Send(command)),
            // The demo keeps it.
            Deed::Say(_) => {}
        }
        let sent = |effect: &&Effect| matches!(effect, Effect::Send(_));
        let asked = effects[before..].iter().filter(sent).count();
        let popups = model.popups.len();
        if let Some(demo) = &mut model.demo {
            demo.carried_out(asked, popups);
        }
    }
}

/// The person did something.
pub fn touched(model: &mut Model) {
    let now = model.now;
    if let Some(demo) = &mut model.demo {
        demo.touch(now);
    }
}

/// Serves a key of the person that is the demo's.
pub fn key(model: &mut Model, key: Key) -> Option<Vec<Effect>> {
    let (now, popups) = (model.now, model.popups.len());
    let demo = model.demo.as_mut()?;
    match demo.key(key, popups, now) {
        Pressed::Theirs => None,
        Pressed::Taken => Some(Vec::new()),
        Pressed::Leave => Some(leave(model)),
        Pressed::Stop => {
            let (over, manner) = (demo.is_over(), demo.manner());
            model.demo = None;
            let held = model.steerable() && model.organization.paused;
            if !over {
                model.say(match manner {
                    Manner::Demo => "the demo is stopped; the session is yours",
                    Manner::Tour => {
                        "the tour is over, the run goes on: ? shows every key, q leaves"
                    }
                });
            }
            // The tour holds the run while it speaks; a person's demo may mean to.
            if held && manner == Manner::Tour {
                return Some(vec![Effect::Send(Command::Resume { thread: None })]);
            }
            Some(Vec::new())
        }
    }
}
