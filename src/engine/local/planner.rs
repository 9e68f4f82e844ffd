//! Which rows the next step computes.
//!
//! Sequences are kept in the order in which they were opened. A step takes the last token of every sequence
//! that decodes, and prompts up to a budget of rows, so that workers keep streaming while another takes in a
//! long text. Where pages come from is decided in the room `room`.

use super::model::{Batch, Segment};
use super::pages::{PAGE, PagePool, pages_for};
use super::room::Room;
use super::sequence::Sequence;
use crate::engine::contract::{Priority, SeqId, Stop};

/// Sequences, pages, and the rules between them.
#[derive(Debug)]
pub struct Planner {
    /// All sequences, oldest first.
    pub(super) sequences: Vec<Sequence>,
    pub(super) pool: PagePool,
    /// Longest sequence in tokens.
    context: usize,
    /// Token ids below this exist.
    pub(super) vocab: usize,
    /// Prompt rows in one step.
    budget: usize,
}

/// One sequence's share of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Whose.
    pub seq: SeqId,
    /// How many rows.
    pub rows: usize,
    /// Whether a token is drawn after the last of them.
    pub draws: bool,
}

/// What a step does.
#[derive(Debug, Default)]
pub struct Plan {
    /// Rows to compute.
    pub batch: Batch,
    /// Whose they are, in the order of the batch's segments.
    pub shares: Vec<Share>,
    /// Sequences that cannot go on; they are held.
    pub stopped: Vec<(SeqId, Stop)>,
    /// Running sequences that found no room.
    pub queued: usize,
    /// Rows that are prompt, not the token decoded last.
    pub prefilled: usize,
}

impl Planner {
    /// A planner without sequences.
    #[must_use]
    pub fn new(pages: u32, context: usize, vocab: usize, budget: usize) -> Self {
        Self {
            sequences: Vec::new(),
            pool: PagePool::new(pages),
            context,
            vocab,
            budget: budget.max(1),
        }
    }

    /// The page pool, to look at.
    #[must_use]
    pub fn pool(&self) -> &PagePool {
        &self.pool
    }

    /// A sequence.
    #[must_use]
    pub fn get(&self, id: SeqId) -> Option<&Sequence> {
        self.sequences.iter().find(|s| s.id == id)
    }

    pub(super) fn find(&mut self, id: SeqId) -> Option<&mut Sequence> {
        self.sequences.iter_mut().find(|s| s.id == id)
    }

    /// Decide what the next step computes and hand out pages for it.
    pub fn plan(&mut self) -> Plan {
        let mut plan = Plan::default();
        let mut budget = self.budget;
        let mut blocked = false;
        for at in self.order() {
            self.stop_if_full(at, &mut plan);
            if !self.is_due(at) {
                continue;
            }
            self.adopt(at);
            if self.parent_is_at_it(at, &plan) {
                continue;
            }
            let newcomer =
                self.sequences[at].pages.len() < pages_for(self.sequences[at].computed + 1);
            let newcomer = newcomer && self.sequences[at].pending() > 1;
            let (first, rows) = self.rows(at, budget);
            if rows == 0 {
                continue;
            }
            let room = if blocked && newcomer && self.sequences[at].priority != Priority::Organizer
            {
                Room::Later
            } else {
                self.make_room(at, newcomer, &plan)
            };
            match room {
                Room::Granted => {}
                Room::Later => {
                    blocked |= newcomer;
                    plan.queued += usize::from(self.sequences[at].running);
                    continue;
                }
                Room::Never if self.sequences[at].running => {
                    self.stop(at, Stop::ContextFull, &mut plan);
                    continue;
                }
                Room::Never => {
                    // a template without room: those who want it do without
                    self.sequences[at].evicted = true;
                    continue;
                }
            }
            let sequence = &self.sequences[at];
            let prompt = !sequence.is_decoding();
            if prompt {
                budget -= rows;
                plan.prefilled += rows;
            }
            plan.shares.push(Share {
                seq: sequence.id,
                rows,
                draws: sequence.running && first + rows == sequence.tokens.len(),
            });
        }
        self.fill_batch(&mut plan);
        plan
    }

    /// The step was computed.
    pub fn computed(&mut self, plan: &Plan) {
        for share in &plan.shares {
            if let Some(sequence) = self.find(share.seq) {
                sequence.computed += share.rows;
            }
        }
    }

    /// A sequence decoded a token.
    pub fn decoded(&mut self, seq: SeqId, token: u32) {
        if let Some(sequence) = self.find(seq) {
            sequence.append(&[token], true);
        }
    }

