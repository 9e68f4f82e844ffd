//! The recorder on real files.

use crate::synthetic::{Spec, header, session};
use crate::{line_starts, scratch};
use orgtop::org::{
    Author, Body, BranchId, Event, Organization, RunEnd, Seq, Step, TextBytes, ThreadId,
};
use orgtop::record::{
    Coalescer, Health, Origin, RecordError, Recorder, RecorderStatus, SessionFile, restore, text_in,
};
use std::path::Path;
use std::time::{Duration, Instant};

fn soon(what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn record(path: &Path, events: &[Event]) {
    let recorder = Recorder::create(path, &header("made", 3)).unwrap();
    for event in events {
        recorder.record(event.clone());
    }
    recorder.finish().unwrap();
}

#[test]
fn what_is_recorded_is_what_the_encoder_writes() {
    let (bytes, events) = session(Spec::small());
    let (_folder, path) = scratch("deep/er/session.jsonl");
    record(&path, &events);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
#[cfg(unix)]
fn a_session_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = scratch("session.jsonl");
    record(&path, &[]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let (_, events) = session(Spec::small());
    let (_folder, path) = scratch("session.jsonl");
    let recorder = Recorder::create(&path, &header("made", 3)).unwrap();
    recorder.record(events[0].clone());
    assert!(soon(|| recorder.status().waiting == 0));
    assert!(matches!(
        Recorder::append_to(&path),
        Err(RecordError::Busy { .. })
    ));
    assert!(matches!(
        Recorder::create(&path, &header("made", 3)),
        Err(RecordError::Exists { .. })
    ));
    assert_eq!(SessionFile::open(&path).unwrap().events().count(), 1);
    recorder.finish().unwrap();
    let appending = Recorder::append_to(&path).unwrap();
    assert_eq!(appending.next_seq, Seq(1));
}

#[test]
fn interrupted_anywhere_and_gone_on_with_the_file_is_the_same() {
    let (bytes, events) = session(Spec::small());
    let (folder, _) = scratch("");
    for split in [0, 1, 7, events.len() / 2, events.len() - 1] {
        let path = folder.path().join(format!("{split}.jsonl"));
        record(&path, &events[..split]);
        let appending = Recorder::append_to(&path).unwrap();
        assert_eq!(appending.next_seq, Seq(split as u64));
        assert_eq!(appending.torn, None);
        for event in &events[split..] {
            appending.recorder.record(event.clone());
        }
        appending.recorder.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "split at {split}");
    }
}

#[test]
fn after_a_torn_tail_hashes_and_links_are_those_of_what_is_left() {
    let (bytes, events) = session(Spec::small());
    let starts = line_starts(&bytes);
    let (_folder, path) = scratch("torn.jsonl");
    let kept = events.len() / 2;
    std::fs::write(&path, &bytes[..starts[kept + 1] + 5]).unwrap();
    let appending = Recorder::append_to(&path).unwrap();
    assert!(appending.torn.is_some());
    assert_eq!(appending.report.damages.len(), 1);
    for event in &events[kept..] {
        appending.recorder.record(event.clone());
    }
    appending.recorder.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_killed_writer_leaves_whole_lines() {
    // The recorder is dropped as a crash leaves it: nobody called `finish`.
    let (_, events) = session(Spec::small());
    let (_folder, path) = scratch("session.jsonl");
    let recorder = Recorder::create(&path, &header("made", 3)).unwrap();
    for event in &events {
        recorder.record(event.clone());
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.last(), Some(&b'\n'), "a record is written at once");
    }
    std::mem::forget(recorder);
    assert!(soon(
        || SessionFile::open(&path).unwrap().events().count() == events.len()
    ));
}

#[test]
fn a_deleted_file_comes_back_with_everything_in_it() {
    let (bytes, events) = session(Spec::small());
    let (_folder, path) = scratch("gone/session.jsonl");
    let recorder = Recorder::create(&path, &header("made", 3)).unwrap();
    for event in &events[..5] {
        recorder.record(event.clone());
    }
    assert!(soon(|| recorder.status().waiting == 0));
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    for event in &events[5..] {
        recorder.record(event.clone());
    }
    assert!(soon(|| path.exists()));
    recorder.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn another_file_in_its_place_is_not_touched_and_a_banner_says_so() {
    let (_, events) = session(Spec::small());
    let (_folder, path) = scratch("session.jsonl");
    let recorder = Recorder::create(&path, &header("made", 3)).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"mine").unwrap();
    assert!(soon(|| recorder.status().banner.is_some()));
    recorder.record(events[0].clone());
    let RecorderStatus { health, banner, .. } = recorder.status();
    assert_eq!(health, Health::Buffering);
    assert!(banner.unwrap().contains("another file has taken its place"));
    let error = recorder.finish().unwrap_err().to_string();
    assert!(error.contains("the last 1 records"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn text_that_drives_terminals_or_is_no_text_comes_back_byte_by_byte() {
    let hostile: &[u8] =
        b"\x1b]52;c;aGk=\x07\x1b[2J\x1bc\x9b31m\r\t\0\xe2\x80\xae \xf0\x9f\xa7\xa0 \xff\xfe \xc3";
    for size in 1..=4 {
        let (_folder, path) = scratch("hostile.jsonl");
        let mut coalescer = Coalescer::default();
        let mut events = Vec::new();
        for (step, bytes) in hostile.chunks(size).enumerate() {
            let event = Event {
                seq: Seq(0),
                us: 20_000 * step as u64,
                step: Step(step as u64 + 1),
                branch: BranchId(0),
                thread: Some(ThreadId::ORGANIZER),
                by: Author::Model,
                cause: None,
                body: Body::Tokens {
                    ids: vec![5],
                    bytes: TextBytes(bytes.to_vec()),
                    lens: vec![u32::try_from(bytes.len()).unwrap()],
                    logprobs: vec![],
                    top: vec![],
                },
            };
            coalescer.push(event, &mut events);
        }
        coalescer.flush(&mut events);
        record(&path, &events);
        let text: Vec<u8> = SessionFile::open(&path)
            .unwrap()
            .events()
            .flat_map(|e| text_in(&e.unwrap().event).unwrap().to_vec())
            .collect();
        assert_eq!(text, hostile);
        let raw = std::fs::read(&path).unwrap();
        assert!(std::str::from_utf8(&raw).is_ok(), "the file is always text");
        assert!(!raw.contains(&0x1b) && !raw.contains(&0));
    }
}

#[test]
fn a_restored_session_has_every_context_in_order() {
    let (bytes, events) = session(Spec::small());
    let (_folder, path) = scratch("session.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let restored = restore(&path).unwrap();
    let mut state = Organization::new(3, 0.5);
    for event in &events {
        state.apply(event);
    }
    assert!(restored.organization.same_as(&state));
    assert_eq!(restored.organization.end, Some(RunEnd::Answered));
    assert_eq!(restored.next_seq, Seq(events.len() as u64));
    let organizer = &restored.threads[&ThreadId::ORGANIZER];
    assert_eq!(organizer.prompt, [1, 2, 3]);
    let mut at = 0;
    let mut ids = organizer.prompt.clone();
    for event in events
        .iter()
        .filter(|e| e.thread == Some(ThreadId::ORGANIZER))
    {
        match &event.body {
            Body::Tokens { ids: more, .. } | Body::Splice { ids: more, .. } => ids.extend(more),
            _ => {}
        }
    }
    assert_eq!(organizer.ids().collect::<Vec<_>>(), ids);
    for piece in &organizer.pieces {
        assert_eq!(piece.at, at);
        at += piece.bytes.len() as u64;
    }
    let text: Vec<u8> = organizer
        .pieces
        .iter()
        .flat_map(|p| p.bytes.clone())
        .collect();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "<FORK-1>start with 1</FORK-1><FORK-2>start with 2</FORK-2><JOIN-1>done</JOIN-1><JOIN-2>done</JOIN-2><ANSWER>30</ANSWER>"
    );
    assert!(organizer.pieces.iter().any(|p| matches!(
        p.origin,
        Origin::Spliced { of: Some(of), .. } if of == ThreadId::worker(1).unwrap()
    )));
}

/// Records into `$ORGTOP_TEST_RECORD` for ever; the other half of the test below.
#[test]
#[ignore = "slow: runs until it is killed, as the child of `a_process_killed_while_recording_leaves_a_session_that_goes_on`"]
fn child_that_records_until_killed() {
    let Some(path) = std::env::var_os("ORGTOP_TEST_RECORD") else {
        return;
    };
    let (_, events) = session(Spec::small());
    let recorder = Recorder::create(Path::new(&path), &header("made", 3)).unwrap();
    let mut seq = 0;
    loop {
        for event in &events[..events.len() - 1] {
            let mut event = event.clone();
            event.seq = Seq(seq);
            seq += 1;
            recorder.record(event);
        }
        while recorder.status().waiting > 100 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_process_killed_while_recording_leaves_a_session_that_goes_on() {
    for round in 0..3 {
        let (_folder, path) = scratch("killed.jsonl");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "recording::child_that_records_until_killed",
            ])
            .env("ORGTOP_TEST_RECORD", &path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let size = || std::fs::metadata(&path).map_or(0, |m| m.len());
        let big = soon(|| size() > 50_000 * (round + 1));
        let busy = matches!(Recorder::append_to(&path), Err(RecordError::Busy { .. }));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(big && busy);
        let report = SessionFile::open(&path).unwrap().check().unwrap();
        assert!(report.is_clean(), "one write a record: {report}");
        let appending = Recorder::append_to(&path).unwrap();
        assert_eq!(appending.next_seq, Seq(report.events));
    }
}
