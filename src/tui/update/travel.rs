//! Going back on the screen: edit, branch, undo, the tree of branches, comparing, taking over.

use super::Effect;
use super::act::field;
use crate::live::Phase;
use crate::org::{BranchId, Command};
use crate::tui::action::Action;
use crate::tui::compared::LineRef;
use crate::tui::model::{Feed, Model};
use crate::tui::popup::{Popup, Purpose};
use crate::tui::rewrite::Rewrite;
use std::path::PathBuf;

/// Carries out an action that leads elsewhere, or says why it cannot be.
pub fn travel(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Branches => return branches(model),
        Action::TakeOver => return vec![Effect::TakeOver],
        _ => {}
    }
    let served = matches!(model.report.phase, Phase::Running | Phase::Over);
    if model.feed != Feed::Live || !served || model.organization.threads().len() == 0 {
        model.say(match model.feed {
            Feed::Live => "the session has not begun yet",
            Feed::Replay(_) => "a recording stays as it is: enter takes over from here",
        });
        return Vec::new();
    }
    let trail = model.organization.trail();
    match action {
        Action::Undo if trail.back.is_empty() => model.say("there is nothing to undo"),
        Action::Redo if trail.on.is_empty() => model.say("nothing was undone"),
        Action::Undo => return vec![Effect::Send(Command::Undo)],
        Action::Redo => return vec![Effect::Send(Command::Redo)],
        Action::Edit => edit(model),
        Action::Branch => return branch(model),
        _ => {}
    }
    Vec::new()
}

/// The own token of the selected thread that is pointed at: by a search, or by the cursor of the timeline.
///
/// # Errors
/// In words: something is pointed at, but no token of this thread.
fn pointed_at(model: &Model) -> Result<Option<u64>, String> {
    let id = model.selected;
    if let Some((thread, span)) = model.search.as_ref().and_then(|s| s.current.as_ref())
        && *thread == id
    {
        let token = model
            .threads
            .get(&id)
            .and_then(|v| v.text.token_at(span.start));
        return match token {
            Some(token) => Ok(Some(token.index)),
            None => Err("what was found there was put in, not decoded".into()),
        };
    }
    let Some(unit) = model.timeline.cursor else {
        return Ok(None);
    };
    if model.timeline.lived {
        let key = model.key(Action::TimeAxis);
        return Err(format!(
            "the cursor stands on milliseconds: {key} turns to steps"
        ));
    }
    let lane = model.ideal.schedule.lanes.get(&id);
    let tokens: u64 = lane
        .into_iter()
        .flat_map(|lane| lane.decoding())
        .map(|(from, to)| to.min(unit + 1).saturating_sub(from))
        .sum();
    match tokens.checked_sub(1) {
        Some(index) => Ok(Some(index)),
        None => Err(format!("{id} had no token there yet")),
    }
}

fn branch(model: &mut Model) -> Vec<Effect> {
    let command = match pointed_at(model) {
        Ok(Some(index)) => Command::Branch {
            thread: Some(model.selected),
            token: Some(index + 1),
            step: None,
            of: None,
        },
        Ok(None) => here(None),
        Err(why) => {
            model.say(why);
            return Vec::new();
        }
    };
    vec![Effect::Send(command)]
}

/// A branch from where `of` (or the present line) ends.
fn here(of: Option<BranchId>) -> Command {
    Command::Branch {
        thread: None,
        token: None,
        step: None,
        of,
    }
}

fn edit(model: &mut Model) {
    let index = match pointed_at(model) {
        Ok(index) => index,
        Err(why) => {
            model.say(why);
            return;
        }
    };
    let id = model.selected;
    let branch = model.organization.branch();
    let kept = model
        .rewrite
        .take()
        .filter(|r| index.is_none() && (r.thread, r.branch) == (id, branch));
    let tokens = model.organization.thread(id).map_or(0, |t| t.tokens);
    let fresh = |view: &crate::tui::thread_view::ThreadView| {
        Rewrite::open(id, branch, &view.text, tokens, index)
    };
    model.rewrite = kept.or_else(|| model.threads.get(&id).map(fresh));
    if model.rewrite.is_some() {
        model.popups.push(Popup::Edit);
    }
}

