//! Colours and modifiers by scope.

use ratatui::style::Style;
use std::collections::HashMap;

/// Resolved styles by scope.
#[derive(Debug, Clone, Default)]
pub struct Theme {
    styles: HashMap<String, Style>,
}

impl Theme {
    /// The style of `scope`, or of its nearest parent that has one.
    #[must_use]
    pub fn style(&self, scope: &str) -> Style {
        let mut scope = scope;
        loop {
            if let Some(style) = self.styles.get(scope) {
                return *style;
            }
            match scope.rsplit_once('.') {
                Some((parent, _)) => scope = parent,
                None => return Style::default(),
            }
        }
    }
}
