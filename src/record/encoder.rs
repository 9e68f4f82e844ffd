//! Events to bytes, with everything that only the writer of a file knows: offsets, links, hashes.
//!
//! Pure: no file, no clock. The recorder, copies and generators of sessions write through it.

use super::escape::escape_controls;
use super::header::Header;
use super::line;
use super::text::{Texts, text_in};
use crate::org::{Body, Event, ThreadId};

/// Bytes of events after which a keyframe pays, for small states.
const KEYFRAME_BYTES: u64 = 2 << 20;

/// Turns the events of one session into its lines, in order.
#[derive(Clone, Default)]
pub struct Encoder {
    offset: u64,
    texts: Texts,
    threads: u64,
    prev_keyframe: Option<u64>,
    since_keyframe: u64,
    keyframe_bytes: u64,
}

impl Encoder {
    /// An encoder of a new session: appends the header line to `out`.
    #[must_use]
    pub fn begin(header: &Header, out: &mut Vec<u8>) -> Self {
        let start = out.len();
        serde_json::to_writer(&mut *out, header)
            .expect("a header has string keys only and memory takes every write");
        escape_controls(out, start);
        out.push(b'\n');
        Self {
            offset: (out.len() - start) as u64,
            ..Self::default()
        }
    }

    /// Takes note of a record that a file holds already, `len` bytes with its newline.
    pub fn follow(&mut self, event: &Event, offset: u64, len: u64) {
        self.texts.apply(event, offset);
        self.offset = offset + len;
        self.since_keyframe += len;
        match &event.body {
            Body::Thread { .. } => self.threads += 1,
            Body::Branch { state, .. } => self.threads = state.threads().len() as u64,
            Body::Keyframe { .. } => {
                self.prev_keyframe = Some(offset);
                self.since_keyframe = 0;
                self.keyframe_bytes = len;
            }
            _ => {}
        }
    }

    /// The next record lies at byte `offset`: for bytes that are no record.
    pub fn skip_to(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Byte offset of the next record.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Byte offset of the last record with text of thread `id`.
    pub(super) fn last_text(&self, id: ThreadId) -> Option<u64> {
        self.texts.last(id)
    }

    /// Appends the line of `event` to `out`: text records learn where the one before lies, keyframes
    /// where every text and the keyframe before stand, the run's end how many threads there were.
    pub fn encode(&mut self, mut event: Event, out: &mut Vec<u8>) {
        let start = out.len();
        if let Body::Keyframe {
            texts,
            prev_keyframe,
            ..
        } = &mut event.body
        {
            *texts = self.texts.marks();
            *prev_keyframe = self.prev_keyframe;
        }
        let prev = text_in(&event)
            .and(event.thread)
            .and_then(|id| self.texts.last(id));
        line::encode(&event, prev, out);
        if matches!(event.body, Body::RunEnd { .. }) {
            out.pop();
            line::push_field(out, "threads", self.threads);
            out.push(b'\n');
        }
        escape_controls(out, start);
        self.follow(&event, self.offset, (out.len() - start) as u64);
    }

    /// Bytes of events since the last keyframe.
    #[must_use]
    pub fn since_keyframe(&self) -> u64 {
        self.since_keyframe
    }

    /// After how many bytes the next keyframe pays: a big state is repeated less often, so that
    /// keyframes stay a small part of the file.
    #[must_use]
    pub fn keyframe_every(&self) -> u64 {
        KEYFRAME_BYTES.max(4 * self.keyframe_bytes)
    }

    /// Size of the last keyframe; 0 before the first.
    #[must_use]
    pub fn keyframe_bytes(&self) -> u64 {
        self.keyframe_bytes
    }
}
