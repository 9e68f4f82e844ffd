use super::*;
use crate::engine::embedded;
use crate::learn::training::Error;
use crate::task::sets::Set;
use std::fs;
use std::path::Path;

fn spec(folder: &Path) -> Spec {
    let model = folder.join("start");
    embedded::write_to(&model).unwrap();
    let start = Start::Model {
        sha256: "of the embedded model".into(),
    };
    let mut settings = Settings::new("three", start, 5, 2);
    settings.queries = 2;
    settings.group = 3;
    settings.bounds.kl = 0.01;
    // a number whose text is not read back as itself
    settings.rates.others = 1e-3 / 10.0;
    Spec {
        folder: folder.join("training"),
        model,
        settings,
        tasks: Set::CountdownDev.tasks()[..3].to_vec(),
        held_out: Set::CountdownDev.tasks()[3..5].to_vec(),
        interval: 1,
        progress: Progress::Silent,
    }
}

/// Ends after some units.
struct Impatient(usize);

impl Observer for Impatient {
    fn stopping(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

#[test]
fn two_steps_move_the_weights_and_a_training_cut_short_goes_on_exactly() {
    let whole = tempfile::tempdir().unwrap();
    let spec_whole = spec(whole.path());
    let report = train(&spec_whole, &mut ()).unwrap();
    assert_eq!((report.end, report.steps), (End::Finished, 2));
    let (first, best) = (report.first.unwrap(), report.best.unwrap());
    assert_eq!((first.step, first.scores.n), (0, 2));
    assert!(best.scores.reward >= first.scores.reward);
    let weights = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert_ne!(weights(&spec_whole.model), weights(&report.model));
    assert!(report.best_model.join("model.safetensors").is_file());

    let parts = tempfile::tempdir().unwrap();
    let spec_parts = spec(parts.path());
    let stopped = train(&spec_parts, &mut Impatient(8)).unwrap();
    assert_eq!((stopped.end, stopped.steps), (End::Stopped, 1));
    let report_parts = train(&spec_parts, &mut ()).unwrap();
    assert_eq!(report_parts.tokens, report.tokens);
    assert_eq!(weights(&report_parts.model), weights(&report.model));
    let log = fs::read_to_string(spec_parts.folder.join("log.jsonl")).unwrap();
    let line = |n: &str| log.lines().filter(|l| l.contains(n)).count();
    assert_eq!((line("entropy"), line("evaluation")), (2, 3));

    let mut other = spec(parts.path());
    other.settings.reward.lambda = 0.0;
    let error = train(&other, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Other { .. }), "{error}");
    assert!(error.to_string().contains("lambda"), "{error}");
}

#[test]
fn a_group_of_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path());
    spec.settings.group = 1;
    let error = train(&spec, &mut ()).unwrap_err().to_string();
    assert!(error.contains("at least 2"), "{error}");
}
