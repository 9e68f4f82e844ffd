//! However a sequence came to its tokens, what follows is the same.

use crate::support::{
    Driver, MODELS, alone, append, begin, cut, fixture, greedy, open_as, options, prompt, warm,
};
use orgtop::engine::local::{Options, open};
use orgtop::engine::{Engine, EngineThread, Epoch, Priority, SeqId, SeqOp, TokenId};

const COUNT: usize = 24;

#[test]
fn batched_equals_alone() {
    for model in MODELS {
        for sampling in [greedy(), warm()] {
            let prompts: Vec<_> = (1..5).map(|i| prompt(7 * i as usize, i)).collect();
            let mut driver = Driver::open(model, &options());
            for (i, prompt) in (1..).zip(&prompts) {
                driver.step(begin(i, prompt, sampling.clone()));
            }
            for (i, prompt) in (1..).zip(&prompts) {
                driver.until(SeqId(i), COUNT);
                let together = driver.tokens(SeqId(i))[..COUNT].to_vec();
                assert_eq!(
                    together,
                    alone(model, i, prompt, &sampling, COUNT),
                    "{model}, sequence {i}"
                );
            }
        }
    }
}

#[test]
fn chunked_prefill_equals_whole() {
    let prompt = prompt(100, 3);
    let run = |rows| {
        let mut driver = Driver::open(
            "qwen3",
            &Options {
                prefill_rows: Some(rows),
                ..options()
            },
        );
        driver.step(begin(1, &prompt, warm()));
        let first = driver.last.stats.prefilled;
        driver.until(SeqId(1), COUNT);
        (first, driver.tokens(SeqId(1)))
    };
    let (whole, expected) = run(1000);
    assert_eq!(whole, 100);
    for rows in [1, 7, 32, 33] {
        let (first, tokens) = run(rows);
        assert_eq!(first, rows);
        assert_eq!(tokens, expected, "{rows} rows a step");
    }
}

#[test]
fn forked_equals_fresh() {
    for model in MODELS {
        // a template of two full pages and a bit, forked before, while and after it is computed
        let shared = prompt(70, 1);
        for steps_before in [0, 2, 10] {
            let mut driver = Driver::open(model, &options());
            driver.step(vec![
                open_as(1, greedy(), Priority::Template, None),
                append(1, &shared),
            ]);
            for _ in 0..steps_before {
                driver.step(vec![]);
            }
            for (seq, len) in [(2, 70), (3, 64), (4, 33)] {
                driver.step(vec![
                    open_as(seq, warm(), Priority::Worker, Some((1, len))),
                    append(seq, &prompt(3, seq)),
                    SeqOp::Run(SeqId(seq)),
                ]);
            }
            for (seq, len) in [(2, 70), (3, 64), (4, 33)] {
                driver.until(SeqId(seq), COUNT);
                let fresh: Vec<TokenId> = [&shared[..len], &prompt(3, seq)].concat();
                let forked = driver.tokens(SeqId(seq))[..COUNT].to_vec();
                assert_eq!(
                    forked,
                    alone(model, seq, &fresh, &warm(), COUNT),
                    "{model}, {len} shared tokens"
                );
            }
        }
    }
}

#[test]
fn forks_share_the_pages_of_their_prefix() {
    let mut driver = Driver::open("llama", &options());
    driver.step(vec![
        open_as(1, greedy(), Priority::Template, None),
        append(1, &prompt(64, 1)),
    ]);
    for _ in 0..6 {
        driver.step(vec![]);
    }
    let template = driver.last.stats.pages_used;
    for seq in 2..6 {
        driver.step(vec![
            open_as(seq, greedy(), Priority::Worker, Some((1, 64))),
            append(seq, &prompt(3, seq)),
            SeqOp::Run(SeqId(seq)),
        ]);
        // nothing of the shared part is computed again
        assert_eq!(driver.last.stats.prefilled, 3);
    }
    assert_eq!(template, 2);
    assert_eq!(
        driver.last.stats.pages_used,
        template + 4,
        "one page each beside the shared ones"
    );
}

