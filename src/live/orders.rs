//! Commands from a file, each due at a place in the run.

use super::emitter::Emitter;
use super::happened::Happened;
use crate::org::{AskKind, BranchId, Breakpoint, Command, ErrorKind, Organization, ThreadId};
use serde::Deserialize;
use std::collections::VecDeque;

/// When an order is due.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum At {
    /// At the first boundary at or after this step.
    Step {
        /// The step.
        step: u64,
    },
    /// Once a thread has decoded this many tokens.
    Tokens {
        /// Whose.
        thread: ThreadId,
        /// How many.
        tokens: u64,
    },
    /// On a branch, at the first boundary at or after this step.
    Place {
        /// The branch.
        branch: BranchId,
        /// The step.
        step: u64,
    },
    /// Once something has happened: `fork:2`, `join:1`, `return:1`, `end:1`, `answer`, `error`, …
    Event {
        /// What.
        event: String,
    },
}

/// A command and when it is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// When; `None`: at once.
    pub at: Option<At>,
    /// It comes right after the one before it, wherever that one leads. In a file: an order without a place.
    pub together: bool,
    /// Its line in the file, from 1; `None`: from elsewhere.
    pub line: Option<usize>,
    /// What.
    pub command: Command,
}

/// A line that is no order.
#[derive(Debug, thiserror::Error)]
#[error("{path}, line {line}: {message}")]
pub struct OrderError {
    /// The file.
    pub path: String,
    /// 1-based.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Parses the lines of a commands file; `path` is for messages.
///
/// # Errors
/// The first line that is not an order, with what was expected.
pub fn parse(text: &str, path: &str) -> Result<VecDeque<Order>, OrderError> {
    let mut orders: VecDeque<Order> = VecDeque::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let mut order = parse_line(line).map_err(|message| OrderError {
            path: path.to_owned(),
            line: i + 1,
            message,
        })?;
        order.line = Some(i + 1);
        if order.at.is_none() {
            order.together = !orders.is_empty();
            order.at = orders.back().and_then(|before| before.at.clone());
        }
        orders.push_back(order);
    }
    Ok(orders)
}

const WHEN: &str = "expected {\"step\": n}, {\"branch\": n, \"step\": n}, {\"thread\": \"1\", \"tokens\": n} or {\"event\": \"fork:2\"}";

fn parse_line(line: &str) -> Result<Order, String> {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)
        .map_err(|e| {
            format!("{e}; expected an object like {{\"at\": {{\"step\": 5}}, \"do\": \"pause\"}}")
        })?;
    let at: Option<At> = match object.remove("at") {
        None => None,
        Some(value) => {
            let shown = value.to_string();
            let at =
                serde_json::from_value(value).map_err(|_| format!("`at` is {shown}; {WHEN}"))?;
            Some(at)
        }
    };
    if let Some(At::Event { event }) = &at {
        check_event(event)?;
    }
    let command = serde_json::from_value(serde_json::Value::Object(object))
        .map_err(|e| format!("{e}; see `orgtop commands`"))?;
    Ok(Order {
        at,
        together: false,
        line: None,
        command,
    })
}

/// Only what can happen can be waited for.
fn check_event(event: &str) -> Result<(), String> {
    let (word, what) = match event.split_once(':') {
        Some((word, what)) => (word, Some(what)),
        None => (event, None),
    };
    let known = match (word, what) {
        ("fork" | "join" | "return" | "end" | "error" | "answer" | "ask" | "plan", None) => true,
        ("ask", Some(what)) => what == "plan" || what.parse::<AskKind>().is_ok(),
        ("end", Some(id)) => id.parse::<ThreadId>().is_ok(),
        ("fork" | "join" | "return", Some(id)) => {
            id.parse::<ThreadId>().is_ok_and(|id| !id.is_organizer())
        }
        ("break", None) => true,
        ("break", Some(spec)) => spec.parse::<Breakpoint>().is_ok(),
        ("error", Some(kind)) => {
            serde_json::from_value::<ErrorKind>(serde_json::Value::from(kind)).is_ok()
        }
        _ => false,
    };
    if known {
        return Ok(());
    }
    Err(format!(
        "`{event}` is no event; expected fork, join, return or end, alone or with a thread as in `fork:2`, \
         or error, error:JoinTwice, answer, break, break:fork, ask, ask:fork, plan"
    ))
}

impl At {
    /// Whether an organization to which this has happened has come there.
    #[must_use]
    pub fn reached(&self, organization: &Organization, happened: &Happened) -> bool {
        match self {
            Self::Step { step } => organization.now.step.0 >= *step,
            Self::Place { branch, step } => {
                organization.branch() == *branch && organization.now.step.0 >= *step
            }
            Self::Tokens { thread, tokens } => organization
                .thread(*thread)
                .is_some_and(|t| t.tokens >= *tokens),
            Self::Event { event } => happened.has(event),
        }
    }

    /// Something that can happen, by its name.
    ///
    /// # Errors
    /// It never can; with what was expected.
    pub fn event(name: &str) -> Result<Self, String> {
        check_event(name)?;
        Ok(Self::Event { event: name.into() })
    }
}

impl Order {
    /// Whether its place has been reached.
    #[must_use]
    pub fn due(&self, emitter: &Emitter) -> bool {
        match &self.at {
            None => true,
            // A step is reached before anything has happened in it.
            Some(At::Step { step }) => emitter.step.0 >= *step,
            Some(At::Place { branch, step }) => {
                emitter.org.branch() == *branch && emitter.step.0 >= *step
            }
            Some(at) => at.reached(&emitter.org, emitter.happened()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_orders_in_file_order() {
        let text = r#"{"at": {"step": 5}, "do": "pause"}

            {"at": {"thread": "1", "tokens": 3}, "do": "kill", "thread": "1"}
            {"at": {"event": "fork:2"}, "do": "fork", "query": "q"}
            {"do": "resume"}"#;
        let orders = parse(text, "c").unwrap();
        assert_eq!(orders.len(), 4);
        assert_eq!(
            orders[1].command,
            Command::Kill {
                thread: ThreadId::worker(1).unwrap()
            }
        );
        assert_eq!(orders[3].at, orders[2].at);
        let lines: Vec<Option<usize>> = orders.iter().map(|o| o.line).collect();
        assert_eq!(lines, [Some(1), Some(3), Some(4), Some(5)]);
    }

    #[test]
    fn without_a_place_the_first_order_is_due_at_once() {
        assert_eq!(parse(r#"{"do": "pause"}"#, "c").unwrap()[0].at, None);
    }

    #[test]
    fn what_can_never_happen_cannot_be_waited_for() {
        for event in [
            "fork",
            "fork:1~2",
            "join:2",
            "return:2.1",
            "end",
            "end:organizer",
            "error",
            "error:JoinTwice",
            "answer",
        ] {
            assert_eq!(check_event(event), Ok(()), "{event}");
        }
        for event in [
            "",
            "fork:",
            "fork:x",
            "fork:organizer",
            "answer:1",
            "error:Typo",
            "sneeze",
            "Fork:1",
        ] {
            assert!(check_event(event).is_err(), "{event}");
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (line, expected) in [
            ("x", "c, line 1"),
            (r#"{"do": "dance"}"#, "dance"),
            (r#"{"do": "kill"}"#, "thread"),
            (
                r#"{"at": {"stop": 1}, "do": "pause"}"#,
                "expected {\"step\"",
            ),
            (r#"{"at": {"event": "sneeze"}, "do": "pause"}"#, "sneeze"),
        ] {
            let error = parse(line, "c").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