/// Sends the edit of a thread's text, or says in it why it cannot be sent.
pub fn send_edit(model: &mut Model) -> Vec<Effect> {
    let present = model.organization.branch();
    let Some(rewrite) = &mut model.rewrite else {
        model.popups.pop();
        return Vec::new();
    };
    let id = rewrite.thread;
    let tokens = model.organization.thread(id).map_or(0, |t| t.tokens);
    let command = match model.threads.get(&id) {
        Some(view) if rewrite.branch == present => rewrite.command(&view.text, tokens),
        _ => Err("The organization has gone elsewhere meanwhile: esc, then edit again.".into()),
    };
    match command {
        Ok(command) => {
            model.popups.pop();
            model.rewrite = None;
            vec![Effect::Send(command)]
        }
        Err(why) => {
            rewrite.complaint = Some(why);
            Vec::new()
        }
    }
}

fn branches(model: &mut Model) -> Vec<Effect> {
    if model.organization.threads().len() == 0 {
        model.say("the session has not begun yet");
        return Vec::new();
    }
    let chosen = model.organization.branches().len().saturating_sub(1);
    model.popups.push(Popup::Branches {
        chosen,
        marked: None,
    });
    Vec::new()
}

/// Does something with the chosen branch of the tree.
pub fn tree(model: &mut Model, action: Action) -> Vec<Effect> {
    let rows = crate::tui::view::tree::rows(&model.organization);
    let Some(Popup::Branches { chosen, marked }) = model.popups.last_mut() else {
        return Vec::new();
    };
    let at = (*chosen).min(rows.len().saturating_sub(1));
    let Some(row) = rows.get(at).map(|row| row.id) else {
        return Vec::new();
    };
    match action {
        Action::BranchMark => {
            *marked = if *marked == Some(row) {
                None
            } else {
                Some(row)
            };
            Vec::new()
        }
        Action::BranchCompare => {
            let present = model.organization.branch();
            let other = marked.unwrap_or(present);
            if other == row {
                let key = model.key(Action::BranchMark);
                model.say(format!(
                    "mark another branch with {key}, or choose one that is not live"
                ));
                return Vec::new();
            }
            let (a, b) = (row.min(other), row.max(other));
            let line = |branch| LineRef {
                file: None,
                branch: Some(branch),
            };
            vec![Effect::Compare(line(a), line(b))]
        }
        Action::BranchCompareFile => field(model, Purpose::CompareWith),
        _ => {
            model.popups.pop();
            match model.feed {
                Feed::Live => vec![Effect::Send(here(Some(row)))],
                Feed::Replay(_) => vec![Effect::Seek(super::Place::Branch(row))],
            }
        }
    }
}

/// Compares the chosen branch with another session: `FILE` or `FILE#branch`.
pub fn compare_with(model: &mut Model, text: &str) -> Vec<Effect> {
    if text.is_empty() {
        return Vec::new();
    }
    let rows = crate::tui::view::tree::rows(&model.organization);
    let own = match model.popups.last() {
        Some(Popup::Branches { chosen, .. }) => rows.get(*chosen).map(|row| row.id),
        _ => None,
    };
    let (file, branch) = match text.rsplit_once('#') {
        Some((file, n)) if n.parse::<u32>().is_ok() => (file, n.parse().ok().map(BranchId)),
        _ => (text, None),
    };
    let here = LineRef {
        file: None,
        branch: own,
    };
    let there = LineRef {
        file: Some(PathBuf::from(file)),
        branch,
    };
    vec![Effect::Compare(here, there)]
}
