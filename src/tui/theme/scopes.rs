//! Every scope a theme can style.

/// All scopes; their parents (`ui`, `pane.border`, …) can be styled as well.
pub const SCOPES: &[&str] = &[
    "ui.background",
    "ui.text",
    "ui.dim",
    "ui.accent",
    "ui.header",
    "ui.footer",
    "ui.key",
    "ui.badge.warn",
    "ui.badge.error",
    "ui.popup",
    "ui.popup.border",
    "ui.cursor",
    "ui.selection",
    "ui.search",
    "pane.border",
    "pane.border.focused",
    "pane.title",
    "pane.title.focused",
    "pane.gutter.human",
    "pane.gutter.splice",
    "pane.gutter.veto",
    "tag.fork",
    "tag.join",
    "tag.answer",
    "tag.return",
    "state.running",
    "state.waiting",
    "state.done",
    "state.killed",
    "state.failed",
    "state.paused",
    "state.human",
    "state.tool",
    "timeline.decode",
    "timeline.critical",
    "timeline.wait",
    "timeline.pause",
    "timeline.human",
    "timeline.tool",
    "timeline.killed",
    "timeline.axis",
    "timeline.cursor",
    "timeline.edge",
    "timeline.sparkline",
    "syntax.keyword",
    "syntax.string",
    "syntax.number",
    "syntax.comment",
    "syntax.function",
    "syntax.type",
    "syntax.operator",
    "syntax.punctuation",
];

/// Whether `scope` is one of [`SCOPES`] or a parent of one.
pub(super) fn is_scope(scope: &str) -> bool {
    SCOPES.iter().any(|known| {
        known
            .strip_prefix(scope)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}
