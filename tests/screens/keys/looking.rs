//! Choosing what to look at: threads, layouts, text, the timeline, with keys and the mouse.

use super::*;

#[test]
fn digits_and_ids_select_threads() {
    let mut screen = three();
    screen.keys("2");
    assert_eq!(screen.model.selected, worker(2));
    screen.keys("0");
    assert_eq!(screen.model.selected, ORGANIZER);
    screen.keys("' 3 enter");
    assert_eq!(screen.model.selected, worker(3));
    screen.keys("9");
    assert_eq!(screen.model.selected, worker(3), "there is no worker 9");
    screen.keys("' x enter");
    assert_eq!(screen.model.selected, worker(3), "x is no id");
}

#[test]
fn tab_goes_through_the_panes_and_the_timeline() {
    let mut screen = three();
    screen.keys("tab tab tab");
    assert_eq!(
        (screen.model.selected, screen.model.focus),
        (worker(3), Focus::Pane)
    );
    screen.keys("tab");
    assert_eq!(screen.model.focus, Focus::Timeline);
    screen.keys("tab");
    assert_eq!(
        (screen.model.selected, screen.model.focus),
        (ORGANIZER, Focus::Pane)
    );
}

#[test]
fn left_and_right_move_between_tiles() {
    let mut screen = three();
    screen.keys("l");
    assert_ne!(screen.model.selected, ORGANIZER);
    screen.keys("h");
    assert_eq!(screen.model.selected, ORGANIZER);
}

#[test]
fn the_filter_acts_while_it_is_typed_and_escape_takes_it_back() {
    let mut screen = three();
    screen.keys("\\ 6 space 3");
    assert_eq!(screen.model.shown(), [ORGANIZER, worker(2), worker(3)]);
    screen.keys("backspace backspace backspace 2");
    assert_eq!(screen.model.shown(), [ORGANIZER, worker(2)]);
    screen.keys("enter");
    assert_eq!(screen.model.shown(), [ORGANIZER, worker(2)]);
    screen.keys("esc");
    assert_eq!(screen.model.shown().len(), 4);
}

#[test]
fn search_finds_the_newest_match_first_and_goes_around() {
    let mut screen = three();
    screen.keys("/ t e n s enter");
    let place = |screen: &Screen| {
        screen
            .model
            .search
            .as_ref()
            .unwrap()
            .current
            .clone()
            .unwrap()
            .1
            .start
    };
    let newest = place(&screen);
    screen.keys("N");
    let older = place(&screen);
    assert!(older < newest);
    screen.keys("n");
    assert_eq!(place(&screen), newest);
    screen.keys("n");
    assert!(place(&screen) < newest, "around the end");
    screen.keys("esc");
    assert!(screen.model.search.is_none());
}

#[test]
fn layouts_cycle_and_panes_zoom() {
    let mut screen = three();
    screen.keys("v v");
    assert_eq!(screen.model.choice, Choice::Spotlight);
    screen.keys("v");
    assert_eq!(screen.model.choice, Choice::Grid);
    screen.keys("v");
    assert!(matches!(screen.model.screen().panes, Panes::Rows(_)));
    screen.keys("j j");
    assert_eq!(screen.model.selected, worker(2));
    screen.keys("v z");
    match screen.model.screen().panes {
        Panes::Tiles(tiles) => assert_eq!(tiles[0].1, Slot::Thread(worker(2))),
        Panes::Rows(_) => panic!("a zoomed pane is a tile"),
    }
    screen.keys("z");
    assert!(!screen.model.zoomed);
}

#[test]
fn scrolling_up_detaches_and_follow_comes_back() {
    let mut screen = Screen::live(80, 24, &story::killed());
    screen.draw();
    screen.keys("g");
    screen.draw();
    let at_top = screen.model.threads[&ORGANIZER].pane.anchor();
    assert_eq!(at_top, Some(0));
    screen.keys("G");
    screen.draw();
    assert!(screen.model.threads[&ORGANIZER].pane.is_following());
}

