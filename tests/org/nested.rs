//! Ideal time where workers have workers of their own.

use crate::literal::run_tree;
use crate::{begin_of, close};
use orgtop::org::{
    Change, Op, OpKind, Schedule, ThreadId, Trace, blame, concurrency, critical_path, simulate,
    simulate_with, slack, slack_of,
};
use proptest::prelude::*;

fn id(text: &str) -> ThreadId {
    text.parse().unwrap()
}

/// A thread of `tokens` tokens; `+1.1` after 5 is a Fork, `-1.1` a Join.
fn trace(name: &str, tokens: u64, ops: &[(u64, &str)]) -> Trace {
    let op = |(at, what): &(u64, &str)| {
        let (sign, child) = what.split_at(1);
        let child = id(child);
        let kind = match sign {
            "+" => OpKind::Fork {
                child,
                anchor: None,
            },
            "-" => OpKind::Join { child },
            _ => OpKind::Overflow { child },
        };
        Op { at: *at, kind }
    };
    Trace {
        id: id(name),
        tokens,
        ended: true,
        ops: ops.iter().map(op).collect(),
    }
}

fn path(schedule: &Schedule) -> Vec<String> {
    let link = |l: &orgtop::org::Link| format!("{} {}-{}", l.thread, l.from, l.to);
    critical_path(schedule).iter().map(link).collect()
}

/// FORK-1 (5), think 5, JOIN-1 (3), ANSWER (3); worker 1: FORK-1 (5), think 10, JOIN-1 (3), RETURN (4); 1.1: 20.
fn chain() -> Vec<Trace> {
    vec![
        trace("organizer", 16, &[(5, "+1"), (13, "-1")]),
        trace("1", 22, &[(5, "+1.1"), (18, "-1.1")]),
        trace("1.1", 20, &[]),
    ]
}

#[test]
fn vector_6_a_worker_waits_for_its_worker() {
    let traces = chain();
    let s = simulate(&traces, 3);
    assert_eq!((begin_of(&s, "1"), begin_of(&s, "1.1")), (5, 10));
    // 1 comes to its Join at 23 and goes on at 30; the organizer comes at 13 and goes on at 34.
    assert_eq!(s.latency, 37);
    let blame = blame(&s);
    assert_eq!(blame[&(id("1"), id("1.1"))], 7);
    assert_eq!(blame[&(ThreadId::ORGANIZER, id("1"))], 21);
    assert!(close(concurrency(&s), 42.0 / 37.0));
    let slack = slack(&traces, 3, &s);
    assert_eq!((slack[&id("1")], slack[&id("1.1")]), (0, 0));
    assert_eq!(
        path(&s),
        [
            "organizer 0-5",
            "1 5-10",
            "1.1 10-30",
            "1 30-34",
            "organizer 34-37"
        ]
    );
}

#[test]
fn vector_7_where_no_worker_can_end_no_slot_ever_frees() {
    assert_eq!(simulate(&chain(), 2).unserved, [(10, id("1.1"))]);
    assert!(run_tree(&chain(), 2).is_none());
    // Lived: the Fork was refused, and worker 1 went on without.
    let traces = [
        trace("organizer", 16, &[(5, "+1"), (13, "-1")]),
        trace("1", 22, &[(5, "!1.1")]),
    ];
    let s = simulate(&traces, 2);
    assert_eq!((s.latency, s.unserved), (30, vec![(10, id("1.1"))]));
}

#[test]
fn vector_8_who_ends_takes_along_who_works_below() {
    let traces = [
        trace(
            "organizer",
            23,
            &[(5, "+1"), (10, "+2"), (15, "+3"), (18, "-1"), (21, "-3")],
        ),
        trace("1", 8, &[(4, "+1.1")]),
        trace("1.1", 50, &[]),
        trace("2", 6, &[]),
        trace("3", 10, &[]),
    ];
    let s = simulate(&traces, 3);
    // 1.1 begins at 9 and takes the last slot; FORK-2 waits from 10 until 1 ends at 13 and takes 1.1 along.
    assert_eq!((begin_of(&s, "1.1"), s.lanes[&id("1.1")].finish), (9, 13));
    assert_eq!((begin_of(&s, "2"), begin_of(&s, "3")), (13, 18));
    assert_eq!(s.latency, 30);
    assert!(close(concurrency(&s), (8.0 + 4.0 + 6.0 + 10.0) / 30.0));
    // Nobody joins 1.1 or 2.
    let slack = slack(&traces, 3, &s);
    assert_eq!(
        slack.keys().map(ToString::to_string).collect::<Vec<_>>(),
        ["1", "3"]
    );
}

