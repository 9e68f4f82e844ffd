//! How the screen looks: colours, characters, movement.

use super::sign::Signs;
use super::theme::Theme;

/// Fixed when the screen opens.
#[derive(Debug, Clone)]
pub struct Look {
    /// Colours and attributes by scope.
    pub theme: Theme,
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
}
