//! A recorded session through the same screen: what is shown after any move equals what was shown
//! when it happened.

use crate::screen::{Screen, look};
use crate::story::{self, ORGANIZER, Story, worker};
use orgtop::record::{Player, Recorder};
use orgtop::tui::model::Feed;
use orgtop::tui::replay::Replay;
use orgtop::tui::update::{Effect, Input, Place};
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct Recording {
    screen: Screen,
    replay: Replay,
    _folder: tempfile::TempDir,
}

fn record(story: &Story) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let recorder = Recorder::create(&path, &story.header).unwrap();
    for event in &story.events {
        recorder.record(event.clone());
    }
    recorder.finish().unwrap();
    (folder, path)
}

impl Recording {
    fn of(story: &Story) -> Self {
        let (folder, path) = record(story);
        let replay = Replay::new(Player::open(&path).unwrap());
        let feed = Feed::Replay(replay.playback());
        let mut recording = Self {
            screen: Screen::new(100, 30, look("terminal", false), feed),
            replay,
            _folder: folder,
        };
        let inputs = recording.replay.open().unwrap();
        recording.serve(inputs);
        recording
    }

    fn serve(&mut self, inputs: Vec<Input>) {
        for input in inputs {
            self.screen.input(input);
        }
    }

    fn control(&mut self, effect: Effect) {
        let inputs = self.replay.control(&effect, &self.screen.model).unwrap();
        self.serve(inputs);
    }

    fn text_of(&self, index: u16) -> String {
        self.screen.model.threads[&worker(index)]
            .text
            .logical_text()
    }
}

#[test]
fn the_end_shows_what_the_live_screen_showed() {
    let story = story::answered();
    let mut live = Screen::live(100, 30, &story);
    let mut recording = Recording::of(&story);
    recording.control(Effect::Seek(Place::End));
    for id in [ORGANIZER, worker(1), worker(2), worker(3)] {
        assert_eq!(
            recording.screen.model.threads[&id].text.logical_text(),
            live.model.threads[&id].text.logical_text()
        );
    }
    assert_eq!(
        recording.screen.model.ideal.metrics,
        live.model.ideal.metrics
    );
    // The panes and the timeline are the same; the header and the footer say REPLAY.
    let body = |text: String| {
        text.lines()
            .skip(1)
            .take(28)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(body(recording.screen.text()), body(live.text()));
}

#[test]
fn back_and_on_by_steps_is_where_one_was() {
    let mut recording = Recording::of(&story::answered());
    recording.control(Effect::Seek(Place::Percent(60.0)));
    let step = recording.screen.model.organization.now.step;
    let before = recording.screen.text();
    let text = recording.text_of(2);
    recording.control(Effect::Seek(Place::Step(-1)));
    assert_eq!(recording.screen.model.organization.now.step.0, step.0 - 1);
    assert_ne!(recording.text_of(2), text);
    recording.control(Effect::Seek(Place::Step(1)));
    assert_eq!(recording.text_of(2), text);
    // A held recording has no mark for more to come.
    let panes = |t: &str| {
        let t = t.replace('▌', " ");
        t.lines()
            .skip(1)
            .take(20)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(panes(&recording.screen.text()), panes(&before));
}

#[test]
fn event_keys_stop_where_something_happened() {
    let mut recording = Recording::of(&story::answered());
    let mut steps = Vec::new();
    for _ in 0..12 {
        recording.control(Effect::Seek(Place::Event(1)));
        steps.push(recording.screen.model.organization.now.step.0);
    }
    for fork in [17, 28, 31] {
        assert!(steps.contains(&fork), "{fork} in {steps:?}");
    }
}

#[test]
fn a_recording_plays_at_its_speed_and_stops_at_its_end() {
    let story = story::answered();
    let mut recording = Recording::of(&story);
    let begin = Instant::now();
    let tick = |recording: &mut Recording, ms: u64| {
        let inputs = recording
            .replay
            .tick(begin + Duration::from_millis(ms))
            .unwrap();
        recording.serve(inputs);
        recording.screen.model.organization.now.step.0
    };
    // 12.5 ms a step.
    let half = tick(&mut recording, 500);
    assert!((36..=44).contains(&half), "{half}");
    for ms in (600..4000).step_by(100) {
        tick(&mut recording, ms);
    }
    assert_eq!(recording.screen.model.organization.now.step.0, 100);
    assert!(!recording.replay.playback().playing);
    assert!(recording.screen.model.organization.end.is_some());
}

#[test]
fn time_in_which_nothing_happened_is_cut() {
    let mut story = story::three_workers();
    for event in story.events.iter_mut().skip(60) {
        event.us += 3_600_000_000;
    }
    let mut recording = Recording::of(&story);
    let begin = Instant::now();
    for ms in (0..4000).step_by(50) {
        let inputs = recording
            .replay
            .tick(begin + Duration::from_millis(ms))
            .unwrap();
        recording.serve(inputs);
    }
    assert_eq!(recording.screen.model.organization.now.step.0, 55);
}

#[test]
fn scrolling_up_reads_older_text_until_the_beginning() {
    let mut story = story::three_workers();
    let line = "a line of some length that is decoded over and over again\n";
    story.steps(6000, &[(worker(1), &[line])]);
    let whole: usize = 6000 * line.len();
    let mut recording = Recording::of(&story);
    recording.control(Effect::Seek(Place::End));
    assert!(
        recording.text_of(1).len() < whole / 2,
        "a seek reads only the end"
    );
    recording.screen.keys("1");
    for _ in 0..50 {
        let effects = recording.screen.keys("g");
        recording.screen.draw();
        for effect in effects {
            recording.control(effect);
        }
    }
    assert!(
        recording.text_of(1).len() > whole,
        "all of it, and the beginning"
    );
    assert!(recording.text_of(1).starts_with("10+6=16"));
}

#[test]
fn damage_is_told() {
    let (_folder, path) = record(&story::answered());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 20);
    std::fs::write(&path, bytes).unwrap();
    let mut replay = Replay::new(Player::open(&path).unwrap());
    let began = Instant::now();
    let mut warned = None;
    while warned.is_none() && began.elapsed() < Duration::from_secs(5) {
        for input in replay.tick(Instant::now()).unwrap() {
            if let Input::Warning(text) = input {
                warned = Some(text);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(warned.is_some());
}
