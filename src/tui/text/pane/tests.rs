use super::super::cluster::Glyphs;
use super::super::style::TextStyles;
use super::super::transcript::Piece;
use super::super::widget::TextPane;
use super::*;
use crate::org::{Author, SpliceKind};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::StatefulWidget;
use regex::Regex;

fn push(transcript: &mut Transcript, text: &str) {
    transcript.push(
        text.as_bytes(),
        &Author::Model,
        Piece::Decoded {
            ids: &[],
            lens: &[],
        },
    );
}

fn numbered(lines: usize) -> Transcript {
    let mut transcript = Transcript::new();
    for n in 0..lines {
        push(&mut transcript, &format!("line {n}\n"));
    }
    push(&mut transcript, "end");
    transcript
}

fn styles() -> TextStyles {
    TextStyles {
        cursor: Style::new().add_modifier(Modifier::REVERSED),
        search: Style::new().add_modifier(Modifier::UNDERLINED),
        selection: Style::new().add_modifier(Modifier::DIM),
        fork: Style::new().add_modifier(Modifier::BOLD),
        ..TextStyles::default()
    }
}

fn draw_with(pane: TextPane<'_>, state: &mut PaneState, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    pane.render(area, &mut buf, state);
    buf
}

fn text_of(buf: &Buffer) -> Vec<String> {
    (0..buf.area.height)
        .map(|y| {
            let mut x = 0;
            let mut line = String::new();
            while x < buf.area.width {
                let symbol = buf[(x, y)].symbol();
                line.push_str(symbol);
                x += (super::super::text_width(symbol) as u16).max(1);
            }
            line.trim_end().to_owned()
        })
        .collect()
}

fn draw(transcript: &Transcript, state: &mut PaneState, width: u16, height: u16) -> Vec<String> {
    let styles = styles();
    text_of(&draw_with(
        TextPane::new(transcript, &styles),
        state,
        width,
        height,
    ))
}

#[test]
fn a_pane_follows_the_end() {
    let mut t = numbered(10);
    let mut state = PaneState::new();
    assert_eq!(draw(&t, &mut state, 20, 3), [" line 8", " line 9", " end"]);
    push(&mut t, " more\nlast");
    assert_eq!(
        draw(&t, &mut state, 20, 3),
        [" line 9", " end more", " last"]
    );
    assert!(state.is_following());
    assert_eq!(state.new_below(), 0);
}

#[test]
fn scrolling_up_detaches_and_the_end_follows_again() {
    let mut t = numbered(10);
    let mut state = PaneState::new();
    draw(&t, &mut state, 20, 3);
    state.scroll(-2);
    assert_eq!(
        draw(&t, &mut state, 20, 3),
        [" line 6", " line 7", " line 8"]
    );
    assert!(!state.is_following());
    push(&mut t, "\na\nb\nc");
    assert_eq!(
        draw(&t, &mut state, 20, 3),
        [" line 6", " line 7", " line 8"]
    );
    assert_eq!(state.new_below(), 3);
    state.scroll(2);
    draw(&t, &mut state, 20, 3);
    assert_eq!(state.new_below(), 3, "what was in view before is not new");
    state.scroll(100);
    assert_eq!(draw(&t, &mut state, 20, 3), [" a", " b", " c"]);
    assert!(state.is_following());
    assert_eq!(state.new_below(), 0);
    state.top();
    assert_eq!(draw(&t, &mut state, 20, 2), [" line 0", " line 1"]);
    state.page(1);
    assert_eq!(draw(&t, &mut state, 20, 2), [" line 1", " line 2"]);
    state.follow();
    assert_eq!(draw(&t, &mut state, 20, 1), [" c"]);
}

#[test]
fn a_text_that_fits_stays_attached() {
    let t = numbered(2);
    let mut state = PaneState::new();
    state.scroll(-1);
    state.page(-3);
    state.top();
    assert_eq!(
        draw(&t, &mut state, 20, 5),
        [" line 0", " line 1", " end", "", ""]
    );
    assert!(state.is_following());
}

#[test]
fn the_top_line_never_jumps() {
    let mut t = numbered(200);
    let mut state = PaneState::new();
    draw(&t, &mut state, 30, 10);
    state.scroll(-50);
    let top = draw(&t, &mut state, 30, 10)[0].clone();
    for n in 0..5000 {
        push(&mut t, if n % 11 == 0 { "\n" } else { "token " });
        if n % 97 == 0 {
            assert_eq!(draw(&t, &mut state, 30, 10)[0], top);
        }
    }
    assert_eq!(draw(&t, &mut state, 17, 4)[0], top);
    assert_eq!(draw(&t, &mut state, 55, 20)[0], top);
    assert_eq!(draw(&t, &mut state, 30, 10)[0], top);
}

