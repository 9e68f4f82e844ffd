//! Files that a crash, a disk or a hand has damaged.

use crate::synthetic::{Keyframes, Spec, header, session};
use crate::{line_starts, scratch};
use orgtop::org::{Author, Body, BranchId, Event, Seq, Step};
use orgtop::record::{
    DamageKind, HeaderFate, OpenError, Player, RecordError, Recorder, SessionFile, Target, recover,
    recovered_path, restore,
};
use std::path::Path;

fn mark(seq: Seq, us: u64) -> Event {
    Event {
        seq,
        us,
        step: Step(0),
        branch: BranchId(0),
        thread: None,
        by: Author::Human,
        cause: None,
        body: Body::Mark {
            name: "after".into(),
        },
    }
}

fn seqs(path: &Path) -> Vec<u64> {
    SessionFile::open(path)
        .unwrap()
        .events()
        .map(|e| e.unwrap().event.seq.0)
        .collect()
}

/// Appends a mark and closes; gives where the torn end went.
fn append(path: &Path) -> Option<std::path::PathBuf> {
    let appending = Recorder::append_to(path).unwrap();
    let next = appending.next_seq;
    appending.recorder.record(mark(next, appending.us));
    appending.recorder.finish().unwrap();
    appending.torn
}

#[test]
fn cut_at_every_byte_of_the_last_two_records_it_opens_plays_and_goes_on() {
    let spec = Spec {
        tokens: 4,
        keyframes: Keyframes::Every(2),
        ..Spec::small()
    };
    let (bytes, _) = session(spec);
    let starts = line_starts(&bytes);
    let (folder, _) = scratch("");
    let ends: Vec<usize> = starts[2..].iter().copied().chain([bytes.len()]).collect();
    let last_two = starts[starts.len() - 2];
    for cut in last_two..=bytes.len() {
        let path = folder.path().join(format!("{cut}.jsonl"));
        std::fs::write(&path, &bytes[..cut]).unwrap();

        // A record is whole from its closing brace on, newline or not.
        let whole = ends.iter().filter(|end| cut + 1 >= **end).count();
        let torn = !ends.iter().any(|end| cut == *end || cut + 1 == *end);
        let file = SessionFile::open(&path).unwrap();
        let report = file.check().unwrap();
        let is_torn = matches!(
            report.damages.as_slice(),
            [d] if matches!(d.kind, DamageKind::Torn { .. })
        );
        assert_eq!(is_torn, torn, "cut at {cut}: {report}");
        assert_eq!(report.is_clean(), !torn, "cut at {cut}: {report}");
        assert_eq!(seqs(&path), (0..whole as u64).collect::<Vec<_>>());

        let mut player = Player::open(&path).unwrap();
        player.seek(Target::End).unwrap();
        assert_eq!(player.position().next, Seq(whole as u64));

        let aside = append(&path);
        assert_eq!(aside.is_some(), torn, "cut at {cut}");
        if let Some(aside) = aside {
            let start = starts.iter().rev().find(|s| **s <= cut).unwrap();
            assert_eq!(std::fs::read(aside).unwrap(), &bytes[*start..cut]);
        }
        let after = SessionFile::open(&path).unwrap();
        assert!(after.check().unwrap().is_clean(), "cut at {cut}");
        assert_eq!(seqs(&path), (0..=whole as u64).collect::<Vec<_>>());
        let kept = std::fs::read(&path).unwrap();
        let stable = ends[whole - 1].min(cut);
        assert_eq!(&kept[..stable], &bytes[..stable], "nothing is overwritten");
    }
}

#[test]
fn zero_bytes_at_the_end_are_set_aside() {
    let (bytes, events) = session(Spec::small());
    let (_folder, path) = scratch("nuls.jsonl");
    let mut damaged = bytes.clone();
    damaged.extend([0; 4096]);
    std::fs::write(&path, &damaged).unwrap();
    let report = SessionFile::open(&path).unwrap().check().unwrap();
    assert_eq!(report.damages.len(), 1);
    assert_eq!(report.damages[0].kind, DamageKind::Nuls { bytes: 4096 });
    let aside = append(&path).unwrap();
    assert_eq!(std::fs::read(aside).unwrap(), [0; 4096]);
    assert_eq!(seqs(&path).len(), events.len() + 1);
    assert!(
        SessionFile::open(&path)
            .unwrap()
            .check()
            .unwrap()
            .is_clean()
    );
}

