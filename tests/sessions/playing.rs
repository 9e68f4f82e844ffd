//! Replay: any place, the same as folding from the start.

use crate::synthetic::{Keyframes, Maker, Spec, header, session};
use crate::{line_starts, scratch};
use orgtop::org::{Body, Event, Organization, Role, RunEnd, Seq, Step, ThreadId};
use orgtop::record::{
    Direction, Landmark, Player, Target, TextFrom, TextLimit, Until, split_tokens, text_in,
};
use std::path::{Path, PathBuf};

fn opened(spec: Spec) -> (tempfile::TempDir, PathBuf, Vec<Event>) {
    let (bytes, events) = session(spec);
    let (folder, path) = scratch("session.jsonl");
    std::fs::write(&path, bytes).unwrap();
    (folder, path, events)
}

/// The session as it is after step `step`, every record cut there.
fn until_step(events: &[Event], step: u64) -> Vec<Event> {
    events
        .iter()
        .filter(|e| e.step.0 <= step)
        .map(|e| {
            let mut e = e.clone();
            let keep = usize::try_from(step + 1 - e.step.0).unwrap();
            let _ = split_tokens(&mut e, keep);
            e
        })
        .collect()
}

fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Organization {
    let mut state = Organization::new(3, 0.5);
    for event in events {
        state.apply(event);
    }
    state
}

fn text_of<'a>(events: impl IntoIterator<Item = &'a Event>, id: ThreadId) -> String {
    let bytes: Vec<u8> = events
        .into_iter()
        .filter(|e| e.thread == Some(id))
        .filter_map(text_in)
        .flatten()
        .copied()
        .collect();
    String::from_utf8(bytes).unwrap()
}

fn shown(player: &Player, id: ThreadId, limit: TextLimit) -> String {
    let (mut from, mut bytes) = (TextFrom::Here, Vec::new());
    loop {
        let text = player.text(id, from, limit).unwrap();
        let mut piece: Vec<u8> = text.pieces.iter().flat_map(|p| p.bytes.clone()).collect();
        if let Some(first) = text.pieces.first() {
            assert!(text.older.is_some() || first.at == 0);
        }
        piece.append(&mut bytes);
        bytes = piece;
        match text.older {
            Some(older) => from = TextFrom::Older(older),
            None => return String::from_utf8(bytes).unwrap(),
        }
    }
}

const THREADS: [&str; 3] = ["organizer", "1", "2"];

#[test]
fn every_event_is_reached_from_every_other() {
    let (_folder, path, events) = opened(Spec::small());
    let mut player = Player::open(&path).unwrap();
    let n = events.len();
    let order = (0..n).chain((0..n).rev()).chain((0..n).map(|i| i * 7 % n));
    for i in order {
        let position = player.seek(Target::Seq(Seq(i as u64))).unwrap();
        assert_eq!(position.next, Seq(i as u64 + 1));
        let want = fold(&events[..=i]);
        assert!(player.organization().same_as(&want), "event {i}");
        for id in THREADS {
            let id = id.parse().unwrap();
            assert_eq!(
                shown(&player, id, TextLimit::default()),
                text_of(&events[..=i], id)
            );
        }
    }
}

/// Seeks to every step, from all sides, and compares with the records cut there.
fn check_every_step(path: &Path, events: &[Event]) {
    let mut player = Player::open(path).unwrap();
    let last = player.extent().step.0;
    assert_eq!(last, fold(events).now.step.0);
    let steps = (0..=last)
        .chain((0..=last).rev())
        .chain((0..last).map(|s| s * 11 % last));
    for step in steps {
        player.seek(Target::Step(Step(step))).unwrap();
        let want = until_step(events, step);
        let state = fold(&want);
        for thread in state.threads() {
            let here = player.organization().thread(thread.id).unwrap();
            assert_eq!(here.tokens, thread.tokens, "{} at step {step}", thread.id);
            assert_eq!(here.text_bytes, thread.text_bytes);
            assert_eq!(here.status, thread.status);
            let text = shown(&player, thread.id, TextLimit::default());
            assert_eq!(text, text_of(&want, thread.id), "{} at {step}", thread.id);
        }
        assert_eq!(player.organization().threads().len(), state.threads().len());
    }
}

#[test]
fn every_step_is_exact_even_inside_records_and_goes_on_from_there() {
    for keyframes in [Keyframes::Every(5), Keyframes::None] {
        let spec = Spec {
            tokens: 40,
            step_us: 900,
            keyframes,
            ..Spec::small()
        };
        let (_folder, path, events) = opened(spec);
        check_every_step(&path, &events);
        let mut player = Player::open(&path).unwrap();
        // From inside records to the end: no token is lost or doubled.
        for step in [3, 10, 25] {
            player.seek(Target::Step(Step(step))).unwrap();
            let mut rest = until_step(&events, step);
            loop {
                let more = player.advance(Until::Event).unwrap();
                if more.is_empty() {
                    break;
                }
                rest.extend(more);
            }
            for id in THREADS {
                let id = id.parse().unwrap();
                assert_eq!(text_of(&rest, id), text_of(&events, id));
            }
            assert!(player.organization().same_as(&fold(&events)));
        }
    }
}

