//! What the terminal can do, from its environment. Nothing is asked of the terminal itself: some never
//! answer.

use crate::tui::text::Glyphs;
use crate::tui::theme::{ColorDepth, TermEnv};
use std::io::IsTerminal as _;

/// Why there is no screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyPlain {
    /// Input or output is no terminal.
    NoTerminal,
    /// The terminal cannot move its cursor.
    Dumb,
}

/// Screen or line log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presentation {
    /// The full screen.
    Screen,
    /// A log of lines.
    Plain(WhyPlain),
}

/// What a terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Screen or line log.
    pub presentation: Presentation,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Colours.
    pub depth: ColorDepth,
    /// Characters.
    pub glyphs: Glyphs,
    /// Whether it knows the kitty keyboard protocol.
    pub keyboard: bool,
}

/// Terminals that know the kitty keyboard protocol, by `TERM`.
const KEYBOARD_TERMS: [&str; 6] = [
    "xterm-kitty",
    "xterm-ghostty",
    "alacritty",
    "foot",
    "wezterm",
    "rio",
];

/// The same by `TERM_PROGRAM`.
const KEYBOARD_PROGRAMS: [&str; 5] = ["WezTerm", "ghostty", "iTerm.app", "kitty", "rio"];

impl Caps {
    /// What the terminal of this process can do.
    #[must_use]
    pub fn read() -> Self {
        let size = crossterm::terminal::size().unwrap_or((80, 24));
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        Self::detect(&TermEnv::read(), is_terminal, size)
    }

    /// What a terminal with this environment can do.
    #[must_use]
    pub fn detect(env: &TermEnv, is_terminal: bool, size: (u16, u16)) -> Self {
        let presentation = match (is_terminal, env.is_dumb()) {
            (false, _) => Presentation::Plain(WhyPlain::NoTerminal),
            (true, true) => Presentation::Plain(WhyPlain::Dumb),
            (true, false) => Presentation::Screen,
        };
        Self {
            presentation,
            size,
            depth: ColorDepth::detect(env),
            glyphs: glyphs(env),
            keyboard: knows_keyboard(env),
        }
    }
}

/// Only a locale that says otherwise rules Unicode out; many containers set none.
fn glyphs(env: &TermEnv) -> Glyphs {
    match env.locale.as_deref().map(str::to_ascii_lowercase) {
        Some(locale) if !locale.contains("utf-8") && !locale.contains("utf8") => Glyphs::Ascii,
        _ => Glyphs::Unicode,
    }
}

fn knows_keyboard(env: &TermEnv) -> bool {
    // tmux does not pass the protocol on; TERM_PROGRAM may still name the terminal around it.
    if env.tmux.is_some() {
        return false;
    }
    let term = env.term.as_deref().unwrap_or_default();
    let program = env.term_program.as_deref().unwrap_or_default();
    let is_known = |known: &&str| {
        term == *known
            || term
                .strip_prefix(*known)
                .is_some_and(|rest| rest.starts_with('-'))
    };
    KEYBOARD_TERMS.iter().any(is_known) || KEYBOARD_PROGRAMS.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(term: &str, locale: Option<&str>) -> TermEnv {
        TermEnv {
            term: Some(term.to_owned()),
            locale: locale.map(str::to_owned),
            ..TermEnv::default()
        }
    }

    #[test]
    fn no_terminal_or_a_dumb_one_gets_lines() {
        let presentation =
            |term, is_terminal| Caps::detect(&env(term, None), is_terminal, (80, 24)).presentation;
        assert_eq!(presentation("xterm", true), Presentation::Screen);
        assert_eq!(
            presentation("xterm", false),
            Presentation::Plain(WhyPlain::NoTerminal)
        );
        assert_eq!(
            presentation("dumb", true),
            Presentation::Plain(WhyPlain::Dumb)
        );
    }

    #[test]
    fn the_locale_decides_the_characters() {
        let glyphs = |locale| Caps::detect(&env("xterm", locale), true, (80, 24)).glyphs;
        assert_eq!(glyphs(Some("de_CH.UTF-8")), Glyphs::Unicode);
        assert_eq!(glyphs(Some("C.utf8")), Glyphs::Unicode);
        assert_eq!(glyphs(None), Glyphs::Unicode);
        assert_eq!(glyphs(Some("C")), Glyphs::Ascii);
        assert_eq!(glyphs(Some("de_DE.ISO8859-1")), Glyphs::Ascii);
    }

    #[test]
    fn keyboard_flags_are_for_terminals_that_know_them() {
        let keyboard = |env: &TermEnv| Caps::detect(env, true, (80, 24)).keyboard;
        assert!(keyboard(&env("xterm-kitty", None)));
        assert!(keyboard(&env("foot-extra", None)));
        assert!(!keyboard(&env("xterm-256color", None)));
        let inside = TermEnv {
            tmux: Some("/tmp/tmux".to_owned()),
            term_program: Some("WezTerm".to_owned()),
            ..env("tmux-256color", None)
        };
        assert!(!keyboard(&inside));
    }
}