#[test]
fn zero_bytes_in_the_middle_cost_no_record_behind_them() {
    let (bytes, events) = session(Spec::small());
    let starts = line_starts(&bytes);
    let (_folder, path) = scratch("nuls.jsonl");
    let mut damaged = bytes[..starts[5]].to_vec();
    damaged.extend([0; 100]);
    damaged.extend(&bytes[starts[5]..]);
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(seqs(&path).len(), events.len());
    let report = SessionFile::open(&path).unwrap().check().unwrap();
    assert_eq!(report.damages.len(), 1);
    assert_eq!(report.damages[0].line, 6);
}

#[test]
fn a_damaged_line_is_reported_with_its_number_and_everything_else_is_read() {
    let (bytes, events) = session(Spec::small());
    let starts = line_starts(&bytes);
    let (folder, _) = scratch("");
    for line in 1..starts.len() {
        for (i, damage) in [b"\0\0\0\0".as_slice(), b"\xff{]\x1b", b"null"]
            .iter()
            .enumerate()
        {
            let path = folder.path().join(format!("{line}-{i}.jsonl"));
            let mut damaged = bytes.clone();
            damaged[starts[line] + 3..starts[line] + 7].copy_from_slice(damage);
            std::fs::write(&path, &damaged).unwrap();
            let report = SessionFile::open(&path).unwrap().check().unwrap();
            assert_eq!(report.damages.len(), 1, "{report}");
            assert_eq!(report.damages[0].line, line as u64 + 1);
            assert_eq!(report.damages[0].offset, starts[line] as u64);
            assert!(report.to_string().contains(&format!("line {}", line + 1)));
            assert_eq!(seqs(&path).len(), events.len() - 1);
            let mut player = Player::open(&path).unwrap();
            assert_eq!(player.report().damages.len(), 1);
            player.seek(Target::End).unwrap();
        }
    }
}

#[test]
fn missing_events_are_reported() {
    let (bytes, _) = session(Spec::small());
    let starts = line_starts(&bytes);
    let (_folder, path) = scratch("gap.jsonl");
    let mut gap = bytes[..starts[4]].to_vec();
    gap.extend(&bytes[starts[6]..]);
    std::fs::write(&path, &gap).unwrap();
    let report = SessionFile::open(&path).unwrap().check().unwrap();
    assert_eq!(report.damages.len(), 1);
    assert_eq!(
        report.damages[0].kind,
        DamageKind::Gap {
            expected: Seq(3),
            found: Seq(5)
        }
    );
    assert_eq!(report.damages[0].line, 5);
}