#[test]
fn threads_that_began_at_different_steps_of_one_record_are_exact_too() {
    let mut maker = Maker::new(Vec::new(), &header("staggered", 3), 500);
    maker.kept = Some(Vec::new());
    let starts = [("organizer", 3u64), ("1", 1), ("2", 7)].map(|(id, start)| {
        let id: ThreadId = id.parse().unwrap();
        maker.begin(id, Role::Worker, "q");
        (id, start)
    });
    for step in 1..=90 {
        maker.next_step();
        for (id, start) in starts {
            // One of them stands still for a while.
            if step >= start && !(id.index() == Some(1) && (20..24).contains(&step)) {
                maker.token(id, &format!("{step} "));
            }
        }
    }
    let (bytes, _, events) = maker.finish(RunEnd::NoAnswer);
    let (_folder, path) = scratch("staggered.jsonl");
    std::fs::write(&path, bytes).unwrap();
    check_every_step(&path, &events.unwrap());
}

#[test]
fn stepping_on_gives_every_step_the_tokens_of_that_step() {
    let spec = Spec {
        tokens: 30,
        step_us: 700,
        ..Spec::small()
    };
    let (_folder, path, events) = opened(spec);
    let mut player = Player::open(&path).unwrap();
    let mut all = Vec::new();
    for step in 0..=player.extent().step.0 {
        let batch = player.advance(Until::Step(Step(step))).unwrap();
        assert!(batch.iter().all(|e| e.last_step() <= Step(step)));
        all.extend(batch);
    }
    assert!(player.advance(Until::End).unwrap().is_empty());
    for id in THREADS {
        let id = id.parse().unwrap();
        assert_eq!(text_of(&all, id), text_of(&events, id));
    }
    assert!(player.organization().same_as(&fold(&events)));
}

#[test]
fn time_seeks_to_the_last_record_that_began_by_then() {
    let (_folder, path, events) = opened(Spec::small());
    let mut player = Player::open(&path).unwrap();
    let last = player.extent().us;
    for back in (0..=last).step_by(15_000) {
        let us = last - back;
        player.seek(Target::Us(us)).unwrap();
        let want = fold(events.iter().filter(|e| e.us <= us));
        assert!(player.organization().same_as(&want), "{us} µs");
    }
}

#[test]
fn text_comes_in_portions() {
    let spec = Spec {
        tokens: 60,
        ..Spec::small()
    };
    let (_folder, path, events) = opened(spec);
    let mut player = Player::open(&path).unwrap();
    player.seek(Target::End).unwrap();
    for (bytes, records) in [(1, 1), (20, 100), (1000, 3)] {
        let limit = TextLimit { bytes, records };
        for id in THREADS {
            let id = id.parse().unwrap();
            assert_eq!(shown(&player, id, limit), text_of(&events, id));
        }
    }
}

#[test]
fn landmarks_are_found_both_ways() {
    let (_folder, path, events) = opened(Spec::small());
    let mut player = Player::open(&path).unwrap();
    let structural: Vec<u64> = events
        .iter()
        .filter(|e| !matches!(e.body, Body::Tokens { .. } | Body::Keyframe { .. }))
        .map(|e| e.seq.0 + 1)
        .collect();
    let mut forward = Vec::new();
    while let Some(found) = player.find(Direction::Forward, Landmark::Event).unwrap() {
        forward.push(found.next.0);
        let seq = Seq(found.next.0 - 1);
        assert_eq!(player.seek(Target::Seq(seq)).unwrap().next, found.next);
    }
    assert_eq!(forward, structural);
    let mut back = vec![player.position().next.0];
    while let Some(found) = player.find(Direction::Back, Landmark::Event).unwrap() {
        back.push(found.next.0);
        player.seek(Target::Seq(Seq(found.next.0 - 1))).unwrap();
    }
    back.reverse();
    assert_eq!(back, structural);
    assert_eq!(
        player.find(Direction::Forward, Landmark::Mark).unwrap(),
        None
    );
}

#[test]
fn a_state_after_a_seek_is_told_apart_from_the_one_before() {
    let (_folder, path, _) = opened(Spec::small());
    let mut player = Player::open(&path).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seq in [3, 20, 3, 20, 10] {
        player.seek(Target::Start).unwrap();
        player.seek(Target::Seq(Seq(seq))).unwrap();
        assert!(seen.insert(player.organization().revision()));
    }
}

#[test]
fn damage_hides_only_itself_from_seeking_and_text() {
    let (bytes, events) = session(Spec {
        tokens: 40,
        ..Spec::small()
    });
    let starts = line_starts(&bytes);
    for line in 1..starts.len() {
        let (_folder, path) = scratch("hurt.jsonl");
        let mut damaged = bytes.clone();
        damaged[starts[line] + 2] = b'\x07';
        std::fs::write(&path, &damaged).unwrap();
        let lost = line - 1;
        let mut player = Player::open(&path).unwrap();
        assert_eq!(player.extent().step, fold(&events).now.step);
        for i in (0..events.len()).rev().filter(|i| *i != lost) {
            let position = player.seek(Target::Seq(Seq(i as u64))).unwrap();
            assert_eq!(position.next, Seq(i as u64 + 1), "line {line}");
            let left = || events[..=i].iter().filter(|e| e.seq.0 != lost as u64);
            for id in THREADS {
                let id: ThreadId = id.parse().unwrap();
                if player.organization().thread(id).is_some() {
                    let bytes: Vec<u8> = player
                        .text(id, TextFrom::Here, TextLimit::default())
                        .unwrap()
                        .pieces
                        .iter()
                        .flat_map(|p| p.bytes.clone())
                        .collect();
                    assert_eq!(
                        String::from_utf8(bytes).unwrap(),
                        text_of(left(), id),
                        "{id} at event {i} with line {line} lost"
                    );
                }
            }
        }
    }
}
