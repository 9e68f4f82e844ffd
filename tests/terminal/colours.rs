//! Colours: none where none are wanted, and none that the terminal does not have.

use crate::desk::{busy, leave};
use crate::harness::Session;
use regex::Regex;
use std::collections::BTreeSet;

/// Every colour code (SGR) that was written while much was on screen, and what stood there.
fn codes(environment: &[(&str, &str)]) -> (BTreeSet<String>, String, usize) {
    let desk = busy();
    let mut start = desk.run(&[]);
    for (name, value) in environment {
        start = start.env(name, value);
    }
    let mut s = start.spawn();
    s.wait_for("apple");
    s.keys("1p");
    s.wait_for("paused");
    s.keys("i");
    s.wait_for(" sees");
    s.keys("i2x");
    s.wait_for("Stop worker 2");
    s.keys("k");
    s.wait_for("killed");
    s.keys("?");
    s.wait_for("Keys");
    s.keys("?");
    s.wait_gone("Keys");
    let screen = s.screen();
    let clears = s.count("\x1b[2J");
    leave(&mut s);
    let log = String::from_utf8_lossy(&s.log()).into_owned();
    let pattern = Regex::new("\x1b\\[([0-9;:]*)m").unwrap();
    let codes = pattern
        .captures_iter(&log)
        .map(|c| c[1].to_owned())
        .collect();
    (codes, screen, clears)
}

fn is_attribute(code: &str) -> bool {
    code.split(';')
        .all(|n| n.is_empty() || n.parse::<u8>().is_ok_and(|n| n < 30))
}

/// Sixteen colours in the form that the oldest terminals know, defaults, and attributes.
fn is_basic(code: &str) -> bool {
    code.split(';').all(|n| {
        n.is_empty()
            || n.parse::<u8>()
                .is_ok_and(|n| (n < 50 && n % 10 != 8) || n == 59 || (90..108).contains(&n))
    })
}

#[test]
fn no_color_means_no_colour_code_and_every_state_is_a_word() {
    let (codes, screen, _) = codes(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]);
    let colours: Vec<&String> = codes.iter().filter(|c| !is_attribute(c)).collect();
    assert!(colours.is_empty(), "{colours:?}");
    for word in ["running", "paused", "killed", "LIVE"] {
        assert!(screen.contains(word), "{word}:\n{screen}");
    }
    for glyph in ["▶", "‖", "✗"] {
        assert!(screen.contains(glyph), "{glyph}:\n{screen}");
    }
}

#[test]
fn a_terminal_of_sixteen_colours_gets_codes_that_it_knows() {
    for term in ["screen", "xterm", "linux"] {
        let (codes, _, clears) = codes(&[("TERM", term), ("COLORTERM", "truecolor")]);
        let odd: Vec<&String> = codes.iter().filter(|c| !is_basic(c)).collect();
        assert!(odd.is_empty(), "{term}: {odd:?}");
        assert!(codes.iter().any(|c| c.starts_with("32")), "{codes:?}");
        assert!(clears <= 1, "{term}: the screen was cleared {clears} times");
    }
}

#[test]
fn a_multiplexer_without_true_colour_gets_none_even_from_a_theme_that_has_it() {
    let desk = busy();
    let start = desk.run(&["--theme", "ember"]);
    let mut s = start
        .env("TERM", "tmux-256color")
        .env("TMUX", "/tmp/tmux-0/default,1,0")
        .spawn();
    s.wait_for("apple");
    leave(&mut s);
    assert_eq!(s.count("38;2;") + s.count("48;2;"), 0);
    assert!(s.count("38;5;") > 0);
}

#[test]
fn the_default_theme_fits_a_light_background() {
    let (codes, ..) = codes(&[]);
    let paints = |c: &&String| {
        c.split(';').any(|n| {
            // No background of its own, and no white or black text.
            matches!(
                n.parse::<u8>(),
                Ok(30 | 37 | 38 | 40..=48 | 90 | 97 | 100..=107)
            )
        })
    };
    let painted: Vec<&String> = codes.iter().filter(paints).collect();
    assert!(painted.is_empty(), "{painted:?}");
}

#[test]
fn a_dumb_terminal_is_never_sent_an_escape_while_text_streams() {
    let desk = busy();
    let mut s: Session = desk.run(&[]).env("TERM", "dumb").spawn();
    s.wait_for("apple");
    s.signal("TERM");
    s.wait_end();
    assert_eq!(s.count("\x1b"), 0);
}
