//! Keys of a recording that is played.

use super::*;

fn replay() -> Screen {
    let playback = Playback {
        playing: true,
        speed: 1.0,
        looping: false,
        position: 400_000,
        length: 1_000_000,
    };
    let mut screen = Screen::new(120, 36, look("terminal", false), Feed::Replay(playback));
    let story = story::killed();
    screen.input(Input::Header(Box::new(story.header.clone())));
    screen.input(Input::Events(story.events));
    screen
}

#[test]
fn replay_keys_move_the_recording() {
    for (keys, effect) in [
        ("space", Effect::Play(false)),
        (",", Effect::Seek(Place::Step(-1))),
        (".", Effect::Seek(Place::Step(1))),
        ("[", Effect::Seek(Place::Event(-1))),
        ("]", Effect::Seek(Place::Event(1))),
        ("{", Effect::Speed(0.5)),
        ("}", Effect::Speed(2.0)),
        ("L", Effect::Loop(true)),
        ("home", Effect::Seek(Place::Start)),
        ("end", Effect::Seek(Place::End)),
        ("% 4 2 enter", Effect::Seek(Place::Percent(42.0))),
        ("q", Effect::Quit),
    ] {
        assert_eq!(replay().keys(keys), [effect], "{keys}");
    }
    assert_eq!(replay().keys("% 4 2 0 enter"), [], "420 is no percentage");
}

#[test]
fn a_recording_is_not_steered() {
    for keys in ["f", "J", "a", "x", "p", "m", ": k i l l enter"] {
        let mut screen = replay();
        assert_eq!(screen.keys(keys), [], "{keys}");
        assert!(screen.model.popups.is_empty(), "{keys}");
    }
}

#[test]
fn a_jump_replaces_everything() {
    let mut screen = replay();
    screen.keys("3");
    let story = Story::new("another place", 2);
    let jump = Input::Jump(Box::new(story.organization.clone()), Default::default());
    screen.input(jump);
    assert_eq!(
        screen.model.selected, ORGANIZER,
        "worker 3 is not there any more"
    );
    assert_eq!(screen.model.threads.len(), 1);
    screen.draw();
}
