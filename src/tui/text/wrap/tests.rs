use super::super::cluster::{Clusters, text_width};
use super::super::transcript::Piece;
use super::*;
use crate::org::Author;
use proptest::prelude::*;

fn rows_of(text: &str, width: usize) -> Vec<String> {
    let mut starts: Vec<usize> = row_starts(text, width)
        .iter()
        .map(|s| *s as usize)
        .collect();
    starts.push(text.len());
    starts
        .windows(2)
        .map(|w| text[w[0]..w[1]].to_owned())
        .collect()
}

/// All rows of a text, through the chunks and the cache.
fn all_rows(transcript: &Transcript, wrap: &mut Wrap) -> Vec<Range<usize>> {
    let last = wrap.last(transcript);
    let mut place = Place::default();
    let mut rows = vec![wrap.span(transcript, place)];
    while place != last {
        place = wrap.down(transcript, place, 1);
        rows.push(wrap.span(transcript, place));
    }
    rows
}

#[test]
fn words_stay_whole_where_they_fit() {
    assert_eq!(rows_of("the quick brown", 9), ["the quick ", "brown"]);
    assert_eq!(rows_of("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(rows_of("a bcdefgh", 4), ["a ", "bcde", "fgh"]);
    assert_eq!(rows_of("", 4), [""]);
    assert_eq!(rows_of("ab\n", 2), ["ab\n"]);
    assert_eq!(rows_of("      ", 2), ["   ", "   "]);
}

#[test]
fn wide_clusters_are_never_split() {
    assert_eq!(rows_of("北京北", 3), ["北", "京", "北"]);
    assert_eq!(rows_of("a👩‍👩‍👧b", 2), ["a", "👩‍👩‍👧", "b"]);
    assert_eq!(rows_of("🇨🇭🇩🇪", 2), ["🇨🇭", "🇩🇪"]);
    assert_eq!(rows_of("e\u{301}e\u{301}", 1), ["e\u{301}", "e\u{301}"]);
    assert_eq!(
        rows_of("北a", 1),
        ["北", "a"],
        "too wide for any row: alone"
    );
    assert_eq!(rows_of("ab", 0), ["a", "b"]);
}

fn lines() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z ]{0,12}",
        prop::sample::select(vec![
            "北京",
            "👩‍👩‍👧‍👦",
            "🇨🇭",
            "❤\u{fe0f}",
            "e\u{301}",
            " ",
            "각",
            "⌚\u{fe0e}"
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..40).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn rows_are_the_text_and_fit(text in lines(), width in 1usize..30) {
        let rows = rows_of(&text, width);
        prop_assert_eq!(rows.concat(), text.as_str());
        for row in &rows {
            // One space may hang over the end.
            let drawn = row.strip_suffix(' ').unwrap_or(row);
            let lone = Clusters(drawn).count() == 1;
            prop_assert!(text_width(drawn) <= width || lone, "{row:?} in {width}");
        }
    }

    #[test]
    fn no_row_begins_inside_a_cluster(text in lines(), width in 1usize..30) {
        let mut boundaries = vec![0];
        for cluster in Clusters(&text) {
            boundaries.push(boundaries[boundaries.len() - 1] + cluster.len());
        }
        for start in row_starts(&text, width) {
            prop_assert!(boundaries.contains(&(start as usize)));
        }
    }

    #[test]
    fn growing_text_wraps_as_if_it_had_always_been_there(
        parts in prop::collection::vec(prop_oneof![lines(), Just("\n".to_owned()), Just("<FORK-1>".to_owned()), Just("<JOI".to_owned())], 1..20),
        width in 1usize..40,
    ) {
        let mut grown = Transcript::new();
        let mut wrap = Wrap::default();
        let mut text = String::new();
        for part in &parts {
            text.push_str(part);
            grown.push(part.as_bytes(), &Author::Model, Piece::Decoded { ids: &[], lens: &[] });
            wrap.prepare(&grown, width);
            let rows = all_rows(&grown, &mut wrap);
            let mut whole = Transcript::new();
            whole.push(text.as_bytes(), &Author::Model, Piece::Decoded { ids: &[], lens: &[] });
            let mut fresh = Wrap::default();
            fresh.prepare(&whole, width);
            prop_assert_eq!(&rows, &all_rows(&whole, &mut fresh));
            let joined: String = rows.iter().map(|r| &grown.shown()[r.clone()]).collect();
            prop_assert_eq!(joined.as_str(), grown.shown());
        }
    }
}

#[test]
fn up_is_down_backwards() {
    let mut transcript = Transcript::new();
    let text = "some words that wrap\n\nshort\n".repeat(50);
    transcript.push(
        text.as_bytes(),
        &Author::Model,
        Piece::Decoded {
            ids: &[],
            lens: &[],
        },
    );
    let mut wrap = Wrap::default();
    wrap.prepare(&transcript, 7);
    let last = wrap.last(&transcript);
    let mut place = Place::default();
    let mut count = 0;
    while place != last {
        place = wrap.down(&transcript, place, 1);
        count += 1;
        assert_eq!(wrap.down(&transcript, Place::default(), count), place);
        assert_eq!(wrap.up(&transcript, place, count), Place::default());
        let start = wrap.span(&transcript, place).start;
        assert_eq!(wrap.place_of(&transcript, start), place);
    }
    assert_eq!(wrap.up(&transcript, last, usize::MAX), Place::default());
    assert_eq!(wrap.down(&transcript, Place::default(), usize::MAX), last);
}

#[test]
fn a_long_line_is_wrapped_in_pieces_and_loses_nothing() {
    for unit in ["x", "word ", "北", "👩\u{200d}", "\u{301}"] {
        let line = unit.repeat(60_000 / unit.len());
        let mut transcript = Transcript::new();
        transcript.push(
            line.as_bytes(),
            &Author::Model,
            Piece::Decoded {
                ids: &[],
                lens: &[],
            },
        );
        let mut wrap = Wrap::default();
        wrap.prepare(&transcript, 33);
        let rows = all_rows(&transcript, &mut wrap);
        let joined: String = rows
            .iter()
            .map(|r| &transcript.shown()[r.clone()])
            .collect();
        assert_eq!(joined, transcript.shown());
        assert!(rows.iter().all(|r| r.len() <= CHUNK), "rows stay small");
    }
}
