//! How readable the built-in themes are, by the contrast ratio of WCAG 2 (relative luminance of sRGB).

use super::color::rgb;
use super::{ColorDepth, SCOPES, Theme};
use ratatui::style::{Color, Modifier};

/// Scopes that colour lines and bars, not words.
const DECORATION: [&str; 12] = [
    "pane.border",
    "pane.border.focused",
    "ui.popup.border",
    "timeline.decode",
    "timeline.critical",
    "timeline.wait",
    "timeline.pause",
    "timeline.human",
    "timeline.tool",
    "timeline.killed",
    "timeline.edge",
    "timeline.sparkline",
];

/// Scopes whose background lies under text of other scopes.
const GROUNDS: [&str; 4] = ["ui.background", "ui.header", "ui.footer", "ui.popup"];

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |v: u8| {
        let v = f64::from(v) / 255.0;
        if v <= 0.040_45 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// From 1 to 21.
fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Every scope with the backgrounds that it is drawn on: its own, or those that lie under it.
fn pairs(theme: &Theme) -> Vec<(&'static str, Color, Color)> {
    let grounds: Vec<Color> = GROUNDS
        .iter()
        .filter_map(|scope| theme.style(scope).bg)
        .collect();
    let text = theme.style("ui.text").fg;
    let mut pairs = Vec::new();
    for scope in SCOPES {
        let style = theme.style(scope);
        let Some(mut fg) = style.fg.or(text) else {
            continue;
        };
        let mut own: Vec<Color> = style.bg.into_iter().collect();
        if style.add_modifier.contains(Modifier::REVERSED)
            && let Some(bg) = own.first_mut()
        {
            std::mem::swap(&mut fg, bg);
        }
        let on = if own.is_empty() { &grounds } else { &own };
        pairs.extend(on.iter().map(|bg| (*scope, fg, *bg)));
    }
    pairs
}

fn too_weak(theme: &Theme, least: f64, fixed: impl Fn(Color) -> bool) -> Vec<String> {
    let mut weak = Vec::new();
    for (scope, fg, bg) in pairs(theme) {
        if !fixed(fg) || !fixed(bg) {
            continue;
        }
        let (Some(a), Some(b)) = (rgb(fg), rgb(bg)) else {
            weak.push(format!(
                "{scope}: {fg:?} on {bg:?} is whatever the terminal makes of it"
            ));
            continue;
        };
        let least = if DECORATION.contains(&scope) {
            3.0
        } else {
            least
        };
        let found = contrast(a, b);
        if found < least {
            weak.push(format!(
                "{scope}: {fg:?} on {bg:?} has {found:.2}, not {least}"
            ));
        }
    }
    weak
}

#[test]
fn the_ratio_is_that_of_the_standard() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.005, "{a} {b}");
    near(contrast((0, 0, 0), (255, 255, 255)), 21.0);
    near(contrast((255, 255, 255), (255, 255, 255)), 1.0);
    // Known values.
    near(contrast((118, 118, 118), (255, 255, 255)), 4.54);
    near(contrast((255, 0, 0), (0, 0, 0)), 5.25);
}

#[test]
fn every_scope_of_high_contrast_has_seven_to_one_and_lines_three_at_every_depth() {
    for depth in [ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::True] {
        let theme = Theme::load("high-contrast", &[], depth).unwrap();
        let weak = too_weak(&theme, 7.0, |_| true);
        assert!(weak.is_empty(), "{depth:?}: {weak:#?}");
        for scope in SCOPES {
            let style = theme.style(scope);
            assert!(!style.add_modifier.contains(Modifier::DIM), "{scope}");
        }
        let covered: Vec<_> = pairs(&theme).iter().map(|(scope, ..)| *scope).collect();
        assert!(SCOPES.iter().all(|scope| covered.contains(scope)));
    }
}

#[test]
fn text_of_every_theme_is_readable_where_the_theme_says_the_colours() {
    let fixed = |color| matches!(color, Color::Rgb(..) | Color::Indexed(16..));
    for name in Theme::names(&[]) {
        let theme = Theme::load(&name, &[], ColorDepth::True).unwrap();
        let mut weak = too_weak(&theme, 4.5, fixed);
        // Frames without the focus may stay back: nothing is read from them.
        weak.retain(|line| !line.starts_with("pane.border: "));
        assert!(weak.is_empty(), "{name}: {weak:#?}");
    }
}