#[test]
fn the_top_line_stays_while_text_streams() {
    let mut story = story::killed();
    let mut screen = Screen::live(80, 24, &story);
    screen.draw();
    screen.keys("k k");
    screen.draw();
    let before = screen.model.threads[&ORGANIZER].pane.anchor();
    assert!(before.is_some());
    let told = story.events.len();
    story.steps(500, &[(ORGANIZER, &["more ", "and ", "more\n"])]);
    screen.input(Input::Events(story.events[told..].to_vec()));
    screen.input(Input::Resize(100, 30));
    screen.draw();
    assert_eq!(screen.model.threads[&ORGANIZER].pane.anchor(), before);
    assert!(screen.text().contains("new"), "{}", screen.text());
}

#[test]
fn the_timeline_zooms_around_its_cursor_and_fits_again() {
    let mut screen = three();
    screen.keys("[ h");
    assert_eq!(screen.model.focus, Focus::Timeline);
    let cursor = screen.model.timeline.cursor.unwrap();
    let column = |s: &Screen| s.model.axis(s.model.screen().timeline).column(cursor);
    let before = column(&screen).unwrap();
    screen.keys("+");
    // Windows begin at whole steps, and here a step is wider than a cell.
    assert!(column(&screen).unwrap().abs_diff(before) <= 3);
    assert_ne!(screen.model.timeline.window, Window::Fit);
    screen.keys("=");
    assert_eq!(screen.model.timeline.window, Window::Fit);
    screen.keys("T");
    assert!(screen.model.timeline.lived);
    let length = screen.model.ideal.tracks.length;
    assert_eq!(length, 55 * STEP_US, "lived time is in microseconds");
}

#[test]
fn the_event_keys_stop_at_forks() {
    let mut screen = three();
    screen.keys("tab tab tab tab g");
    let mut stops = Vec::new();
    for _ in 0..40 {
        screen.keys("[");
        stops.push(screen.model.timeline.cursor.unwrap());
    }
    stops.dedup();
    // Forks completed at steps 17, 28 and 31; everything began at step 0.
    for fork in [16, 27, 30, 0] {
        assert!(stops.contains(&fork), "{fork} in {stops:?}");
    }
}

#[test]
fn copying_gives_the_logical_text() {
    let mut screen = three();
    let effects = screen.keys("2 y");
    let [Effect::Copy(text)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(text.starts_with("10-5=5") && !text.contains('│'), "{text}");
    let effects = screen.keys("0 o");
    let [Effect::Pager(text)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(
        text.contains("<FORK-2>first 10 5, left 6 3, make 30</FORK-2>"),
        "{text}"
    );
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Input {
    Input::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    })
}

#[test]
fn the_mouse_selects_scrolls_and_can_be_given_back() {
    let mut screen = three();
    screen.draw();
    let Panes::Tiles(tiles) = screen.model.screen().panes else {
        panic!("tiles");
    };
    let (rect, _) = tiles
        .iter()
        .find(|(_, s)| *s == Slot::Thread(worker(3)))
        .unwrap();
    let press = MouseEventKind::Down(MouseButton::Left);
    screen.input(mouse(press, rect.x + 2, rect.y + 2));
    assert_eq!(screen.model.selected, worker(3));
    let timeline = screen.model.screen().timeline;
    screen.input(mouse(press, timeline.x + 30, timeline.y + 2));
    assert_eq!(screen.model.focus, Focus::Timeline);
    assert_eq!(
        screen.model.selected,
        worker(1),
        "the first lane below the organizer's"
    );
    assert!(screen.model.timeline.cursor.is_some());
    assert_eq!(screen.keys("M"), [Effect::Mouse(false)]);
    screen.input(mouse(press, rect.x + 2, rect.y + 2));
    assert_eq!(
        screen.model.selected,
        worker(1),
        "the mouse belongs to the terminal"
    );
}
