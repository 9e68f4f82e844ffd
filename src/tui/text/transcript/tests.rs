use super::super::find::Direction;
use super::super::wrap::CHUNK;
use super::*;
use proptest::prelude::*;
use regex::Regex;

const MODEL: Author = Author::Model;

fn decoded(transcript: &mut Transcript, bytes: &[u8]) {
    let lens = [bytes.len() as u32];
    transcript.push(
        bytes,
        &MODEL,
        Piece::Decoded {
            ids: &[0],
            lens: &lens,
        },
    );
}

fn of(pieces: &[&[u8]]) -> Transcript {
    let mut transcript = Transcript::new();
    for piece in pieces {
        decoded(&mut transcript, piece);
    }
    transcript
}

/// What must not depend on how the text was split.
fn essence(t: &Transcript) -> (String, Vec<usize>, Vec<Range<usize>>) {
    let display = t.display();
    let whole = 0..t.shown().len();
    let chips = display.chips(&whole).iter().map(|c| c.shown.clone());
    let chunks = (0..display.chunk_count()).map(|c| display.chunk(c).start);
    (t.shown().to_owned(), chunks.collect(), chips.collect())
}

#[test]
fn tags_are_chips_at_any_split() {
    let text = b"<FORK-12>q</FORK-12> <JOIN-1>x <ANSWER>a</ANSWER><RETURN>r</RETURN>.";
    let whole = of(&[text]);
    assert_eq!(
        whole.shown(),
        "⟨FORK 12⟩q⟨/⟩ ⟨JOIN 1⟩x ⟨ANSWER⟩a⟨/⟩⟨RETURN⟩r⟨/⟩."
    );
    for cut in 0..text.len() {
        let split = of(&[&text[..cut], &text[cut..]]);
        assert_eq!(essence(&split), essence(&whole), "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(essence(&of(&bytes)), essence(&whole));
}

#[test]
fn nothing_is_held_back_or_shown_twice() {
    let mut t = Transcript::new();
    let mut seen = String::new();
    for piece in ["a <", "JOI", "N-1", "2", "> b"] {
        decoded(&mut t, piece.as_bytes());
        seen.push_str(piece);
        if piece != "> b" {
            assert_eq!(t.shown(), seen);
        }
    }
    assert_eq!(t.shown(), "a ⟨JOIN 12⟩ b");
}

#[test]
fn what_only_looks_like_a_tag_is_text() {
    for text in [
        "<FORK-01>",
        "<fork-1>",
        "<FORK>",
        "a<b",
        "</JOIN-1>",
        "</RETURN>",
        "<<FORK-x>",
    ] {
        assert_eq!(of(&[text.as_bytes()]).shown(), text);
    }
    assert_eq!(
        of(&[b"<FORK-1>a <FORK-2> </ANSWER> b</FORK-1>"]).shown(),
        "⟨FORK 1⟩a <FORK-2> </ANSWER> b⟨/⟩",
        "inside a fork only its own closing is a tag"
    );
}

#[test]
fn a_result_is_never_scanned() {
    let mut t = of(&[b"<JOIN-3>"]);
    t.push(
        b"see <FORK-1>x</FORK-1></JOIN-3>",
        &Author::System,
        Piece::Spliced(SpliceKind::Result),
    );
    decoded(&mut t, b" go on <ANSWER>");
    assert_eq!(
        t.shown(),
        "⟨JOIN 3⟩see <FORK-1>x</FORK-1>⟨/⟩ go on ⟨ANSWER⟩"
    );
    let origin = t.origin_at(9).unwrap();
    assert_eq!(origin.author, Author::System);
    assert_eq!(origin.kind, PieceKind::Spliced(SpliceKind::Result));
    assert_eq!(t.origin_at(0).unwrap().author, Author::Model);
    assert_eq!(t.origin_at(t.end()), None);
}

#[test]
fn a_view_from_midway_accepts_the_closing_of_what_it_did_not_see() {
    let mut t = Transcript::starting_at(100, 20);
    decoded(&mut t, b"rest</FORK-4> <JOIN-4>");
    assert_eq!(t.shown(), "rest⟨/⟩ ⟨JOIN 4⟩");
    assert_eq!((t.start(), t.end()), (100, 122));
    assert_eq!(t.token_at(100).unwrap().index, 20);
}

#[test]
fn prepending_gives_the_text_from_the_beginning() {
    let pieces: [&[u8]; 4] = [
        b"one <FO",
        b"RK-1>two\nthr",
        b"ee</FORK-1> \xf0\x9f",
        b"\xa7\xa0 <JOIN-1>",
    ];
    let mut whole = Transcript::new();
    let mut older = Transcript::new();
    let mut newer = Transcript::starting_at(7, 1);
    for (n, piece) in pieces.iter().enumerate() {
        decoded(&mut whole, piece);
        decoded(if n == 0 { &mut older } else { &mut newer }, piece);
    }
    for t in [&mut whole, &mut newer] {
        t.push(
            b"r</JOIN-1>",
            &Author::System,
            Piece::Spliced(SpliceKind::Result),
        );
    }
    let revision = newer.revision();
    assert!(newer.prepend(older.clone()));
    assert_ne!(newer.revision(), revision);
    assert_eq!(essence(&newer), essence(&whole));
    assert_eq!(newer.bytes(), whole.bytes());
    for byte in 0..whole.end() {
        assert_eq!(newer.token_at(byte), whole.token_at(byte));
        assert_eq!(newer.origin_at(byte), whole.origin_at(byte));
    }
    assert!(!newer.prepend(older), "it does not reach up to this text");
}

#[test]
fn truncating_gives_the_text_as_it_was() {
    let pieces: [&[u8]; 3] = [
        b"one <FORK-1>t",
        b"wo</FORK-1> \xf0\x9f",
        b"\xa7\xa0 <JOIN-1>",
    ];
    for keep in 0..=3 {
        let mut then = Transcript::starting_at(0, 5);
        let mut now = Transcript::starting_at(0, 5);
        for (n, piece) in pieces.iter().enumerate() {
            decoded(&mut now, piece);
            if n < keep {
                decoded(&mut then, piece);
            }
        }
        now.push(
            b"r</JOIN-1>",
            &Author::System,
            Piece::Spliced(SpliceKind::Result),
        );
        now.truncate(then.end());
        assert_eq!(essence(&now), essence(&then));
        assert_eq!(now.bytes(), then.bytes());
        for byte in 0..then.end() {
            assert_eq!(now.token_at(byte), then.token_at(byte));
        }
        decoded(&mut now, b"<ANSWER>");
        decoded(&mut then, b"<ANSWER>");
        assert_eq!(essence(&now), essence(&then));
        assert_eq!(now.token_at(now.end() - 1), then.token_at(then.end() - 1));
    }
}

#[test]
fn absurd_offsets_of_a_damaged_file_are_survived() {
    let mut t = Transcript::starting_at(u64::MAX - 2, u64::MAX);
    decoded(&mut t, b"some text\n");
    assert_eq!(t.shown(), "some text\n");
    assert_eq!(t.token_at(0), None);
    let _ = (
        t.token_at(u64::MAX),
        t.logical_text(),
        t.origin_at(u64::MAX),
    );
    t.truncate(0);
    assert!(t.is_empty());
}

#[test]
fn bytes_and_what_shows_them_find_each_other() {
    let t = of(&["a\u{1b}\t<FORK-1>\u{202e}é🧠".as_bytes(), b"\xffz<JO"]);
    assert_eq!(t.shown(), "a␛    ⟨FORK 1⟩⟨U+202E⟩é🧠\u{fffd}z<JO");
    let shown = |byte: u64| &t.shown()[t.shown_of(byte)..];
    assert!(shown(1).starts_with('␛'));
    assert!(shown(2).starts_with("    ⟨FORK"));
    assert!(shown(3).starts_with("⟨FORK"));
    assert!(shown(8).starts_with("⟨FORK"), "a byte inside the tag");
    assert!(shown(11).starts_with("⟨U+202E⟩"));
    assert!(shown(14).starts_with('é'));
    assert!(shown(16).starts_with('🧠'));
    assert!(shown(20).starts_with('\u{fffd}'));
    assert!(shown(21).starts_with("z<JO"));
    for byte in [1, 2, 3, 11, 14, 16, 20, 21, 23] {
        assert_eq!(t.source_of(t.shown_of(byte)), byte);
    }
}

#[test]
fn a_match_covers_the_bytes_that_show_it() {
    let t = of(&[b"one\n<FORK-1>two\x1b</FORK-1>\none two"]);
    let find =
        |pattern: &str, from, direction| t.find(&Regex::new(pattern).unwrap(), from, direction);
    assert_eq!(find("one", 0, Direction::Forward), Some(0..3));
    assert_eq!(find("one", 1, Direction::Forward), Some(26..29));
    assert_eq!(find("two", 26, Direction::Backward), Some(12..15));
    assert_eq!(find("FORK", 0, Direction::Forward), Some(4..12));
    assert_eq!(find("␛", 0, Direction::Forward), Some(15..16));
    assert_eq!(find("two$", 0, Direction::Forward), Some(30..33));
    assert_eq!(find("^one", 33, Direction::Backward), Some(26..29));
    assert_eq!(
        find("x*", 0, Direction::Forward),
        None,
        "empty matches are no matches"
    );
    assert_eq!(find("one", 0, Direction::Backward), None);
}

#[test]
fn copied_text_has_its_tags_and_nothing_that_drives_a_terminal() {
    let t = of(&[b"<FORK-1>q</FORK-1>\n\x1b[2J\tx"]);
    assert_eq!(t.logical_text(), "<FORK-1>q</FORK-1>\n␛[2J    x");
    assert_eq!(t.logical_slice(8..9), "q");
    assert_eq!(t.logical_slice(500..900), "");
    assert_eq!(t.last_words(4), "   x");
    assert_eq!(t.bytes(), b"<FORK-1>q</FORK-1>\n\x1b[2J\tx");
}

#[test]
fn the_end_shows_what_was_held_back() {
    let mut t = of(&[b"a\xf0\x9f <FOR"]);
    t.finish();
    assert_eq!(t.shown(), "a\u{fffd} <FOR");
    let mut t = of(&[b"a\xf0\x9f"]);
    assert_eq!(t.shown(), "a");
    t.finish();
    assert_eq!(t.shown(), "a\u{fffd}");
}

#[test]
fn a_person_may_finish_a_tag_that_the_model_began() {
    let mut t = of(&[b"<JOIN-1"]);
    t.push(
        b">",
        &Author::Human,
        Piece::Decoded {
            ids: &[1],
            lens: &[1],
        },
    );
    assert_eq!(t.shown(), "⟨JOIN 1⟩");
}

#[test]
fn a_long_line_is_cut_the_same_way_however_it_arrives() {
    let line = "word 北京 é👩‍👩‍👧 ".repeat(2000);
    let whole = of(&[line.as_bytes()]);
    assert!(whole.display().chunk_count() > 5);
    for size in [1, 7, 4095, 4096, 5000] {
        let pieces: Vec<&[u8]> = line.as_bytes().chunks(size).collect();
        assert_eq!(essence(&of(&pieces)), essence(&whole), "pieces of {size}");
    }
    for chunk in 0..whole.display().chunk_count() {
        assert!(whole.display().chunk(chunk).len() <= CHUNK);
    }
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        "[a-z <>/\\-0-9\n]{0,8}".prop_map(String::into_bytes),
        prop::sample::select(vec![
            "<FORK-1>",
            "</FORK-1>",
            "<JOIN-2>",
            "<ANSWER>",
            "</ANSWER>",
            "🧠",
            "👩‍👩‍👧",
            "\u{202e}",
            "\u{1b}[2J"
        ])
        .prop_map(|t| t.as_bytes().to_vec()),
    ];
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_split_shows_the_same(bytes in any_text(), cuts in prop::collection::vec(0usize..200, 0..30)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut split = Transcript::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            decoded(&mut split, &bytes[from..cut]);
            from = cut;
        }
        let mut whole = of(&[&bytes]);
        prop_assert_eq!(essence(&split), essence(&whole));
        split.finish();
        whole.finish();
        prop_assert_eq!(essence(&split), essence(&whole));
    }

    #[test]
    fn offsets_never_go_backwards_or_panic(bytes in any_text()) {
        let t = of(&[&bytes]);
        let mut last = 0;
        for byte in 0..=t.end() + 1 {
            let shown = t.shown_of(byte);
            prop_assert!(shown >= last && t.shown().is_char_boundary(shown));
            prop_assert!(t.source_of(shown) <= byte || shown == t.shown().len());
            last = shown;
        }
        for shown in 0..=t.shown().len() {
            prop_assert!(t.source_of(shown) <= t.end());
        }
    }
}