#[test]
fn a_fork_outlives_the_sequence_it_was_forked_from() {
    let shared = prompt(64, 1);
    let mut driver = Driver::open("qwen2", &options());
    driver.step(begin(1, &shared, greedy()));
    driver.until(SeqId(1), 1);
    let mut ops = vec![open_as(2, warm(), Priority::Worker, Some((1, 64)))];
    ops.extend([append(2, &[9]), SeqOp::Run(SeqId(2))]);
    driver.step(ops);
    // the parent goes, and somebody else takes and writes whatever pages come free
    driver.step(vec![SeqOp::Close(SeqId(1))]);
    driver.step(begin(3, &prompt(90, 8), warm()));
    driver.until(SeqId(2), COUNT);
    let fresh = [shared.as_slice(), &[9]].concat();
    assert_eq!(
        driver.tokens(SeqId(2))[..COUNT],
        alone("qwen2", 2, &fresh, &warm(), COUNT)
    );
}

#[test]
fn cut_equals_fresh() {
    for model in MODELS {
        for keep in [1, 20, 32, 45, 64] {
            let prompt = prompt(50, 5);
            let mut driver = Driver::open(model, &options());
            driver.step(begin(1, &prompt, warm()));
            driver.until(SeqId(1), 20);
            let all: Vec<TokenId> = [prompt, driver.tokens(SeqId(1))].concat();
            driver.decoded.clear();
            driver.step(vec![cut(1, keep, 1), append(1, &[7, 8])]);
            driver.until(SeqId(1), COUNT);
            assert!(
                driver.decoded[&SeqId(1)]
                    .iter()
                    .all(|d| d.epoch == Epoch(1))
            );
            let fresh = [&all[..keep], &[7, 8]].concat();
            let after_cut = driver.tokens(SeqId(1))[..COUNT].to_vec();
            assert_eq!(
                after_cut,
                alone(model, 1, &fresh, &warm(), COUNT),
                "{model}, kept {keep}"
            );
        }
    }
}

#[test]
fn a_cut_without_new_text_decodes_the_same_again() {
    let mut driver = Driver::open("qwen3", &options());
    driver.step(begin(1, &prompt(30, 2), warm()));
    driver.until(SeqId(1), COUNT);
    let before = driver.tokens(SeqId(1));
    for kept in [10, 2, 0] {
        driver.decoded.clear();
        driver.step(vec![cut(1, 30 + kept, 1)]);
        driver.until(SeqId(1), COUNT - kept);
        assert_eq!(driver.tokens(SeqId(1))[..COUNT - kept], before[kept..]);
    }
}

#[test]
fn cutting_a_parent_leaves_its_forks_alone() {
    let shared = prompt(64, 4);
    let mut driver = Driver::open("llama", &options());
    driver.step(begin(1, &shared, greedy()));
    driver.until(SeqId(1), 2);
    let mut ops = vec![open_as(2, warm(), Priority::Worker, Some((1, 64)))];
    ops.extend([append(2, &[5]), SeqOp::Run(SeqId(2))]);
    driver.step(ops);
    // into the middle of a page that the fork shares
    driver.step(vec![cut(1, 40, 1), append(1, &prompt(30, 9))]);
    driver.until(SeqId(2), COUNT);
    let fork = [shared.as_slice(), &[5]].concat();
    assert_eq!(
        driver.tokens(SeqId(2))[..COUNT],
        alone("llama", 2, &fork, &warm(), COUNT)
    );
    let parent = [&shared[..40], &prompt(30, 9)].concat();
    driver.decoded.remove(&SeqId(1));
    driver.step(vec![cut(1, 70, 2)]);
    driver.until(SeqId(1), COUNT);
    assert_eq!(
        driver.tokens(SeqId(1))[..COUNT],
        alone("llama", 1, &parent, &greedy(), COUNT)
    );
}

