//! Ideal time: the protocol's test vectors, and the discrete-event simulation against a literal
//! step-by-step one.

mod literal;
mod nested;

use orgtop::org::Change;
use orgtop::org::{
    Op, OpKind, Schedule, ThreadId, Trace, blame, concurrency, critical_path, simulate,
    simulate_with, slack, slack_of,
};
use proptest::prelude::*;

fn w(index: u16) -> ThreadId {
    ThreadId::worker(index).unwrap()
}

fn fork(at: u64, index: u16) -> Op {
    let child = w(index);
    Op {
        at,
        kind: OpKind::Fork {
            child,
            anchor: None,
        },
    }
}

fn join(at: u64, index: u16) -> Op {
    Op {
        at,
        kind: OpKind::Join { child: w(index) },
    }
}

fn organization(tokens: u64, ops: Vec<Op>, workers: &[(u16, u64)]) -> Vec<Trace> {
    let organizer = Trace {
        id: ThreadId::ORGANIZER,
        tokens,
        ended: true,
        ops,
    };
    std::iter::once(organizer)
        .chain(workers.iter().map(|&(index, tokens)| Trace {
            id: w(index),
            tokens,
            ended: true,
            ops: vec![],
        }))
        .collect()
}

fn begin(schedule: &Schedule, index: u16) -> u64 {
    schedule.lanes[&w(index)].begin.unwrap()
}

fn begin_of(schedule: &Schedule, id: &str) -> u64 {
    let id: ThreadId = id.parse().unwrap();
    schedule.lanes[&id].begin.unwrap()
}

