//! A session of 1,000,000 events and 400 workers: how long it takes to see it and to move in it.

use crate::scratch;
use crate::synthetic::{Keyframes, Spec, file};
use orgtop::org::{Organization, Seq, Step, ThreadId};
use orgtop::record::{
    Direction, Landmark, Player, SessionFile, Target, TextFrom, TextLimit, Until, line::parse,
    store::summary,
};
use std::path::Path;
use std::time::{Duration, Instant};

fn million() -> Spec {
    Spec {
        workers: 400,
        tokens: 7_500,
        step_us: 20_000,
        keyframes: Keyframes::AsDue,
    }
}

/// Nanoseconds this thread has computed: what counts where others use the machine too.
fn cpu() -> Duration {
    let ns = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|s| s.split(' ').next().and_then(|n| n.parse().ok()));
    Duration::from_nanos(ns.unwrap_or(0))
}

/// Does `work`; gives what came out and how long the thread computed.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> (T, Duration) {
    let (begun, before) = (Instant::now(), cpu());
    let done = work();
    let (took, computed) = (begun.elapsed(), cpu() - before);
    eprintln!("{what:<40} {took:>12.3?}, computing {computed:>12.3?}");
    (done, if computed.is_zero() { took } else { computed })
}

/// Megabytes in memory now.
fn resident() -> u64 {
    std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|s| s.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()))
        .map_or(0, |pages| pages * 4 / 1024)
}

/// What a seek gives is what folding from the start gives.
fn check_states(path: &Path, player: &mut Player, places: &[u64]) {
    let file = SessionFile::open(path).unwrap();
    let mut state = Organization::new(file.header().capacity, file.header().tau);
    for recorded in file.events() {
        let event = recorded.unwrap().event;
        state.apply(&event);
        if places.contains(&event.seq.0) {
            player.seek(Target::Seq(event.seq)).unwrap();
            assert!(player.organization().same_as(&state), "event {}", event.seq);
            let id = ThreadId::worker(200).unwrap();
            let limit = TextLimit::default();
            let text = player.text(id, TextFrom::Here, limit).unwrap();
            let end = text.pieces.last().map(|p| p.at + p.bytes.len() as u64);
            assert_eq!(end, state.thread(id).map(|t| t.text_bytes));
        }
    }
}

fn parse_speed(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').skip(1).collect();
    let (parsed, took) = timed("parse", || {
        lines.iter().filter(|l| parse(l).is_ok()).count()
    });
    let speed = bytes.len() as f64 / 1e6 / took.as_secs_f64();
    eprintln!("parsed {parsed} lines at {speed:.0} MB/s");
}

#[test]
#[ignore = "slow: writes a session of 200 MB; cargo test --release --test sessions -- --ignored big --nocapture"]
fn big_sessions_open_at_once_and_seek_anywhere() {
    let (_folder, path) = scratch("big.jsonl");
    let (state, _) = timed("make", || file(&path, million()));
    let events = state.next_seq.0;
    let size = std::fs::metadata(&path).unwrap().len();
    eprintln!("{events} events, {} MB", size / 1_000_000);
    assert!(events >= 1_000_000);
    parse_speed(&path);
    timed("summary", || summary(&path).unwrap());

    let before = resident();
    let worker = ThreadId::worker(200).unwrap();
    let (mut player, first) = timed("open and first screen", || {
        let mut player = Player::open(&path).unwrap();
        player.seek(Target::End).unwrap();
        for thread in 1..=12 {
            let id = ThreadId::worker(thread).unwrap();
            let limit = TextLimit {
                bytes: 8 << 10,
                records: 500,
            };
            player.text(id, TextFrom::Here, limit).unwrap();
        }
        player
    });
    let mut all = Vec::new();
    let last = player.extent().step.0;
    for i in 0..100u64 {
        let target = match i % 3 {
            0 => Target::Seq(Seq(i * 7919 * 131 % events)),
            1 => Target::Step(Step(i * 7919 * 17 % last)),
            _ => Target::Us(i * 7919 * 90_001 % player.extent().us),
        };
        let before = cpu();
        player.seek(target).unwrap();
        all.push(cpu() - before);
    }
    all.sort();
    let worst = all[99];
    eprintln!(
        "100 seeks while scanning: median {:?}, worst {worst:?}",
        all[50]
    );
    timed("text, 256 KiB of one worker", || {
        player
            .text(worker, TextFrom::Here, TextLimit::default())
            .unwrap()
    });
    timed("event before", || {
        player.find(Direction::Back, Landmark::Event).unwrap()
    });
    timed("next 4096 events", || player.advance(Until::End).unwrap());
    timed("scan done", || {
        while !player.scanned() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    assert!(player.report().is_clean(), "{}", player.report());
    eprintln!("memory: {} MB more", resident().saturating_sub(before));
    check_states(&path, &mut player, &[30_000, 500_000, 999_999]);
    timed("read everything", || {
        SessionFile::open(&path).unwrap().check().unwrap()
    });
    assert!(first < Duration::from_millis(300), "{first:?}");
    assert!(worst < Duration::from_millis(100), "{worst:?}");
}

#[test]
#[ignore = "slow: writes a session of 200 MB; cargo test --release --test sessions -- --ignored big --nocapture"]
fn big_sessions_without_keyframes_become_quick_once_scanned() {
    let (_folder, path) = scratch("big.jsonl");
    let spec = Spec {
        keyframes: Keyframes::None,
        ..million()
    };
    let state = file(&path, spec);
    let (mut player, opened) = timed("open", || Player::open(&path).unwrap());
    timed("seek to the end before the scan", || {
        player.seek(Target::End).unwrap()
    });
    timed("scan done", || {
        while !player.scanned() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let mut worst = Duration::ZERO;
    for i in 0..50u64 {
        let before = cpu();
        player
            .seek(Target::Seq(Seq(i * 7919 * 131 % state.next_seq.0)))
            .unwrap();
        worst = worst.max(cpu() - before);
    }
    eprintln!("50 seeks without keyframes: worst {worst:?}");
    check_states(&path, &mut player, &[30_000, 500_000, 999_999]);
    assert!(opened < Duration::from_millis(300), "{opened:?}");
    assert!(worst < Duration::from_millis(300), "{worst:?}");
}

#[test]
fn two_megabytes_of_text_in_one_line_are_one_record() {
    let (_folder, path) = scratch("wide.jsonl");
    let mut maker =
        crate::synthetic::Maker::new(Vec::new(), &crate::synthetic::header("wide", 2), 20_000);
    let id = ThreadId::ORGANIZER;
    maker.begin(id, orgtop::org::Role::Organizer, "q");
    maker.next_step();
    maker.token(id, &"wide ".repeat(400_000));
    maker.next_step();
    maker.token(id, "end");
    let (bytes, ..) = maker.finish(orgtop::org::RunEnd::NoAnswer);
    std::fs::write(&path, bytes).unwrap();
    let mut player = Player::open(&path).unwrap();
    player.seek(Target::Step(Step(1))).unwrap();
    let text = player
        .text(id, TextFrom::Here, TextLimit::default())
        .unwrap();
    assert_eq!(text.pieces.len(), 1);
    assert_eq!(text.pieces[0].bytes.len(), 2_000_000);
    player.seek(Target::End).unwrap();
    let text = player
        .text(id, TextFrom::Here, TextLimit::default())
        .unwrap();
    assert_eq!(text.pieces[0].bytes.len(), 2_000_003);
}
