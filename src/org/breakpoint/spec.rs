//! Breakpoints as words: how one is written and read.

use super::Breakpoint;
use crate::org::ids::{BadThreadId, Step, ThreadId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Every kind of spec, for messages and help.
pub const BREAKPOINT_SPECS: &str = "fork, fork:2, join, join:2, return, return:2, answer, error, \
     error:JoinTwice, step:40, tokens:200 (a worker over 200 tokens), tokens@2:200, text:REGEX or text@2:REGEX";

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, thread) = match self {
            Self::Fork(thread) => ("fork", thread),
            Self::Join(thread) => ("join", thread),
            Self::Return(thread) => ("return", thread),
            Self::Answer => return f.write_str("answer"),
            Self::Error(None) => return f.write_str("error"),
            Self::Error(Some(kind)) => return write!(f, "error:{kind:?}"),
            Self::Step(step) => return write!(f, "step:{step}"),
            Self::Tokens { thread, over } => return write!(f, "tokens{}:{over}", At(*thread)),
            Self::Text { thread, pattern } => return write!(f, "text{}:{pattern}", At(*thread)),
        };
        match thread {
            None => f.write_str(word),
            Some(id) => write!(f, "{word}:{id}"),
        }
    }
}

/// `@2`, or nothing.
struct At(Option<ThreadId>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(id) => write!(f, "@{id}"),
        }
    }
}

/// Text that names no breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{spec}` is no breakpoint{why}; expected {BREAKPOINT_SPECS}")]
pub struct BadBreakpoint {
    spec: String,
    why: String,
}

impl FromStr for Breakpoint {
    type Err = BadBreakpoint;

    fn from_str(spec: &str) -> Result<Self, BadBreakpoint> {
        let bad = |why: String| BadBreakpoint {
            spec: spec.chars().take(80).collect(),
            why: if why.is_empty() {
                why
            } else {
                format!(" ({why})")
            },
        };
        let text = spec.trim();
        let (head, rest) = match text.find([':', ' ', '\t']) {
            Some(at) => (&text[..at], Some(text[at + 1..].trim())),
            None => (text, None),
        };
        let rest = rest.filter(|rest| !rest.is_empty());
        let (word, at) = match head.split_once('@') {
            Some((word, at)) => (word, Some(at)),
            None => (head, None),
        };
        let thread = at
            .map(|id| id.parse::<ThreadId>().map_err(|e| bad(e.to_string())))
            .transpose()?;
        let worker = || -> Result<Option<ThreadId>, BadBreakpoint> {
            let Some(name) = rest else { return Ok(None) };
            let id: ThreadId = name.parse().map_err(|e: BadThreadId| bad(e.to_string()))?;
            if id.is_organizer() {
                return Err(bad("only workers are forked, joined or return".into()));
            }
            Ok(Some(id))
        };
        let count = || -> Result<u64, BadBreakpoint> {
            rest.and_then(|n| n.parse().ok())
                .ok_or_else(|| bad(format!("{word} needs a number")))
        };
        Ok(match (word, thread) {
            ("fork", None) => Self::Fork(worker()?),
            ("join", None) => Self::Join(worker()?),
            ("return", None) => Self::Return(worker()?),
            ("answer", None) if rest.is_none() => Self::Answer,
            ("error", None) => match rest {
                None => Self::Error(None),
                Some(kind) => Self::Error(Some(
                    serde_json::from_value(kind.into())
                        .map_err(|_| bad(format!("there is no error {kind}")))?,
                )),
            },
            ("step", None) => Self::Step(Step(count()?)),
            ("tokens", thread) => Self::Tokens {
                thread,
                over: count()?,
            },
            ("text", thread) => {
                let pattern = rest.ok_or_else(|| bad("text needs an expression".into()))?;
                Self::compile(pattern).map_err(bad)?;
                Self::Text {
                    thread,
                    pattern: pattern.to_owned(),
                }
            }
            _ => return Err(bad(String::new())),
        })
    }
}

impl Serialize for Breakpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Breakpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}
