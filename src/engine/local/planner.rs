//! Which rows the next step computes, and who gives way when pages are short.
//!
//! Sequences are kept in the order in which they were opened. A step takes the last token of every sequence
//! that decodes, and prompts up to a budget of rows, so that workers keep streaming while another takes in a
//! long text. When pages are short: idle sequences lose theirs first, then sequences that have none wait,
//! then the youngest running worker loses its own. The organizer never does, and some pages are kept free
//! for what it will join.

use super::model::{Batch, Segment};
use super::pages::{PAGE, PagePool, pages_for};
use super::sequence::Sequence;
use crate::engine::contract::{Priority, SeqId, SeqOp, Stop};
use crate::engine::sampler::Key;

/// At most this many pages are kept free for the organizer.
const MOST_HEADROOM: usize = 1024 / PAGE;

/// Sequences, pages, and the rules between them.
#[derive(Debug)]
pub struct Planner {
    /// All sequences, oldest first.
    sequences: Vec<Sequence>,
    pool: PagePool,
    /// Longest sequence in tokens.
    context: usize,
    /// Token ids below this exist.
    vocab: usize,
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

/// Answer to a wish for pages.
enum Room {
    Granted,
    /// Not now.
    Later,
    /// Not as long as the others that hold pages rest.
    Never,
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

    fn find(&mut self, id: SeqId) -> Option<&mut Sequence> {
        self.sequences.iter_mut().find(|s| s.id == id)
    }

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
                if self.get(seq).is_some() {
                    return Some((seq, Stop::Failed(format!("{seq} is open already"))));
                }
                let parent = prefix.and_then(|(id, len)| self.get(id).map(|p| (p, len.min(p.tokens.len()))));
                let opened = Sequence {
                    id: seq,
                    key: Key::new(&key),
                    sampling,
                    priority,
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
            SeqOp::Append { seq, tokens, decoded } => {
                let vocab = self.vocab;
                let sequence = self.find(seq)?;
                if let Some(bad) = tokens.iter().find(|t| **t as usize >= vocab) {
                    sequence.running = false;
                    return Some((seq, Stop::Failed(format!("token {bad} is not in the vocabulary of {vocab}"))));
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
            let newcomer = self.sequences[at].pages.len() < pages_for(self.sequences[at].computed + 1);
            let newcomer = newcomer && self.sequences[at].pending() > 1;
            let (first, rows) = self.rows(at, budget);
            if rows == 0 {
                continue;
            }
            let room = if blocked && newcomer && self.sequences[at].priority != Priority::Organizer {
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
                Room::Never => {
                    self.stop(at, Stop::ContextFull, &mut plan);
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
            self.stop(at, Stop::Failed("an empty sequence has nothing to go on from".into()), plan);
        } else if sequence.tokens.len() >= self.context {
            self.stop(at, Stop::ContextFull, plan);
        }
    }

    /// Whether there is something to compute for this sequence now.
    fn is_due(&self, at: usize) -> bool {
        let sequence = &self.sequences[at];
        let wanted = || {
            self.sequences
                .iter()
                .any(|s| s.running && s.parent.is_some_and(|(id, _)| id == sequence.id) && s.computed < PAGE)
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
        if sequence.pages.get(sequence.computed / PAGE).is_some_and(|page| pool.is_shared(*page)) {
            sequence.forget_from(sequence.computed, pool);
        }
        let pending = sequence.pending();
        let rows = if sequence.is_decoding() { 1 } else { pending.min(budget) };
        (sequence.computed, rows)
    }

    fn headroom(&self) -> usize {
        let organized = self.sequences.iter().any(|s| s.priority == Priority::Organizer);
        if organized {
            (self.pool.total() / 8).min(MOST_HEADROOM)
        } else {
            0
        }
    }

    /// Give a sequence the pages for all its tokens.
    fn make_room(&mut self, at: usize, newcomer: bool, plan: &Plan) -> Room {
        let need = pages_for(self.sequences[at].tokens.len()).saturating_sub(self.sequences[at].pages.len());
        let keep = match self.sequences[at].priority {
            Priority::Organizer => 0,
            Priority::Worker | Priority::Template => self.headroom(),
        };
        while need > 0 && self.pool.free() < need + keep {
            let victim = self
                .idle_victim(at, plan)
                .or_else(|| self.running_victim(at, newcomer, plan));
            match victim {
                Some(victim) => self.sequences[victim].evict(&mut self.pool),
                None if self.others_run(at) => return Room::Later,
                None => return Room::Never,
            }
        }
        for _ in 0..need {
            match self.pool.take() {
                Some(page) => self.sequences[at].pages.push(page),
                None => return Room::Later,
            }
        }
        self.sequences[at].evicted = false;
        Room::Granted
    }

    /// Whether somebody else who holds pages goes on, so that pages may come free.
    fn others_run(&self, at: usize) -> bool {
        let mut others = self.sequences.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, s)| s.running && !s.pages.is_empty())
    }

    /// A resting sequence to take pages from: one whose pages nobody shares if there is one, workers before
    /// templates, the youngest first.
    fn idle_victim(&self, at: usize, plan: &Plan) -> Option<usize> {
        let idle = (0..self.sequences.len()).filter(|other| {
            let s = &self.sequences[*other];
            *other != at && !s.running && s.priority != Priority::Organizer && self.may_lose(s, plan)
        });
        idle.max_by_key(|other| {
            let s = &self.sequences[*other];
            let gains = s.pages.iter().any(|page| !self.pool.is_shared(*page));
            (gains, s.priority == Priority::Worker, *other)
        })
    }

    /// The youngest running worker, if `at` may take its pages: the organizer may; a worker only what younger
    /// ones hold, and not before it has pages itself.
    fn running_victim(&self, at: usize, newcomer: bool, plan: &Plan) -> Option<usize> {
        let youngest = (0..self.sequences.len()).rev().find(|other| {
            let s = &self.sequences[*other];
            *other != at && s.running && s.priority == Priority::Worker && self.may_lose(s, plan)
        })?;
        match self.sequences[at].priority {
            Priority::Organizer => Some(youngest),
            Priority::Worker if !newcomer && youngest > at => Some(youngest),
            Priority::Worker | Priority::Template => None,
        }
    }

    fn may_lose(&self, sequence: &Sequence, plan: &Plan) -> bool {
        !sequence.pages.is_empty() && plan.shares.iter().all(|share| share.seq != sequence.id)
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
