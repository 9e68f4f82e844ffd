//! Ideal time: a discrete-event simulation over token counts alone.
//!
//! Input is who forked and joined whom after how many own tokens, and the capacity. Every running
//! thread decodes one token a step; pauses, prefill and slow machines do not exist here. The result
//! says when each thread would have begun, waited and finished, and the critical-path latency `T`.
//! At depth 1 this equals the recursion over fragments of the AsyncThink paper (arXiv 2510.26658).
//!
//! Within a step: ends first, then blocked Forks by (step, path), then Forks and Joins in path order. A worker
//! that ends takes with it whoever still works below it.

use super::event::{Anchor, WaitOn};
use super::ids::ThreadId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// What a thread did, in token counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Whose.
    pub id: ThreadId,
    /// Tokens it decoded (so far).
    pub tokens: u64,
    /// Whether it will decode no more and its slot is free. An abandoned worker never ended.
    pub ended: bool,
    /// Its Forks and Joins in order.
    pub ops: Vec<Op>,
}

/// A Fork or a Join, after `at` own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Op {
    /// Own decoded tokens up to and including the action.
    pub at: u64,
    /// Which action.
    pub kind: OpKind,
}

/// Which action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Starts a worker.
    Fork {
        /// The worker.
        child: ThreadId,
        /// For a Fork made by hand while its thread waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<Anchor>,
    },
    /// Waits for a worker.
    Join {
        /// The worker.
        child: ThreadId,
    },
    /// A Fork that waited for a slot until none could get free any more: its worker never began.
    Overflow {
        /// The worker that would have been.
        child: ThreadId,
    },
}

/// A stretch in which a thread stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdealWait {
    /// Step after which it stood.
    pub from: u64,
    /// Step after which it went on.
    pub to: u64,
    /// For what.
    pub on: WaitOn,
    /// The worker whose end let it go on; `None` while it still waits.
    pub by: Option<ThreadId>,
}

/// One thread in ideal time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lane {
    /// Step after which it began; its first token is at `begin + 1`. `None`: never began.
    pub begin: Option<u64>,
    /// Step of its last token so far, or up to which it has waited.
    pub finish: u64,
    /// Whether `finish` is final.
    pub ended: bool,
    /// Where it stood still, in order. Joins that cost nothing are here with `from == to`.
    pub waits: Vec<IdealWait>,
    /// The thread whose progress decided `begin`; `None` for the organizer.
    pub begun_by: Option<ThreadId>,
}

impl Lane {
    /// The intervals `(from, to]` in which it decoded, in order.
    pub fn decoding(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let begin = self.begin.unwrap_or(self.finish);
        let starts = std::iter::once(begin).chain(self.waits.iter().map(|w| w.to));
        let stops = self
            .waits
            .iter()
            .map(|w| w.from)
            .chain(std::iter::once(self.finish));
        starts.zip(stops).filter(|(from, to)| to > from)
    }
}

/// All threads in ideal time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Critical-path latency in steps; "so far" while the organizer has not ended.
    pub latency: u64,
    /// One lane per trace.
    pub lanes: BTreeMap<ThreadId, Lane>,
    /// Forks that no slot could ever have served (no active worker could end any more), by step and worker.
    /// Those that began all the same are taken to have found one.
    pub unserved: Vec<(u64, ThreadId)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    End,
    Op,
    Trigger(ThreadId),
}

/// What waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    /// A Fork made by hand: its thread goes on meanwhile.
    ByHand,
    /// A Fork at which its thread stands.
    Stands,
    /// The same, and it was lived that it would never be served.
    InVain,
}

struct State<'a> {
    trace: &'a Trace,
    tokens: u64,
    lane: Lane,
    position: u64,
    clock: u64,
    waits_for: Option<WaitOn>,
    next_op: usize,
    triggers: Vec<(u64, ThreadId)>,
    /// Workers that began for it.
    children: Vec<usize>,
}

/// Simulates `traces` (the organizer among them) under `capacity`.
#[must_use]
pub fn simulate(traces: &[Trace], capacity: u32) -> Schedule {
    simulate_with(traces, capacity, None)
}

/// Like [`simulate`], with `extra.1` more (or fewer) tokens at the end of thread `extra.0`.
#[must_use]
pub fn simulate_with(traces: &[Trace], capacity: u32, extra: Option<(ThreadId, i64)>) -> Schedule {
    Simulation::new(traces, capacity, extra).run()
}

