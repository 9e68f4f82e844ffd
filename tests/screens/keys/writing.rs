//! Writing: what an editor takes as text, and what it sends.

use super::*;

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