#[test]
fn a_resize_there_and_back_is_no_change() {
    let mut t = Transcript::new();
    push(
        &mut t,
        &"many words in one very long line of text ".repeat(400),
    );
    let mut state = PaneState::new();
    draw(&t, &mut state, 30, 10);
    state.scroll(-70);
    let before = draw(&t, &mut state, 30, 10);
    for width in [7, 80, 3, 200] {
        draw(&t, &mut state, width, 5);
    }
    assert_eq!(draw(&t, &mut state, 30, 10), before);
}

#[test]
fn an_anchor_survives_text_put_before_it() {
    let mut older = Transcript::new();
    push(&mut older, "older\n");
    let mut newer = Transcript::starting_at(6, 0);
    for n in 0..20 {
        push(&mut newer, &format!("line {n}\n"));
    }
    let mut state = PaneState::new();
    draw(&newer, &mut state, 20, 3);
    state.scroll(-10);
    let before = draw(&newer, &mut state, 20, 3);
    assert!(newer.prepend(older));
    assert_eq!(draw(&newer, &mut state, 20, 3), before);
    state.top();
    assert_eq!(draw(&newer, &mut state, 20, 3)[0], " older");
}

#[test]
fn a_text_cut_back_before_the_anchor_is_followed() {
    let mut t = numbered(100);
    let mut state = PaneState::new();
    draw(&t, &mut state, 20, 5);
    state.scroll(-10);
    draw(&t, &mut state, 20, 5);
    t.truncate(20);
    assert_eq!(draw(&t, &mut state, 20, 2), [" line 1", " line 2"]);
    assert!(state.is_following());
}

#[test]
fn reveal_moves_no_more_than_needed() {
    let t = numbered(100);
    let mut state = PaneState::new();
    draw(&t, &mut state, 20, 5);
    state.reveal(0);
    assert_eq!(draw(&t, &mut state, 20, 5)[0], " line 0");
    state.reveal(21);
    assert_eq!(draw(&t, &mut state, 20, 5)[0], " line 0");
    state.reveal(35);
    assert_eq!(draw(&t, &mut state, 20, 5)[4], " line 5");
}

#[test]
fn authors_are_marked_in_the_gutter() {
    let mut t = Transcript::new();
    push(&mut t, "model\n");
    t.push(
        b"person\n",
        &Author::Human,
        Piece::Decoded {
            ids: &[],
            lens: &[],
        },
    );
    t.push(
        b"result</JOIN-1>",
        &Author::System,
        Piece::Spliced(SpliceKind::Result),
    );
    let styles = styles();
    let mut state = PaneState::new();
    let pane = TextPane::new(&t, &styles);
    assert_eq!(
        text_of(&draw_with(pane.clone(), &mut state, 20, 3)),
        [" model", "┃person", "┊result⟨/⟩"]
    );
    assert_eq!(
        text_of(&draw_with(pane.glyphs(Glyphs::Ascii), &mut state, 20, 3)),
        [" model", "|person", ":result[/]"]
    );
}

#[test]
fn ascii_terminals_get_nothing_else() {
    let mut t = Transcript::new();
    push(&mut t, "北京 é👩‍👩‍👧 ⟨x⟩ \u{1b}[2J <FORK-1>");
    let styles = styles();
    let pane = TextPane::new(&t, &styles)
        .glyphs(Glyphs::Ascii)
        .streaming(true);
    let text = text_of(&draw_with(pane, &mut PaneState::new(), 40, 1));
    assert_eq!(text, [" ???? ??? [x] ?[2J [FORK 1]_"]);
}

#[test]
fn cursor_selection_search_and_stream_are_drawn() {
    let mut t = Transcript::new();
    push(&mut t, "one two <FORK-1>two");
    let styles = styles();
    let pattern = Regex::new("two").unwrap();
    let pane = TextPane::new(&t, &styles)
        .cursor(Some(1))
        .selection(Some(4..7))
        .search(Some(&pattern))
        .streaming(true);
    let buf = draw_with(pane, &mut PaneState::new(), 30, 1);
    assert_eq!(text_of(&buf), [" one two ⟨FORK 1⟩two▌"]);
    let with = |modifier| {
        (0..30u16)
            .filter(|x| buf[(*x, 0)].modifier.contains(modifier))
            .collect::<Vec<_>>()
    };
    assert_eq!(with(Modifier::REVERSED), [2]);
    assert_eq!(with(Modifier::DIM), [5, 6, 7]);
    assert_eq!(with(Modifier::UNDERLINED), [5, 6, 7, 17, 18, 19]);
    assert_eq!(with(Modifier::BOLD), (9..17).collect::<Vec<_>>());
}

