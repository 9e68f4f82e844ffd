//! Lines to messages, as a kind of server sends them.

use super::probe::Kind;
use eventsource_stream::Eventsource;
use futures_util::stream::StreamExt;

/// Lines to messages: server-sent events, or one message a line.
pub(super) enum Messages {
    Lines,
    Events(Box<Events>),
}

type Pieces =
    futures_util::stream::Iter<std::vec::IntoIter<Result<String, std::convert::Infallible>>>;

/// Lines of an event that is not complete yet.
#[derive(Default)]
pub(super) struct Events {
    held: Vec<String>,
}

impl Messages {
    pub fn new(kind: Kind) -> Self {
        if kind == Kind::Ollama {
            Self::Lines
        } else {
            Self::Events(Box::default())
        }
    }

    /// The messages that these lines complete.
    pub async fn of(&mut self, lines: Vec<String>) -> Vec<String> {
        match self {
            Self::Lines => lines
                .into_iter()
                .filter(|line| !line.trim().is_empty())
                .collect(),
            Self::Events(events) => {
                let mut out = Vec::new();
                for line in lines {
                    let ends = line.trim_end().is_empty();
                    events.held.push(line);
                    if ends {
                        out.extend(parse(std::mem::take(&mut events.held)).await);
                    }
                }
                out
            }
        }
    }
}

/// The data of a whole event.
async fn parse(lines: Vec<String>) -> Vec<String> {
    let pieces: Vec<Result<String, std::convert::Infallible>> = lines.into_iter().map(Ok).collect();
    let pieces: Pieces = futures_util::stream::iter(pieces);
    let mut events = pieces.eventsource();
    let mut out = Vec::new();
    // Whole lines of text always parse.
    while let Some(Ok(event)) = events.next().await {
        out.push(event.data);
    }
    out
}
