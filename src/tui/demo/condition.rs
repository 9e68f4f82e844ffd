//! What a demo waits for: the places of command files, and a few more.

use crate::live::{At, Happened};
use crate::org::{Organization, Seat, Step, ThreadId};

/// Something that can be waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A place, as in files of commands.
    At(At),
    /// Somebody holds the seat of a thread.
    Seat(ThreadId, Seat),
    /// The run is over.
    Over,
}

const EXPECTED: &str = "expected one like `fork 1`, `join 1`, `return 2`, `end 2`, `answer`, `error`, `ask`, \
     `break fork`, `plan`, `step 40`, `tokens 1 20`, `branch 1 40`, `seat 2 human`, `over`, or a place as in \
     files of commands";

impl Condition {
    /// Reads `fork 1`, `step 40`, `seat 2 human`, `{"event": "fork:1"}`, ….
    ///
    /// # Errors
    /// In words: it cannot be waited for, and what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("`{text}` cannot be waited for{why}; {EXPECTED}");
        if text.starts_with('{') {
            let at: At = serde_json::from_str(text).map_err(|_| wrong(String::new()))?;
            if let At::Event { event } = &at {
                At::event(event)?;
            }
            return Ok(Self::At(at));
        }
        let (word, rest) = match text.split_once([' ', '\t', ':']) {
            Some((word, rest)) => (word, rest.trim()),
            None => (text, ""),
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| wrong(format!(": `{text}` is no number")))
        };
        let thread = |text: &str| {
            text.parse::<ThreadId>()
                .map_err(|e| wrong(format!(": {e}")))
        };
        Ok(match (word, words.as_slice()) {
            ("over", []) => Self::Over,
            ("step", [step]) => Self::At(At::Step {
                step: number(step)?,
            }),
            ("tokens", [id, count]) => Self::At(At::Tokens {
                thread: thread(id)?,
                tokens: number(count)?,
            }),
            ("branch", [branch, step]) => Self::At(At::Place {
                branch: crate::org::BranchId(
                    branch
                        .parse()
                        .map_err(|_| wrong(format!(": `{branch}` is no branch")))?,
                ),
                step: number(step)?,
            }),
            ("seat", [id, seat]) => Self::Seat(
                thread(id)?,
                seat.parse().map_err(|e| wrong(format!(": {e}")))?,
            ),
            (_, []) => Self::At(At::event(word).map_err(|_| wrong(String::new()))?),
            _ => {
                let name = format!("{word}:{rest}");
                Self::At(At::event(&name).map_err(|_| wrong(String::new()))?)
            }
        })
    }

    /// Whether it holds.
    #[must_use]
    pub fn met(&self, organization: &Organization, happened: &Happened) -> bool {
        match self {
            // A step is over once the next one has begun, and its text is on the screen.
            Self::At(At::Step { step }) => organization.now.step >= Step(*step),
            Self::At(at) => at.reached(organization, happened),
            Self::Seat(id, seat) => organization.thread(*id).is_some_and(|t| t.seat == *seat),
            Self::Over => organization.end.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_people_write_them_and_as_files_hold_them() {
        let event = |name: &str| Condition::At(At::Event { event: name.into() });
        for (text, expected) in [
            ("fork 1", event("fork:1")),
            ("fork:1", event("fork:1")),
            ("return", event("return")),
            ("answer", event("answer")),
            ("ask fork", event("ask:fork")),
            ("break text:a b", event("break:text:a b")),
            ("step 40", Condition::At(At::Step { step: 40 })),
            (r#"{"step": 40}"#, Condition::At(At::Step { step: 40 })),
            (r#"{"event": "join:2"}"#, event("join:2")),
            (
                "tokens 1 20",
                Condition::At(At::Tokens {
                    thread: ThreadId::worker(1).unwrap(),
                    tokens: 20,
                }),
            ),
            (
                "seat 2 human",
                Condition::Seat(ThreadId::worker(2).unwrap(), Seat::Human),
            ),
            ("over", Condition::Over),
        ] {
            assert_eq!(Condition::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_can_never_happen_cannot_be_waited_for() {
        for text in [
            "",
            "sneeze",
            "fork x",
            "fork organizer",
            "step many",
            "tokens 1",
            "seat 2 cat",
            "over 2",
            r#"{"stop": 1}"#,
            r#"{"event": "sneeze"}"#,
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }
}
