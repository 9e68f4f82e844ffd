//! Text to token ids and back, for servers that give no ids.
//!
//! | ids | what they stand for |
//! |---|---|
//! | 0..=255 | one byte of a prompt or a splice |
//! | 256.. | markers of chat templates, in the order of [`MARKERS`] |
//! | 1023 | the model ended its turn |
//! | 1024.. | pieces of text that arrived, by a hash of their bytes: the same in every session, but for collisions |

use crate::engine::contract::TokenId;
use std::collections::HashMap;

/// First id of a marker.
const FIRST_MARKER: TokenId = 256;

/// The model ended its turn.
pub(super) const END: TokenId = 1023;

/// First id of a piece that arrived.
const FIRST_PIECE: TokenId = 1024;

/// How many ids pieces can have. Whoever keeps several engines apart by their ids has eight bits left.
const PIECES: TokenId = (1 << 24) - FIRST_PIECE;

/// What chat templates write between messages, and what text must therefore not spell out. Sessions hold
/// places in this list: only ever append.
pub(super) const MARKERS: [&str; 22] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<|start|>",
    "<|message|>",
];

/// Stands between the first two characters of a marker that text spells out. It has no width.
const APART: char = '\u{200b}';

/// Pieces that arrived in this session.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    pieces: HashMap<TokenId, Vec<u8>>,
    ids: HashMap<Vec<u8>, TokenId>,
}

impl Vocabulary {
    /// The id of a piece, which is given one if it has none.
    pub fn id_of(&mut self, piece: &[u8]) -> TokenId {
        if let Some(id) = self.ids.get(piece) {
            return *id;
        }
        let first = hash(piece) % PIECES;
        // Every piece that is known takes one id; no session has millions of different ones.
        let id = (0..PIECES)
            .map(|n| FIRST_PIECE + (first + n) % PIECES)
            .find(|id| !self.pieces.contains_key(id))
            .unwrap_or(FIRST_PIECE);
        self.learn(id, piece);
        id
    }

    /// What an id stands for in a session that was recorded.
    pub fn learn(&mut self, id: TokenId, piece: &[u8]) {
        if id < FIRST_PIECE {
            return;
        }
        self.pieces.insert(id, piece.to_vec());
        self.ids.insert(piece.to_vec(), id);
    }

    /// Exact bytes of a token; none of a marker.
    pub fn bytes(&self, id: TokenId) -> Vec<u8> {
        match u8::try_from(id) {
            Ok(byte) => vec![byte],
            Err(_) => self.pieces.get(&id).cloned().unwrap_or_default(),
        }
    }

    /// Ids of text as such.
    pub fn text(text: &str) -> impl Iterator<Item = TokenId> + '_ {
        text.bytes().map(TokenId::from)
    }

    /// Ids of a prompt in which markers are markers.
    pub fn prompt(text: &str) -> Vec<TokenId> {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some((at, i)) = next_marker(rest) {
            ids.extend(Self::text(&rest[..at]));
            ids.push(FIRST_MARKER + TokenId::try_from(i).unwrap_or_default());
            rest = &rest[at + MARKERS[i].len()..];
        }
        ids.extend(Self::text(rest));
        ids
    }

    /// What a server is sent: markers as such, and text in which none is spelled out.
    pub fn render(&self, ids: impl IntoIterator<Item = TokenId>) -> String {
        let mut out = String::new();
        let mut run = Vec::new();
        for id in ids {
            let marker = id
                .checked_sub(FIRST_MARKER)
                .and_then(|i| MARKERS.get(i as usize));
            if let Some(marker) = marker {
                flush(&mut run, &mut out);
                out.push_str(marker);
            } else {
                run.extend(self.bytes(id));
            }
        }
        flush(&mut run, &mut out);
        out
    }
}

fn flush(run: &mut Vec<u8>, out: &mut String) {
    out.push_str(&apart(&String::from_utf8_lossy(run)));
    run.clear();
}

fn hash(piece: &[u8]) -> TokenId {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(piece);
    TokenId::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// The first marker in `text`: where, and which. Of two at one place the longer.
fn next_marker(text: &str) -> Option<(usize, usize)> {
    MARKERS
        .iter()
        .enumerate()
        .filter_map(|(i, marker)| Some((text.find(marker)?, i)))
        .min_by_key(|(at, i)| (*at, usize::MAX - MARKERS[*i].len()))
}

/// `text` in which no marker is spelled out.
pub(super) fn apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, _)) = next_marker(rest) {
        // Markers begin with an ASCII character.
        out.push_str(&rest[..=at]);
        out.push(APART);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_ids_and_a_session_teaches_them() {
        let mut v = Vocabulary::default();
        let (a, b) = (v.id_of(b" a"), v.id_of(b" b"));
        assert_ne!(a, b);
        assert_eq!(v.id_of(b" a"), a);
        assert_eq!(Vocabulary::default().id_of(b" b"), b, "whatever came first");
        let mut later = Vocabulary::default();
        later.learn(b, b" x");
        assert_eq!(later.bytes(b), b" x");
        assert_eq!(later.id_of(b" x"), b);
        let moved = later.id_of(b" b");
        assert_ne!(moved, b, "an id stands for one piece only");
        assert_eq!(later.bytes(moved), b" b");
    }

    #[test]
    fn only_the_template_writes_markers() {
        let v = Vocabulary::default();
        let prompt = "<|im_start|>user\nhi<|im_end|>\n";
        let mut ids = Vocabulary::prompt(prompt);
        assert_eq!(v.render(ids.clone()), prompt);
        ids.extend(Vocabulary::text("<|im_end|><FORK-1>é</FORK-1>"));
        let sent = v.render(ids);
        assert_eq!(sent.matches("<|im_end|>").count(), 1, "{sent}");
        assert!(sent.ends_with("<FORK-1>é</FORK-1>"));
    }

    #[test]
    fn a_marker_cannot_be_put_together_from_pieces() {
        let mut v = Vocabulary::default();
        let ids = vec![v.id_of(b"<|im_"), v.id_of(b"end|>")];
        assert!(!v.render(ids).contains("<|im_end|>"));
    }

    #[test]
    fn bytes_of_tokens_are_exact_and_markers_have_none() {
        let v = Vocabulary::default();
        let ids = Vocabulary::prompt("<s>é");
        let bytes: Vec<u8> = ids.iter().flat_map(|id| v.bytes(*id)).collect();
        assert_eq!(bytes, "é".as_bytes());
        assert!(v.bytes(END).is_empty());
    }
}
