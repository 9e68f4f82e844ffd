//! How the screen looks: colours, characters, movement.

use super::sign::Signs;
use super::text::TextStyles;
use super::theme::Theme;
use ratatui::style::Style;

/// Fixed when the screen opens, but for the theme.
#[derive(Debug, Clone)]
pub struct Look {
    /// Colours and attributes by scope.
    pub theme: Theme,
    /// The same for thread text.
    pub text: TextStyles,
    /// Characters.
    pub signs: Signs,
    /// Which characters thread text may use.
    pub glyphs: super::text::Glyphs,
    /// Whether anything moves by itself.
    pub animation: bool,
}

impl Look {
    /// With Unicode characters, or with ASCII only.
    #[must_use]
    pub fn new(theme: Theme, ascii: bool, animation: bool) -> Self {
        Self {
            text: TextStyles::new(&theme),
            theme,
            signs: if ascii { Signs::ASCII } else { Signs::UNICODE },
            glyphs: if ascii {
                super::text::Glyphs::Ascii
            } else {
                super::text::Glyphs::Unicode
            },
            animation,
        }
    }

    /// The same characters in other colours.
    pub fn wear(&mut self, theme: Theme) {
        self.text = TextStyles::new(&theme);
        self.theme = theme;
    }

    /// What lies under text of its own style: nothing inherited from a frame or a bar but the
    /// background of `scope`.
    #[must_use]
    pub fn ground(&self, scope: &str) -> Style {
        let ground = Style::reset()
            .patch(self.style("ui.background"))
            .patch(self.style("ui.text"));
        match self.style(scope).bg {
            Some(background) => ground.bg(background),
            None => ground,
        }
    }

    /// Text from anywhere, in one line that this terminal can show.
    #[must_use]
    pub fn safe(&self, text: &str) -> String {
        self.shown(&super::text::safe_line(text))
    }

    /// Safe text in the characters of this terminal.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        match self.glyphs {
            super::text::Glyphs::Unicode => text.to_owned(),
            super::text::Glyphs::Ascii => text
                .chars()
                .map(|c| match c {
                    '⟨' => '[',
                    '⟩' => ']',
                    c if c.is_ascii() => c,
                    _ => '?',
                })
                .collect(),
        }
    }

    /// The style of a scope.
    #[must_use]
    pub fn style(&self, scope: &str) -> Style {
        self.theme.style(scope)
    }
}
