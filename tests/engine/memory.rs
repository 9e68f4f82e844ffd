//! Pages: who gives way when they are short, and that they come back.

use crate::parity::model;
use crate::support::{Driver, alone, append, begin, cut, greedy, open_as, options, prompt, warm};
use orgtop::engine::local::Options;
use orgtop::engine::{Priority, SeqId, SeqOp, Stop};

/// Options that leave room for `pages` pages.
fn pages(name: &str, pages: usize) -> Options {
    Options {
        cache_bytes: Some(model(name).config.page_bytes() * pages),
        ..options()
    }
}

#[test]
fn evicted_equals_never_evicted() {
    for name in ["qwen3", "llama.gguf"] {
        // three workers that grow to three pages each, in room for five
        let mut driver = Driver::open(name, &pages(name, 5));
        assert_eq!(
            driver
                .engine
                .advance(vec![])
                .expect("idle")
                .stats
                .pages_total,
            5
        );
        for seq in 1..4 {
            driver.step(begin(seq, &prompt(20, seq), warm()));
        }
        for seq in 1..4 {
            driver.until(SeqId(seq), 60);
            let tokens = driver.tokens(SeqId(seq))[..60].to_vec();
            assert_eq!(
                tokens,
                alone(name, seq, &prompt(20, seq), &warm(), 60),
                "{name}, worker {seq}"
            );
            driver.step(vec![SeqOp::Close(SeqId(seq))]);
        }
        assert!(driver.most_queued > 0, "memory was never short");
        assert!(driver.stopped.is_empty());
        assert_eq!(driver.last.stats.pages_used, 0);
    }
}

#[test]
fn the_organizer_is_never_evicted_and_takes_what_it_needs() {
    let mut driver = Driver::open("qwen3", &pages("qwen3", 8));
    let mut ops = begin(1, &prompt(20, 1), greedy());
    ops[0] = open_as(1, greedy(), Priority::Organizer, None);
    driver.step(ops);
    for seq in 2..5 {
        driver.step(begin(seq, &prompt(40, seq), warm()));
    }
    for _ in 0..6 {
        driver.step(vec![]);
    }
    // a join of five pages: workers must go
    driver.decoded.clear();
    let before = driver.last.stats.pages_used;
    assert!(before >= 7, "{before} pages");
    driver.step(vec![append(1, &prompt(150, 9))]);
    driver.until(SeqId(1), 5);
    assert!(driver.most_queued > 0);
    assert!(driver.stopped.is_empty(), "{:?}", driver.stopped);
    // and come back when it rests no more
    driver.step(vec![SeqOp::Close(SeqId(1))]);
    for seq in 2..5 {
        driver.until(SeqId(seq), 30);
    }
}

#[test]
fn pages_are_kept_free_for_the_organizer() {
    let mut driver = Driver::open("llama", &pages("llama", 16));
    let mut ops = begin(1, &prompt(10, 1), greedy());
    ops[0] = open_as(1, greedy(), Priority::Organizer, None);
    driver.step(ops);
    driver.step(vec![SeqOp::Hold(SeqId(1))]);
    for seq in 2..20 {
        driver.step(begin(seq, &prompt(30, seq), greedy()));
    }
    for _ in 0..40 {
        driver.step(vec![]);
        assert!(
            driver.last.stats.pages_used <= 14,
            "an eighth of the pages is the organizer's"
        );
    }
    assert!(driver.last.stats.queued > 0);
}

#[test]
fn idle_sequences_give_way_before_running_ones() {
    let mut driver = Driver::open("qwen2", &pages("qwen2", 4));
    driver.step(begin(1, &prompt(40, 1), warm()));
    driver.until(SeqId(1), 5);
    driver.step(vec![SeqOp::Hold(SeqId(1))]);
    driver.step(begin(2, &prompt(80, 2), warm()));
    driver.until(SeqId(2), 3);
    assert_eq!(driver.most_queued, 0, "the running one did not wait");
    driver.step(vec![SeqOp::Close(SeqId(2)), SeqOp::Run(SeqId(1))]);
    driver.until(SeqId(1), 30);
    assert_eq!(
        driver.tokens(SeqId(1))[..30],
        alone("qwen2", 1, &prompt(40, 1), &warm(), 30)
    );
}