struct Simulation<'a> {
    states: Vec<State<'a>>,
    by_id: HashMap<ThreadId, usize>,
    slots: usize,
    active: usize,
    heap: BinaryHeap<Reverse<(u64, Happening, ThreadId)>>,
    /// Blocked Forks: (step, path of the forking thread, worker, what the claim is).
    blocked: BTreeSet<(u64, ThreadId, ThreadId, Claim)>,
    /// Forks that no slot could serve.
    unserved: Vec<(u64, ThreadId)>,
    /// Hand-made Forks whose moment has come before their thread arrived, and the reverse.
    triggered: HashMap<ThreadId, (u64, ThreadId)>,
    armed: HashMap<ThreadId, ThreadId>,
    /// Who stands at a Join on a worker.
    joiners: HashMap<ThreadId, Vec<usize>>,
    /// The latest moment so far.
    now: u64,
}

impl<'a> Simulation<'a> {
    fn new(traces: &'a [Trace], capacity: u32, extra: Option<(ThreadId, i64)>) -> Self {
        let mut states: Vec<State<'a>> = traces
            .iter()
            .map(|trace| State {
                trace,
                tokens: match extra {
                    Some((id, more)) if id == trace.id => trace.tokens.saturating_add_signed(more),
                    _ => trace.tokens,
                },
                lane: Lane::default(),
                position: 0,
                clock: 0,
                waits_for: None,
                next_op: 0,
                triggers: Vec::new(),
                children: Vec::new(),
            })
            .collect();
        let by_id: HashMap<_, _> = states
            .iter()
            .enumerate()
            .map(|(i, s)| (s.trace.id, i))
            .collect();
        for trace in traces {
            for op in &trace.ops {
                if let OpKind::Fork {
                    child,
                    anchor: Some(anchor),
                } = op.kind
                    && let Some(&i) = by_id.get(&anchor.thread)
                {
                    states[i]
                        .triggers
                        .push((anchor.tokens + anchor.steps, child));
                }
            }
        }
        for state in &mut states {
            state.triggers.sort_unstable();
        }
        Self {
            states,
            by_id,
            slots: (capacity as usize).saturating_sub(1),
            active: 0,
            heap: BinaryHeap::new(),
            blocked: BTreeSet::new(),
            unserved: Vec::new(),
            triggered: HashMap::new(),
            armed: HashMap::new(),
            joiners: HashMap::new(),
            now: 0,
        }
    }

    fn run(mut self) -> Schedule {
        if let Some(&root) = self.by_id.get(&ThreadId::ORGANIZER) {
            self.begin(root, 0, None);
        }
        loop {
            while let Some(Reverse((now, what, id))) = self.heap.pop() {
                let i = self.by_id[&id];
                self.now = self.now.max(now);
                match what {
                    Happening::Trigger(child) => self.trigger(child, id, now),
                    // It went with whoever it worked for.
                    _ if self.states[i].lane.ended => {}
                    Happening::End => self.end(i, now),
                    Happening::Op => {
                        self.arrive(i, now);
                        self.give_up_what_is_in_vain(now);
                    }
                }
            }
            if !self.force_a_fork() && !self.force_an_end() {
                break;
            }
        }
        self.finish()
    }

    fn begin(&mut self, i: usize, now: u64, by: Option<ThreadId>) {
        if self.states[i].trace.id != ThreadId::ORGANIZER {
            self.active += 1;
        }
        self.states[i].lane.begin = Some(now);
        self.states[i].lane.begun_by = by;
        self.move_on(i, now);
    }

    /// Thread `i` stands at its position at `now` and is free to decode: schedule what comes next.
    fn move_on(&mut self, i: usize, now: u64) {
        let state = &mut self.states[i];
        state.clock = now;
        state.waits_for = None;
        let id = state.trace.id;
        let stop = state
            .trace
            .ops
            .get(state.next_op)
            .map_or(state.tokens, |op| op.at.max(state.position));
        let until = now + (stop - state.position.min(stop));
        for &(tokens, child) in state
            .triggers
            .iter()
            .filter(|(t, _)| *t > state.position && *t <= stop || (*t == 0 && state.position == 0))
        {
            self.heap.push(Reverse((
                now + (tokens - state.position),
                Happening::Trigger(child),
                id,
            )));
        }
        state.position = stop.max(state.position);
        state.clock = until;
        state.lane.finish = until;
        if state.next_op < state.trace.ops.len() {
            self.heap.push(Reverse((until, Happening::Op, id)));
        } else if state.trace.ended {
            self.heap.push(Reverse((until, Happening::End, id)));
        }
    }