#[test]
fn a_click_finds_its_byte() {
    let mut t = Transcript::new();
    push(&mut t, "北a\n<FORK-1>x");
    let mut state = PaneState::new();
    draw(&t, &mut state, 20, 3);
    assert_eq!(state.byte_at(&t, 1, 0), Some(0));
    assert_eq!(state.byte_at(&t, 2, 0), Some(0));
    assert_eq!(state.byte_at(&t, 3, 0), Some(3));
    assert_eq!(state.byte_at(&t, 9, 0), Some(4), "behind a line: its end");
    assert_eq!(state.byte_at(&t, 4, 1), Some(5), "a chip is one thing");
    assert_eq!(state.byte_at(&t, 9, 1), Some(13));
    assert_eq!(state.byte_at(&t, 0, 0), None, "the gutter");
    assert_eq!(state.byte_at(&t, 5, 2), None, "below the text");
}

#[test]
fn a_cursor_moves_by_rows_in_its_column() {
    let mut t = Transcript::new();
    push(&mut t, "abcd\n北京\nx\nabcd");
    let mut state = PaneState::new();
    draw(&t, &mut state, 20, 4);
    let mut from = |byte, lines| state.rows_from(&t, byte, lines);
    assert_eq!(from(2, 1), 8, "the second wide character");
    assert_eq!(from(3, 1), 8);
    assert_eq!(from(8, 2), 16);
    assert_eq!(from(16, -3), 2);
    assert_eq!(from(3, 2), 13, "a short row: its end");
    assert_eq!(from(0, 100), 14);
    assert_eq!(from(14, -100), 0);
}

#[test]
fn a_cover_leaves_no_half_of_a_wide_character() {
    let mut t = Transcript::new();
    push(&mut t, "北京上海");
    let styles = styles();
    let mut buf = draw_with(TextPane::new(&t, &styles), &mut PaneState::new(), 12, 1);
    let area = Rect::new(4, 0, 3, 1);
    super::super::cover(area, Style::default(), &mut buf);
    assert_eq!(text_of(&buf), [" 北    海"]);
    super::super::cover(Rect::new(11, 0, 50, 50), Style::default(), &mut buf);
    super::super::cover(Rect::new(50, 50, 1, 1), Style::default(), &mut buf);
}

#[test]
fn wide_characters_never_reach_over_the_edge() {
    let rows = [
        "ascii only 123",
        "北京上海广州深",
        "👩‍👩‍👧‍👦🇨🇭❤\u{fe0f}e\u{301}👍🏽🧠x",
        "각각e\u{301}e\u{301}e\u{301} 北京",
    ];
    let styles = styles();
    for text in rows {
        for width in 1..20 {
            let mut t = Transcript::new();
            push(&mut t, text);
            let area = Rect::new(0, 0, width + 1, 20);
            let mut buf = Buffer::empty(area);
            for y in 0..20 {
                buf[(width, y)].set_symbol("│");
            }
            TextPane::new(&t, &styles).render(
                Rect::new(0, 0, width, 20),
                &mut buf,
                &mut PaneState::new(),
            );
            for y in 0..20 {
                assert_eq!(buf[(width, y)].symbol(), "│");
                let last = &buf[(width - 1, y)];
                assert!(
                    super::super::text_width(last.symbol()) <= 1,
                    "{text} {width}"
                );
            }
        }
    }
}

#[test]
fn no_size_breaks_it() {
    let mut t = numbered(30);
    push(&mut t, "北京 👩‍👩‍👧‍👦");
    let styles = styles();
    let mut state = PaneState::new();
    for (width, height) in [
        (0, 0),
        (1, 1),
        (2, 1),
        (3, 3),
        (681, 180),
        (1, 180),
        (681, 1),
    ] {
        state.scroll(-1);
        draw_with(
            TextPane::new(&t, &styles).streaming(true),
            &mut state,
            width,
            height,
        );
    }
    let mut small = Buffer::empty(Rect::new(0, 0, 5, 5));
    TextPane::new(&t, &styles).render(Rect::new(3, 3, 50, 50), &mut small, &mut state);
}