#[test]
fn a_sequence_that_can_never_fit_stops_alone() {
    let mut driver = Driver::open("qwen3", &pages("qwen3", 3));
    driver.step(begin(1, &prompt(200, 1), greedy()));
    assert_eq!(driver.stopped, [(SeqId(1), Stop::ContextFull)]);
    driver.step(begin(2, &prompt(40, 2), greedy()));
    for _ in 0..70 {
        driver.step(vec![]);
    }
    assert_eq!(driver.stopped.last(), Some(&(SeqId(2), Stop::ContextFull)));
    let grown = driver.tokens(SeqId(2)).len();
    assert_eq!(
        40 + grown,
        97,
        "three pages and the token that no longer fits"
    );
    // cut back, it goes on
    driver.step(vec![cut(2, 50, 1), SeqOp::Run(SeqId(2))]);
    driver.until(SeqId(2), grown + 10);
}

#[test]
fn the_models_context_is_a_limit() {
    let mut driver = Driver::open(
        "qwen3",
        &Options {
            max_context: Some(64),
            ..options()
        },
    );
    assert_eq!(driver.engine.card().model.context, 64);
    driver.step(begin(1, &prompt(60, 1), greedy()));
    for _ in 0..20 {
        driver.step(vec![]);
    }
    assert_eq!(driver.tokens(SeqId(1)).len(), 4);
    assert_eq!(driver.stopped, [(SeqId(1), Stop::ContextFull)]);
}

#[test]
fn killed_work_is_gone_within_the_step_and_its_pages_are_back() {
    let mut driver = Driver::open("llama", &options());
    driver.step(begin(1, &prompt(40, 1), warm()));
    driver.until(SeqId(1), 3);
    let baseline = driver.last.stats.pages_used;
    // one killed while it decodes, one while its prompt is taken in
    driver.step(begin(2, &prompt(10, 2), warm()));
    driver.until(SeqId(2), 5);
    driver.step(begin(3, &prompt(300, 3), warm()));
    driver.step(vec![]);
    assert!(driver.last.stats.pages_used > baseline + 9);
    driver.step(vec![SeqOp::Close(SeqId(2)), SeqOp::Close(SeqId(3))]);
    assert_eq!(driver.last.stats.pages_used, baseline);
    assert!(driver.last.decoded.iter().all(|d| d.seq == SeqId(1)));
    let before = [driver.tokens(SeqId(2)).len(), driver.tokens(SeqId(3)).len()];
    for _ in 0..10 {
        driver.step(vec![]);
    }
    assert_eq!(
        [driver.tokens(SeqId(2)).len(), driver.tokens(SeqId(3)).len()],
        before
    );
    driver.step(vec![SeqOp::Close(SeqId(1))]);
    assert_eq!(driver.last.stats.pages_used, 0);
}

#[test]
fn senseless_operations_stop_one_sequence_and_hurt_no_other() {
    let mut driver = Driver::open("qwen3", &options());
    driver.step(begin(1, &prompt(10, 1), warm()));
    driver.step(vec![
        SeqOp::Close(SeqId(77)),
        SeqOp::Run(SeqId(78)),
        cut(79, 3, 1),
        append(80, &[1]),
        open_as(2, greedy(), Priority::Worker, Some((99, 50))),
        SeqOp::Run(SeqId(2)),
    ]);
    driver.step(begin(3, &[u32::MAX], greedy()));
    driver.step(begin(1, &prompt(3, 1), greedy()));
    let failed: Vec<SeqId> = driver.stopped.iter().map(|(seq, _)| *seq).collect();
    assert!(
        driver
            .stopped
            .iter()
            .all(|(_, why)| matches!(why, Stop::Failed(_)))
    );
    assert!(failed.contains(&SeqId(2)) && failed.contains(&SeqId(3)) && failed.contains(&SeqId(1)));
}

#[test]
fn a_template_without_room_is_done_without() {
    let mut driver = Driver::open("qwen3", &pages("qwen3", 4));
    driver.step(vec![
        open_as(1, greedy(), Priority::Template, None),
        append(1, &prompt(200, 1)),
    ]);
    driver.step(vec![
        open_as(2, warm(), Priority::Worker, Some((1, 64))),
        append(2, &[9]),
        SeqOp::Run(SeqId(2)),
    ]);
    driver.until(SeqId(2), 20);
    assert!(driver.stopped.is_empty(), "{:?}", driver.stopped);
    let fresh = [&prompt(200, 1)[..64], &[9]].concat();
    let tokens = driver.tokens(SeqId(2))[..20].to_vec();
    assert_eq!(tokens, alone("qwen3", 2, &fresh, &warm(), 20));
}
