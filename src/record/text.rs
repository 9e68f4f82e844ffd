//! The text of threads as it lies in records: pieces, and where each thread's text stands.

use crate::org::{
    Author, Body, Event, Seq, SpliceKind, Step, TextMark, TextStand, ThreadEnd, ThreadId,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// How a piece of text came into a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Decoded, or written by whoever holds the seat.
    Decoded,
    /// Put in, decoded by nobody.
    Spliced {
        /// Why.
        kind: SpliceKind,
        /// Whose result it is.
        of: Option<ThreadId>,
        /// How that worker ended.
        result: Option<ThreadEnd>,
        /// Cut short to fit.
        shortened: bool,
    },
}

/// The text of one record, or of its first tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct TextPiece {
    /// The record's place in the session.
    pub seq: Seq,
    /// The step of its first token.
    pub step: Step,
    /// When.
    pub us: u64,
    /// Who wrote it.
    pub by: Author,
    /// How it came here.
    pub origin: Origin,
    /// Position of its first byte in the thread's text.
    pub at: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its token ids.
    pub ids: Vec<u32>,
    /// Byte length per token; empty for splices.
    pub lens: Vec<u32>,
    /// Log probability per token, where known.
    pub logprobs: Vec<f32>,
    /// Alternatives per token, where known.
    pub top: Vec<Vec<(u32, f32)>>,
}

impl TextPiece {
    /// The text of `event`, if it has any, as the part of its thread's text that begins at `at`.
    #[must_use]
    pub fn of(event: Event, at: u64) -> Option<Self> {
        let (origin, bytes, ids, lens, logprobs, top) = match event.body {
            Body::Tokens {
                ids,
                bytes,
                lens,
                logprobs,
                top,
            } => (Origin::Decoded, bytes, ids, lens, logprobs, top),
            Body::Splice {
                splice,
                ids,
                bytes,
                of,
                result,
                shortened,
            } => {
                let origin = Origin::Spliced {
                    kind: splice,
                    of,
                    result,
                    shortened,
                };
                (origin, bytes, ids, Vec::new(), Vec::new(), Vec::new())
            }
            _ => return None,
        };
        Some(Self {
            seq: event.seq,
            step: event.step,
            us: event.us,
            by: event.by,
            origin,
            at,
            bytes: bytes.0,
            ids,
            lens,
            logprobs,
            top,
        })
    }
}

/// The bytes of text in `event`; `None` for events without text.
#[must_use]
pub fn text_in(event: &Event) -> Option<&[u8]> {
    match &event.body {
        Body::Tokens { bytes, .. } | Body::Splice { bytes, .. } => Some(&bytes.0),
        _ => None,
    }
}

/// Splits token event `event` after its first `keep` tokens: the event keeps those, the rest comes
/// back. `None` where there is no rest (or nothing to keep), or the event has no tokens.
#[must_use]
pub fn split_tokens(event: &mut Event, keep: usize) -> Option<Event> {
    let step = event.step;
    let Body::Tokens {
        ids,
        bytes,
        lens,
        logprobs,
        top,
    } = &mut event.body
    else {
        return None;
    };
    if keep == 0 || keep >= ids.len() {
        return None;
    }
    let byte: u64 = lens.iter().take(keep).map(|n| u64::from(*n)).sum();
    let byte = usize::try_from(byte)
        .unwrap_or(usize::MAX)
        .min(bytes.0.len());
    let rest = Body::Tokens {
        ids: ids.split_off(keep),
        bytes: crate::org::TextBytes(bytes.0.split_off(byte)),
        lens: lens.split_off(keep.min(lens.len())),
        logprobs: logprobs.split_off(keep.min(logprobs.len())),
        top: top.split_off(keep.min(top.len())),
    };
    Some(Event {
        seq: event.seq,
        us: event.us,
        step: Step(step.0.saturating_add(keep as u64)),
        branch: event.branch,
        thread: event.thread,
        by: event.by.clone(),
        cause: event.cause,
        body: rest,
    })
}

#[derive(Clone, Default)]
struct Standing {
    hash: Sha256,
    bytes: u64,
    last: u64,
}