#[test]
fn what_is_no_session_says_so_and_is_never_written() {
    let (folder, _) = scratch("");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let (bytes, _) = session(Spec::small());
    let header_end = line_starts(&bytes)[1];
    let mut bad_header = bytes.clone();
    bad_header[header_end - 10] = b'\\';
    let cases = [
        (write("empty.jsonl", b""), "is empty (0 bytes)"),
        (write("text.jsonl", b"hello\n"), "not a session"),
        (
            write(
                "other.jsonl",
                b"{\"format\":\"cast\",\"version\":{\"major\":1,\"minor\":0}}\n",
            ),
            "not a session",
        ),
        (write("bin.jsonl", &[0, 159, 146, 150]), "not a session"),
        (write("cut.jsonl", &bytes[..header_end / 2]), "bad header"),
        (write("bad.jsonl", &bad_header), "bad header"),
        (folder.path().to_owned(), "is a folder"),
        (folder.path().join("none.jsonl"), "cannot read"),
    ];
    for (path, expected) in cases {
        let before = std::fs::read(&path).ok();
        let error = SessionFile::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(Player::open(&path).is_err());
        assert!(matches!(
            Recorder::append_to(&path),
            Err(RecordError::Open(_))
        ));
        let exists = before.is_some();
        assert_eq!(std::fs::read(&path).ok(), before);
        if exists {
            assert!(matches!(
                Recorder::create(&path, &header("x", 2)),
                Err(RecordError::Exists { .. })
            ));
            assert_eq!(std::fs::read(&path).ok(), before);
        }
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let (_folder, path) = scratch("pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()));
    assert!(matches!(
        SessionFile::open(&path),
        Err(OpenError::NotAFile { .. })
    ));
}

#[test]
fn a_newer_major_version_opens_read_only_with_a_message() {
    let (bytes, events) = session(Spec::small());
    let text = String::from_utf8(bytes).unwrap();
    let newer = text.replacen("\"major\":1", "\"major\":2", 1).replacen(
        "\"seed\":0",
        "\"seed\":0,\"mirostat\":5",
        1,
    );
    let (_folder, path) = scratch("newer.jsonl");
    std::fs::write(&path, newer).unwrap();
    let file = SessionFile::open(&path).unwrap();
    let newer = format!("session format 2.{}", orgtop::record::VERSION.minor);
    assert!(file.read_only().unwrap().contains(&newer));
    assert_eq!(file.events().count(), events.len());
    assert!(!file.check().unwrap().is_clean());
    let error = Recorder::append_to(&path).unwrap_err();
    assert!(matches!(error, RecordError::ReadOnly { .. }), "{error}");
}

#[test]
fn a_compressed_session_is_the_same_session() {
    let (bytes, events) = session(Spec::small());
    let (folder, path) = scratch("packed.jsonl.zst");
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(bytes.as_slice(), level);
    std::fs::write(&path, &packed).unwrap();
    let file = SessionFile::open(&path).unwrap();
    let read: Vec<Event> = file.events().map(|e| e.unwrap().event).collect();
    assert_eq!(read.len(), events.len());
    let mut player = Player::open(&path).unwrap();
    player.seek(Target::End).unwrap();
    assert_eq!(player.position().next, Seq(events.len() as u64));
    assert!(matches!(
        Recorder::append_to(&path),
        Err(RecordError::ReadOnly { .. })
    ));

    let cut = folder.path().join("cut.jsonl.zst");
    std::fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    let error = SessionFile::open(&cut).unwrap_err().to_string();
    assert!(error.contains("cannot decompress"), "{error}");
}

#[test]
fn a_recovered_copy_reads_clean_and_the_damaged_file_stays() {
    let (bytes, events) = session(Spec::small());
    let starts = line_starts(&bytes);
    for line in 1..starts.len() {
        let (_folder, path) = scratch("hurt.jsonl");
        let mut damaged = bytes.clone();
        damaged[starts[line] + 1] = 0xff;
        damaged.extend_from_slice(b"{\"seq\":9999,\"us");
        std::fs::write(&path, &damaged).unwrap();
        let to = recovered_path(&path);
        let recovered = recover(&path, &to).unwrap();
        assert_eq!(recovered.header, HeaderFate::Kept);
        assert_eq!(recovered.events, events.len() as u64 - 1);
        assert_eq!(recovered.report.damages.len(), 2, "{}", recovered.report);
        assert_eq!(std::fs::read(&path).unwrap(), damaged);

        // Only the gap is left, and every text can be walked from the end.
        let report = SessionFile::open(&to).unwrap().check().unwrap();
        assert!(
            report
                .damages
                .iter()
                .all(|d| matches!(d.kind, DamageKind::Gap { .. })),
            "{report}"
        );
        let restored = restore(&to).unwrap();
        let mut player = Player::open(&to).unwrap();
        player.seek(Target::End).unwrap();
        for (id, thread) in &restored.threads {
            let text = player
                .text(*id, orgtop::record::TextFrom::Here, Default::default())
                .unwrap();
            let walked: Vec<Seq> = text.pieces.iter().map(|p| p.seq).collect();
            let read: Vec<Seq> = thread.pieces.iter().map(|p| p.seq).collect();
            assert_eq!(walked, read, "{id} with line {line} lost");
        }
        assert!(matches!(
            recover(&path, &to),
            Err(RecordError::Exists { .. })
        ));
        assert_ne!(recovered_path(&path), to);
    }
}

#[test]
fn an_undamaged_file_recovers_to_itself() {
    let (bytes, _) = session(Spec::small());
    let (folder, path) = scratch("whole.jsonl");
    std::fs::write(&path, &bytes).unwrap();
    let to = folder.path().join("copy.jsonl");
    recover(&path, &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), bytes);
}

#[test]
fn a_lost_header_is_pieced_together_from_the_events() {
    let (bytes, events) = session(Spec::small());
    let (_folder, path) = scratch("headless.jsonl");
    let mut damaged = bytes;
    damaged[..30].fill(0xff);
    std::fs::write(&path, &damaged).unwrap();
    let to = recovered_path(&path);
    let recovered = recover(&path, &to).unwrap();
    assert_eq!(recovered.header, HeaderFate::Remade);
    let file = SessionFile::open(&to).unwrap();
    assert_eq!(file.header().query, "make 30 of 10 6 5 3");
    assert_eq!(file.header().capacity, 3);
    assert_eq!(file.events().count(), events.len());
}

mod any_damage {
    //! Whatever happened to a file, nothing panics and nothing hangs.

    use super::*;
    use orgtop::org::ThreadId;
    use orgtop::record::store::summary;
    use orgtop::record::{Direction, Found, Header, Landmark, Rescan, TextFrom, TextPiece};
    use orgtop::record::{ThreadRescan, Until, verify};
    use proptest::prelude::*;

    struct Nothing;

    impl Rescan for Nothing {
        fn thread(&self, _: &Header, _: ThreadId, _: orgtop::org::Role) -> Box<dyn ThreadRescan> {
            Box::new(Self)
        }
    }

    impl ThreadRescan for Nothing {
        fn piece(&mut self, _: &TextPiece) -> Vec<Found> {
            Vec::new()
        }
    }

    #[derive(Debug, Clone)]
    enum Blow {
        Byte(prop::sample::Index, u8),
        Swap(prop::sample::Index, prop::sample::Index),
        Double(prop::sample::Index, prop::sample::Index),
        Remove(prop::sample::Index),
        Digits(prop::sample::Index, u64),
    }

    fn blow() -> impl Strategy<Value = Blow> {
        let index = any::<prop::sample::Index>;
        prop_oneof![
            (index(), any::<u8>()).prop_map(|(at, byte)| Blow::Byte(at, byte)),
            (index(), index()).prop_map(|(a, b)| Blow::Swap(a, b)),
            (index(), index()).prop_map(|(a, b)| Blow::Double(a, b)),
            index().prop_map(Blow::Remove),
            (index(), any::<u64>()).prop_map(|(at, n)| Blow::Digits(at, n)),
        ]
    }

    /// Does to the lines behind the header what a hand with an editor could.
    fn strike(lines: &mut Vec<Vec<u8>>, blow: &Blow) {
        let n = lines.len();
        match blow {
            Blow::Byte(at, byte) => {
                let line = &mut lines[at.index(n)];
                if !line.is_empty() {
                    let at = at.index(line.len());
                    line[at] = *byte;
                }
            }
            Blow::Swap(a, b) => lines.swap(a.index(n), b.index(n)),
            Blow::Double(a, b) => {
                let line = lines[a.index(n)].clone();
                lines.insert(b.index(n), line);
            }
            Blow::Remove(at) => {
                if n > 1 {
                    lines.remove(at.index(n));
                }
            }
            Blow::Digits(at, number) => {
                // Some number in the line becomes another one.
                let line = &mut lines[at.index(n)];
                let digits: Vec<usize> = (0..line.len())
                    .filter(|i| line[*i].is_ascii_digit())
                    .collect();
                if !digits.is_empty() {
                    let at = digits[at.index(digits.len())];
                    line.splice(at..=at, number.to_string().into_bytes());
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn never_panics_and_never_hangs(
            blows in prop::collection::vec(blow(), 1..12),
            goals in prop::collection::vec(0u64..80, 1..8),
        ) {
            let (bytes, _) = session(Spec::small());
            let mut lines: Vec<Vec<u8>> = bytes
                .split_inclusive(|b| *b == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            let header = lines.remove(0);
            for blow in &blows {
                strike(&mut lines, blow);
            }
            let (folder, path) = scratch("hurt.jsonl");
            std::fs::write(&path, [vec![header], lines].concat().concat()).unwrap();

            let file = SessionFile::open(&path).unwrap();
            let report = file.check().unwrap();
            prop_assert!(report.events <= report.lines);
            let _ = report.to_string();
            let restored = restore(&path).unwrap();
            let _ = restored.organization.metrics();
            let _ = summary(&path).unwrap();
            for d in verify(&path, &Nothing).unwrap().disagreements {
                let _ = d.to_string();
            }
            let mut player = Player::open(&path).unwrap();
            for goal in goals {
                for target in [
                    Target::Step(Step(goal)),
                    Target::Seq(Seq(goal)),
                    Target::Us(goal * 20_000),
                ] {
                    player.seek(target).unwrap();
                    let _ = player.organization().metrics();
                    let ids: Vec<ThreadId> =
                        player.organization().threads().map(|t| t.id).collect();
                    for id in ids {
                        player.text(id, TextFrom::Here, Default::default()).unwrap();
                    }
                    player.find(Direction::Back, Landmark::Event).unwrap();
                    player.find(Direction::Forward, Landmark::Mark).unwrap();
                    player.advance(Until::Event).unwrap();
                }
            }
            let to = folder.path().join("copy.jsonl");
            let recovered = recover(&path, &to).unwrap();
            prop_assert_eq!(recovered.events, report.events);
            // What is left wrong in the copy was wrong in the file: gaps, order, content not understood.
            let left = SessionFile::open(&to).unwrap().check().unwrap();
            prop_assert_eq!(left.events, report.events);
            let unreadable = left.damages.iter().any(|d| {
                matches!(d.kind, DamageKind::Unreadable { .. } | DamageKind::Torn { .. })
            });
            prop_assert!(!unreadable, "{}", left);
            append(&path);
        }
    }
}
