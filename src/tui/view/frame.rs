//! Pieces that panels share: frames with titles, popups, text cut to a width.

use crate::tui::look::Look;
use crate::tui::text::text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget};
use unicode_segmentation::UnicodeSegmentation;

/// A frame around a pane, and its inside.
pub fn pane(
    look: &Look,
    focused: bool,
    title: Line<'_>,
    right: Line<'_>,
    bottom: Line<'_>,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let (set, border) = if focused {
        (look.signs.focused_frame, "pane.border.focused")
    } else {
        (look.signs.frame, "pane.border")
    };
    let block = Block::bordered()
        .border_set(set)
        .border_style(look.style(border))
        .title_top(on_ground(look, title))
        .title_top(on_ground(look, right).alignment(Alignment::Right))
        .title_bottom(on_ground(look, bottom).alignment(Alignment::Right));
    let inside = block.inner(area);
    block.render(area, buffer);
    inside
}

/// A line that inherits nothing from the frame it is written on.
pub fn on_ground<'a>(look: &Look, line: Line<'a>) -> Line<'a> {
    line.style(look.ground("ui.text"))
}

/// An empty box with a title in the middle of `area`, and its inside.
pub fn popup(
    look: &Look,
    title: &str,
    hint: &str,
    (width, height): (u16, u16),
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height.saturating_sub(2));
    let rect = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    popup_at(look, title, hint, rect, buffer)
}

/// An empty box with a title, and its inside.
pub fn popup_at(look: &Look, title: &str, hint: &str, rect: Rect, buffer: &mut Buffer) -> Rect {
    // A wide character must not reach into the box from the left.
    for y in rect.top()..rect.bottom() {
        if rect.x > 0
            && let Some(cell) = buffer.cell_mut((rect.x - 1, y))
            && text_width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
    Clear.render(rect, buffer);
    let room = usize::from(rect.width.saturating_sub(4));
    let block = Block::bordered()
        .border_set(look.signs.frame)
        .style(look.style("ui.popup"))
        .border_style(look.style("ui.popup.border"))
        .title_top(
            Line::from(Span::styled(
                format!(" {} ", fit(title, room, look.signs.ellipsis)),
                look.style("pane.title.focused"),
            ))
            .style(look.ground("ui.popup")),
        )
        .title_bottom(
            Line::from(Span::styled(
                if hint.is_empty() {
                    String::new()
                } else {
                    format!(" {} ", fit(hint, room, look.signs.ellipsis))
                },
                look.style("ui.dim"),
            ))
            .style(look.ground("ui.popup"))
            .alignment(Alignment::Right),
        );
    let inside = block.inner(rect);
    block.render(rect, buffer);
    Rect {
        x: inside.x + 1.min(inside.width),
        width: inside.width.saturating_sub(2),
        ..inside
    }
}

/// `text` in at most `width` cells, the end cut.
pub fn fit(text: &str, width: usize, ellipsis: &str) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(text_width(ellipsis));
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let cells = text_width(cluster);
        if used + cells > room {
            break;
        }
        out.push_str(cluster);
        used += cells;
    }
    if width > 0 {
        out.push_str(ellipsis);
    }
    out
}

/// The end of `text` in at most `width` cells.
pub fn fit_tail(text: &str, width: usize, ellipsis: &str) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(text_width(ellipsis));
    let mut used = 0;
    let mut from = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        let cells = text_width(cluster);
        if used + cells > room {
            break;
        }
        used += cells;
        from = at;
    }
    if width == 0 {
        return String::new();
    }
    format!("{ellipsis}{}", &text[from..])
}

/// `text` cut at spaces into lines of at most `width` cells.
pub fn fill(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut used = 0;
        for word in paragraph.split_inclusive(' ') {
            let cells = text_width(word.trim_end());
            if used > 0 && used + cells > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            for cluster in word.graphemes(true) {
                let (cluster, cells) = match text_width(cluster) {
                    // Nothing that is wider than the line can be shown on it.
                    cells if cells > width => ("?", 1),
                    cells => (cluster, cells),
                };
                if used + cells > width {
                    if cluster == " " {
                        continue;
                    }
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                line.push_str(cluster);
                used += cells;
            }
        }
        lines.push(line);
    }
    lines
}

/// Writes `line` at a place, at most `width` cells of it.
pub fn put(buffer: &mut Buffer, x: u16, y: u16, line: &Line<'_>, width: u16) {
    if buffer.area.contains((x, y).into()) {
        buffer.set_line(x, y, line, width.min(buffer.area.right() - x));
    }
}

/// A number with thin groups: `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `text` with a style.
pub fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cut_text_says_so() {
        assert_eq!(fit("hello", 5, "…"), "hello");
        assert_eq!(fit("hello world", 7, "…"), "hello …");
        assert_eq!(fit_tail("hello world", 7, "…"), "… world");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
    }

    proptest! {
        #[test]
        fn nothing_gets_wider_than_it_may(text in "\\PC{0,40}", width in 0_usize..30) {
            prop_assert!(text_width(&fit(&text, width, "…")) <= width);
            prop_assert!(text_width(&fit_tail(&text, width, "…")) <= width);
            for line in fill(&text, width.max(2)) {
                prop_assert!(text_width(&line) <= width.max(2), "{:?}", line);
            }
        }
    }
}