fn blame_on(schedule: &Schedule, index: u16) -> u64 {
    blame(schedule)[&(ThreadId::ORGANIZER, w(index))]
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn vector_1_a_late_worker_is_waited_for() {
    let traces = organization(53, vec![fork(18, 1), join(33, 1)], &[(1, 25)]);
    let s = simulate(&traces, 4);
    assert_eq!((s.latency, begin(&s, 1), blame_on(&s, 1)), (63, 18, 10));
    assert!(close(concurrency(&s), 25.0 / 63.0));
    assert_eq!(slack(&traces, 4, &s)[&w(1)], 0);
    assert_eq!(traces.iter().map(|t| t.tokens).sum::<u64>(), 78);
}

#[test]
fn vector_2_an_early_worker_has_slack() {
    let traces = organization(53, vec![fork(18, 1), join(33, 1)], &[(1, 9)]);
    let s = simulate(&traces, 4);
    assert_eq!((s.latency, blame_on(&s, 1)), (53, 0));
    assert_eq!(slack(&traces, 4, &s)[&w(1)], 6);
    assert!(close(concurrency(&s), 9.0 / 53.0));
}

#[test]
fn vector_3_joins_out_of_order() {
    let ops = vec![fork(5, 1), fork(10, 2), join(13, 2), join(16, 1)];
    let traces = organization(20, ops, &[(1, 40), (2, 10)]);
    let s = simulate(&traces, 3);
    assert_eq!((s.latency, begin(&s, 1), begin(&s, 2)), (49, 5, 10));
    assert_eq!((blame_on(&s, 2), blame_on(&s, 1)), (7, 22));
    let slack = slack(&traces, 3, &s);
    assert_eq!((slack[&w(1)], slack[&w(2)]), (0, 22));
    assert!(close(concurrency(&s), 50.0 / 49.0));
}

#[test]
fn vector_4_a_blocked_fork_waits_on_the_critical_path() {
    let ops = vec![fork(5, 1), fork(10, 2), join(13, 1), join(16, 2)];
    let traces = organization(18, ops, &[(1, 20), (2, 10)]);
    let s = simulate(&traces, 2);
    assert_eq!((s.latency, begin(&s, 1), begin(&s, 2)), (37, 5, 25));
    let on_path: Vec<ThreadId> = critical_path(&s).iter().map(|l| l.thread).collect();
    let o = ThreadId::ORGANIZER;
    assert_eq!(on_path, [o, w(1), w(2), o]);
}

#[test]
fn vector_5_without_a_fork_time_is_tokens() {
    let s = simulate(&organization(50, vec![], &[]), 4);
    assert_eq!(s.latency, 50);
    assert!(close(concurrency(&s), 0.0));
}

#[test]
fn parallel_thinking_is_a_special_case() {
    let ops = (1..=3)
        .map(|i| fork(0, i))
        .chain((1..=3).map(|i| join(0, i)))
        .collect();
    let traces = organization(7, ops, &[(1, 30), (2, 50), (3, 20)]);
    let s = simulate(&traces, 4);
    assert_eq!(s.latency, 57);
    let slack = slack(&traces, 4, &s);
    assert_eq!([slack[&w(1)], slack[&w(2)], slack[&w(3)]], [20, 0, 30]);
}

#[test]
fn three_forks_in_one_step_joined_out_of_order_and_one_never() {
    let ops = vec![fork(4, 1), fork(4, 2), fork(4, 3), join(6, 3), join(8, 1)];
    let traces = organization(10, ops, &[(1, 12), (2, 40), (3, 5)]);
    let s = simulate(&traces, 4);
    // JOIN-3: max(6, 9) = 9; JOIN-1: max(11, 16) = 16; two more tokens.
    assert_eq!(s.latency, 18);
    let slack = slack(&traces, 4, &s);
    assert_eq!(slack.get(&w(2)), None);
    assert_eq!((slack[&w(1)], slack[&w(3)]), (0, 5));
    // 12 + 5 + the 14 tokens of worker 2 that lie within T.
    assert!(close(concurrency(&s), 31.0 / 18.0));
}

#[test]
fn a_fork_by_hand_during_a_wait_starts_when_it_was_made() {
    let mut ops = vec![fork(5, 1), join(10, 1)];
    ops.push(Op {
        at: 10,
        kind: OpKind::Fork {
            child: w(2),
            anchor: Some(orgtop::org::Anchor {
                thread: w(1),
                tokens: 15,
                steps: 0,
            }),
        },
    });
    ops.push(join(12, 2));
    let traces = organization(14, ops, &[(1, 30), (2, 20)]);
    let s = simulate(&traces, 4);
    assert_eq!(begin(&s, 2), 20);
    // Result of 1 at 35, two tokens, then the wait for 2 until 40, two tokens.
    assert_eq!(s.latency, 42);
}

#[test]
fn a_running_organization_has_a_time_so_far() {
    let mut traces = organization(33, vec![fork(18, 1), join(33, 1)], &[(1, 20)]);
    traces[0].ended = false;
    traces[1].ended = false;
    let s = simulate(&traces, 4);
    assert_eq!(s.latency, 38);
    let path = critical_path(&s);
    assert_eq!(path.last().unwrap().thread, w(1));
}

/// A random depth-1 organization: the organizer's gaps between actions and the workers' lengths.
fn random_traces() -> impl Strategy<Value = (Vec<Trace>, u32)> {
    let action = (0u64..12, any::<prop::sample::Index>(), any::<bool>());
    (
        prop::collection::vec(action, 0..14),
        prop::collection::vec(0u64..40, 14),
        0u64..10,
        2u32..6,
    )
        .prop_map(|(actions, lengths, tail, capacity)| {
            let mut ops = Vec::new();
            let mut at = 0;
            let mut next = 1u16;
            let mut open: Vec<u16> = Vec::new();
            for (gap, pick, forks) in actions {
                at += gap;
                if forks || open.is_empty() {
                    // A fork is at least one token.
                    at += 1;
                    ops.push(fork(at, next));
                    open.push(next);
                    next += 1;
                } else {
                    at += 1;
                    let i = open.remove(pick.index(open.len()));
                    ops.push(join(at, i));
                }
            }
            let workers: Vec<(u16, u64)> = (1..next)
                .map(|i| (i, lengths[usize::from(i) - 1]))
                .collect();
            (organization(at + tail, ops, &workers), capacity)
        })
}

proptest! {
    #[test]
    fn the_simulation_equals_a_literal_one((traces, capacity) in random_traces()) {
        let s = simulate(&traces, capacity);
        let literal = literal::run(&traces, capacity);
        prop_assert_eq!(s.latency, literal.latency);
        for (id, begin) in literal.begins {
            prop_assert_eq!(s.lanes[&id].begin, Some(begin), "{}", id);
        }
    }

    #[test]
    fn the_simulation_equals_the_recursion((traces, capacity) in random_traces()) {
        prop_assert_eq!(simulate(&traces, capacity).latency, literal::recursion(&traces, capacity));
    }

    #[test]
    fn the_critical_path_is_gapless_and_as_long_as_t((traces, capacity) in random_traces()) {
        let s = simulate(&traces, capacity);
        let path = critical_path(&s);
        let mut now = 0;
        for link in path {
            prop_assert_eq!(link.from, now);
            now = link.to;
        }
        prop_assert_eq!(now, s.latency);
    }

    #[test]
    fn a_prediction_is_the_recursion_on_the_run_as_it_would_be(
        (traces, capacity) in random_traces(),
        pick in any::<prop::sample::Index>(),
    ) {
        prop_assume!(traces.len() > 1);
        let id = traces[1 + pick.index(traces.len() - 1)].id;
        // Written out by hand: no Fork, no Join, no worker.
        let mut gone: Vec<Trace> = traces.iter().filter(|t| t.id != id).cloned().collect();
        gone[0].ops.retain(|op| match op.kind {
            OpKind::Fork { child, .. }
            | OpKind::Join { child }
            | OpKind::Overflow { child } => child != id,
        });
        let without = Change::Without(id).predict(&traces, capacity);
        prop_assert_eq!(without.latency, literal::recursion(&gone, capacity));
        prop_assert_eq!(without.latency, literal::run(&gone, capacity).latency);
        prop_assert!(!without.lanes.contains_key(&id));
        let mut fast = traces.clone();
        for trace in fast.iter_mut().filter(|t| t.id == id) {
            trace.tokens = trace.tokens.div_ceil(2);
        }
        let twice = Change::TwiceAsFast(id).predict(&traces, capacity);
        prop_assert_eq!(twice.latency, literal::recursion(&fast, capacity));
        prop_assert_eq!(twice.latency, literal::run(&fast, capacity).latency);
    }

    #[test]
    fn slack_is_the_most_that_does_no_harm((traces, capacity) in random_traces()) {
        let s = simulate(&traces, capacity);
        for (id, n) in slack(&traces, capacity, &s) {
            prop_assert_eq!(slack_of(id, &traces, capacity, &s), Some(n));
            let at = |extra: u64| {
                simulate_with(&traces, capacity, Some((id, i64::try_from(extra).unwrap()))).latency
            };
            prop_assert_eq!(at(n), s.latency);
            prop_assert!(at(n + 1) > s.latency);
        }
    }
}
