use super::*;
use crate::learn::checkpoint;
use crate::learn::dataset::{Example, Role};
use serde_json::json;
use std::fs;

const VOCAB: u32 = 29;

/// Each token follows from the one before; the first of each example is any.
struct Rule;

impl Examples for Rule {
    fn example(&self, index: u64) -> Example {
        let length = 6 + (index * 7 % 23) as usize;
        let first = (index * 13 % u64::from(VOCAB)) as u32;
        let tokens = std::iter::successors(Some(first), |t| Some((t * 3 + 1) % VOCAB));
        Example {
            tokens: tokens.take(length).collect(),
            loss_mask: (0..length).map(|i| i >= 2).collect(),
            role: Role::Worker,
        }
    }
}

/// Two examples, again and again.
struct Two;

impl Examples for Two {
    fn example(&self, index: u64) -> Example {
        let odd = (index % 2) as u32;
        Example {
            tokens: (0..20)
                .map(|i| (i * i * (3 + odd) + i / 3 + odd) % VOCAB)
                .collect(),
            loss_mask: (0..20).map(|i| i >= 1).collect(),
            role: Role::Organizer,
        }
    }
}

fn config() -> Config {
    let json = json!({
        "model_type": "qwen3", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": VOCAB,
        "rms_norm_eps": 1e-6, "max_position_embeddings": 64, "tie_word_embeddings": true,
    });
    Config::from_hf(&json).expect("the config is sound")
}

