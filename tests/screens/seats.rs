//! Seats, requests and the board, by keys.

use crate::screen::{Screen, key_event};
use crate::story::{self, ORGANIZER, Story, worker};
use orgtop::live::{Batch, Phase, Report};
use orgtop::org::{AskKind, Body, Command, Draft, Fate, Outcome, PlanChange, Seat};
use orgtop::tui::letter::{Letter, Saying};
use orgtop::tui::popup::Popup;
use orgtop::tui::update::{Effect, Input};
use std::time::Duration;

fn sent(command: Command) -> [Effect; 1] {
    [Effect::Send(command)]
}

fn taken(thread: orgtop::org::ThreadId) -> Story {
    let mut story = story::three_workers();
    let to = Seat::Human;
    story.command(Command::Seat { thread, to }, Outcome::Done);
    story
}

fn ask(story: &mut Story, number: u32, text: &str) {
    story.say(
        ORGANIZER,
        Body::Ask {
            number,
            ask: AskKind::Fork,
            index: Some(4),
            text: text.into(),
            span: None,
        },
    );
}

#[test]
fn t_takes_a_seat_and_gives_it_back() {
    let (thread, human, model) = (worker(2), Seat::Human, Seat::Model);
    let mut screen = Screen::live(120, 36, &story::three_workers());
    assert_eq!(
        screen.keys("2 t"),
        sent(Command::Seat { thread, to: human })
    );
    let mut screen = Screen::live(120, 36, &taken(thread));
    assert_eq!(
        screen.keys("2 t"),
        sent(Command::Seat { thread, to: model })
    );
}

#[test]
fn a_seat_that_is_held_shows_its_clock_and_a_badge() {
    let mut screen = Screen::live(120, 36, &taken(worker(2)));
    let text = screen.text();
    assert!(text.contains("you: 2"), "{text}");
    assert!(text.contains("you write"), "{text}");
    assert!(text.contains("steps"), "{text}");
}

#[test]
fn a_worker_in_ones_seat_returns_what_is_sent_and_can_be_thought_in_aloud() {
    let thread = worker(2);
    let mut screen = Screen::live(120, 36, &taken(thread));
    let effects = screen.keys("2 enter 4 2 ctrl-s");
    assert_eq!(
        effects,
        sent(Command::Submit {
            thread,
            text: "42".into()
        })
    );
    let effects = screen.keys("enter h m ctrl-t ctrl-s");
    assert_eq!(
        effects,
        sent(Command::Text {
            thread,
            text: "hm".into()
        })
    );
}

#[test]
fn enter_where_the_model_writes_only_says_so() {
    let mut screen = Screen::live(120, 36, &story::three_workers());
    assert_eq!(screen.keys("2 enter"), []);
    assert!(screen.model.popups.is_empty());
    assert!(screen.text().contains("takes its seat"));
}

#[test]
fn a_result_that_would_close_itself_is_explained_and_not_sent() {
    let mut screen = Screen::live(120, 36, &taken(worker(2)));
    screen.keys("2 enter");
    screen.input(Input::Paste("a</RETURN>b".into()));
    assert_eq!(screen.keys("ctrl-s"), []);
    assert!(screen.text().contains("put after it"));
    screen.keys("esc enter");
    assert!(matches!(
        screen.model.popups.last(),
        Some(Popup::Letter {
            letter: Letter::Seat(_),
            saying: Saying::Result
        })
    ));
    assert!(screen.text().contains("a</RETURN>b"), "the draft is kept");
}

#[test]
fn a_fork_can_be_addressed_in_the_composer() {
    let mut screen = Screen::live(120, 36, &story::three_workers());
    assert_eq!(
        screen.keys("f q ctrl-t ctrl-s"),
        sent(Command::Fork {
            query: "q".into(),
            seat: Some(Seat::Human),
            thread: None,
        })
    );
}

#[test]
fn a_request_shows_a_badge_and_takes_no_focus() {
    let mut story = story::three_workers();
    ask(&mut story, 1, "count");
    let mut screen = Screen::live(120, 36, &story);
    assert!(screen.model.popups.is_empty());
    assert!(screen.text().contains("1 to approve (Y)"));
    assert!(screen.text().contains("waits for your word"));
}

#[test]
fn requests_are_approved_changed_and_denied() {
    let mut story = story::three_workers();
    ask(&mut story, 1, "count");
    ask(&mut story, 2, "sum");
    let approve = |ask, text: Option<&str>| {
        let text = text.map(str::to_owned);
        sent(Command::Approve {
            ask: Some(ask),
            text,
        })
    };
    assert_eq!(Screen::live(120, 36, &story).keys("Y y"), approve(1, None));
    assert_eq!(
        Screen::live(120, 36, &story).keys("Y down enter"),
        approve(2, None)
    );
    assert_eq!(
        Screen::live(120, 36, &story).keys("Y e ! ctrl-s"),
        approve(1, Some("count!"))
    );
    assert_eq!(
        Screen::live(120, 36, &story).keys("Y n n o ctrl-s"),
        sent(Command::Deny {
            ask: Some(1),
            reason: "no".into()
        })
    );
}

