//! One request's text as it arrives.
//!
//! A task reads the answer and puts what it says into a queue of bounded length; where nobody takes it out
//! the task stops reading, and the server has to wait. Dropping the flow drops the connection.

use super::answer::{self, Chunk, Finish, News};
use super::client::Client;
use super::dialect::{self, Ask};
use super::error::{RemoteError, innermost, quote};
use super::lines::{Lines, TooLong};
use super::messages::Messages;
use super::probe::{Kind, Probe};
use super::runtime::Runtime;
use reqwest::Response;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Pieces that wait to be taken.
const QUEUE: usize = 64;

/// How long a full queue is waited for before the connection is given up: a run that is paused must not keep
/// a server's slot.
const PARKED: Duration = Duration::from_secs(10);

/// What a flow brings.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Text.
    Chunk(Chunk),
    /// The end.
    Finish(Finish),
    /// The end before its time.
    Failed(RemoteError),
}

/// One request.
#[derive(Debug)]
pub struct Flow {
    items: Receiver<Item>,
    bell: Arc<Bell>,
}

impl Flow {
    /// Asks, on the server's own thread. `bell` rings whenever something has arrived.
    pub(super) fn start(
        runtime: &Runtime,
        client: Arc<Client>,
        probe: Arc<Probe>,
        ask: Ask,
        bell: Arc<Bell>,
    ) -> Self {
        let (sender, items) = channel(QUEUE);
        let to = Outlet {
            sender,
            bell: Arc::clone(&bell),
        };
        runtime.spawn(async move {
            tokio::select! {
                () = to.sender.closed() => {}
                told = talk(&client, &probe, &ask, &to) => {
                    if let Err(Ended::Failed(error)) = told {
                        // Nobody takes it: then nobody needs to know.
                        let _ = to.put(Item::Failed(error)).await;
                    }
                }
            }
        });
        Self { items, bell }
    }

    /// What has arrived, if anything has.
    pub fn try_next(&mut self) -> Option<Item> {
        self.items.try_recv().ok()
    }

    /// Whether nothing can come any more. Without a finish or a failure before it, the connection was given up
    /// because nobody took anything.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.items.is_closed() && self.items.is_empty()
    }

    /// What arrives next; `None` if nothing does within `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<Item> {
        let until = Instant::now() + patience;
        loop {
            let heard = self.bell.count();
            if let Some(item) = self.try_next() {
                return Some(item);
            }
            if Instant::now() >= until {
                return None;
            }
            self.bell.wait(heard, until);
        }
    }
}

/// Wakes whoever waits for something from any of several flows.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: Mutex<u64>,
    ring: Condvar,
}

impl Bell {
    /// How often it has rung.
    pub fn count(&self) -> u64 {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has rung more often than `heard`, or until `until`.
    pub fn wait(&self, heard: u64, until: Instant) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = until.saturating_duration_since(Instant::now());
        drop(
            self.ring
                .wait_timeout_while(rung, patience, |n| *n == heard),
        );
    }

    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.ring.notify_all();
    }
}

struct Outlet {
    sender: Sender<Item>,
    bell: Arc<Bell>,
}

impl Outlet {
    /// Waits for room in the queue.
    async fn put(&self, item: Item) -> Result<(), Ended> {
        let sent = tokio::time::timeout(PARKED, self.sender.send(item)).await;
        self.bell.ring();
        match sent {
            Ok(Ok(())) => Ok(()),
            _ => Err(Ended::Parked),
        }
    }
}

/// Why a task ends before the text does.
enum Ended {
    /// Something is wrong.
    Failed(RemoteError),
    /// Nobody takes what it brings.
    Parked,
}

impl From<RemoteError> for Ended {
    fn from(error: RemoteError) -> Self {
        Self::Failed(error)
    }
}

