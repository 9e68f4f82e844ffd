//! Keys to states: what a person presses, and what comes of it.

use crate::screen::{Screen, key_event, look};
use crate::story::{self, ORGANIZER, STEP_US, Story, worker};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use orgtop::live::{Batch, Phase, Report};
use orgtop::org::{AskKind, Author, Body, BreakpointState, Command, Outcome, RunEnd, Seat};
use orgtop::tui::action::{Action, TABLE};
use orgtop::tui::keymap::Keymap;
use orgtop::tui::layout::{Choice, Panes, Slot};
use orgtop::tui::model::{Feed, Focus, Leaving, Playback, RunState};
use orgtop::tui::popup::Popup;
use orgtop::tui::update::{Effect, Input, Place, callable};
use orgtop::tui::widget::timeline::geometry::Window;
use std::path::Path;
use std::time::Duration;

fn three() -> Screen {
    Screen::live(120, 36, &story::three_workers())
}

/// Pressing `keys` while three workers run causes exactly these commands.
#[track_caller]
fn sends(keys: &str, commands: &[Command]) {
    let effects = three().keys(keys);
    let expected: Vec<Effect> = commands.iter().cloned().map(Effect::Send).collect();
    assert_eq!(effects, expected, "{keys}");
}

#[test]
fn steering_keys_send_their_commands() {
    sends("space", &[Command::Pause { thread: None }]);
    sends(".", &[Command::Step]);
    sends(">", &[Command::Next]);
    sends(
        "2 p",
        &[Command::Pause {
            thread: Some(worker(2)),
        }],
    );
    sends("a", &[Command::Answer]);
    sends("3 x k", &[Command::Kill { thread: worker(3) }]);
    sends("1 x w", &[Command::WrapUp { thread: worker(1) }]);
    sends("J 2", &[Command::Join { thread: worker(2) }]);
    sends("J down down enter", &[Command::Join { thread: worker(3) }]);
    sends(
        "m h e r e enter",
        &[Command::Mark {
            name: "here".into(),
        }],
    );
    sends(
        "m enter",
        &[Command::Mark {
            name: "step 55".into(),
        }],
    );
    sends(
        "{ { }",
        &[160, 80, 160].map(|tokens_per_s| Command::Speed { tokens_per_s }),
    );
}

#[test]
fn escape_never_stops_anything() {
    for keys in [
        "esc",
        "x esc",
        "x A esc",
        "q esc",
        "f a b esc",
        "J esc",
        "m esc",
        ": esc",
    ] {
        sends(keys, &[]);
        let mut screen = three();
        screen.keys(keys);
        assert!(screen.model.popups.is_empty(), "{keys}");
    }
}