fn spec(folder: &Path, steps: u64) -> Spec {
    let mut settings = Settings::new("rule", 1, steps);
    settings.batch_tokens = 200;
    settings.schedule.warm_up = 5;
    Spec {
        folder: folder.to_owned(),
        config: config(),
        tokenizer: json!({}),
        settings,
        interval: 4,
        precision: Precision::F32,
        progress: Progress::Silent,
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn lines(folder: &Path) -> Vec<(u64, f64, f64)> {
    let log = fs::read_to_string(folder.join("log.jsonl")).expect("the log reads");
    let lines = log
        .lines()
        .filter_map(|l| serde_json::from_str::<Line>(l).ok());
    lines.map(|l| (l.step, l.loss, l.gradient)).collect()
}

#[test]
fn a_network_learns_two_examples_by_heart() {
    let folder = scratch();
    let mut spec = spec(folder.path(), 150);
    spec.settings.batch_tokens = 40;
    spec.interval = 1000;
    train(&spec, &Two, &mut ()).expect("it trains");
    let last = lines(folder.path()).pop().expect("steps were logged");
    assert!(last.1 < 0.05, "loss {}", last.1);
}

#[test]
fn a_hundred_steps_from_scratch_learn_a_rule_that_holds_for_unseen_examples() {
    let folder = scratch();
    let spec = spec(folder.path(), 100);
    let report = train(&spec, &Rule, &mut ()).expect("it trains");
    let first = lines(folder.path())[0].1;
    assert!(
        (first - f64::from(VOCAB).ln()).abs() < 0.7,
        "first loss {first}"
    );
    assert_eq!((report.end, report.steps), (End::Finished, 100));
    let network = Network::new(spec.config.clone()).expect("a network");
    let weights = checkpoint::read_weights(&report.model, &network).expect("the model reads");
    let tally = evaluate(&network, &weights, &Rule, 1_000_000..1_000_020).expect("examples fit");
    assert!(tally.mean() < 0.2 && tally.accuracy() > 0.99, "{tally:?}");
    assert!(
        fs::read_to_string(folder.path().join("loss.svg"))
            .expect("a curve")
            .contains("<polyline")
    );
}

/// Stops after a step, or fails where weights were just saved and the state was not.
#[derive(Default)]
struct Trouble {
    stop_after: Option<u64>,
    fail_at: Option<u64>,
    step: u64,
}

impl Observer for Trouble {
    fn stepped(&mut self, line: &Line) {
        self.step = line.step;
    }

    fn evaluate(&mut self, moment: &Moment<'_>) -> Result<Option<Value>, String> {
        if self.fail_at == Some(moment.step) {
            return Err("power cut".into());
        }
        Ok(Some(json!({"weights": moment.weights.len()})))
    }

    fn stopping(&mut self) -> bool {
        self.stop_after == Some(self.step)
    }
}

#[test]
fn training_cut_short_twice_ends_in_the_same_bits_as_training_at_once() {
    let (whole, parts) = (scratch(), scratch());
    train(&spec(whole.path(), 14), &Rule, &mut Trouble::default()).expect("it trains");
    let again = spec(parts.path(), 14);
    let mut stopped = Trouble {
        stop_after: Some(3),
        ..Trouble::default()
    };
    let report = train(&again, &Rule, &mut stopped).expect("it trains");
    assert_eq!((report.end, report.steps), (End::Stopped, 3));
    let mut failed = Trouble {
        fail_at: Some(8),
        ..Trouble::default()
    };
    let error = train(&again, &Rule, &mut failed).expect_err("the evaluation failed");
    assert!(error.to_string().contains("step 8: power cut"), "{error}");
    assert_eq!(lines(parts.path()).len(), 8);
    // what a process that dies while writing leaves behind
    let log = parts.path().join("log.jsonl");
    let mut text = fs::read_to_string(&log).expect("the log reads");
    text.push_str("{\"step\":9,\"lo");
    fs::write(&log, text).expect("the log is written");
    fs::write(parts.path().join("state.safetensors.part"), b"half").expect("it is written");
    let report = train(&again, &Rule, &mut Trouble::default()).expect("it goes on");
    assert_eq!((report.end, report.steps), (End::Finished, 14));
    assert_eq!(lines(whole.path()), lines(parts.path()));
    for file in ["state.safetensors", "model/model.safetensors"] {
        let read =
            |folder: &tempfile::TempDir| fs::read(folder.path().join(file)).expect("it reads");
        assert!(read(&whole) == read(&parts), "{file} differs");
    }
}

#[test]
fn the_number_of_replicas_changes_rounding_alone() {
    let losses = |replicas| {
        let folder = scratch();
        let mut spec = spec(folder.path(), 5);
        spec.settings.replicas = replicas;
        train(&spec, &Rule, &mut ()).expect("it trains");
        lines(folder.path())
    };
    for (one, three) in losses(1).iter().zip(losses(3)) {
        assert!((one.1 - three.1).abs() < 1e-3, "{one:?} against {three:?}");
    }
}

#[test]
fn a_folder_goes_on_only_with_its_own_settings_and_one_process() {
    let folder = scratch();
    train(&spec(folder.path(), 4), &Rule, &mut ()).expect("it trains");
    let mut other = spec(folder.path(), 4);
    other.settings.seed = 2;
    other.settings.clip = 3.0;
    let error = train(&other, &Rule, &mut ())
        .expect_err("other settings")
        .to_string();
    assert!(
        error.contains("training.seed was 1, is 2") && error.contains("training.clip"),
        "{error}"
    );
    let lock = fs::File::create(folder.path().join("lock")).expect("the lock opens");
    lock.try_lock().expect("the lock is free");
    let error = train(&spec(folder.path(), 4), &Rule, &mut ()).expect_err("it is locked");
    assert!(matches!(error, Error::Busy(_)), "{error}");
}

#[test]
fn training_goes_on_from_another_models_weights() {
    let (first, second) = (scratch(), scratch());
    let report = train(&spec(first.path(), 60), &Rule, &mut ()).expect("it trains");
    let mut spec = spec(second.path(), 1);
    spec.settings.start = Start::Model(report.model);
    train(&spec, &Rule, &mut ()).expect("it trains");
    let loss = lines(second.path())[0].1;
    assert!(loss < 1.0, "loss {loss}");
}

/// What the two examples teach is new to a network that knows the rule; corrections of rank 2 learn some of it,
/// move nothing but the matrices, and go on exactly where they were cut short.
#[test]
fn corrections_of_low_rank_learn_and_leave_the_rest_alone() {
    let (first, whole, parts) = (scratch(), scratch(), scratch());
    let report = train(&spec(first.path(), 30), &Rule, &mut ()).expect("it trains");
    let low = |folder: &Path, steps| {
        let mut spec = spec(folder, steps);
        spec.settings.start = Start::Model(report.model.clone());
        spec.settings.low_rank = Some(LowRank {
            rank: 2,
            alpha: 4.0,
        });
        spec.settings.schedule.decay = 0.0;
        spec
    };
    let after = train(&low(whole.path(), 40), &Two, &mut ()).expect("it trains");
    let losses = lines(whole.path());
    assert!(losses[39].1 < losses[0].1 * 0.8, "{losses:?}");
    let network = Network::new(config()).expect("the config is sound");
    let weights = |model: &Path| checkpoint::read_weights(model, &network).expect("it reads");
    let (before, now) = (weights(&report.model), weights(&after.model));
    for slot in network.layout().slots() {
        let moved = before[slot.range.clone()] != now[slot.range.clone()];
        assert_eq!(
            moved,
            slot.shape.0 > 1 && slot.name.contains("layers"),
            "{}",
            slot.name
        );
    }
    let state = fs::metadata(whole.path().join("state.safetensors")).expect("it is there");
    assert!(
        state.len() < 4 * now.len() as u64,
        "only corrections are in the state"
    );

    let mut trouble = Trouble {
        stop_after: Some(17),
        ..Trouble::default()
    };
    train(&low(parts.path(), 40), &Two, &mut trouble).expect("it stops");
    train(&low(parts.path(), 40), &Two, &mut ()).expect("it goes on");
    assert_eq!(weights(&parts.path().join("model")), now);
}

/// One bad example among good ones.
struct Bad(Example);

impl Examples for Bad {
    fn example(&self, index: u64) -> Example {
        if index == 30 {
            self.0.clone()
        } else {
            Rule.example(index)
        }
    }
}

#[test]
fn examples_that_do_not_fit_are_named_and_cost_no_more_than_an_interval() {
    let good = Rule.example(0);
    let cases = [
        (vec![VOCAB; 6], vec![true; 6], "vocabulary"),
        (vec![1; 65], vec![true; 65], "context"),
        (vec![1; 6], vec![true; 5], "one length"),
        (vec![], vec![], "not empty"),
    ];
    for (tokens, loss_mask, message) in cases {
        let folder = scratch();
        let bad = Bad(Example {
            tokens,
            loss_mask,
            role: good.role,
        });
        let error = train(&spec(folder.path(), 50), &bad, &mut ())
            .expect_err("it is bad")
            .to_string();
        assert!(
            error.contains("example 30") && error.contains(message),
            "{error}"
        );
    }
}

#[test]
fn senseless_settings_and_runaway_numbers_end_in_a_message() {
    let folder = scratch();
    let change = |change: fn(&mut Spec)| {
        let mut spec = spec(folder.path(), 5);
        change(&mut spec);
        train(&spec, &Rule, &mut ())
            .expect_err("it makes no sense")
            .to_string()
    };
    assert!(change(|s| s.interval = 0).contains("interval is 0"));
    assert!(change(|s| s.settings.clip = f64::NAN).contains("clip"));
    assert!(change(|s| s.settings.rates.others = -1.0).contains("rates.others"));
    assert!(change(|s| s.config.arch = "llama".into()).contains("llama"));
    assert!(change(|s| s.settings.rates.others = 1e30).contains("is no number"));
}
