//! What a frame costs, and that it does not grow with the session.

use crate::screen::Screen;
use crate::story::{self, ORGANIZER, Story, worker};
use orgtop::org::{Body, TextBytes};
use orgtop::tui::update::Input;
use std::time::{Duration, Instant};

/// Median time of taking in a step and drawing it, while three workers stream.
fn frame(screen: &mut Screen, story: &mut Story) -> Duration {
    let mut times: Vec<Duration> = (0..40)
        .map(|_| {
            let told = story.events.len();
            story.steps(
                5,
                &[
                    (ORGANIZER, &["more "]),
                    (worker(1), &["and "]),
                    (worker(2), &["more\n"]),
                    (worker(3), &["words "]),
                ],
            );
            let events = story.events[told..].to_vec();
            let began = Instant::now();
            screen.input(Input::Events(events));
            screen.draw();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// A million tokens in lines of ten words, in records of 10,000.
fn stream(story: &mut Story, screen: &mut Screen) {
    let words: Vec<&[u8]> = (0..10_000)
        .map(|i| {
            if i % 10 == 9 {
                &b"line\n"[..]
            } else {
                &b"word "[..]
            }
        })
        .collect();
    let told = story.events.len();
    for _ in 0..25 {
        for id in [ORGANIZER, worker(1), worker(2), worker(3)] {
            story.say(
                id,
                Body::Tokens {
                    ids: vec![5; words.len()],
                    bytes: TextBytes(words.concat()),
                    lens: vec![5; words.len()],
                    logprobs: vec![],
                    top: vec![],
                },
            );
        }
        story.pass(10_000);
    }
    screen.input(Input::Events(story.events[told..].to_vec()));
}

#[test]
fn a_frame_costs_the_same_after_a_million_tokens() {
    let mut story = story::three_workers();
    let mut screen = Screen::live(160, 48, &story);
    screen.draw();
    let short = frame(&mut screen, &mut story);
    stream(&mut story, &mut screen);
    screen.draw();
    let long = frame(&mut screen, &mut story);
    println!("a frame at 160x48: {short:?} after 55 steps, {long:?} after a million tokens");
    assert!(
        long < short * 4 + Duration::from_millis(1),
        "{short:?} became {long:?}"
    );
}

#[test]
fn sixty_four_workers_fit_into_a_frame() {
    let mut story = story::many(64);
    let mut screen = Screen::live(160, 48, &story);
    screen.draw();
    let time = frame(&mut screen, &mut story);
    println!("a frame with 64 workers at 160x48: {time:?}");
    assert!(time < Duration::from_millis(33), "{time:?}");
}
