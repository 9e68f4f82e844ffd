//! Whole sessions on a server: recorded, interrupted by its death, gone on with.

use crate::fake::{Fake, Kind, Reply, rest_of, said};
use crate::harness::{CAPS, options};
use orgtop::engine::remote::{ServerOptions, connect};
use orgtop::live::{
    Audience, Finished, Handle, Plan, ProtocolRescan, RunConfig, Start, ToolSet, launch,
    parse_orders,
};
use orgtop::org::{Command, ErrorKind, Organization, Outcome, RunEnd, ThreadId};
use orgtop::record::{SessionFile, text_in, verify};
use std::path::Path;
use std::time::{Duration, Instant};

const BEFORE: [&str; 9] = [
    "Let",
    " me",
    "<FORK-1>",
    "six times",
    " seven",
    "</FORK-1>",
    " wait",
    "<JOI",
    "N-1>",
];
const AFTER: [&str; 4] = [" so", "<ANSWER>", "42", "</ANSWER>"];
const WORKER: [&str; 5] = ["I", " count", "<RETURN>", "42", "</RETURN>"];

/// An organizer with one worker; it would dream up a result if it were let.
fn model(prompt: &str) -> Vec<String> {
    let said = said(prompt);
    if prompt.contains("You are a worker") {
        return rest_of(&WORKER, &said);
    }
    match said.split_once("</JOIN-1>") {
        Some((_, after)) => rest_of(&AFTER, after),
        None => {
            let mut words = rest_of(&BEFORE, &said);
            words.extend(vec![" dream".to_owned(); 20]);
            words
        }
    }
}

fn plan(options: ServerOptions, start: Start, file: Option<&Path>, orders: &str) -> Plan {
    Plan {
        open: Box::new(move || Ok(Box::new(connect(&options, CAPS)?))),
        start,
        file: file.map(Path::to_path_buf),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    }
}

fn fresh() -> Start {
    Start::Fresh {
        config: RunConfig {
            query: "what is it?".into(),
            ..RunConfig::default()
        },
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

fn run(fake: &Fake, file: Option<&Path>, orders: &str) -> Finished {
    launch(plan(options(fake), fresh(), file, orders))
        .wait()
        .unwrap()
}

pub fn text(file: &Path, thread: &str) -> String {
    let thread: ThreadId = thread.parse().unwrap();
    let mut bytes = Vec::new();
    for recorded in SessionFile::open(file).unwrap().events() {
        let event = recorded.unwrap().event;
        if event.thread == Some(thread) {
            bytes.extend_from_slice(text_in(&event).unwrap_or_default());
        }
    }
    String::from_utf8(bytes).unwrap()
}

pub fn agrees(path: &Path) {
    let verified = verify(path, &ProtocolRescan).unwrap();
    assert!(
        verified.disagreements.is_empty(),
        "{:?}",
        verified.disagreements
    );
}

#[test]
fn an_organization_runs_on_every_kind_of_server_and_its_session_agrees_with_itself() {
    for kind in crate::fake::KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let fake = Fake::new(kind, model);
        let finished = run(&fake, Some(&path), "");
        let org = &finished.organization;
        assert_eq!(
            org.end,
            Some(RunEnd::Answered),
            "{kind:?}: {:?}",
            org.errors
        );
        assert_eq!(org.answer.as_deref(), Some("42"));
        let organizer = text(&path, "organizer");
        let expected = BEFORE.concat() + "42</JOIN-1>" + &AFTER.concat();
        assert_eq!(organizer, expected, "nothing of what it dreamt is in it");
        assert_eq!(org.thread(ThreadId::ORGANIZER).unwrap().tokens, 13);
        agrees(&path);
        let header = SessionFile::open(&path).unwrap().header().clone();
        let server = header.engine.server.unwrap();
        assert!(!server.version.is_empty());
    }
}

#[test]
fn a_server_that_dies_midway_interrupts_the_session_which_goes_on_when_it_is_back() {
    for half in 1..BEFORE.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let fake = Fake::new(Kind::Llama, model).then([Reply::Half(half)]);
        let finished = run(&fake, Some(&path), "");
        let org = &finished.organization;
        assert_eq!(org.end, Some(RunEnd::Interrupted));
        assert!(finished.stuck, "nobody was there to go on");
        assert!(org.errors.iter().any(|e| e.kind == ErrorKind::Engine));
        assert!(
            org.threads()
                .all(|t| t.id == ThreadId::ORGANIZER || t.ended() || half >= 6)
        );
        agrees(&path);
        let start = Start::Resumed(path.clone());
        let finished = launch(plan(options(&fake), start, Some(&path), ""))
            .wait()
            .unwrap();
        assert_eq!(
            finished.organization.end,
            Some(RunEnd::Answered),
            "after {half}"
        );
        let expected = BEFORE.concat() + "42</JOIN-1>" + &AFTER.concat();
        assert_eq!(text(&path, "organizer"), expected);
        agrees(&path);
    }
}

