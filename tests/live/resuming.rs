//! A session that was interrupted anywhere and went on is the session that was never interrupted.

use crate::harness::{config, line, words};
use orgtop::engine::{Script, Scripted};
use orgtop::live::{Audience, Finished, Plan, ProtocolRescan, Start, launch, parse_orders};
use orgtop::org::{Organization, RunEnd, ThreadId};
use orgtop::record::{SessionFile, text_in, verify};
use std::collections::BTreeMap;
use std::path::Path;

/// Indices used twice while their bearer runs, after it ended, and after it was joined; a Join on each.
fn reuse() -> Vec<String> {
    let mut organizer = vec![
        "<FORK-1>",
        "one",
        "</FORK-1>",
        " w",
        "<FORK-1>",
        "again",
        "</FORK-1>",
    ];
    organizer.extend(words(6));
    organizer.extend([
        "<FORK-1>late</FORK-1>",
        "<JO",
        "IN-1",
        ">",
        " w",
        "<JOIN-1>",
    ]);
    organizer.extend([
        "<FORK-1>new</FORK-1>",
        " w",
        "<JOIN-1>",
        "<ANSWER>",
        "ok",
        "</ANSWER>",
    ]);
    vec![
        line("organizer", &organizer),
        line("1", &[" a", " b", "<RET", "URN>r", "1</RETURN>"]),
        line("1", &[" c", " d", " e", "<RETURN>r2</RETURN>"]),
    ]
}

pub fn play(script: &[String], start: Start, file: Option<&Path>, orders: &str) -> Finished {
    let script = Script::parse(&script.join("\n"), "script").unwrap();
    launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start,
        file: file.map(Path::to_path_buf),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    })
    .wait()
    .unwrap()
}

fn fresh() -> Start {
    Start::Fresh {
        config: config(),
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

pub struct Read {
    pub texts: BTreeMap<ThreadId, Vec<u8>>,
    pub organization: Organization,
}

pub fn read(path: &Path) -> Read {
    let file = SessionFile::open(path).unwrap();
    let mut read = Read {
        texts: BTreeMap::new(),
        organization: Organization::new(file.header().capacity, file.header().tau),
    };
    for recorded in file.events() {
        let event = recorded.unwrap().event;
        if let (Some(text), Some(id)) = (text_in(&event), event.thread) {
            read.texts.entry(id).or_default().extend_from_slice(text);
        }
        read.organization.apply(&event);
    }
    read
}

fn errors(organization: &Organization) -> Vec<String> {
    let name = |e: &orgtop::org::ErrorRecord| format!("{:?}", e.kind);
    organization.errors.iter().map(name).collect()
}

#[test]
fn an_index_used_twice_survives_reopening_at_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    play(&reuse(), fresh(), Some(&whole), "");
    let expected = read(&whole);
    assert_eq!(expected.organization.end, Some(RunEnd::Answered));
    assert_eq!(
        errors(&expected.organization),
        [
            "DuplicateIndex",
            "DuplicateIndex",
            "JoinTwice",
            "DuplicateIndex"
        ]
    );
    let steps = expected.organization.now.step.0;
    for step in 0..steps {
        let path = folder.path().join(format!("{step}.jsonl"));
        let order = format!("{{\"at\": {{\"step\": {step}}}, \"do\": \"interrupt\"}}");
        let first = play(&reuse(), fresh(), Some(&path), &order);
        assert_eq!(
            first.organization.end,
            Some(RunEnd::Interrupted),
            "step {step}"
        );
        let on = play(&reuse(), Start::Resumed(path.clone()), Some(&path), "");
        assert_eq!(on.organization.end, Some(RunEnd::Answered), "step {step}");
        let replayed = read(&path);
        assert_eq!(replayed.texts, expected.texts, "step {step}");
        assert_eq!(
            errors(&replayed.organization),
            errors(&expected.organization)
        );
        assert_eq!(
            replayed.organization.metrics().latency,
            expected.organization.metrics().latency,
            "step {step}"
        );
        assert!(
            replayed.organization.same_as(&on.organization),
            "step {step}"
        );
        let verified = verify(&path, &ProtocolRescan).unwrap();
        assert!(
            verified.disagreements.is_empty(),
            "{:?}",
            verified.disagreements
        );
    }
}

#[test]
fn a_dropped_handle_leaves_a_saved_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dropped.jsonl");
    let forever =
        r#"{"thread": "organizer", "tokens": [" w"], "repeat": true, "tokens_per_s": 100}"#;
    let script = Script::parse(forever, "script").unwrap();
    let handle = launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start: fresh(),
        file: Some(path.clone()),
        orders: std::collections::VecDeque::new(),
        audience: Audience::Person,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    drop(handle);
    assert_eq!(read(&path).organization.end, Some(RunEnd::Interrupted));
}
