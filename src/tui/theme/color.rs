//! Bringing colours down to what a terminal has.

use super::depth::ColorDepth;
use ratatui::style::{Color, Style};

/// The sixteen colours as most terminals draw them, and their ratatui names.
const ANSI: [(Color, (u8, u8, u8)); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (205, 0, 0)),
    (Color::Green, (0, 205, 0)),
    (Color::Yellow, (205, 205, 0)),
    (Color::Blue, (0, 0, 238)),
    (Color::Magenta, (205, 0, 205)),
    (Color::Cyan, (0, 205, 205)),
    (Color::Gray, (229, 229, 229)),
    (Color::DarkGray, (127, 127, 127)),
    (Color::LightRed, (255, 0, 0)),
    (Color::LightGreen, (0, 255, 0)),
    (Color::LightYellow, (255, 255, 0)),
    (Color::LightBlue, (92, 92, 255)),
    (Color::LightMagenta, (255, 0, 255)),
    (Color::LightCyan, (0, 255, 255)),
    (Color::White, (255, 255, 255)),
];

/// The levels of the 6×6×6 cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// `style` as a terminal of that depth can show it.
pub(super) fn downgrade(style: Style, depth: ColorDepth) -> Style {
    let change = |color: Option<Color>| match depth {
        ColorDepth::None => None,
        ColorDepth::Ansi16 => color.map(to_16),
        ColorDepth::Ansi256 => color.map(to_256),
        ColorDepth::True => color,
    };
    Style {
        fg: change(style.fg),
        bg: change(style.bg),
        ..style
    }
}

fn to_256(color: Color) -> Color {
    let Color::Rgb(r, g, b) = color else {
        return color;
    };
    let level = |v: u8| (0..6).min_by_key(|i| CUBE[*i].abs_diff(v)).unwrap_or(0);
    let (ri, gi, bi) = (level(r), level(g), level(b));
    let cube = (CUBE[ri], CUBE[gi], CUBE[bi]);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let step = (mean.saturating_sub(3) / 10).min(23) as u8;
    let gray = 8 + 10 * step;
    if distance((r, g, b), (gray, gray, gray)) < distance((r, g, b), cube) {
        Color::Indexed(232 + step)
    } else {
        // At most 16 + 215.
        Color::Indexed((16 + 36 * ri + 6 * gi + bi) as u8)
    }
}

/// What a terminal with the usual palette shows; `None` for its default colours.
pub(super) fn rgb(color: Color) -> Option<(u8, u8, u8)> {
    match color {
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(i @ 0..=15) => Some(ANSI[usize::from(i)].1),
        Color::Indexed(i @ 16..=231) => {
            let i = usize::from(i - 16);
            Some((CUBE[i / 36], CUBE[i / 6 % 6], CUBE[i % 6]))
        }
        Color::Indexed(i) => {
            let gray = 8 + 10 * (i - 232);
            Some((gray, gray, gray))
        }
        named => ANSI
            .iter()
            .find(|(known, _)| *known == named)
            .map(|(_, rgb)| *rgb),
    }
}

fn to_16(color: Color) -> Color {
    let rgb = match (color, rgb(color)) {
        (Color::Indexed(i @ 0..=15), _) => return ANSI[usize::from(i)].0,
        (Color::Rgb(..) | Color::Indexed(_), Some(rgb)) => rgb,
        (named, _) => return named,
    };
    ANSI.iter()
        .min_by_key(|(_, known)| distance(rgb, *known))
        .map_or(Color::Reset, |(named, _)| *named)
}

/// Squared distance, weighted by how well each component is seen.
fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    3 * square(a.0, b.0) + 6 * square(a.1, b.1) + square(a.2, b.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_to_their_nearest() {
        assert_eq!(to_256(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(to_256(Color::Rgb(128, 128, 128)), Color::Indexed(244));
        assert_eq!(to_256(Color::Red), Color::Red);
        assert_eq!(to_16(Color::Rgb(250, 10, 10)), Color::LightRed);
        assert_eq!(to_16(Color::Indexed(1)), Color::Red);
        assert_eq!(to_16(Color::Indexed(231)), Color::White);
        assert_eq!(to_16(Color::Indexed(255)), Color::Gray);
    }

    #[test]
    fn every_indexed_colour_has_a_name() {
        for i in 0..=255 {
            assert!(!matches!(
                to_16(Color::Indexed(i)),
                Color::Indexed(_) | Color::Rgb(..)
            ));
        }
    }

    #[test]
    fn without_colours_only_modifiers_are_left() {
        let style = Style::new().fg(Color::Red).bg(Color::Blue).bold();
        assert_eq!(downgrade(style, ColorDepth::None), Style::new().bold());
    }
}