    fn arrive(&mut self, i: usize, now: u64) {
        let state = &mut self.states[i];
        let id = state.trace.id;
        let op = state.trace.ops[state.next_op];
        state.next_op += 1;
        match op.kind {
            OpKind::Fork {
                child,
                anchor: Some(_),
            } => {
                self.arm(child, id, now);
                self.move_on(i, now);
            }
            OpKind::Fork {
                child,
                anchor: None,
            } => {
                if self.active < self.slots && self.blocked.is_empty() {
                    self.start_child(child, now, id);
                    self.move_on(i, now);
                } else {
                    self.stand(i, child, now, Claim::Stands);
                }
            }
            OpKind::Overflow { child } => self.stand(i, child, now, Claim::InVain),
            OpKind::Join { child } => {
                let done = self
                    .by_id
                    .get(&child)
                    .is_none_or(|&c| self.states[c].lane.ended);
                let state = &mut self.states[i];
                state.lane.waits.push(IdealWait {
                    from: now,
                    to: now,
                    on: WaitOn::Join(child),
                    by: done.then_some(child),
                });
                // Forks made by hand during this wait start their workers while it lasts.
                let hand_made: Vec<ThreadId> = state.trace.ops[state.next_op..]
                    .iter()
                    .map_while(|op| match op.kind {
                        OpKind::Fork {
                            child,
                            anchor: Some(_),
                        } => Some(child),
                        _ => None,
                    })
                    .collect();
                state.next_op += hand_made.len();
                if !done {
                    state.waits_for = Some(WaitOn::Join(child));
                    self.joiners.entry(child).or_default().push(i);
                }
                for forked in hand_made {
                    self.arm(forked, id, now);
                }
                if done {
                    self.move_on(i, now);
                }
            }
        }
    }

    /// Thread `i` stands at a blocked Fork.
    fn stand(&mut self, i: usize, child: ThreadId, now: u64, claim: Claim) {
        let state = &mut self.states[i];
        let on = WaitOn::Slot(child);
        state.waits_for = Some(on);
        state.lane.waits.push(IdealWait {
            from: now,
            to: now,
            on,
            by: None,
        });
        self.blocked.insert((now, state.trace.id, child, claim));
    }

    /// Where no active worker can end any more, the Forks that were lived to be in vain are given up, the
    /// latest first.
    fn give_up_what_is_in_vain(&mut self, now: u64) {
        let in_vain = |entry: &&(u64, ThreadId, ThreadId, Claim)| entry.3 == Claim::InVain;
        while let Some(&entry) = self.blocked.iter().rev().find(in_vain) {
            if self.somebody_can_end() {
                return;
            }
            self.blocked.remove(&entry);
            self.unserved.push((now, entry.2));
            self.resume(self.by_id[&entry.1], now, None);
        }
    }

