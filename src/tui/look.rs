//! How the screen looks: colours, characters, movement.

use super::sign::Signs;
use super::text::TextStyles;
use super::theme::Theme;
use ratatui::style::Style;

/// Fixed when the screen opens.
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

    /// The style of a scope.
    #[must_use]
    pub fn style(&self, scope: &str) -> Style {
        self.theme.style(scope)
    }
}
