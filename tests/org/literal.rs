//! Two independent readings of the protocol's section on time, to test the simulation against.

use orgtop::org::{OpKind, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet};

pub struct Outcome {
    pub latency: u64,
    pub begins: BTreeMap<ThreadId, u64>,
}

/// Step by step: every running thread decodes one token; then ends; then blocked Forks, Forks, Joins.
pub fn run(traces: &[Trace], capacity: u32) -> Outcome {
    let organizer = &traces[0];
    let lengths: BTreeMap<ThreadId, u64> = traces.iter().map(|t| (t.id, t.tokens)).collect();
    let slots = (capacity - 1) as usize;
    let mut begins: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut done: BTreeSet<ThreadId> = BTreeSet::new();
    let (mut tokens, mut next, mut step) = (0, 0, 0u64);
    let mut waits: Option<OpKind> = None;
    loop {
        // Ends, then whatever the organizer can do at this step.
        loop {
            let before = (done.len(), next, waits.is_some());
            for (id, begin) in &begins {
                if step >= begin + lengths[id] {
                    done.insert(*id);
                }
            }
            let active = begins.keys().filter(|id| !done.contains(id)).count();
            let op = waits.or_else(|| {
                organizer
                    .ops
                    .get(next)
                    .filter(|op| op.at == tokens)
                    .map(|op| op.kind)
            });
            if let Some(kind) = op {
                if waits.is_none() {
                    next += 1;
                }
                waits = match kind {
                    OpKind::Fork { child, .. } if active < slots => {
                        begins.insert(child, step);
                        None
                    }
                    OpKind::Join { child } if done.contains(&child) => None,
                    other => Some(other),
                };
            }
            if before == (done.len(), next, waits.is_some()) {
                break;
            }
        }
        if waits.is_none() {
            if tokens == organizer.tokens {
                return Outcome {
                    latency: step,
                    begins,
                };
            }
            tokens += 1;
        }
        step += 1;
    }
}

/// The closed form over fragments, for depth 1.
pub fn recursion(traces: &[Trace], capacity: u32) -> u64 {
    let organizer = &traces[0];
    let lengths: BTreeMap<ThreadId, u64> = traces.iter().map(|t| (t.id, t.tokens)).collect();
    let mut ends: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let (mut clock, mut position) = (0, 0);
    for op in &organizer.ops {
        clock += op.at - position;
        position = op.at;
        match op.kind {
            OpKind::Fork { child, .. } => {
                let mut active: Vec<u64> =
                    ends.values().copied().filter(|end| *end > clock).collect();
                active.sort_unstable();
                if active.len() >= (capacity - 1) as usize {
                    clock = active[0];
                }
                ends.insert(child, clock + lengths[&child]);
            }
            OpKind::Join { child } => clock = clock.max(ends[&child]),
            OpKind::Overflow { .. } => panic!("these organizations have none"),
        }
    }
    clock + organizer.tokens - position
}

/// What became of a tree of threads.
pub struct Tree {
    pub latency: u64,
    pub begins: BTreeMap<ThreadId, u64>,
    /// Steps in which each thread decoded.
    pub decoded: BTreeMap<ThreadId, u64>,
}

#[derive(Default)]
struct Standing {
    begun: bool,
    over: bool,
    tokens: u64,
    next: usize,
    /// At what it stands, and since when.
    waits: Option<(OpKind, u64)>,
}

/// Workers of workers, step by step. `None`: nothing can ever happen again.
pub fn run_tree(traces: &[Trace], capacity: u32) -> Option<Tree> {
    let mut all: BTreeMap<ThreadId, (Standing, &Trace)> = traces
        .iter()
        .map(|t| (t.id, (Standing::default(), t)))
        .collect();
    let mut tree = Tree {
        latency: 0,
        begins: BTreeMap::new(),
        decoded: BTreeMap::new(),
    };
    all.get_mut(&ThreadId::ORGANIZER).unwrap().0.begun = true;
    for step in 0.. {
        while something_happens(&mut all, step, capacity, &mut tree.begins) {}
        if all[&ThreadId::ORGANIZER].0.over {
            tree.latency = step;
            tree.decoded = all.iter().map(|(id, (s, _))| (*id, s.tokens)).collect();
            return Some(tree);
        }
        let mut any = false;
        for (standing, _) in all.values_mut() {
            if standing.begun && !standing.over && standing.waits.is_none() {
                standing.tokens += 1;
                any = true;
            }
        }
        if !any {
            return None;
        }
    }
    None
}

/// The next end, else the next blocked Fork that finds a slot, else the next Fork or Join in path order.
fn something_happens(
    all: &mut BTreeMap<ThreadId, (Standing, &Trace)>,
    step: u64,
    capacity: u32,
    begins: &mut BTreeMap<ThreadId, u64>,
) -> bool {
    let runs = |s: &Standing| s.begun && !s.over && s.waits.is_none();
    let ends = all
        .iter()
        .find(|(_, (s, t))| runs(s) && s.next == t.ops.len() && s.tokens >= t.tokens)
        .map(|(id, _)| *id);
    if let Some(ended) = ends {
        let below = |id: ThreadId| !ended.is_organizer() && id.is_below(ended);
        for (id, (standing, _)) in all.iter_mut() {
            standing.over |= *id == ended || (standing.begun && below(*id));
            if matches!(standing.waits, Some((OpKind::Join { child }, _)) if child == ended) {
                standing.waits = None;
            }
        }
        return true;
    }
    let active = all
        .iter()
        .filter(|(id, (s, _))| !id.is_organizer() && s.begun && !s.over)
        .count();
    let free = active + 1 < capacity as usize;
    let blocked = all
        .iter()
        .filter(|(_, (s, _))| !s.over)
        .filter_map(|(id, (s, _))| match s.waits? {
            (OpKind::Fork { child, .. }, since) => Some((since, *id, child)),
            _ => None,
        })
        .min();
    if let Some((_, parent, child)) = blocked.filter(|_| free) {
        all.get_mut(&parent).unwrap().0.waits = None;
        all.get_mut(&child).unwrap().0.begun = true;
        begins.insert(child, step);
        return true;
    }
    let acts = all
        .iter()
        .find(|(_, (s, t))| runs(s) && t.ops.get(s.next).is_some_and(|op| op.at <= s.tokens))
        .map(|(id, (s, t))| (*id, t.ops[s.next].kind));
    let Some((id, kind)) = acts else { return false };
    all.get_mut(&id).unwrap().0.next += 1;
    match kind {
        OpKind::Fork { child, .. } if free => {
            all.get_mut(&child).unwrap().0.begun = true;
            begins.insert(child, step);
        }
        OpKind::Join { child } if all[&child].0.over => {}
        other => all.get_mut(&id).unwrap().0.waits = Some((other, step)),
    }
    true
}
