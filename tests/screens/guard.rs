//! What the guard refused, where it was refused.

use crate::screen::{Screen, look};
use crate::story::{ORGANIZER, Story, worker};
use orgtop::tui::model::Feed;

/// An organizer that wanted to fork 1 once more, and to join what was never forked.
fn guarded() -> Story {
    let mut story = Story::new("what is 17 * 23?", 4);
    story.steps(
        6,
        &[(ORGANIZER, &["Let", " me", " think", ".", " I", " ask:"])],
    );
    story.fork(1, "multiply 17 and 23", &[]);
    story.steps(
        4,
        &[(ORGANIZER, &[" And"]), (worker(1), &[" 17", " *", " 23"])],
    );
    story.refuse(ORGANIZER, &["<FORK-1>"]);
    story.step(&[(ORGANIZER, " no"), (worker(1), " =")]);
    story.steps(
        30,
        &[
            (ORGANIZER, &[" more", " to", " do"]),
            (worker(1), &[" 391"]),
        ],
    );
    story.refuse(ORGANIZER, &["<JOIN-7>", "<JOIN-8>"]);
    story.step(&[(ORGANIZER, " wait"), (worker(1), ".")]);
    story.steps(3, &[(ORGANIZER, &[" a", " bit"])]);
    story
}

#[test]
fn what_stands_in_the_place_of_something_refused_is_marked() {
    let story = guarded();
    assert_eq!(
        story.organization.thread(ORGANIZER).unwrap().refusals.len(),
        2
    );
    let mut screen = Screen::live(80, 24, &story);
    insta::assert_snapshot!("guard_80x24", screen.picture());
    let text = screen.text();
    assert_eq!(text.matches("│×").count(), 2, "{text}");
    let mut ascii = Screen::new(80, 24, look("mono", true), Feed::Live);
    ascii.tell(&story);
    assert_eq!(ascii.text().matches("|x").count(), 2);
}

#[test]
fn the_inspector_says_what_was_refused_and_how_much() {
    let mut screen = Screen::live(80, 24, &guarded());
    screen.keys("i G");
    let text = screen.text();
    assert!(text.contains("× <JOIN-7><JOIN-8> refused"), "{text}");
    insta::assert_snapshot!("guard_inspector_80x24", screen.picture());
    screen.keys("g");
    let text = screen.text();
    assert!(text.contains("3 refused by the guard"), "{text}");
}