/// Asks until an answer begins, then reads it.
async fn talk(client: &Client, probe: &Probe, ask: &Ask, to: &Outlet) -> Result<(), Ended> {
    let (path, body) = dialect::request(probe, ask);
    let mut attempt = 0;
    loop {
        let error = match begin(client, path, &body).await {
            Ok((response, first)) => return read(client, probe.kind, response, &first, to).await,
            Err(error) => error,
        };
        let Some(wait) = client.wait_before(attempt, &error) else {
            return Err(error.into());
        };
        tracing::info!(attempt, ?wait, "server: {error}");
        attempt += 1;
        tokio::time::sleep(wait).await;
    }
}

/// An answer and its first bytes: what happens before them can be tried again, what happens after cannot.
async fn begin(
    client: &Client,
    path: &str,
    body: &serde_json::Value,
) -> Result<(Response, Vec<u8>), RemoteError> {
    let mut response = client.stream(path, body).await?;
    let wait = client.patience.first_byte;
    match tokio::time::timeout(wait, response.chunk()).await {
        Ok(Ok(Some(first))) => Ok((response, first.to_vec())),
        Ok(Ok(None)) => Err(RemoteError::Unreachable {
            url: client.url(),
            why: "its answer is empty".into(),
        }),
        Ok(Err(error)) => Err(RemoteError::Unreachable {
            url: client.url(),
            why: innermost(&error),
        }),
        Err(_) => Err(RemoteError::Stalled {
            url: client.url(),
            after: wait,
            when: "before its answer",
        }),
    }
}

/// Reads an answer to its end.
async fn read(
    client: &Client,
    kind: Kind,
    mut response: Response,
    first: &[u8],
    to: &Outlet,
) -> Result<(), Ended> {
    let cut = |why: String| RemoteError::Cut {
        url: client.url(),
        why,
    };
    let too_long = |_: TooLong| RemoteError::Garbled {
        url: client.url(),
        what: "a line longer than any answer".into(),
    };
    let mut lines = Lines::default();
    let mut messages = Messages::new(kind);
    let mut arrived = lines.push(first).map_err(too_long)?;
    loop {
        if kind == Kind::Ollama {
            lines.alone();
        }
        for message in messages.of(arrived).await {
            if tell(client, kind, &message, to).await? {
                return Ok(());
            }
        }
        let more = tokio::time::timeout(client.patience.idle, response.chunk()).await;
        arrived = match more {
            Ok(Ok(Some(bytes))) => lines.push(&bytes).map_err(too_long)?,
            Ok(Ok(None)) => {
                // The last line may lack its newline, the last event its empty line.
                let rest = lines.rest().unwrap_or_default();
                for message in messages.of(vec![format!("{rest}\n"), "\n".into()]).await {
                    if tell(client, kind, &message, to).await? {
                        return Ok(());
                    }
                }
                return Err(cut("the text has no end".into()).into());
            }
            Ok(Err(error)) => return Err(cut(innermost(&error)).into()),
            Err(_) => {
                return Err(RemoteError::Stalled {
                    url: client.url(),
                    after: client.patience.idle,
                    when: "in the middle of its answer",
                }
                .into());
            }
        };
    }
}

/// Passes on what a message says; true if it was the last.
async fn tell(client: &Client, kind: Kind, message: &str, to: &Outlet) -> Result<bool, Ended> {
    let garbled = |what: String| RemoteError::Garbled {
        url: client.url(),
        what: quote(&client.hide(&what)),
    };
    if message.trim() == "[DONE]" {
        return Err(RemoteError::Cut {
            url: client.url(),
            why: "it ended without saying why".into(),
        }
        .into());
    }
    for news in answer::read(kind, message).map_err(garbled)? {
        match news {
            News::Chunk(chunk) => to.put(Item::Chunk(chunk)).await?,
            News::Finish(finish) => {
                to.put(Item::Finish(finish)).await?;
                return Ok(true);
            }
            News::Failed(message) if super::client::about_context(&message) => {
                return Err(RemoteError::ContextFull {
                    url: client.url(),
                    message: quote(&client.hide(&message)),
                }
                .into());
            }
            News::Failed(message) => {
                return Err(RemoteError::Failed {
                    url: client.url(),
                    status: 200,
                    message: quote(&client.hide(&message)),
                    wait: None,
                }
                .into());
            }
        }
    }
    Ok(false)
}
