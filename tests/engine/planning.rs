//! The planner alone: whatever callers do, pages are accounted for and every sequence can be finished.

use orgtop::engine::local::pages::{PAGE, pages_for};
use orgtop::engine::local::planner::{Plan, Planner};
use orgtop::engine::{Epoch, Priority, Sampling, SeqId, SeqOp};
use proptest::prelude::*;
use std::collections::HashSet;

const CONTEXT: usize = 300;
const VOCAB: usize = 50;

fn op() -> impl Strategy<Value = SeqOp> {
    let seq = (0u32..6).prop_map(SeqId);
    let priority = prop_oneof![
        Just(Priority::Organizer),
        Just(Priority::Worker),
        Just(Priority::Worker),
        Just(Priority::Template)
    ];
    let prefix = prop::option::of((seq.clone(), 0usize..120));
    prop_oneof![
        2 => (seq.clone(), priority, prefix).prop_map(|(seq, priority, prefix)| SeqOp::Open {
            seq, key: String::new(), sampling: Sampling::default(), priority, prefix,
        }),
        4 => (seq.clone(), prop::collection::vec(0u32..VOCAB as u32, 0..90), any::<bool>())
            .prop_map(|(seq, tokens, decoded)| SeqOp::Append { seq, tokens, decoded }),
        2 => (seq.clone(), 0usize..200).prop_map(|(seq, len)| SeqOp::Cut { seq, len, epoch: Epoch(1) }),
        4 => seq.clone().prop_map(SeqOp::Run),
        1 => seq.clone().prop_map(SeqOp::Hold),
        1 => seq.prop_map(SeqOp::Close),
    ]
}

/// What must hold of every plan, and of the planner after it.
fn check(planner: &Planner, plan: &Plan) -> Result<(), TestCaseError> {
    let mut held = HashSet::new();
    for seq in (0..6).map(SeqId) {
        let Some(s) = planner.get(seq) else { continue };
        prop_assert!(s.computed <= s.tokens.len() && s.decoded.len() == s.tokens.len());
        prop_assert!(
            s.pages.len() >= pages_for(s.computed),
            "{seq} computed more than its pages hold"
        );
        prop_assert!(
            s.pages.len() <= pages_for(s.tokens.len()),
            "{seq} holds pages for nothing"
        );
        held.extend(s.pages.iter().copied());
    }
    prop_assert_eq!(
        held.len(),
        planner.pool().used(),
        "a page is held by nobody or counted twice"
    );
    let mut seen = HashSet::new();
    let mut rows = 0;
    for (share, segment) in plan.shares.iter().zip(&plan.batch.segments) {
        let s = planner.get(share.seq).expect("a planned sequence is open");
        prop_assert!(seen.insert(share.seq), "planned twice");
        prop_assert_eq!(segment.rows.len(), share.rows);
        prop_assert_eq!((segment.rows.start, segment.start), (rows, s.computed));
        prop_assert_eq!(&segment.pages[..], &s.pages[..segment.pages.len()]);
        for page in &s.pages[s.computed / PAGE..] {
            prop_assert!(
                !planner.pool().is_shared(*page),
                "it would write a page that others read"
            );
        }
        if share.draws {
            prop_assert!(s.running && s.computed + share.rows == s.tokens.len());
            prop_assert!(plan.batch.wanted.contains(&(segment.rows.end - 1)));
        }
        rows = segment.rows.end;
    }
    prop_assert_eq!(rows, plan.batch.tokens.len());
    prop_assert_eq!(
        plan.batch.wanted.len(),
        plan.shares.iter().filter(|s| s.draws).count()
    );
    Ok(())
}

fn step(planner: &mut Planner) -> Plan {
    let plan = planner.plan();
    planner.computed(&plan);
    for share in plan.shares.iter().filter(|share| share.draws) {
        planner.decoded(share.seq, 1);
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_accounted_for_whatever_callers_do(
        ops in prop::collection::vec(prop::collection::vec(op(), 0..4), 1..60),
        pages in 2u32..24,
        budget in 1usize..80,
    ) {
        let mut planner = Planner::new(pages, CONTEXT, VOCAB, budget);
        for ops in ops {
            for op in ops {
                planner.apply(op);
            }
            let plan = planner.plan();
            check(&planner, &plan)?;
            planner.computed(&plan);
            for share in plan.shares.iter().filter(|share| share.draws) {
                planner.decoded(share.seq, 1);
            }
        }
        for seq in (0..6).map(SeqId) {
            planner.apply(SeqOp::Close(seq));
        }
        prop_assert_eq!(planner.pool().used(), 0);
    }

    #[test]
    fn every_running_sequence_decodes_or_stops(
        lens in prop::collection::vec((1usize..150, any::<bool>()), 1..6),
        pages in 2u32..16,
    ) {
        let mut planner = Planner::new(pages, CONTEXT, VOCAB, 32);
        let seqs: Vec<SeqId> = (0..lens.len() as u32).map(SeqId).collect();
        for (seq, (len, organizer)) in seqs.iter().zip(&lens) {
            let first = seq.0 == 0 && *organizer;
            let priority = if first { Priority::Organizer } else { Priority::Worker };
            planner.apply(SeqOp::Open {
                seq: *seq, key: String::new(), sampling: Sampling::default(), priority, prefix: None,
            });
            planner.apply(SeqOp::Append { seq: *seq, tokens: vec![1; *len], decoded: false });
            planner.apply(SeqOp::Run(*seq));
        }
        // each ends after a few tokens, or cannot fit and stops; nobody may wait for ever
        let mut open: HashSet<SeqId> = seqs.into_iter().collect();
        let mut said = vec![0; lens.len()];
        for _ in 0..2000 {
            let plan = step(&mut planner);
            for (seq, _) in &plan.stopped {
                open.remove(seq);
                planner.apply(SeqOp::Close(*seq));
            }
            for share in plan.shares.iter().filter(|share| share.draws) {
                said[share.seq.0 as usize] += 1;
                if said[share.seq.0 as usize] == 40 {
                    open.remove(&share.seq);
                    planner.apply(SeqOp::Close(share.seq));
                }
            }
            if open.is_empty() {
                break;
            }
            prop_assert!(!plan.shares.is_empty(), "somebody waits and nobody works");
        }
        prop_assert!(open.is_empty(), "{:?} waited for ever", open);
    }
}
