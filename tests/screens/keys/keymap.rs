//! One table of actions: the palette calls every one, and whatever is open obeys the keymap.

use super::*;

#[test]
fn the_palette_runs_what_it_finds() {
    let mut screen = three();
    assert_eq!(
        screen.keys(": a n s w e r enter"),
        [Effect::Send(Command::Answer)]
    );
    screen.keys(": h e l p enter");
    assert!(matches!(
        screen.model.popups.last(),
        Some(Popup::Help { .. })
    ));
    screen.keys("?");
    assert!(screen.model.popups.is_empty());
}

/// Three workers, and an answer that waits for a word.
fn asked() -> Screen {
    let mut story = story::three_workers();
    let ask = Body::Ask {
        number: 1,
        ask: AskKind::Answer,
        index: None,
        text: "42".into(),
        span: None,
    };
    story.say(ORGANIZER, ask);
    Screen::live(120, 36, &story)
}

#[test]
fn lists_obey_the_keymap_and_name_its_keys() {
    let file = "[queue]\ny = \"none\"\nenter = \"none\"\n\"ctrl-y\" = \"approve\"\n[list]\nn = \"list-down\"\n\
                [breakpoints]\nx = \"breakpoint-switch\"\n";
    let keymap = Keymap::parse(Path::new("keymap.toml"), file).unwrap();
    let mut screen = asked();
    screen.model.keymap = keymap.clone();
    screen.keys("Y");
    assert!(
        screen.text().contains("ctrl-y approve"),
        "{}",
        screen.text()
    );
    let sent = screen.keys("y enter");
    assert!(!sent.iter().any(|e| matches!(e, Effect::Send(_))));
    let approve = Command::Approve {
        ask: Some(1),
        text: None,
    };
    assert_eq!(screen.keys("ctrl-y"), [Effect::Send(approve)]);
    let mut screen = three();
    screen.model.keymap = keymap;
    let on = "join".parse().unwrap();
    let set = BreakpointState::On;
    assert_eq!(
        screen.keys("B n x"),
        [Effect::Send(Command::Break { on, set })]
    );
    screen.keys("q");
    assert!(screen.model.popups.is_empty());
}

#[test]
fn the_palette_calls_every_action_where_it_is_legal() {
    let playback = Playback {
        playing: false,
        speed: 1.0,
        looping: false,
        position: 0,
        length: 1,
    };
    let screens = || {
        let mut timeline = three();
        timeline.model.focus = Focus::Timeline;
        let mut panel = three();
        panel.keys("i");
        let mut replay = Screen::new(
            120,
            36,
            look("terminal", false),
            Feed::Replay(playback.clone()),
        );
        replay.tell(&story::three_workers());
        let list = |popup: Popup| {
            let mut screen = three();
            screen.model.popups.push(popup);
            screen
        };
        let since = Duration::ZERO;
        let mut queue = asked();
        queue.keys("Y");
        vec![
            three(),
            timeline,
            panel,
            replay,
            queue,
            list(Popup::Board { chosen: 0, since }),
            list(Popup::Breakpoints { chosen: 0 }),
            list(Popup::Pick {
                workers: vec![worker(1), worker(2)],
                chosen: 0,
            }),
            list(Popup::Branches {
                chosen: 0,
                marked: None,
            }),
        ]
    };
    // Over a question or an editor no palette opens.
    let under = |context| !matches!(context, Context::Question | Context::Editor);
    for row in TABLE.iter().filter(|row| under(row.context)) {
        let mut screens = screens();
        let reaches = |screen: &mut Screen| {
            screen.keys(":");
            let name: Vec<String> = row.id.chars().map(String::from).collect();
            screen.keys(&name.join(" "));
            let Some(Popup::Palette { text, chosen }) = screen.model.popups.last() else {
                panic!("{}", row.id);
            };
            assert_eq!(text, row.id);
            callable(&screen.model, text)
                .get(*chosen)
                .is_some_and(|found| found.action == row.action)
        };
        let reached: Vec<&mut Screen> = screens
            .iter_mut()
            .filter_map(|s| reaches(s).then_some(s))
            .collect();
        assert!(!reached.is_empty(), "{} is not found", row.id);
        for screen in reached {
            screen.keys("enter");
            let open = |p: &Popup| matches!(p, Popup::Palette { .. });
            let again = row.action == Action::Palette;
            assert_eq!(screen.model.popups.iter().any(open), again, "{}", row.id);
        }
    }
}

#[test]
fn the_palette_over_a_panel_scrolls_the_panel() {
    let mut screen = Screen::live(80, 24, &story::three_workers());
    screen.keys("i");
    screen.draw();
    screen.keys(": p a n e l - d o w n enter");
    assert!(matches!(
        screen.model.popups.last(),
        Some(Popup::Inspector { scroll: 1 })
    ));
}

#[test]
fn questions_the_picker_and_editors_obey_the_keymap_and_name_its_keys() {
    let file = "[question]\ny = \"none\"\nY = \"none\"\no = \"yes\"\n[join]\nenter = \"none\"\ng = \"pick-join\"\n\
                [editor]\n\"ctrl-s\" = \"none\"\n\"alt-enter\" = \"none\"\nf1 = \"send\"\n";
    let keymap = Keymap::parse(Path::new("keymap.toml"), file).unwrap();
    let screen = || {
        let mut screen = three();
        screen.model.keymap = keymap.clone();
        screen
    };
    let mut asks = screen();
    asks.keys("q");
    assert!(asks.text().contains("o save and quit"), "{}", asks.text());
    assert_eq!(asks.keys("y"), []);
    assert_eq!(asks.keys("o"), [Effect::Send(Command::Interrupt)]);

    let mut picks = screen();
    picks.keys("J");
    assert!(
        picks.text().contains("g or its digit joins"),
        "{}",
        picks.text()
    );
    assert_eq!(picks.keys("enter"), []);
    let join = Command::Join { thread: worker(2) };
    assert_eq!(picks.keys("k k down g"), [Effect::Send(join)]);
    assert_eq!(
        screen().keys("J 3"),
        [Effect::Send(Command::Join { thread: worker(3) })]
    );

    let mut writes = screen();
    writes.keys("f q");
    assert!(writes.text().contains("f1 sends"), "{}", writes.text());
    assert_eq!(writes.keys("ctrl-s"), []);
    let fork = Command::Fork {
        query: "q".into(),
        seat: None,
        thread: None,
    };
    assert_eq!(writes.keys("f1"), [Effect::Send(fork)]);
}
