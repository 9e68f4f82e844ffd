use super::super::run::Kind;
use super::*;
use crate::task::sets::Set;

fn run(instance: usize) -> Run {
    Run {
        instance,
        seed: 1,
        kind: Kind::Organized { capacity: 4 },
    }
}

fn outcome() -> Outcome {
    Outcome {
        valid: true,
        answer: Some("1 + 1".into()),
        errors: Vec::new(),
        latency: 9,
        eta: 1.25,
        forks: 2,
        decoded: 20,
    }
}

fn open(folder: &Path, settings: &Settings) -> Result<(Journal, Outcomes), JournalError> {
    let set = Set::CountdownDev.tasks();
    Journal::open(folder, "countdown", &set[..3], settings)
}

fn begun() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, outcomes) = open(folder.path(), &Settings::default()).unwrap();
    assert!(outcomes.is_empty());
    for i in 0..3 {
        journal.note(&run(i), &outcome()).unwrap();
    }
    folder
}

#[test]
fn what_was_noted_is_there_again_and_a_cut_line_is_not() {
    let folder = begun();
    let path = folder.path().join("runs.jsonl");
    let bytes = fs::read(&path).unwrap();
    for cut in 1..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let (mut journal, outcomes) = open(folder.path(), &Settings::default()).unwrap();
        let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();
        assert_eq!(outcomes.len(), whole, "{cut}");
        assert!(outcomes.values().all(|o| *o == outcome()));
        journal.note(&run(7), &outcome()).unwrap();
        drop(journal);
        let (_, outcomes) = open(folder.path(), &Settings::default()).unwrap();
        assert_eq!(outcomes.len(), whole + 1, "{cut}");
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_named() {
    let folder = begun();
    let path = folder.path().join("runs.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for broken in ["{\"instance\":", "nonsense", "{}", "\u{1b}[2J"] {
        fs::write(&path, format!("{}\n{broken}\n{}\n", lines[0], lines[2])).unwrap();
        let error = open(folder.path(), &Settings::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("runs.jsonl, line 2: "), "{error}");
    }
}

#[test]
fn other_settings_are_named() {
    let folder = begun();
    let other = Settings {
        temperature: 0.5,
        max_worker: 7,
        ..Settings::default()
    };
    let error = open(folder.path(), &other).unwrap_err().to_string();
    assert!(
        error.contains("max_worker is 512 there and 7 here"),
        "{error}"
    );
    assert!(
        error.contains("temperature is 1.0 there and 0.5 here"),
        "{error}"
    );
    assert!(!error.contains("max_trace"), "{error}");
    let set = Set::SudokuDev.tasks();
    let error = Journal::open(folder.path(), "sudoku", &set, &Settings::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("task is \"countdown\" there"), "{error}");
    fs::write(folder.path().join("settings.json"), "[]").unwrap();
    let error = open(folder.path(), &Settings::default()).unwrap_err();
    assert!(matches!(error, JournalError::Settings(..)));
}

#[test]
fn another_model_is_refused_and_another_role_is_not() {
    let folder = begun();
    let card = |hash: &str| ModelCard {
        name: hash.into(),
        weights_sha256: hash.into(),
        ..ModelCard::default()
    };
    let (mut journal, _) = open(folder.path(), &Settings::default()).unwrap();
    journal.admit(Role::Model, &card("a")).unwrap();
    drop(journal);
    let (mut journal, _) = open(folder.path(), &Settings::default()).unwrap();
    journal.admit(Role::Model, &card("a")).unwrap();
    journal.admit(Role::Baseline, &card("b")).unwrap();
    let error = journal.admit(Role::Model, &card("b")).unwrap_err();
    assert!(
        error.to_string().contains("model is {\"name\":\"a\""),
        "{error}"
    );
}

#[test]
fn served_models_are_told_apart_by_their_names() {
    let folder = begun();
    let card = |name: &str| ModelCard {
        name: name.into(),
        ..ModelCard::default()
    };
    let (mut journal, _) = open(folder.path(), &Settings::default()).unwrap();
    journal.admit(Role::Model, &card("a")).unwrap();
    journal.admit(Role::Model, &card("a")).unwrap();
    let error = journal.admit(Role::Model, &card("b")).unwrap_err();
    assert!(matches!(error, JournalError::Other { .. }), "{error}");
}

#[test]
fn a_folder_serves_one_process_at_a_time() {
    let folder = begun();
    let _first = open(folder.path(), &Settings::default()).unwrap();
    let second = open(folder.path(), &Settings::default());
    assert!(matches!(second, Err(JournalError::Busy(_))));
}