#[test]
fn spliced_equals_fresh() {
    for model in MODELS {
        let (head, splice) = (prompt(20, 6), prompt(45, 7));
        let mut driver = Driver::open(model, &options());
        driver.step(begin(1, &head, warm()));
        driver.until(SeqId(1), 9);
        let said = driver.tokens(SeqId(1));
        driver.decoded.clear();
        driver.step(vec![append(1, &splice)]);
        driver.until(SeqId(1), COUNT);
        let fresh = [head, said, splice].concat();
        let spliced = driver.tokens(SeqId(1))[..COUNT].to_vec();
        assert_eq!(spliced, alone(model, 1, &fresh, &warm(), COUNT), "{model}");
    }
}

#[test]
fn held_and_run_again_equals_uninterrupted() {
    let mut driver = Driver::open("qwen3", &options());
    driver.step(begin(1, &prompt(40, 2), warm()));
    driver.step(begin(2, &prompt(12, 3), warm()));
    for cycle in 0..25 {
        driver.step(vec![SeqOp::Hold(SeqId(1))]);
        let held = driver.tokens(SeqId(1)).len();
        for _ in 0..cycle % 3 {
            driver.step(vec![]);
        }
        assert_eq!(
            driver.tokens(SeqId(1)).len(),
            held,
            "a held sequence decoded"
        );
        driver.step(vec![SeqOp::Run(SeqId(1))]);
    }
    driver.until(SeqId(1), COUNT);
    assert_eq!(
        driver.tokens(SeqId(1))[..COUNT],
        alone("qwen3", 1, &prompt(40, 2), &warm(), COUNT)
    );
}

#[test]
fn recorded_tokens_count_as_decoded_for_the_penalty() {
    let mut sampling = warm();
    sampling.repetition_penalty = 1.5;
    let prompt = prompt(20, 2);
    let mut driver = Driver::open("qwen3", &options());
    driver.step(begin(1, &prompt, sampling.clone()));
    driver.until(SeqId(1), COUNT);
    let all = driver.tokens(SeqId(1));
    let mut replay = Driver::open("qwen3", &options());
    let mut ops = begin(1, &prompt, sampling);
    let recorded = SeqOp::Append {
        seq: SeqId(1),
        tokens: all[..10].to_vec(),
        decoded: true,
    };
    ops.insert(2, recorded);
    replay.step(ops);
    replay.until(SeqId(1), COUNT - 10);
    assert_eq!(replay.tokens(SeqId(1))[..COUNT - 10], all[10..COUNT]);
}

#[test]
fn workers_keep_streaming_while_another_takes_in_a_prompt() {
    let mut driver = Driver::open("llama", &options());
    driver.step(begin(1, &prompt(5, 1), greedy()));
    driver.step(begin(2, &prompt(160, 2), greedy()));
    for _ in 0..9 {
        assert!(driver.last.decoded.iter().any(|d| d.seq == SeqId(1)));
        assert!(driver.last.decoded.iter().all(|d| d.seq != SeqId(2)));
        assert_eq!(driver.last.stats.prefilled, 16);
        driver.step(vec![]);
    }
    assert!(
        driver.last.decoded.iter().any(|d| d.seq == SeqId(2)),
        "160 rows take ten steps"
    );
}

#[test]
fn an_engine_thread_decodes_what_the_engine_does() {
    let path = fixture("llama");
    let mut engine =
        EngineThread::spawn("engine", move || open(&path, &options())).expect("it opens");
    assert_eq!(engine.card().model.arch, "llama");
    let tokens = engine.encode("the organizer").expect("it encodes");
    assert_eq!(engine.decode(&tokens), b"the organizer");
    let mut decoded = Vec::new();
    let mut ops = begin(1, &prompt(9, 1), warm());
    while decoded.len() < COUNT {
        let step = engine
            .advance(std::mem::take(&mut ops))
            .expect("it decodes");
        decoded.extend(step.decoded.into_iter().map(|d| d.token));
    }
    assert_eq!(decoded, alone("llama", 1, &prompt(9, 1), &warm(), COUNT));
}