proptest! {
    #[test]
    fn nothing_hostile_reaches_a_cell(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..20),
        text in "(.|\\s){0,40}",
        ascii in any::<bool>(),
    ) {
        let mut t = Transcript::new();
        for piece in &pieces {
            t.push(piece, &Author::Model, Piece::Decoded { ids: &[], lens: &[] });
        }
        push(&mut t, &text);
        let styles = styles();
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let pane = TextPane::new(&t, &styles).glyphs(glyphs);
        let buf = draw_with(pane, &mut PaneState::new(), 24, 12);
        for cell in &buf.content {
            let symbol = cell.symbol();
            prop_assert!(!symbol.chars().any(char::is_control), "{symbol:?}");
            let hidden = symbol.contains(['\u{202e}', '\u{2066}', '\u{200f}', '\u{feff}']);
            prop_assert!(!hidden, "{symbol:?}");
            prop_assert!(symbol.len() <= 64);
            prop_assert!(!ascii || symbol.is_ascii(), "{symbol:?}");
        }
    }

    #[test]
    fn any_sequence_of_moves_is_served(
        moves in prop::collection::vec((0u8..8, -20isize..20, 1u16..40, 1u16..12), 1..40),
    ) {
        let mut t = numbered(5);
        let mut state = PaneState::new();
        for (kind, n, width, height) in moves {
            match kind {
                0 => state.scroll(n),
                1 => state.page(n),
                2 => state.top(),
                3 => state.follow(),
                4 => state.reveal(n.unsigned_abs() as u64 * 3),
                5 => push(&mut t, "more words 北京\n"),
                6 => push(&mut t, "<FOR"),
                _ => push(&mut t, &"x".repeat(n.unsigned_abs() * 300)),
            }
            draw(&t, &mut state, width, height);
            prop_assert!(state.view.len() <= usize::from(height));
            if let Some(top) = state.anchor() {
                prop_assert!(top <= t.end());
            }
        }
    }
}

/// Median of some runs, in microseconds.
fn median_us(runs: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let began = std::time::Instant::now();
            run();
            began.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}

#[test]
#[ignore = "prints times; run with --ignored --nocapture"]
fn timing_of_frames_and_appends() {
    let styles = styles();
    let texts = [
        (
            "10 kB of lines",
            "some words of a line, then its end\n".repeat(300),
        ),
        (
            "2 MB of lines",
            "some words of a line, then its end\n".repeat(60_000),
        ),
        (
            "20 MB of lines",
            "some words of a line, then its end\n".repeat(600_000),
        ),
        ("2 MB in one line", "word after word ".repeat(125_000)),
        ("2 MB of ESC", "\u{1b}".repeat(2_000_000)),
        ("2 MB of CJK in one line", "北京".repeat(333_333)),
    ];
    for (name, text) in &texts {
        let mut t = Transcript::new();
        let began = std::time::Instant::now();
        for token in text.as_bytes().chunks(4) {
            t.push(
                token,
                &Author::Model,
                Piece::Decoded {
                    ids: &[1],
                    lens: &[4],
                },
            );
        }
        let per_token = began.elapsed().as_secs_f64() * 1e9 / (text.len() / 4) as f64;
        let mut state = PaneState::new();
        let area = Rect::new(0, 0, 100, 50);
        let mut buf = Buffer::empty(area);
        let first = median_us(1, || {
            TextPane::new(&t, &styles).render(area, &mut buf, &mut state)
        });
        let streaming = median_us(200, || {
            push(&mut t, "tok ");
            TextPane::new(&t, &styles).render(area, &mut buf, &mut state);
        });
        state.scroll(-100);
        TextPane::new(&t, &styles).render(area, &mut buf, &mut state);
        let detached = median_us(200, || {
            push(&mut t, "tok ");
            TextPane::new(&t, &styles).render(area, &mut buf, &mut state);
        });
        let mut width = 40;
        let resizing = median_us(50, || {
            width += 1;
            let area = Rect::new(0, 0, width, 50);
            TextPane::new(&t, &styles).render(area, &mut buf, &mut state);
        });
        println!(
            "{name:24} push {per_token:6.0} ns/token  frame: first {first:6.0} µs  streaming \
             {streaming:5.0} µs  detached {detached:5.0} µs  after a resize {resizing:5.0} µs"
        );
    }
}
