//! What the theme says about text.

use super::highlight::Word;
use crate::tui::theme::Theme;
use ratatui::style::{Modifier, Style};

/// Styles of a text pane, looked up once per theme.
#[derive(Debug, Clone, Default)]
pub struct TextStyles {
    pub(super) text: Style,
    pub(super) cursor: Style,
    pub(super) selection: Style,
    pub(super) search: Style,
    pub(super) gutter_human: Style,
    pub(super) gutter_splice: Style,
    pub(super) gutter_veto: Style,
    pub(super) veto: Style,
    pub(super) fork: Style,
    pub(super) join: Style,
    pub(super) answer: Style,
    pub(super) returns: Style,
    pub(super) keyword: Style,
    pub(super) string: Style,
    pub(super) number: Style,
    pub(super) comment: Style,
    pub(super) function: Style,
    pub(super) types: Style,
    pub(super) operator: Style,
    pub(super) punctuation: Style,
}

impl TextStyles {
    /// The styles of `theme`.
    #[must_use]
    pub fn new(theme: &Theme) -> Self {
        Self {
            text: theme.style("ui.text"),
            cursor: theme.style("ui.cursor"),
            selection: theme.style("ui.selection"),
            search: theme.style("ui.search"),
            gutter_human: theme.style("pane.gutter.human"),
            gutter_splice: theme.style("pane.gutter.splice"),
            gutter_veto: theme.style("pane.gutter.veto"),
            veto: Style::new().add_modifier(Modifier::UNDERLINED),
            fork: theme.style("tag.fork"),
            join: theme.style("tag.join"),
            answer: theme.style("tag.answer"),
            returns: theme.style("tag.return"),
            keyword: theme.style("syntax.keyword"),
            string: theme.style("syntax.string"),
            number: theme.style("syntax.number"),
            comment: theme.style("syntax.comment"),
            function: theme.style("syntax.function"),
            types: theme.style("syntax.type"),
            operator: theme.style("syntax.operator"),
            punctuation: theme.style("syntax.punctuation"),
        }
    }

    pub(super) fn word(&self, word: Word) -> Style {
        match word {
            Word::Keyword => self.keyword,
            Word::String => self.string,
            Word::Number => self.number,
            Word::Comment => self.comment,
            Word::Function => self.function,
            Word::Type => self.types,
            Word::Operator => self.operator,
            Word::Punctuation => self.punctuation,
        }
    }
}
