//! What callers may do to sequences between two steps.

use super::planner::Planner;
use super::sequence::Sequence;
use crate::engine::contract::{SeqId, SeqOp, Stop};
use crate::engine::sampler::Key;

impl Planner {
    /// Apply one operation. Unknown sequences are ignored. Returns why the sequence must stop, if it must.
    pub fn apply(&mut self, op: SeqOp) -> Option<(SeqId, Stop)> {
        match op {
            SeqOp::Open {
                seq,
                key,
                sampling,
                priority,
                prefix,
            } => {
                if let Some(existing) = self.find(seq) {
                    existing.running = false;
                    return Some((seq, Stop::Failed(format!("{seq} is open already"))));
                }
                let parent =
                    prefix.and_then(|(id, len)| self.get(id).map(|p| (p, len.min(p.tokens.len()))));
                let opened = Sequence {
                    id: seq,
                    key: Key::new(&key),
                    sampling,
                    priority,
                    forbid: None,
                    epoch: Default::default(),
                    running: false,
                    tokens: parent.map_or_else(Vec::new, |(p, len)| p.tokens[..len].to_vec()),
                    decoded: parent.map_or_else(Vec::new, |(p, len)| p.decoded[..len].to_vec()),
                    computed: 0,
                    pages: Vec::new(),
                    parent: parent.map(|(p, len)| (p.id, len)),
                    evicted: false,
                };
                self.sequences.push(opened);
            }
            SeqOp::Append {
                seq,
                tokens,
                decoded,
            } => {
                let vocab = self.vocab;
                let sequence = self.find(seq)?;
                if let Some(bad) = tokens.iter().find(|t| **t as usize >= vocab) {
                    sequence.running = false;
                    return Some((
                        seq,
                        Stop::Failed(format!("token {bad} is not in the vocabulary of {vocab}")),
                    ));
                }
                sequence.append(&tokens, decoded);
            }
            SeqOp::Cut { seq, len, epoch } => {
                let pool = &mut self.pool;
                if let Some(sequence) = self.sequences.iter_mut().find(|s| s.id == seq) {
                    sequence.cut(len, pool);
                    sequence.epoch = epoch;
                }
                for child in &mut self.sequences {
                    if let Some((parent, shared)) = &mut child.parent
                        && *parent == seq
                    {
                        *shared = (*shared).min(len);
                    }
                }
            }
            SeqOp::Run(seq) => self.find(seq)?.running = true,
            SeqOp::Hold(seq) => self.find(seq)?.running = false,
            SeqOp::Sample(seq, sampling) => self.find(seq)?.sampling = sampling,
            SeqOp::Forbid(seq, veto) => self.find(seq)?.forbid = veto,
            SeqOp::Close(seq) => {
                if let Some(at) = self.sequences.iter().position(|s| s.id == seq) {
                    self.sequences.remove(at).evict(&mut self.pool);
                }
                for child in &mut self.sequences {
                    child.parent = child.parent.filter(|(parent, _)| *parent != seq);
                }
            }
        }
        None
    }
}