#[test]
fn a_paused_run_goes_on_with_the_same_key() {
    let mut story = story::three_workers();
    story.command(Command::Pause { thread: None }, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    assert_eq!(screen.model.run_state(), RunState::Paused);
    assert_eq!(
        screen.keys("space"),
        [Effect::Send(Command::Resume { thread: None })]
    );
}

#[test]
fn pausing_is_shown_until_the_pause_has_come() {
    let mut screen = three();
    screen.keys("space");
    assert_eq!(screen.model.run_state(), RunState::Pausing);
}

#[test]
fn aborting_asks_and_a_key_too_soon_is_no_answer() {
    let mut screen = three();
    screen.keys("x A");
    screen.now += Duration::from_millis(100);
    let effects = screen.input(Input::Key(key_event("y")));
    assert_eq!(effects, [], "100 ms after the question appeared");
    assert_eq!(screen.keys("y"), [Effect::Send(Command::Abort)]);
    assert_eq!(three().keys("x A enter"), [], "enter is no");
    assert_eq!(three().keys("x A n"), []);
}

#[test]
fn ctrl_c_pauses_then_warns_then_saves_then_forces() {
    let mut screen = three();
    assert_eq!(
        screen.keys("ctrl-c"),
        [Effect::Send(Command::Pause { thread: None })]
    );
    assert_eq!(screen.keys("ctrl-c"), []);
    assert_eq!(screen.model.leaving, Leaving::Warned);
    assert_eq!(screen.keys("ctrl-c"), [Effect::Send(Command::Interrupt)]);
    assert_eq!(screen.keys("ctrl-c"), [Effect::ForceQuit]);
}

#[test]
fn another_key_takes_the_warning_back() {
    let mut screen = three();
    screen.keys("ctrl-c ctrl-c j");
    assert_eq!(screen.model.leaving, Leaving::No);
    assert_eq!(screen.keys("ctrl-c"), []);
}

#[test]
fn quitting_a_running_session_asks_then_waits_until_it_is_saved() {
    let mut screen = three();
    assert_eq!(screen.keys("q"), []);
    assert_eq!(screen.keys("y"), [Effect::Send(Command::Interrupt)]);
    let report = Report {
        phase: Phase::Over,
        ..Report::default()
    };
    let batch = Batch {
        report,
        ..Batch::default()
    };
    assert_eq!(screen.input(Input::Batch(batch)), [Effect::Quit]);
}

#[test]
fn quitting_a_finished_session_needs_no_question() {
    let mut screen = Screen::live(120, 36, &story::answered());
    assert_eq!(screen.keys("q"), [Effect::Quit]);
    assert_eq!(
        Screen::live(120, 36, &story::answered()).keys("ctrl-c"),
        [Effect::Quit]
    );
}

#[test]
fn a_signal_saves_a_running_session_once() {
    let mut screen = three();
    assert_eq!(
        screen.input(Input::Terminate),
        [Effect::Send(Command::Interrupt)]
    );
    assert_eq!(screen.input(Input::Terminate), []);
}

#[test]
fn the_organizer_alone_cannot_be_killed() {
    let mut screen = three();
    assert_eq!(screen.keys("0 x k"), []);
    assert!(screen.model.notice.is_some());
}

#[test]
fn nothing_is_steered_once_the_run_is_over() {
    for keys in ["space", ".", ">", "a", "f", "J", "x"] {
        let mut screen = Screen::live(120, 36, &story::answered());
        assert_eq!(screen.keys(keys), [], "{keys}");
        assert!(screen.model.popups.is_empty(), "{keys}");
    }
}

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
fn the_composer_takes_every_plain_key_as_text() {
    let mut screen = three();
    assert_eq!(screen.keys("f q x space : ?"), []);
    assert_eq!(screen.model.draft.text(), "qx :?");
    assert_eq!(
        screen.keys("ctrl-s"),
        [Effect::Send(Command::Fork {
            query: "qx :?".into(),
            seat: None,
            thread: None,
        })]
    );
    assert!(screen.model.draft.text().is_empty(), "sent drafts are gone");
}

#[test]
fn a_closed_composer_keeps_its_draft() {
    let mut screen = three();
    screen.keys("f h i esc");
    assert!(screen.model.popups.is_empty());
    screen.keys("f !");
    assert_eq!(screen.model.draft.text(), "hi!");
    assert_eq!(
        screen.keys("alt-enter"),
        [Effect::Send(Command::Fork {
            query: "hi!".into(),
            seat: None,
            thread: None,
        })]
    );
}

#[test]
fn text_that_would_break_the_fork_is_explained_and_not_sent() {
    let mut screen = three();
    screen.keys("f");
    screen.input(Input::Paste("one </FORK-4> two".into()));
    assert_eq!(screen.keys("ctrl-s"), []);
    assert!(
        screen
            .model
            .draft
            .complaint
            .as_ref()
            .unwrap()
            .contains("</FORK-")
    );
    assert!(matches!(screen.model.popups.last(), Some(Popup::Composer)));
    assert!(screen.text().contains("Line 1 contains"));
}

#[test]
fn pasted_text_is_never_a_command() {
    let mut screen = three();
    assert_eq!(screen.input(Input::Paste("qy\u{1b}[2J".into())), []);
    assert!(screen.model.popups.is_empty());
    screen.keys("f");
    screen.input(Input::Paste("a\u{1b}]52;c;x\u{7}b\nc".into()));
    let text = screen.model.draft.text();
    assert!(
        text.contains('\n') && !text.contains('\u{1b}') && !text.contains('\u{7}'),
        "{text:?}"
    );
}

#[test]
fn line_breaks_of_pasted_text_stay_line_breaks() {
    let mut screen = three();
    screen.keys("f");
    // As terminals send them inside a bracketed paste.
    screen.input(Input::Paste("one\rtwo\r\nthree\nfour".into()));
    assert_eq!(screen.model.draft.text(), "one\ntwo\nthree\nfour");
}

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

#[test]
fn a_run_without_news_is_shown_as_frozen_and_one_that_ended_is_not() {
    let mut screen = three();
    screen.now += Duration::from_secs(6);
    screen.input(Input::Tick);
    assert_eq!(screen.model.run_state(), RunState::Frozen);
    assert!(screen.text().contains("FROZEN 6 s"));
    let mut over = Screen::live(120, 36, &story::answered());
    over.now += Duration::from_secs(60);
    over.input(Input::Tick);
    assert_eq!(over.model.run_state(), RunState::Over(RunEnd::Answered));
    assert_eq!(
        over.model.next_change(),
        None,
        "nothing will change by itself"
    );
}

#[test]
fn going_into_the_background_works_everywhere() {
    for keys in [
        "ctrl-z",
        "f ctrl-z",
        "/ ctrl-z",
        ": ctrl-z",
        "x A ctrl-z",
        "? ctrl-z",
    ] {
        assert_eq!(three().keys(keys), [Effect::Suspend], "{keys}");
    }
}

#[test]
fn a_speed_limit_set_elsewhere_is_the_one_that_the_keys_change() {
    let mut story = story::three_workers();
    story.command(Command::Speed { tokens_per_s: 20 }, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    assert_eq!(
        screen.keys("{"),
        [Effect::Send(Command::Speed { tokens_per_s: 10 })]
    );
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
            list(Popup::Branches {
                chosen: 0,
                marked: None,
            }),
        ]
    };
    for row in TABLE {
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
fn a_run_without_an_answer_can_be_taken_over_by_an_organizer() {
    let mut story = Story::new("why?", 4);
    story.steps(3, &[(ORGANIZER, &[" so"])]);
    let metrics = story.organization.metrics();
    let end = Body::RunEnd {
        end: RunEnd::NoAnswer,
        answer: None,
        metrics,
    };
    story.push(None, Author::System, None, end);
    let mut screen = Screen::live(80, 24, &story);
    let seat = Command::Seat {
        thread: ORGANIZER,
        to: Seat::Human,
    };
    assert_eq!(screen.keys("0 t"), [Effect::Send(seat)]);
    assert!(screen.keys("f").is_empty());
}
