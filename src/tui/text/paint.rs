//! Rows in view to cells.

use super::cluster::{Clusters, Glyphs, ascii_stand_in, cluster_width};
use super::highlight::Code;
use super::style::TextStyles;
use super::tag::TagKind;
use super::transcript::{PieceKind, Transcript};
use crate::org::{Author, Refusal};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use regex::Regex;
use std::ops::Range;

/// How a text is drawn.
#[derive(Debug, Clone)]
pub(super) struct Look<'a> {
    pub(super) styles: &'a TextStyles,
    pub(super) glyphs: Glyphs,
    pub(super) streaming: bool,
    pub(super) cursor: Option<u64>,
    pub(super) selection: Option<Range<u64>>,
    pub(super) search: Option<&'a Regex>,
    pub(super) refusals: &'a [Refusal],
}

impl<'a> Look<'a> {
    pub(super) fn new(styles: &'a TextStyles) -> Self {
        Self {
            styles,
            glyphs: Glyphs::default(),
            streaming: false,
            cursor: None,
            selection: None,
            search: None,
            refusals: &[],
        }
    }
}

/// A styled stretch of the shown text.
struct Layer {
    span: Range<usize>,
    style: Style,
}

/// What is in view, with everything that styles it.
pub(super) struct Scene<'a> {
    transcript: &'a Transcript,
    look: &'a Look<'a>,
    words: Code,
    /// Everything else; later ones lie on top.
    layers: Vec<Layer>,
}

impl<'a> Scene<'a> {
    /// Gets ready to draw `rows` of the shown text.
    pub(super) fn new(
        transcript: &'a Transcript,
        rows: &[Range<usize>],
        words: Code,
        look: &'a Look<'a>,
    ) -> Self {
        let start = rows.first().map_or(0, |row| row.start);
        let span = start..rows.last().map_or(start, |row| row.end);
        Self {
            transcript,
            look,
            words,
            layers: layers(transcript, &span, look),
        }
    }

    /// Draws rows into `area`; the column left of it is the gutter.
    pub(super) fn paint(&self, rows: &[Range<usize>], area: Rect, buf: &mut Buffer) {
        let end = self.transcript.shown().len();
        for (row, y) in rows.iter().zip(area.y..area.bottom()) {
            self.gutter(row, area.x, y, buf);
            let x = self.row(row, area, y, buf);
            if self.look.streaming && row.end == end && x < area.right() {
                let mark = match self.look.glyphs {
                    Glyphs::Unicode => "▌",
                    Glyphs::Ascii => "_",
                };
                buf[(x, y)]
                    .set_symbol(mark)
                    .set_style(self.look.styles.text);
            }
        }
    }

    fn gutter(&self, row: &Range<usize>, x: u16, y: u16, buf: &mut Buffer) {
        let Some(x) = x.checked_sub(1) else {
            return;
        };
        let span = self.transcript.source_of(row.start)..self.transcript.source_of(row.end);
        // A token may begin with the space at which the row before was cut: it stands where it ends.
        let vetoed = vetoed(self.transcript, &span, self.look.refusals)
            .any(|token| span.contains(&(token.end - 1)));
        let (mut human, mut spliced) = (false, false);
        for origin in self.transcript.origins(span) {
            human |= origin.author == Author::Human;
            spliced |= matches!(origin.kind, PieceKind::Spliced(_));
        }
        let styles = self.look.styles;
        let unicode = self.look.glyphs == Glyphs::Unicode;
        let (mark, style) = match (vetoed, human, spliced) {
            // Rare, and the other marks go on in the rows around it.
            (true, _, _) => (if unicode { "×" } else { "x" }, styles.gutter_veto),
            (_, true, _) => (if unicode { "┃" } else { "|" }, styles.gutter_human),
            (_, _, true) => (if unicode { "┊" } else { ":" }, styles.gutter_splice),
            (false, false, false) => (" ", styles.text),
        };
        buf[(x, y)].set_symbol(mark).set_style(style);
    }

    /// Draws one row and returns the column after it.
    fn row(&self, row: &Range<usize>, area: Rect, y: u16, buf: &mut Buffer) -> u16 {
        let here: Vec<&Layer> = self
            .layers
            .iter()
            .filter(|l| l.span.start <= row.end && l.span.end > row.start)
            .collect();
        let first_word = self.words.partition_point(|(s, _)| s.end <= row.start);
        let mut words = self.words[first_word..].iter().peekable();
        let mut x = area.x;
        let mut at = row.start;
        for cluster in Clusters(&self.transcript.shown()[row.clone()]) {
            if cluster == "\n" {
                break;
            }
            let span = at..at + cluster.len();
            at = span.end;
            while words.next_if(|(s, _)| s.end <= span.start).is_some() {}
            let base = match words.peek() {
                Some((s, word)) if s.start <= span.start => {
                    self.look.styles.text.patch(self.look.styles.word(*word))
                }
                _ => self.look.styles.text,
            };
            let style = here
                .iter()
                .filter(|l| l.span.start < span.end && l.span.end > span.start)
                .fold(base, |style, l| style.patch(l.style));
            x = put(cluster, style, self.look.glyphs, x, y, area.right(), buf);
        }
        // A cursor behind the last character has no cluster to lie on.
        let end = self.transcript.shown().len();
        if row.end == end && x < area.right() && here.iter().any(|l| l.span.start == end) {
            buf[(x, y)].set_style(self.look.styles.cursor);
        }
        x
    }
}

