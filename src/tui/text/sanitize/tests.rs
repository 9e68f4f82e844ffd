use super::*;
use proptest::prelude::*;

fn shown(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut sanitizer = Sanitizer::default();
    sanitizer.push(bytes, &mut out);
    sanitizer.finish(&mut out);
    out
}

fn shown_in_pieces(bytes: &[u8], cuts: &[usize]) -> String {
    let mut out = String::new();
    let mut sanitizer = Sanitizer::default();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let to = cut.clamp(from, bytes.len());
        sanitizer.push(&bytes[from..to], &mut out);
        from = to;
    }
    sanitizer.finish(&mut out);
    out
}

/// No character may reach a terminal that moves, hides or reorders anything.
fn is_harmless(text: &str) -> bool {
    !text
        .chars()
        .any(|c| (c.is_control() && c != '\n') || is_invisible(c))
}

#[test]
fn controls_become_pictures_and_names() {
    assert_eq!(shown(b"a\x1b[2Jb"), "a␛[2Jb");
    assert_eq!(shown(b"\x1b]52;c;aGk=\x07"), "␛]52;c;aGk=␇");
    assert_eq!(shown(b"x\ry\n\tz\0\x7f"), "x␍y\n    z␀␡");
    assert_eq!(shown("\u{9b}2J".as_bytes()), "⟨U+009B⟩2J");
    assert_eq!(shown(b"\x9b2J"), "\u{fffd}2J");
    assert_eq!(shown("a\u{202e}b\u{2066}".as_bytes()), "a⟨U+202E⟩b⟨U+2066⟩");
    assert_eq!(
        shown("\u{feff}\u{200f}\u{e0041}".as_bytes()),
        "⟨U+FEFF⟩⟨U+200F⟩⟨U+E0041⟩"
    );
    assert_eq!(shown("a\u{200d}b".as_bytes()), "a⟨U+200D⟩b");
}

#[test]
fn honest_text_stays_as_it_is() {
    for text in [
        "plain",
        "👩‍👩‍👧‍👦 🇨🇭 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
        "e\u{301} Zürich 北京 각 ตัวอย่าง",
        "می\u{200c}خواهم",
        "क्‍ष",
    ] {
        assert_eq!(shown(text.as_bytes()), text);
    }
}

#[test]
fn a_character_split_over_tokens_is_shown_whole() {
    let brain = "🧠".as_bytes();
    for cut in 1..4 {
        let mut out = String::new();
        let mut sanitizer = Sanitizer::default();
        sanitizer.push(&brain[..cut], &mut out);
        assert_eq!(out, "", "held back until it is complete");
        sanitizer.push(&brain[cut..], &mut out);
        assert_eq!(out, "🧠");
    }
}

#[test]
fn bad_bytes_never_stall() {
    assert_eq!(shown(b"\x80a"), "\u{fffd}a");
    let mut out = String::new();
    let mut sanitizer = Sanitizer::default();
    for _ in 0..1000 {
        sanitizer.push(b"\xf0", &mut out);
    }
    assert_eq!(out.chars().count(), 999, "only the last byte is held back");
    sanitizer.push(b"ok", &mut out);
    assert!(out.ends_with("\u{fffd}ok"));
}

#[test]
fn marks_never_pile_up_or_stand_alone() {
    let pile = format!("a{}", "\u{301}".repeat(100));
    assert!(shown(pile.as_bytes()).contains("⟨U+0301⟩"));
    assert_eq!(shown("\u{301}x".as_bytes()), "\u{25cc}\u{301}x");
    assert_eq!(shown("a\n\u{301}".as_bytes()), "a\n\u{25cc}\u{301}");
}

#[test]
fn a_line_for_titles_has_no_line_break() {
    assert_eq!(safe_line("two\nlines"), "two␊lines");
    assert_eq!(safe_line("\u{1b}]0;x\u{7}"), "␛]0;x␇");
    assert!(matches!(safe_line("plain title"), Cow::Borrowed(_)));
    assert!(matches!(safe_line("Zürich"), Cow::Borrowed(_)));
    assert_eq!(safe_text("two\nlines"), "two\nlines");
}

proptest! {
    #[test]
    fn splits_change_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(0usize..200, 0..20)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        prop_assert_eq!(shown_in_pieces(&bytes, &cuts), shown(&bytes));
    }

    #[test]
    fn nothing_harmful_is_shown(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC*|(.|\\s){0,60}") {
        prop_assert!(is_harmless(&shown(&bytes)));
        prop_assert!(is_harmless(&shown(text.as_bytes())));
        prop_assert!(is_harmless(&safe_line(&text)));
        prop_assert!(!safe_line(&text).contains('\n'));
    }

    #[test]
    fn valid_text_has_no_replacement_character(text in "[^\u{fffd}]{0,80}") {
        let shown = shown(text.as_bytes());
        prop_assert!(!shown.contains(char::REPLACEMENT_CHARACTER));
    }
}
