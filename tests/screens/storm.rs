//! Whatever happens, in whatever order and size, nothing panics.

use crate::screen::{Screen, key_event, look};
use crate::story::{self, Story};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use orgtop::org::{Body, Event, SpliceKind, TextBytes};
use orgtop::tui::action::TABLE;
use orgtop::tui::model::Feed;
use orgtop::tui::update::Input;
use proptest::prelude::*;
use std::time::Duration;

#[derive(Debug, Clone)]
enum Act {
    Table(usize, usize),
    Key(KeyCode, bool),
    Paste(String),
    Mouse(u16, u16, u8),
    Resize(u16, u16),
    Events(u8),
    Wait(u16),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let codes = prop_oneof![
        Just(KeyCode::Enter),
        Just(KeyCode::Esc),
        Just(KeyCode::Tab),
        Just(KeyCode::BackTab),
        Just(KeyCode::Backspace),
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        any::<char>().prop_map(KeyCode::Char),
    ];
    let size = prop_oneof![
        Just((0, 0)),
        Just((1, 1)),
        Just((80, 3)),
        Just((681, 180)),
        (0_u16..200, 0_u16..60),
    ];
    let act = prop_oneof![
        6 => (0..TABLE.len(), 0_usize..9).prop_map(|(row, key)| Act::Table(row, key)),
        3 => (codes, any::<bool>()).prop_map(|(code, control)| Act::Key(code, control)),
        1 => "\\PC{0,20}|[\\x00-\\x1f<>/A-Z0-9-]{0,20}".prop_map(Act::Paste),
        1 => (0_u16..700, 0_u16..200, 0_u8..3).prop_map(|(x, y, kind)| Act::Mouse(x, y, kind)),
        1 => size.prop_map(|(w, h)| Act::Resize(w, h)),
        3 => (1_u8..80).prop_map(Act::Events),
        1 => (0_u16..9000).prop_map(Act::Wait),
    ];
    proptest::collection::vec(act, 1..40)
}

/// Everything a story holds, with text that is hostile in between.
fn hostile_story() -> Vec<Event> {
    let mut story: Story = story::answered();
    let nasty: [&[u8]; 6] = [
        b"\x1b]52;c;aGk=\x07\x1b[2J\x9b",
        "\u{202e}abc\u{2066}\r\t\0".as_bytes(),
        b"\xff\xfe\xf0\x9f",
        "👨‍👩‍👧‍👦🇩🇪漢字e\u{301}".as_bytes(),
        b"<FORK-99999999999><JOIN-1</RETURN></FORK-0>",
        &[b'x'; 3000],
    ];
    let whole = story.events.clone();
    story.events.clear();
    for (i, event) in whole.into_iter().enumerate() {
        let thread = event.thread;
        story.events.push(event);
        if i % 9 == 0 {
            let bytes = nasty[(i / 9) % nasty.len()].to_vec();
            let mut extra = story.events[0].clone();
            extra.thread = thread;
            extra.body = if i % 2 == 0 {
                Body::Tokens {
                    ids: vec![7],
                    lens: vec![u32::try_from(bytes.len()).unwrap()],
                    bytes: TextBytes(bytes),
                    logprobs: vec![f32::NAN],
                    top: vec![],
                }
            } else {
                Body::Splice {
                    splice: SpliceKind::Result,
                    ids: vec![],
                    bytes: TextBytes(bytes),
                    of: None,
                    result: None,
                    shortened: true,
                }
            };
            story.events.push(extra);
        }
    }
    story.events
}

fn serve(screen: &mut Screen, act: Act, events: &mut std::vec::IntoIter<Event>) {
    match act {
        Act::Table(row, key) => {
            let keys = TABLE[row].keys;
            let event = key_event(keys[key % keys.len()]);
            screen.input(Input::Key(event));
        }
        Act::Key(code, control) => {
            let modifiers = if control {
                KeyModifiers::CONTROL
            } else {
                KeyModifiers::NONE
            };
            screen.input(Input::Key(KeyEvent::new(code, modifiers)));
        }
        Act::Paste(text) => {
            screen.input(Input::Paste(text));
        }
        Act::Mouse(column, row, kind) => {
            let kind = [
                MouseEventKind::Down(MouseButton::Left),
                MouseEventKind::ScrollUp,
                MouseEventKind::ScrollDown,
            ][usize::from(kind)];
            screen.input(Input::Mouse(MouseEvent {
                kind,
                column,
                row,
                modifiers: KeyModifiers::NONE,
            }));
        }
        Act::Resize(width, height) => screen.resize(width, height),
        Act::Events(n) => {
            let some = events.by_ref().take(usize::from(n)).collect();
            screen.input(Input::Events(some));
        }
        Act::Wait(ms) => screen.now += Duration::from_millis(u64::from(ms)),
    }
    screen.draw();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn nothing_a_person_or_a_model_does_panics(acts in acts(), ascii in any::<bool>()) {
        let mut screen = Screen::new(80, 24, look("terminal", ascii), Feed::Live);
        screen.tell(&Story::new("a story", 4));
        let mut events = hostile_story().into_iter();
        for act in acts {
            serve(&mut screen, act, &mut events);
        }
    }
}

#[test]
fn every_popup_survives_a_storm_of_sizes() {
    for keys in [
        "", "?", ": a", "f", "2 x", "x A", "J", "i", "w", "/ a", "\\ 2", "z", "v v v",
    ] {
        let mut screen = Screen::live(80, 24, &story::killed());
        screen.keys(keys);
        for width in [0, 1, 2, 3, 5, 8, 13, 21, 39, 40, 41, 60, 100, 681] {
            for height in [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 14, 20, 40, 180] {
                screen.resize(width, height);
                screen.draw();
            }
        }
    }
}

#[test]
fn nothing_hostile_ever_reaches_a_cell() {
    let mut screen = Screen::new(160, 48, look("terminal", false), Feed::Live);
    screen.tell(&Story::new("\u{1b}]0;title\u{7}\u{202e}query", 4));
    screen.input(Input::Events(hostile_story()));
    for keys in ["", "v v", "v", "i", "esc w", "esc 1 z"] {
        screen.keys(keys);
        for cell in &screen.draw().content {
            let symbol = cell.symbol();
            assert!(
                !symbol.chars().any(|c| c.is_control()
                    || ('\u{202a}'..='\u{202e}').contains(&c)
                    || ('\u{2066}'..='\u{2069}').contains(&c)),
                "{keys}: {symbol:?}"
            );
        }
    }
}