#[test]
fn vector_9_in_one_step_the_smaller_path_gets_the_slot() {
    let traces = [
        trace(
            "organizer",
            4,
            &[(1, "+1"), (1, "+2"), (2, "-1"), (2, "-2")],
        ),
        trace("1", 9, &[(3, "+1.1"), (4, "-1.1")]),
        trace("2", 9, &[(3, "+2.1"), (4, "-2.1")]),
        trace("1.1", 10, &[]),
        trace("2.1", 10, &[]),
    ];
    let s = simulate(&traces, 4);
    // Both fork at 4; 1.1 begins at once, 2.1 when 1.1 ends.
    assert_eq!((begin_of(&s, "1.1"), begin_of(&s, "2.1")), (4, 14));
    assert_eq!(s.latency, 14 + 10 + 5 + 2);
    assert_eq!(slack(&traces, 4, &s)[&id("1")], 10);
}

#[test]
fn without_a_worker_its_workers_are_gone_too() {
    let without = Change::Without(id("1")).predict(&chain(), 3);
    assert_eq!(without.latency, 16);
    assert_eq!(without.lanes.len(), 1);
    let without = Change::Without(id("1.1")).predict(&chain(), 3);
    assert_eq!(without.latency, 5 + 22 + 3);
}

/// Reads numbers off a tape, 0 at its end.
struct Tape(std::vec::IntoIter<u16>);

impl Tape {
    fn below(&mut self, n: u64) -> u64 {
        u64::from(self.0.next().unwrap_or(0)) % n
    }
}

fn grow(id: ThreadId, levels: usize, tape: &mut Tape, out: &mut Vec<Trace>) {
    let place = out.len();
    let mut trace = Trace {
        id,
        tokens: 0,
        ended: true,
        ops: Vec::new(),
    };
    out.push(trace.clone());
    let mut open: Vec<ThreadId> = Vec::new();
    let actions = if levels == 0 { 0 } else { tape.below(6) };
    let mut at = 0;
    for index in 1..=u16::try_from(actions).unwrap() {
        at += tape.below(7) + u64::from(tape.below(3) > 0);
        let kind = if tape.below(2) == 0 || open.is_empty() {
            let child = id.child(index, 1).unwrap();
            grow(child, levels - 1, tape, out);
            open.push(child);
            OpKind::Fork {
                child,
                anchor: None,
            }
        } else {
            let i = tape.below(open.len() as u64);
            OpKind::Join {
                child: open.remove(usize::try_from(i).unwrap()),
            }
        };
        trace.ops.push(Op { at, kind });
    }
    trace.tokens = at + tape.below(25);
    out[place] = trace;
}

fn trees() -> impl Strategy<Value = (Vec<Trace>, u32)> {
    (
        prop::collection::vec(any::<u16>(), 0..160),
        1usize..4,
        2u32..9,
    )
        .prop_map(|(tape, levels, capacity)| {
            let mut traces = Vec::new();
            grow(
                ThreadId::ORGANIZER,
                levels,
                &mut Tape(tape.into_iter()),
                &mut traces,
            );
            (traces, capacity)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_simulation_of_a_tree_equals_a_literal_one((traces, capacity) in trees()) {
        let s = simulate(&traces, capacity);
        let Some(literal) = run_tree(&traces, capacity) else {
            prop_assert!(!s.unserved.is_empty());
            return Ok(());
        };
        // The organizer may come to its end although its workers stand still for ever.
        prop_assume!(s.unserved.is_empty());
        prop_assert_eq!(s.latency, literal.latency);
        for (id, begin) in literal.begins {
            prop_assert_eq!(s.lanes[&id].begin, Some(begin), "{}", id);
        }
        for (id, tokens) in literal.decoded {
            let lane = s.lanes[&id].decoding();
            let within: u64 = lane.map(|(a, b)| b.min(s.latency).saturating_sub(a)).sum();
            prop_assert_eq!(within, tokens, "{}", id);
        }
    }

    #[test]
    fn the_critical_path_of_a_tree_is_gapless_and_as_long_as_t((traces, capacity) in trees()) {
        let s = simulate(&traces, capacity);
        prop_assume!(s.unserved.is_empty());
        let mut now = 0;
        for link in critical_path(&s) {
            prop_assert_eq!(link.from, now);
            now = link.to;
        }
        prop_assert_eq!(now, s.latency);
    }

    #[test]
    fn slack_in_a_tree_is_the_most_that_does_no_harm((traces, _) in trees()) {
        // A slot for everyone: where slots are short, more tokens can do good.
        let capacity = u32::try_from(traces.len()).unwrap();
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