    /// The engine failed on a sequence.
    pub fn hold(&mut self, seq: SeqId) {
        if let Some(sequence) = self.find(seq) {
            sequence.running = false;
        }
    }

    /// Organizers first, then templates (others wait for them), then workers by age.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sequences.len()).collect();
        order.sort_by_key(|at| match self.sequences[*at].priority {
            Priority::Organizer => 0,
            Priority::Template => 1,
            Priority::Worker => 2,
        });
        order
    }

    fn stop(&mut self, at: usize, why: Stop, plan: &mut Plan) {
        let sequence = &mut self.sequences[at];
        sequence.running = false;
        plan.stopped.push((sequence.id, why));
    }

    fn stop_if_full(&mut self, at: usize, plan: &mut Plan) {
        let sequence = &self.sequences[at];
        if !sequence.running {
            return;
        }
        if sequence.tokens.is_empty() {
            self.stop(
                at,
                Stop::Failed("an empty sequence has nothing to go on from".into()),
                plan,
            );
        } else if sequence.tokens.len() >= self.context {
            self.stop(at, Stop::ContextFull, plan);
        }
    }

    /// Whether there is something to compute for this sequence now.
    fn is_due(&self, at: usize) -> bool {
        let sequence = &self.sequences[at];
        let wanted = || {
            (0..self.sequences.len()).any(|child| {
                let (running, computed) = (
                    self.sequences[child].running,
                    self.sequences[child].computed,
                );
                let shareable = self.shareable(child);
                running && shareable.is_some_and(|(parent, most)| parent == at && most > computed)
            })
        };
        sequence.running
            || sequence.priority == Priority::Template
                && sequence.pending() > 0
                && sequence.tokens.len() <= self.context
                && (!sequence.evicted || wanted())
    }

    /// Full pages of its parent that a sequence could begin with: `(parent, tokens)`.
    fn shareable(&self, at: usize) -> Option<(usize, usize)> {
        let sequence = &self.sequences[at];
        let (id, shared) = sequence.parent?;
        let parent = self.sequences.iter().position(|s| s.id == id)?;
        // the last token is always computed anew: its logits are wanted
        let most = shared.min(sequence.tokens.len().saturating_sub(1));
        Some((parent, most / PAGE * PAGE))
    }

    fn adopt(&mut self, at: usize) {
        let Some((parent, most)) = self.shareable(at) else {
            return;
        };
        let tokens = most.min(self.sequences[parent].computed / PAGE * PAGE);
        if tokens > self.sequences[at].computed {
            let pages = self.sequences[parent].pages[..tokens / PAGE].to_vec();
            self.sequences[at].adopt(&pages, tokens, &mut self.pool);
        }
    }

    /// Whether a parent computes pages in this very step that this sequence would otherwise compute itself.
    fn parent_is_at_it(&self, at: usize, plan: &Plan) -> bool {
        self.shareable(at).is_some_and(|(parent, most)| {
            let parent = &self.sequences[parent];
            most > self.sequences[at].computed
                && most > parent.computed
                && plan.shares.iter().any(|share| share.seq == parent.id)
        })
    }

    /// First position and number of rows that a sequence computes next.
    fn rows(&mut self, at: usize, budget: usize) -> (usize, usize) {
        let pool = &mut self.pool;
        let sequence = &mut self.sequences[at];
        let len = sequence.tokens.len();
        let last = if sequence.running { len - 1 } else { len };
        if sequence.computed > last {
            sequence.computed = last;
        }
        // what others hold may not be written
        if sequence
            .pages
            .get(sequence.computed / PAGE)
            .is_some_and(|page| pool.is_shared(*page))
        {
            sequence.forget_from(sequence.computed, pool);
        }
        let pending = sequence.pending();
        let rows = if sequence.is_decoding() {
            1
        } else {
            pending.min(budget)
        };
        (sequence.computed, rows)
    }

    /// Lay the shares out as a batch: single rows first, so that they can be attended together.
    fn fill_batch(&self, plan: &mut Plan) {
        plan.shares.sort_by_key(|share| share.rows > 1);
        let batch = &mut plan.batch;
        for share in &plan.shares {
            let Some(sequence) = self.get(share.seq) else {
                continue;
            };
            let first = batch.tokens.len();
            let (start, end) = (sequence.computed, sequence.computed + share.rows);
            batch.tokens.extend_from_slice(&sequence.tokens[start..end]);
            if share.draws {
                batch.wanted.push(batch.tokens.len() - 1);
            }
            batch.segments.push(Segment {
                rows: first..batch.tokens.len(),
                start,
                pages: sequence.pages[..pages_for(end)].to_vec(),
            });
        }
    }
}