/// Follows a live session until `what` holds.
fn until(
    handle: &Handle,
    org: &mut Organization,
    what: impl Fn(&Organization) -> bool,
) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let batch = handle.mailbox.take();
        for event in &batch.events {
            org.apply(event);
        }
        if what(org) {
            return batch.report.banner;
        }
        assert!(
            Instant::now() < end,
            "it never came to that: {:?} {:?} {}",
            org.errors,
            org.commands,
            org.paused
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_live_session_pauses_with_a_banner_when_its_server_dies_and_goes_on_when_told() {
    let pace = Reply::Slowly(Duration::from_millis(60));
    let fake = Fake::new(Kind::Vllm, model).then([pace]);
    let mut options = options(&fake);
    options.retries = 0;
    let handle = launch(Plan {
        audience: Audience::Person,
        ..plan(options, fresh(), None, "")
    });
    let mut org = Organization::new(4, 0.5);
    until(&handle, &mut org, |org| {
        org.thread(ThreadId::ORGANIZER)
            .is_some_and(|t| t.tokens >= 2)
    });
    let revive = fake.die();
    until(&handle, &mut org, |org| org.paused);
    std::thread::sleep(Duration::from_millis(150));
    let banner = handle.mailbox.take().report.banner.expect("a banner");
    assert!(
        banner.contains("nothing is lost; resume to ask again"),
        "{banner}"
    );
    // Still dead: the same again, not an end.
    handle
        .commands
        .send(Command::Resume { thread: None })
        .unwrap();
    until(&handle, &mut org, |org| org.errors.len() >= 2 && org.paused);
    let fake = revive();
    handle
        .commands
        .send(Command::Resume { thread: None })
        .unwrap();
    until(&handle, &mut org, |org| org.end.is_some());
    assert_eq!(org.answer.as_deref(), Some("42"));
    handle.commands.send(Command::Interrupt).unwrap();
    handle.wait().unwrap();
    drop(fake);
}

#[test]
fn a_killed_worker_is_dropped_and_its_partial_text_joined() {
    let pace = Reply::Slowly(Duration::from_millis(10));
    let fake = Fake::new(Kind::Llama, |prompt| {
        if prompt.contains("You are a worker") {
            vec![" on and on".to_owned(); 1000]
        } else {
            model(prompt)
        }
    })
    .then(vec![pace; 2]);
    let kill = r#"{"at":{"thread":"1","tokens":3},"do":"kill","thread":"1"}"#;
    let finished = run(&fake, None, kill);
    assert_eq!(finished.organization.end, Some(RunEnd::Answered));
    let last = fake.asked().last().unwrap().prompt();
    assert!(last.contains("[partial: killed]</JOIN-1>"), "{last}");
}

#[test]
fn an_edit_is_continued_from_the_edited_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let fake = Fake::new(Kind::Vllm, |prompt| {
        if said(prompt).contains("Better") {
            vec!["<ANSWER>".into(), "43".into(), "</ANSWER>".into()]
        } else {
            model(prompt)
        }
    });
    let edit =
        r#"{"at":{"event":"fork:1"},"do":"edit","thread":"organizer","token":1,"text":" Better:"}"#;
    let finished = run(&fake, Some(&path), edit);
    assert_eq!(finished.organization.answer.as_deref(), Some("43"));
    let last = fake.asked().last().unwrap().prompt();
    assert!(last.ends_with("assistant\nLet Better:"), "{last}");
    agrees(&path);
}