/// Everything but code that styles the rows in view.
fn layers(transcript: &Transcript, span: &Range<usize>, look: &Look<'_>) -> Vec<Layer> {
    let styles = look.styles;
    let mut layers: Vec<Layer> = transcript
        .display()
        .chips(span)
        .iter()
        .map(|chip| Layer {
            span: chip.shown.clone(),
            style: match chip.kind {
                TagKind::Fork(_) | TagKind::ForkEnd(_) => styles.fork,
                TagKind::Join(_) | TagKind::JoinEnd(_) => styles.join,
                TagKind::Answer | TagKind::AnswerEnd => styles.answer,
                TagKind::Return | TagKind::ReturnEnd => styles.returns,
            },
        })
        .collect();
    let bytes = transcript.source_of(span.start)..transcript.source_of(span.end);
    layers.extend(
        vetoed(transcript, &bytes, look.refusals).map(|token| Layer {
            span: transcript.shown_of(token.start)..transcript.shown_of(token.end),
            style: styles.veto,
        }),
    );
    if let Some(pattern) = look.search {
        layers.extend(matches(transcript, span, pattern).map(|span| Layer {
            span,
            style: styles.search,
        }));
    }
    if let Some(selection) = &look.selection {
        layers.push(Layer {
            span: transcript.shown_of(selection.start)..transcript.shown_of(selection.end),
            style: styles.selection,
        });
    }
    if let Some(cursor) = look.cursor {
        let at = transcript.shown_of(cursor);
        layers.push(Layer {
            span: at..at + 1,
            style: styles.cursor,
        });
    }
    layers
}

/// Where, in bytes of the thread's text, tokens stand in the place of others that the guard refused.
fn vetoed<'a>(
    transcript: &'a Transcript,
    span: &Range<u64>,
    refusals: &'a [Refusal],
) -> impl Iterator<Item = Range<u64>> + 'a {
    let span = span.clone();
    let starts = move |refusal: &Refusal| transcript.token(refusal.token).map(|t| t.span);
    // What lies before the first token that is here has no place either.
    let first = refusals.partition_point(|r| {
        starts(r).map_or(r.token < transcript.tokens_before(), |t| {
            t.end <= span.start
        })
    });
    refusals[first..]
        .iter()
        .map_while(starts)
        .take_while(move |token| token.start < span.end)
}

/// Matches in the chunks in view.
fn matches<'a>(
    transcript: &'a Transcript,
    span: &Range<usize>,
    pattern: &'a Regex,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let first = transcript.display().chunk_of(span.start);
    let last = transcript
        .display()
        .chunk_of(span.end.saturating_sub(1).max(span.start));
    (first..=last).flat_map(move |chunk| {
        let span = transcript.display().chunk(chunk);
        let start = span.start;
        pattern
            .find_iter(transcript.shown()[span].trim_end_matches('\n'))
            .map(move |m| m.start() + start..m.end() + start)
    })
}

/// Puts a cluster at column `x` and returns the column after it; what does not fit is left out.
fn put(
    cluster: &str,
    style: Style,
    glyphs: Glyphs,
    x: u16,
    y: u16,
    right: u16,
    buf: &mut Buffer,
) -> u16 {
    let cells = u16::try_from(cluster_width(cluster)).unwrap_or(u16::MAX);
    let room = right.saturating_sub(x);
    if cells == 0 || room == 0 {
        return x;
    }
    let ascii = glyphs == Glyphs::Ascii && !cluster.is_ascii();
    if ascii || cells > room {
        let stand_in = if ascii {
            ascii_stand_in(cluster)
        } else {
            "…"
        };
        let cells = cells.min(room);
        for column in x..x + cells {
            buf[(column, y)].set_symbol(stand_in).set_style(style);
        }
        return x + cells;
    }
    buf[(x, y)].set_symbol(cluster).set_style(style);
    for column in x + 1..x + cells {
        buf[(column, y)].reset();
        buf[(column, y)].set_style(style);
    }
    x + cells
}

/// Cells of the widest clusters that are looked for beside a cover.
const WIDEST: u16 = 8;

/// Empties `area` for something that lies on top (a popup). A wide character that would reach into it
/// from the left is taken away whole: terminals cannot show half of one.
pub fn cover(area: Rect, style: Style, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    for y in area.y..area.bottom() {
        for x in area.x.saturating_sub(WIDEST).max(buf.area.x)..area.x {
            if cluster_width(buf[(x, y)].symbol()) > usize::from(area.x - x) {
                buf[(x, y)].set_symbol(" ");
            }
        }
        for x in area.x..area.right() {
            buf[(x, y)].reset();
            buf[(x, y)].set_style(style);
        }
    }
}

/// The byte of `row` that is drawn at `column`, or its last character's.
pub(super) fn offset_at(row: &str, column: usize) -> usize {
    let (mut at, mut x) = (0, 0);
    for cluster in Clusters(row) {
        x += cluster_width(cluster);
        if x > column || cluster == "\n" {
            break;
        }
        at += cluster.len();
    }
    at
}