impl Standing {
    /// At the beginning of a branch, whose record lies at `offset`: that record stands for the text before
    /// it.
    fn on_a_branch(stand: &TextStand, offset: u64) -> Self {
        Self {
            hash: Sha256::new_with_prefix(stand.hash.as_bytes()),
            bytes: stand.bytes,
            last: offset,
        }
    }
}

/// Where a text of these bytes stands.
#[must_use]
pub(super) fn stand(bytes: &[u8]) -> TextStand {
    TextStand {
        bytes: bytes.len() as u64,
        hash: hex(&Sha256::digest(bytes)),
    }
}

/// Where every thread's text stands, with a rolling hash over its bytes.
#[derive(Clone, Default)]
pub struct Texts {
    threads: BTreeMap<ThreadId, Standing>,
}

impl Texts {
    /// Takes in the record of `event` that lies at byte `offset` of the file. A thread that begins
    /// (again) has no text.
    pub fn apply(&mut self, event: &Event, offset: u64) {
        if let Body::Branch { texts, .. } = &event.body {
            self.threads = texts
                .iter()
                .map(|(id, stand)| (*id, Standing::on_a_branch(stand, offset)))
                .collect();
            return;
        }
        let Some(id) = event.thread else { return };
        if let Some(bytes) = text_in(event) {
            let standing = self.threads.entry(id).or_default();
            standing.hash.update(bytes);
            standing.bytes += bytes.len() as u64;
            standing.last = offset;
        } else if matches!(event.body, Body::Thread { .. }) {
            self.threads.remove(&id);
        }
    }

    /// Byte offset of the thread's last record with text.
    #[must_use]
    pub fn last(&self, id: ThreadId) -> Option<u64> {
        self.threads.get(&id).map(|s| s.last)
    }

    /// A mark per thread that has text.
    #[must_use]
    pub fn marks(&self) -> BTreeMap<ThreadId, TextMark> {
        self.threads
            .iter()
            .map(|(id, s)| {
                let mark = TextMark {
                    bytes: s.bytes,
                    hash: hex(&s.hash.clone().finalize()),
                    last: s.last,
                };
                (*id, mark)
            })
            .collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{BranchId, TextBytes};

    fn tokens(parts: &[&str]) -> Event {
        Event {
            seq: Seq(4),
            us: 9,
            step: Step(10),
            branch: BranchId(0),
            thread: ThreadId::worker(1),
            by: Author::Model,
            cause: None,
            body: Body::Tokens {
                ids: (0..parts.len() as u32).collect(),
                bytes: TextBytes(parts.concat().into_bytes()),
                lens: parts.iter().map(|p| p.len() as u32).collect(),
                logprobs: vec![-0.5; parts.len()],
                top: vec![],
            },
        }
    }

    #[test]
    fn a_split_token_event_is_the_two_parts_of_itself() {
        let mut head = tokens(&["ab", "", "c", "dé"]);
        let rest = split_tokens(&mut head, 3).unwrap();
        assert_eq!(text_in(&head), Some("abc".as_bytes()));
        assert_eq!(text_in(&rest), Some("dé".as_bytes()));
        assert_eq!(rest.step, Step(13));
        assert_eq!(head.last_step(), Step(12));
        assert!(split_tokens(&mut head, 3).is_none());
        assert!(split_tokens(&mut head, 0).is_none());
    }

    #[test]
    fn the_hash_is_over_all_text_of_the_thread_since_it_began() {
        let mut texts = Texts::default();
        let id = ThreadId::worker(1).unwrap();
        texts.apply(&tokens(&["ab"]), 100);
        texts.apply(&tokens(&["c"]), 200);
        let mark = texts.marks().remove(&id).unwrap();
        assert_eq!((mark.bytes, mark.last), (3, 200));
        assert_eq!(
            mark.hash,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let mut begin = tokens(&[]);
        begin.body = Body::Thread {
            role: crate::org::Role::Worker,
            seat: crate::org::Seat::Model,
            query: String::new(),
            prompt: vec![],
        };
        texts.apply(&begin, 300);
        assert_eq!(texts.last(id), None);
    }
}