    fn somebody_can_end(&self) -> bool {
        let can_end = |state: &State<'_>| {
            let mut state = state;
            loop {
                match state.waits_for {
                    None => return true,
                    Some(WaitOn::Slot(_)) => return false,
                    // A thread waits for one below it, so this comes to an end.
                    Some(WaitOn::Join(child)) if child.is_below(state.trace.id) => {
                        match self.by_id.get(&child) {
                            Some(&c) => state = &self.states[c],
                            None => return false,
                        }
                    }
                    Some(WaitOn::Join(_)) => return false,
                }
            }
        };
        self.states
            .iter()
            .filter(|s| s.lane.begin.is_some() && !s.lane.ended && !s.trace.id.is_organizer())
            .any(can_end)
    }

    fn arm(&mut self, child: ThreadId, parent: ThreadId, now: u64) {
        if let Some((_, anchor)) = self.triggered.remove(&child) {
            self.start_or_queue(child, parent, anchor, now);
        } else {
            self.armed.insert(child, parent);
        }
    }

    fn trigger(&mut self, child: ThreadId, anchor: ThreadId, now: u64) {
        if let Some(parent) = self.armed.remove(&child) {
            self.start_or_queue(child, parent, anchor, now);
        } else {
            self.triggered.insert(child, (now, anchor));
        }
    }

    fn start_or_queue(&mut self, child: ThreadId, parent: ThreadId, by: ThreadId, now: u64) {
        if self.active < self.slots && self.blocked.is_empty() {
            self.start_child(child, now, by);
        } else {
            self.blocked.insert((now, parent, child, Claim::ByHand));
        }
    }

    fn start_child(&mut self, child: ThreadId, now: u64, by: ThreadId) {
        if let Some(&c) = self.by_id.get(&child)
            && self.states[c].lane.begin.is_none()
        {
            let parent = child.parent().and_then(|id| self.by_id.get(&id));
            if let Some(&parent) = parent {
                self.states[parent].children.push(c);
            }
            self.begin(c, now, Some(by));
        }
    }

    /// Ends everybody who still works below `i`, and frees their slots.
    fn abandon_below(&mut self, i: usize, now: u64) {
        for child in std::mem::take(&mut self.states[i].children) {
            let state = &mut self.states[child];
            if state.lane.ended {
                continue;
            }
            state.lane.ended = true;
            state.lane.finish = state.lane.finish.min(now);
            if state.waits_for.take().is_some() {
                if let Some(wait) = state.lane.waits.last_mut() {
                    wait.to = now;
                }
                state.lane.finish = now;
            }
            let id = state.trace.id;
            self.active -= 1;
            self.blocked.retain(|(_, parent, ..)| *parent != id);
            self.armed.retain(|_, parent| *parent != id);
            self.abandon_below(child, now);
        }
    }

    fn end(&mut self, i: usize, now: u64) {
        let id = self.states[i].trace.id;
        self.states[i].lane.ended = true;
        if !id.is_organizer() {
            self.active -= 1;
            self.abandon_below(i, now);
        }
        while self.active < self.slots {
            let Some((_, parent, child, claim)) = self.blocked.pop_first() else {
                break;
            };
            self.serve(parent, child, claim, now, Some(id));
        }
        for parent in self.joiners.remove(&id).unwrap_or_default() {
            if !self.states[parent].lane.ended {
                self.resume(parent, now, Some(id));
            }
        }
    }

    fn serve(
        &mut self,
        parent: ThreadId,
        child: ThreadId,
        claim: Claim,
        now: u64,
        by: Option<ThreadId>,
    ) {
        if claim != Claim::InVain {
            self.start_child(child, now, by.unwrap_or(parent));
        }
        if claim != Claim::ByHand {
            self.resume(self.by_id[&parent], now, by);
        }
    }

    fn resume(&mut self, i: usize, now: u64, by: Option<ThreadId>) {
        if let Some(wait) = self.states[i].lane.waits.last_mut() {
            wait.to = now;
            wait.by = by;
        }
        self.move_on(i, now);
    }

    /// Nothing more happens by itself. If a blocked Fork's worker is known to have decoded (ideal order
    /// may differ from what was lived), or a hand-made one was never triggered, start it now.
    fn force_a_fork(&mut self) -> bool {
        let began = |id: &ThreadId| {
            self.by_id.get(id).is_some_and(|&c| {
                let s = &self.states[c];
                s.lane.begin.is_none() && (s.tokens > 0 || s.trace.ended)
            })
        };
        if let Some(&entry) = self.blocked.iter().find(|(_, _, child, _)| began(child)) {
            self.blocked.remove(&entry);
            let (since, parent, child, claim) = entry;
            self.unserved.push((since, child));
            self.serve(parent, child, claim, since, None);
            return true;
        }
        let armed = self
            .armed
            .iter()
            .map(|(&child, &parent)| (child, parent))
            .filter(|(child, _)| began(child))
            .min();
        if let Some((child, parent)) = armed {
            self.armed.remove(&child);
            let now = self.states[self.by_id[&parent]].clock;
            self.start_child(child, now, parent);
            return true;
        }
        false
    }

    /// A worker that was stopped while it stood at something that never came.
    fn force_an_end(&mut self) -> bool {
        let stopped = self.states.iter().position(|s| {
            s.waits_for.is_some()
                && s.trace.ended
                && s.lane.begin.is_some()
                && !s.lane.ended
                && !s.trace.id.is_organizer()
                && s.next_op == s.trace.ops.len()
                && s.position == s.tokens
        });
        let Some(i) = stopped else { return false };
        let id = self.states[i].trace.id;
        self.blocked.retain(|(_, parent, ..)| *parent != id);
        let state = &mut self.states[i];
        state.waits_for = None;
        let now = state.lane.finish.max(self.now);
        if let Some(wait) = state.lane.waits.last_mut() {
            wait.to = now;
        }
        state.lane.finish = now;
        self.end(i, now);
        true
    }

    fn finish(mut self) -> Schedule {
        // A thread that still waits has waited as long as the one it waits for has come.
        for _ in 0..super::ids::MAX_DEPTH {
            let frontier: HashMap<ThreadId, u64> = self
                .states
                .iter()
                .map(|s| (s.trace.id, s.lane.finish))
                .collect();
            let earliest_slot = self
                .states
                .iter()
                .filter(|s| s.lane.begin.is_some() && !s.lane.ended && !s.trace.id.is_organizer())
                .filter(|s| !matches!(s.waits_for, Some(WaitOn::Slot(_))))
                .map(|s| s.lane.finish)
                .min();
            for state in &mut self.states {
                let so_far = match state.waits_for {
                    Some(WaitOn::Join(child)) => frontier.get(&child).copied(),
                    Some(WaitOn::Slot(_)) => earliest_slot,
                    None => continue,
                };
                if let Some(wait) = state.lane.waits.last_mut() {
                    wait.to = wait.from.max(so_far.unwrap_or(0));
                    state.lane.finish = wait.to;
                }
            }
        }
        let lanes: BTreeMap<ThreadId, Lane> = self
            .states
            .into_iter()
            .map(|s| (s.trace.id, s.lane))
            .collect();
        Schedule {
            latency: lanes.get(&ThreadId::ORGANIZER).map_or(0, |l| l.finish),
            lanes,
            unserved: self.unserved,
        }
    }
}