#[test]
fn a_pause_and_single_steps_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let fake = Fake::new(Kind::Sglang, model);
    let orders = [
        r#"{"at":{"step":2},"do":"pause"}"#,
        r#"{"do":"step"}"#,
        r#"{"at":{"step":3},"do":"step"}"#,
        r#"{"at":{"step":4},"do":"resume"}"#,
    ];
    let finished = run(&fake, Some(&path), &orders.join("\n"));
    assert_eq!(finished.organization.answer.as_deref(), Some("42"));
    let expected = BEFORE.concat() + "42</JOIN-1>" + &AFTER.concat();
    assert_eq!(text(&path, "organizer"), expected);
}

#[test]
fn a_recorded_session_means_the_same_to_another_connection() {
    // Ids are given in the order of arrival; a second session must learn those of the first.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let fake = Fake::new(Kind::Vllm, model);
    let stop = r#"{"at":{"step":7},"do":"interrupt"}"#;
    assert_eq!(
        run(&fake, Some(&path), stop).organization.end,
        Some(RunEnd::Interrupted)
    );
    let start = Start::Resumed(path.clone());
    launch(plan(options(&fake), start, Some(&path), ""))
        .wait()
        .unwrap();
    let expected = BEFORE.concat() + "42</JOIN-1>" + &AFTER.concat();
    assert_eq!(text(&path, "organizer"), expected);
    let sent = fake.asked();
    let resumed = sent
        .iter()
        .rfind(|a| a.prompt().contains("Let me") && !a.prompt().contains("</JOIN-1>"));
    assert!(
        resumed
            .unwrap()
            .prompt()
            .contains("assistant\nLet me<FORK-1>six times seven</FORK-1>")
    );
}

#[test]
fn the_guard_has_no_hold_on_a_server_and_says_so() {
    let fake = Fake::new(Kind::Vllm, model);
    let order = r#"{"at":{"step":2},"do":"set","guard":"on"}"#;
    let org = run(&fake, None, order).organization;
    assert_eq!(org.end, Some(RunEnd::Answered));
    let Some(Outcome::Refused { why }) = &org.commands[0].outcome else {
        panic!("{:?}", org.commands)
    };
    assert!(why.contains("the guard has no hold there"), "{why}");
}

#[test]
fn pieces_of_a_character_count_as_the_tokens_that_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let fake = Fake::saying(Kind::Vllm, &["I ", "🧠", "<ANSWER>", "🧠", "</ANSWER>"]);
    let finished = run(&fake, Some(&path), "");
    let org = &finished.organization;
    assert_eq!(org.answer.as_deref(), Some("🧠"));
    assert_eq!(org.thread(ThreadId::ORGANIZER).unwrap().tokens, 9);
    agrees(&path);
    // Stopped between two pieces, and gone on with elsewhere.
    let stop = r#"{"at":{"thread":"organizer","tokens":2},"do":"interrupt"}"#;
    let path = folder.path().join("t.jsonl");
    run(&fake, Some(&path), stop);
    let resumed = plan(
        options(&fake),
        Start::Resumed(path.clone()),
        Some(&path),
        "",
    );
    let finished = launch(resumed).wait().unwrap();
    assert_eq!(finished.organization.answer.as_deref(), Some("🧠"));
    assert_eq!(text(&path, "organizer"), "I 🧠<ANSWER>🧠</ANSWER>");
    agrees(&path);
}