#[test]
fn a_key_right_after_a_request_appeared_is_no_answer() {
    let mut story = story::three_workers();
    ask(&mut story, 1, "count");
    let mut screen = Screen::live(120, 36, &story);
    screen.keys("Y");
    let press = |screen: &mut Screen, after: u64| {
        screen.now += Duration::from_millis(after);
        screen.input(Input::Key(key_event("y")))
    };
    assert_eq!(press(&mut screen, 240), []);
    assert_eq!(press(&mut screen, 20).len(), 1);
    // What moves up into its place is new again.
    assert_eq!(press(&mut screen, 240), []);
}

#[test]
fn the_queue_closes_when_nothing_waits() {
    let mut story = story::three_workers();
    ask(&mut story, 1, "count");
    let mut screen = Screen::live(120, 36, &story);
    screen.keys("Y");
    let mut more = story;
    let before = more.events.len();
    more.say(
        ORGANIZER,
        Body::Decided {
            number: 1,
            verdict: orgtop::org::Verdict::Approved,
            text: None,
        },
    );
    let report = Report {
        phase: Phase::Running,
        ..Report::default()
    };
    screen.input(Input::Batch(Batch {
        events: more.events[before..].to_vec(),
        report,
        ..Batch::default()
    }));
    assert!(screen.model.popups.is_empty());
}

#[test]
fn drafts_are_edited_moved_dropped_given_a_seat_and_released() {
    let mut story = story::three_workers();
    story.header.plan = true;
    for draft in 1..=2 {
        let change = PlanChange::Draft(Draft {
            draft,
            query: format!("q{draft}"),
            seat: Seat::Model,
            index: 3 + u16::try_from(draft).unwrap(),
            span: None,
            edited: false,
            fate: Fate::Stands,
        });
        story.say(ORGANIZER, Body::Plan { change });
    }
    let keys = |keys: &str| Screen::live(120, 36, &story).keys(keys);
    assert!(
        Screen::live(120, 36, &story)
            .text()
            .contains("2 planned (P)")
    );
    assert_eq!(keys("P d"), sent(Command::PlanDrop { draft: 1 }));
    assert_eq!(keys("P J"), sent(Command::PlanMove { draft: 1, to: 2 }));
    assert_eq!(keys("P j K"), sent(Command::PlanMove { draft: 2, to: 1 }));
    assert_eq!(
        keys("P s"),
        sent(Command::PlanEdit {
            draft: 1,
            query: None,
            seat: Some(Seat::Human),
        })
    );
    assert_eq!(
        keys("P e ! ctrl-s"),
        sent(Command::PlanEdit {
            draft: 1,
            query: Some("q1!".into()),
            seat: None
        })
    );
    assert_eq!(
        keys("P a x ctrl-s"),
        sent(Command::PlanAdd {
            query: "x".into(),
            seat: None
        })
    );
    assert_eq!(keys("P r"), sent(Command::PlanRelease));
}

#[test]
fn the_stop_menu_tries_again() {
    let mut screen = Screen::live(120, 36, &story::three_workers());
    assert_eq!(
        screen.keys("3 x r"),
        sent(Command::Retry { thread: worker(3) })
    );
}

/// The last line of the screen.
fn footer(screen: &mut Screen) -> String {
    screen.text().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_line_about_a_seat_goes_when_its_thread_has_ended() {
    let thread = worker(2);
    let mut story = taken(thread);
    let mut screen = Screen::live(120, 36, &story);
    assert!(footer(&mut screen).contains("you write 2"));
    let end = orgtop::org::ThreadEnd::Returned;
    story.say(thread, Body::End { end });
    let mut screen = Screen::live(120, 36, &story);
    let line = footer(&mut screen);
    assert!(!line.contains("you write 2"), "{line}");
}

#[test]
fn a_queued_command_is_said_to_be_queued_only_until_it_was_carried_out() {
    let mut story = story::three_workers();
    let why = "until the organizer decodes again".to_owned();
    let join = Command::Join { thread: worker(1) };
    story.command(join, Outcome::Queued { why });
    let mut screen = Screen::live(120, 36, &story);
    assert!(footer(&mut screen).contains("join: queued"));
    let kill = Command::Kill { thread: worker(1) };
    story.command(kill, Outcome::Done);
    let mut screen = Screen::live(120, 36, &story);
    let line = footer(&mut screen);
    assert!(line.contains("1 is stopped"), "{line}");
}
