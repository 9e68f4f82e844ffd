//! The simulation behind ideal time: who does what at which step, until nothing more happens.

mod slots;
mod stalled;

use super::{IdealWait, Lane, OpKind, Schedule, Trace};
use crate::org::event::WaitOn;
use crate::org::ids::ThreadId;
use slots::Claim;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    End,
    Op,
    Trigger(ThreadId),
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
/// The state of a simulation.
pub(super) struct Simulation<'a> {
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
    pub(super) fn new(traces: &'a [Trace], capacity: u32, extra: Option<(ThreadId, i64)>) -> Self {
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

    pub(super) fn run(mut self) -> Schedule {
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

    fn resume(&mut self, i: usize, now: u64, by: Option<ThreadId>) {
        if let Some(wait) = self.states[i].lane.waits.last_mut() {
            wait.to = now;
            wait.by = by;
        }
        self.move_on(i, now);
    }
}
