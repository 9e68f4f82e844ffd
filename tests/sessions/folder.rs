//! The folder of sessions.

use crate::scratch;
use crate::synthetic::{Keyframes, Spec, file, header, make, session};
use orgtop::org::RunEnd;
use orgtop::record::Recorder;
use orgtop::record::store::{
    Prune, Pruning, Writer, default_folder, list, new_id, path_of, prune, summary,
};
use std::time::{Duration, Instant};

#[test]
fn a_summary_is_what_the_end_of_the_file_says() {
    let (_folder, path) = scratch("one.jsonl");
    let state = file(&path, Spec::small());
    let summary = summary(&path).unwrap();
    assert_eq!(summary.id, "one");
    assert_eq!(summary.end, Some(RunEnd::Answered));
    assert_eq!(summary.threads, Some(3));
    assert_eq!(summary.step, state.now.step);
    assert_eq!(summary.metrics, state.recorded_metrics);
}

#[test]
fn a_session_without_an_end_is_summarised_too() {
    let (_folder, path) = scratch("cut.jsonl");
    let (bytes, _) = session(Spec::small());
    std::fs::write(&path, &bytes[..bytes.len() - 200]).unwrap();
    let summary = summary(&path).unwrap();
    assert_eq!(summary.end, None);
    assert_eq!(summary.threads, Some(3));
    assert!(summary.metrics.is_some_and(|m| m.latency > 0));
}

#[test]
fn compressed_sessions_are_listed_and_big_ones_are_not_unpacked() {
    let (folder, plain) = scratch("plain.jsonl");
    let level = ruzstd::encoding::CompressionLevel::Uncompressed;
    for (name, tokens) in [("small", 12), ("big", 2000)] {
        file(
            &plain,
            Spec {
                tokens,
                ..Spec::small()
            },
        );
        let bytes = std::fs::read(&plain).unwrap();
        let packed = ruzstd::encoding::compress_to_vec(bytes.as_slice(), level);
        std::fs::write(folder.path().join(format!("{name}.jsonl.zst")), packed).unwrap();
    }
    let small = summary(&folder.path().join("small.jsonl.zst")).unwrap();
    assert_eq!(small.end, Some(RunEnd::Answered));
    let big = summary(&folder.path().join("big.jsonl.zst")).unwrap();
    assert_eq!((big.id.as_str(), big.end), ("plain", None));
}

#[test]
fn a_picker_over_500_files_reads_headers_and_ends_only() {
    let (folder, one) = scratch("00.jsonl");
    let spec = Spec {
        workers: 8,
        tokens: 2000,
        step_us: 30_000,
        keyframes: Keyframes::AsDue,
    };
    file(&one, spec);
    let bytes = std::fs::read(&one).unwrap();
    assert!(bytes.len() > 1 << 20, "{}", bytes.len());
    for n in 1..500 {
        // Names on the same bytes: what counts is what is read.
        std::fs::hard_link(&one, folder.path().join(format!("{n:03}.jsonl"))).unwrap();
    }
    let begun = Instant::now();
    let entries = list(folder.path()).unwrap();
    let took = begun.elapsed();
    eprintln!("500 files of {} KiB: {took:?}", bytes.len() >> 10);
    assert_eq!(entries.len(), 500);
    assert!(entries.iter().all(|e| {
        e.session
            .as_ref()
            .is_ok_and(|s| s.end == Some(RunEnd::Answered) && s.threads == Some(9))
    }));
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_file_that_does_not_open_is_listed_with_the_reason() {
    let (folder, path) = scratch("bad.jsonl");
    std::fs::write(&path, b"{}").unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
    let entries = list(folder.path()).unwrap();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].session.is_err());
    assert!(list(&folder.path().join("none")).unwrap().is_empty());
}

#[test]
fn pruning_keeps_the_newest_and_whatever_is_being_recorded() {
    let (folder, _) = scratch("");
    let id = |n: u32| format!("2026-01-{n:02}T00-00-00-x");
    let created = |n: u32| format!("2026-01-{n:02}T00:00:00Z");
    for n in 1..=5 {
        let path = path_of(folder.path(), &id(n));
        let mut header = header(&id(n), 3);
        header.created = created(n);
        Recorder::create(&path, &header).unwrap().finish().unwrap();
    }
    std::fs::write(folder.path().join("broken.jsonl"), b"not mine to delete").unwrap();
    let live = path_of(folder.path(), &id(1));
    let appending = Recorder::append_to(&live).unwrap();
    let entries = list(folder.path()).unwrap();
    let of = |writer| entries.iter().filter(|e| e.writer == writer).count();
    assert_eq!((of(Writer::Live), of(Writer::None)), (1, 5));

    let rule = Prune::KeepNewest(2);
    let would = prune(folder.path(), rule, Pruning::DryRun).unwrap();
    assert_eq!(would.removed.len(), 2);
    assert_eq!(list(folder.path()).unwrap().len(), 6);
    let did = prune(folder.path(), rule, Pruning::Delete).unwrap();
    assert_eq!(did.removed, would.removed);
    assert_eq!(did.kept.len(), 1);
    assert!(live.exists());
    assert!(folder.path().join("broken.jsonl").exists());
    let left: Vec<String> = list(folder.path())
        .unwrap()
        .into_iter()
        .filter_map(|e| e.session.ok())
        .map(|s| s.id)
        .collect();
    assert_eq!(left, [id(5), id(4), id(1)]);

    drop(appending);
    let age = Prune::OlderThan(Duration::from_secs(3600));
    let none = prune(folder.path(), age, Pruning::Delete).unwrap();
    assert!(none.removed.is_empty());
    let age = Prune::OlderThan(Duration::ZERO);
    std::thread::sleep(Duration::from_millis(20));
    let all = prune(folder.path(), age, Pruning::Delete).unwrap();
    assert_eq!(all.removed.len(), 3);
}

#[test]
fn names_sort_by_time_and_tell_sessions_apart() {
    let at: jiff::Zoned = "2026-01-31T09:15:02+00:00[UTC]".parse().unwrap();
    let name = new_id(&at);
    assert!(name.starts_with("2026-01-31T09-15-02-"), "{name}");
    assert_eq!(name.split('-').count(), 7, "{name}");
    let names: std::collections::BTreeSet<String> = (0..20).map(|_| new_id(&at)).collect();
    assert!(names.len() > 1);
    assert!(default_folder().unwrap().ends_with("orgtop/sessions"));
}

#[test]
fn a_session_that_goes_on_after_its_end_has_not_ended() {
    let (_folder, path) = scratch("on.jsonl");
    let (bytes, ..) = make(Vec::new(), "on", Spec::small()).finish(RunEnd::Interrupted);
    let n = bytes.iter().filter(|b| **b == b'\n').count() - 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(summary(&path).unwrap().end, Some(RunEnd::Interrupted));

    let more = format!(
        r#"{{"seq":{n},"us":9000000,"step":98,"kind":"command","do":"continue","by":"human"}}
{{"seq":{},"us":9000000,"step":98,"kind":"effect","result":"done","by":"system","cause":{n}}}
{{"seq":{},"us":9000000,"step":99,"kind":"resume","thread":"organizer","by":"system"}}
"#,
        n + 1,
        n + 2
    );
    std::fs::write(&path, [bytes.as_slice(), more.as_bytes()].concat()).unwrap();
    let summary = summary(&path).unwrap();
    assert_eq!(summary.step.0, 99);
    assert_eq!(summary.end, None);
}
