//! Breakpoints: places at which a run stops by itself, as in a debugger.
//!
//! A breakpoint is named by its spec (`fork`, `return:2`, `text:wrong`), which is also how it is written in
//! files and on command lines. Which ones are set belongs to the person, not to a line of history: going
//! back keeps them. Whether one fires is watched by the running session.

mod spec;

pub use spec::{BREAKPOINT_SPECS, BadBreakpoint};

use super::command::Command;
use super::event::ErrorKind;
use super::ids::{Seq, Step, ThreadId};
use super::organization::Organization;
use serde::{Deserialize, Serialize};

/// Bytes that a compiled pattern may take.
const LARGEST_PATTERN: usize = 1 << 20;

/// Where to stop.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breakpoint {
    /// A sub-query is forked: any, or the one of this worker.
    Fork(Option<ThreadId>),
    /// A worker is joined.
    Join(Option<ThreadId>),
    /// A worker returns.
    Return(Option<ThreadId>),
    /// The organizer begins its answer.
    Answer,
    /// A format error (or an engine error): any, or of this kind.
    Error(Option<ErrorKind>),
    /// This step is done.
    Step(Step),
    /// A thread has more than so many tokens: any worker, or this thread.
    Tokens {
        /// Whose.
        thread: Option<ThreadId>,
        /// More than these.
        over: u64,
    },
    /// A thread's text matches a regular expression: any thread's, or this one's.
    Text {
        /// Whose.
        thread: Option<ThreadId>,
        /// The expression; `^` and `$` stand for the ends of a line.
        pattern: String,
    },
}

impl Breakpoint {
    /// Those without an argument, in the order of lists.
    pub const PLAIN: [Self; 5] = [
        Self::Fork(None),
        Self::Join(None),
        Self::Return(None),
        Self::Answer,
        Self::Error(None),
    ];

    /// What it waits for, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let whom = |thread: &Option<ThreadId>| match thread {
            Some(id) => id.to_string(),
            None => "any worker".to_owned(),
        };
        match self {
            Self::Fork(thread) => format!("{} is forked", whom(thread)),
            Self::Join(thread) => format!("{} is joined", whom(thread)),
            Self::Return(thread) => format!("{} returns", whom(thread)),
            Self::Answer => "the organizer begins its answer".into(),
            Self::Error(None) => "any error happens".into(),
            Self::Error(Some(kind)) => format!("the error {kind:?} happens"),
            Self::Step(step) => format!("step {step} is done"),
            Self::Tokens { thread, over } => format!("{} has over {over} tokens", whom(thread)),
            Self::Text {
                thread: Some(id), ..
            } => format!("the text of {id} matches"),
            Self::Text { thread: None, .. } => "the text of any thread matches".into(),
        }
    }

    /// The compiled expression of a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(pattern: &str) -> Result<regex::bytes::Regex, String> {
        regex::bytes::RegexBuilder::new(pattern)
            .multi_line(true)
            .size_limit(LARGEST_PATTERN)
            .build()
            .map_err(|e| match e {
                regex::Error::CompiledTooBig(_) => "the expression is too large".into(),
                other => {
                    let text = other.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    last.trim_start_matches("error: ").to_owned()
                }
            })
    }
}

/// What becomes of a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakpointState {
    /// It stops the run.
    #[default]
    On,
    /// It is kept in the list, and stops nothing.
    Off,
    /// It leaves the list.
    Deleted,
}

impl BreakpointState {
    /// Whether this is what a command means that says nothing.
    #[must_use]
    pub fn is_on(&self) -> bool {
        *self == Self::On
    }
}

/// A breakpoint in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakpointRecord {
    /// Where.
    pub on: Breakpoint,
    /// Whether it stops the run.
    pub active: bool,
    /// The command that set it last.
    pub seq: Seq,
}

impl Breakpoint {
    /// Why no run ever comes there. Sessions in which such a one was set can still be read.
    ///
    /// # Errors
    /// In words for whoever asked.
    pub fn can_be_met(&self) -> Result<(), String> {
        match self {
            Self::Step(Step(0)) => {
                Err("steps count from 1, so step 0 is never done: expected step:1 or later".into())
            }
            _ => Ok(()),
        }
    }
}

