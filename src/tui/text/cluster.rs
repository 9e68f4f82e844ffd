//! Clusters: what a person takes for one character, and the cells it needs.
//!
//! Everything that cuts or measures text on the screen goes through here, so that rows, cursors and
//! ratatui's cells always agree.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Longest cluster taken whole, in bytes. Honest ones (family emoji with skin tones) stay below; it
/// keeps endless joiner chains from becoming one endless cell.
const MAX_CLUSTER: usize = 64;

/// Which characters a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Glyphs {
    /// Everything.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Length in bytes of the first cluster of `text` (0 for none).
///
/// Depends only on the bytes of the cluster and the character after it.
pub(super) fn cluster_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes {
        [] => return 0,
        [_] => return 1,
        [a, b, ..] if a.is_ascii() && b.is_ascii() => return 1,
        _ => {}
    }
    let window = floor_boundary(text, MAX_CLUSTER);
    text[..window]
        .graphemes(true)
        .next()
        .map_or(window, str::len)
}

/// Cells that one cluster takes.
pub(super) fn cluster_width(cluster: &str) -> usize {
    if cluster.len() == 1 {
        return 1;
    }
    usize::from(cluster.cell_width())
}

/// Cells that a line of safe text takes.
#[must_use]
pub fn text_width(text: &str) -> usize {
    Clusters(text).map(cluster_width).sum()
}

/// Iterates over clusters.
pub(super) struct Clusters<'a>(pub(super) &'a str);

impl<'a> Iterator for Clusters<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let len = cluster_len(self.0);
        let (cluster, rest) = self.0.split_at(len);
        self.0 = rest;
        (len > 0).then_some(cluster)
    }
}

/// The greatest character boundary at or before `at`.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let mut at = at;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The least character boundary at or after `at`.
pub(super) fn ceil_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// What stands in each cell of `cluster` where only ASCII can be shown.
pub(super) fn ascii_stand_in(cluster: &str) -> &'static str {
    match cluster {
        "⟨" => "[",
        "⟩" => "]",
        "…" => ".",
        "‘" | "’" => "'",
        "“" | "”" => "\"",
        "–" | "—" | "−" => "-",
        "×" => "x",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_never_split() {
        for cluster in ["e\u{301}", "👩‍👩‍👧‍👦", "🇨🇭", "❤\u{fe0f}", "각", "👩🏽‍❤️‍💋‍👨🏿"]
        {
            let text = format!("{cluster}x");
            assert_eq!(cluster_len(&text), cluster.len(), "{cluster}");
        }
    }

    #[test]
    fn an_endless_chain_is_cut_into_bounded_clusters() {
        let chain = "👩\u{200d}".repeat(10_000);
        assert!(Clusters(&chain).all(|c| c.len() <= MAX_CLUSTER));
        assert_eq!(Clusters(&chain).map(str::len).sum::<usize>(), chain.len());
    }
}
