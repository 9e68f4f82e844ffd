use super::*;
use proptest::prelude::*;

fn plain(temperature: f32) -> Sampling {
    Sampling {
        temperature,
        top_p: None,
        ..Sampling::default()
    }
}

/// Share of each token among many draws.
fn shares(logits: &[f32], sampling: &Sampling) -> Vec<f64> {
    let mut counts = vec![0.0; logits.len()];
    let draws = 20_000;
    for position in 0..draws {
        let choice = sample(
            logits,
            sampling,
            Key::new("k"),
            position,
            std::iter::empty(),
        )
        .expect("logits are numbers");
        counts[choice.token as usize] += 1.0 / f64::from(draws as u32);
    }
    counts
}

#[test]
fn the_same_seed_key_and_position_draw_the_same() {
    let key = Key::new("worker-1");
    assert_eq!(key.draw(7, 100), Key::new("worker-1").draw(7, 100));
    let others = [
        key.draw(8, 100),
        key.draw(7, 101),
        Key::new("worker-2").draw(7, 100),
    ];
    assert!(others.iter().all(|u| *u != key.draw(7, 100)));
}

#[test]
fn draws_follow_the_softmax() {
    let logits = [0.0, 1.0, 2.0, -1.0];
    let total: f64 = logits.iter().map(|l: &f32| f64::from(*l).exp()).sum();
    for (share, logit) in shares(&logits, &plain(1.0)).iter().zip(logits) {
        assert!((share - f64::from(logit).exp() / total).abs() < 0.015);
    }
}

#[test]
fn greedy_takes_the_first_of_the_best() {
    let choice = sample(
        &[0.0, 3.0, 3.0],
        &plain(0.0),
        Key::new(""),
        0,
        std::iter::empty(),
    );
    assert_eq!(choice.map(|c| c.token), Some(1));
}

#[test]
fn filters_leave_out_what_they_promise() {
    // probabilities 0.5, 0.3, 0.15, 0.05
    let logits: Vec<f32> = [0.5f32, 0.3, 0.15, 0.05].iter().map(|p| p.ln()).collect();
    let reached = |sampling: &Sampling| -> Vec<usize> {
        let shares = shares(&logits, sampling);
        (0..4).filter(|i| shares[*i] > 0.0).collect()
    };
    let base = plain(1.0);
    assert_eq!(
        reached(&Sampling {
            top_k: Some(2),
            ..base.clone()
        }),
        [0, 1]
    );
    assert_eq!(
        reached(&Sampling {
            top_p: Some(0.79),
            ..base.clone()
        }),
        [0, 1]
    );
    assert_eq!(
        reached(&Sampling {
            top_p: Some(0.81),
            ..base.clone()
        }),
        [0, 1, 2]
    );
    assert_eq!(
        reached(&Sampling {
            min_p: Some(0.4),
            ..base.clone()
        }),
        [0, 1]
    );
    assert_eq!(reached(&base), [0, 1, 2, 3]);
}

#[test]
fn a_penalty_makes_decoded_tokens_less_likely_once_however_often_they_came() {
    let sampling = Sampling {
        repetition_penalty: 2.0,
        ..plain(0.0)
    };
    let choose = |decoded: Vec<TokenId>| {
        sample(
            &[3.0, 2.0, -1.0],
            &sampling,
            Key::new(""),
            0,
            decoded.into_iter(),
        )
        .map(|c| c.token)
    };
    assert_eq!(choose(vec![]), Some(0));
    assert_eq!(choose(vec![0]), Some(1));
    assert_eq!(choose(vec![0, 0, 0, 1]), Some(0));
}

#[test]
fn alternatives_are_the_best_in_order_with_their_log_probabilities() {
    let sampling = Sampling {
        alternatives: 2,
        ..plain(0.0)
    };
    let logits: Vec<f32> = [0.2f32, 0.5, 0.3].iter().map(|p| p.ln()).collect();
    let choice = sample(&logits, &sampling, Key::new(""), 0, std::iter::empty()).expect("numbers");
    assert_eq!(
        choice.alternatives.iter().map(|a| a.0).collect::<Vec<_>>(),
        [1, 2]
    );
    assert!((choice.logprob - 0.5f32.ln()).abs() < 1e-5);
    assert!((choice.alternatives[1].1 - 0.3f32.ln()).abs() < 1e-5);
}

#[test]
fn logits_that_are_no_numbers_choose_nothing() {
    let none = sample(
        &[f32::NAN; 3],
        &plain(1.0),
        Key::new(""),
        0,
        std::iter::empty(),
    );
    assert_eq!(none, None);
}

proptest! {
    #[test]
    fn some_token_of_finite_logit_is_always_chosen(
        logits in prop::collection::vec(prop_oneof![-50f32..50.0, Just(f32::NAN), Just(f32::NEG_INFINITY), Just(f32::INFINITY)], 1..40),
        temperature in 0f32..3.0,
        top_k in prop::option::of(0u32..5),
        top_p in prop::option::of(0f32..1.2),
        min_p in prop::option::of(0f32..1.2),
        position in 0usize..1000,
    ) {
        let sampling = Sampling { temperature, top_k, top_p, min_p, ..Sampling::default() };
        let chosen = sample(&logits, &sampling, Key::new("p"), position, std::iter::empty());
        match chosen {
            Some(choice) => prop_assert!(logits[choice.token as usize] > f32::NEG_INFINITY),
            None => prop_assert!(logits.iter().all(|l| l.is_nan() || *l == f32::NEG_INFINITY)),
        }
    }
}