impl Organization {
    /// Why a breakpoint cannot be put into this state.
    ///
    /// # Errors
    /// In words for whoever asked.
    pub fn check_breakpoint(&self, on: &Breakpoint, to: BreakpointState) -> Result<(), String> {
        if to == BreakpointState::On {
            on.can_be_met()?;
        }
        let present = self.breakpoints.iter().find(|b| b.on == *on);
        match (present, to) {
            (None, BreakpointState::Off | BreakpointState::Deleted) => {
                Err(format!("there is no breakpoint {on}"))
            }
            (Some(b), BreakpointState::On) if b.active => Err("it is set already".into()),
            (Some(b), BreakpointState::Off) if !b.active => Err("it is off already".into()),
            _ => Ok(()),
        }
    }

    pub(super) fn set_breakpoint(&mut self, on: &Breakpoint, to: BreakpointState, seq: Seq) {
        if to == BreakpointState::Deleted {
            self.breakpoints.retain(|b| b.on != *on);
            return;
        }
        let active = to == BreakpointState::On;
        match self.breakpoints.iter_mut().find(|b| b.on == *on) {
            Some(present) => {
                present.active = active;
                present.seq = seq;
            }
            None => self.breakpoints.push(BreakpointRecord {
                on: on.clone(),
                active,
                seq,
            }),
        }
    }

    /// A mark that a breakpoint left says where the run stands.
    pub(super) fn note_stop(&mut self, cause: Option<Seq>) {
        let by = self.commands.iter().rev().find(|c| Some(c.seq) == cause);
        if let Some(Command::Break { on, .. }) = by.map(|c| &c.command)
            && !self.stopped_at.contains(on)
        {
            self.stopped_at.push(on.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_read_as_it_is_written() {
        for spec in [
            "fork",
            "fork:2",
            "fork:1~2",
            "join",
            "join:2.1",
            "return",
            "return:3",
            "answer",
            "error",
            "error:JoinTwice",
            "step:40",
            "tokens:200",
            "tokens@organizer:7",
            "text:a b: c",
            "text@2:^wrong$",
        ] {
            let breakpoint: Breakpoint = spec.parse().unwrap();
            assert_eq!(breakpoint.to_string(), spec);
            let json = serde_json::to_string(&breakpoint).unwrap();
            assert_eq!(
                serde_json::from_str::<Breakpoint>(&json).unwrap(),
                breakpoint
            );
        }
        assert_eq!(
            "step 40".parse::<Breakpoint>().unwrap(),
            "step:40".parse().unwrap()
        );
    }

    #[test]
    fn what_is_no_breakpoint_is_explained() {
        for (spec, why) in [
            ("", "expected fork"),
            ("sneeze", "expected fork"),
            ("fork:x", "thread"),
            ("fork:organizer", "only workers"),
            ("fork@2", "expected fork"),
            ("answer:1", "expected fork"),
            ("error:Typo", "no error Typo"),
            ("step", "step needs a number"),
            ("step:-1", "step needs a number"),
            ("tokens:many", "tokens needs a number"),
            ("text:", "text needs an expression"),
            ("text:(", "unclosed group"),
            ("text:(a{999}){999}{999}", "too large"),
        ] {
            let error = spec.parse::<Breakpoint>().unwrap_err().to_string();
            assert!(error.contains(why), "{spec}: {error}");
        }
    }

    #[test]
    fn step_0_is_read_and_never_set() {
        let zero: Breakpoint = serde_json::from_str("\"step:0\"").unwrap();
        let org = Organization::new(4, 0.5);
        let why = org
            .check_breakpoint(&zero, BreakpointState::On)
            .unwrap_err();
        assert!(why.contains("steps count from 1"), "{why}");
        let one = "step:1".parse().unwrap();
        assert_eq!(org.check_breakpoint(&one, BreakpointState::On), Ok(()));
    }

    #[test]
    fn a_breakpoint_is_set_switched_and_deleted_by_its_spec() {
        let mut org = Organization::new(4, 0.5);
        let fork = Breakpoint::Fork(None);
        assert!(org.check_breakpoint(&fork, BreakpointState::Off).is_err());
        org.set_breakpoint(&fork, BreakpointState::On, Seq(1));
        assert!(org.check_breakpoint(&fork, BreakpointState::On).is_err());
        org.set_breakpoint(&fork, BreakpointState::Off, Seq(2));
        assert!(!org.breakpoints[0].active);
        assert!(org.check_breakpoint(&fork, BreakpointState::Off).is_err());
        assert!(org.check_breakpoint(&fork, BreakpointState::On).is_ok());
        org.set_breakpoint(&fork, BreakpointState::Deleted, Seq(3));
        assert_eq!(org.breakpoints, []);
    }
}
