//! Text to tokens and tokens to exact bytes.
//!
//! Control tokens are kept apart from text in both directions: [`Vocabulary::encode`] never makes one,
//! whatever the text says, and none has bytes. Only [`super::chat_template`] places them. Where a vocabulary
//! comes from is the business of [`super::tokenizer_json`] and [`super::tokenizer_gguf`].

use super::sentencepiece::SentencePiece;
use crate::engine::contract::TokenId;
use std::collections::{HashMap, HashSet};

/// Turns plain text into tokens.
pub enum Encoder {
    /// A pipeline of the `tokenizers` crate, without added tokens.
    Pipeline(Box<tokenizers::Tokenizer>),
    /// Scored pieces.
    SentencePiece(SentencePiece),
}

/// Everything a vocabulary is built from.
pub struct Parts {
    /// For text between added tokens.
    pub encoder: Encoder,
    /// Exact bytes of each id; empty for control tokens.
    pub bytes: Vec<Vec<u8>>,
    /// Control tokens by their written form.
    pub control: HashMap<String, TokenId>,
    /// Tokens that stand for themselves in text and are matched before the encoder sees it.
    pub literal: HashMap<String, TokenId>,
    /// Ends of the model's turn.
    pub eos: HashSet<TokenId>,
    /// Token that a context begins with, where the checkpoint wants one without its template saying so.
    pub bos: Option<TokenId>,
    /// The first text of a context gets a space in front (SentencePiece's convention).
    pub leading_space: bool,
}

/// A vocabulary of one checkpoint.
pub struct Vocabulary {
    encoder: Encoder,
    bytes: Vec<Vec<u8>>,
    control: Matcher,
    literal: Matcher,
    eos: HashSet<TokenId>,
    /// See [`Parts::bos`].
    pub bos: Option<TokenId>,
    /// See [`Parts::leading_space`].
    pub leading_space: bool,
}

/// A piece of a text in which some written forms stand for tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Ordinary text.
    Text(&'a str),
    /// One of the matched tokens.
    Token(TokenId),
}

impl Vocabulary {
    /// Put the parts together.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let mut bytes = parts.bytes;
        for id in parts.control.values().chain(&parts.eos) {
            if let Some(bytes) = bytes.get_mut(*id as usize) {
                bytes.clear();
            }
        }
        Self {
            encoder: parts.encoder,
            bytes,
            control: Matcher::new(parts.control),
            literal: Matcher::new(parts.literal),
            eos: parts.eos,
            bos: parts.bos,
            leading_space: parts.leading_space,
        }
    }

    /// Whether this token ends the model's turn.
    #[must_use]
    pub fn is_eos(&self, token: TokenId) -> bool {
        self.eos.contains(&token)
    }

    /// The token that ends a turn of a conversation. Of several tokens that end a text it is the last: base
    /// models have one of lower number, to which chat models added theirs.
    #[must_use]
    pub fn end_of_turn(&self) -> Option<TokenId> {
        self.eos.iter().copied().max()
    }

    /// Exact bytes of a token; none for control tokens and unknown ids.
    #[must_use]
    pub fn bytes(&self, token: TokenId) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Encode text as it continues a context. Control tokens written in it are text.
    ///
    /// # Errors
    /// A sentence that says which text cannot be expressed.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, String> {
        let mut out = Vec::new();
        for piece in self.literal.split(text, None) {
            match piece {
                Piece::Token(id) => out.push(id),
                Piece::Text(text) => self.encode_plain(text, &mut out)?,
            }
        }
        Ok(out)
    }

    fn encode_plain(&self, text: &str, out: &mut Vec<TokenId>) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        match &self.encoder {
            Encoder::SentencePiece(spm) => out.extend(
                spm.encode(text)
                    .map_err(|byte| format!("no token stands for byte 0x{byte:02x}"))?,
            ),
            Encoder::Pipeline(pipeline) => {
                let encoding = pipeline
                    .encode_fast(text, false)
                    .map_err(|e| e.to_string())?;
                let ids = encoding.get_ids();
                let bytes: Vec<u8> = ids.iter().flat_map(|id| self.bytes(*id)).copied().collect();
                if bytes != text.as_bytes() && bytes != normalized(pipeline, text) {
                    // an encoder that lacks a byte leaves it out in silence
                    let shown: String = text.chars().take(40).collect();
                    return Err(format!(
                        "the vocabulary has no tokens for some of {shown:?}"
                    ));
                }
                out.extend_from_slice(ids);
            }
        }
        Ok(())
    }

    /// Cut a rendered prompt at its control tokens. A written form right after whose first character `guard`
    /// stands is text.
    #[must_use]
    pub fn split_control<'a>(&self, text: &'a str, guard: char) -> Vec<Piece<'a>> {
        self.control.split(text, Some(guard))
    }

    /// Whether a control token's written form stands at the beginning of `rest`, or `rest` is the beginning of
    /// one (so that text behind it could complete it).
    #[must_use]
    pub fn control_could_begin(&self, rest: &str) -> bool {
        let forms = rest
            .chars()
            .next()
            .and_then(|c| self.control.by_first.get(&c));
        let unfinished = rest.trim_end();
        forms.is_some_and(|forms| {
            forms
                .iter()
                .any(|(form, _)| rest.starts_with(form) || form.starts_with(unfinished))
        })
    }
}

/// What the pipeline's normalizer makes of the text, as bytes; nothing where it has none or fails.
fn normalized(pipeline: &tokenizers::Tokenizer, text: &str) -> Vec<u8> {
    use tokenizers::{NormalizedString, Normalizer};
    let mut string = NormalizedString::from(text);
    match pipeline.get_normalizer() {
        Some(normalizer) if normalizer.normalize(&mut string).is_ok() => string
            .get()
            .replace(super::sentencepiece::SPACE, " ")
            .into_bytes(),
        _ => Vec::new(),
    }
}

/// Finds written forms in text, the longest first.
#[derive(Debug, Default)]
struct Matcher {
    by_first: HashMap<char, Vec<(String, TokenId)>>,
}

impl Matcher {
    fn new(forms: HashMap<String, TokenId>) -> Self {
        let mut by_first: HashMap<char, Vec<(String, TokenId)>> = HashMap::new();
        for (form, id) in forms {
            if let Some(first) = form.chars().next() {
                by_first.entry(first).or_default().push((form, id));
            }
        }
        for forms in by_first.values_mut() {
            forms.sort_unstable_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        }
        Self { by_first }
    }

    fn split<'a>(&self, text: &'a str, guard: Option<char>) -> Vec<Piece<'a>> {
        let mut out = Vec::new();
        let (mut begun, mut skip) = (0, 0);
        for (at, c) in text.char_indices() {
            if at < skip {
                continue;
            }
            let rest = &text[at..];
            let guarded = guard.is_some_and(|g| rest[c.len_utf8()..].starts_with(g));
            let forms = self.by_first.get(&c).filter(|_| !guarded);
            let Some((form, id)) =
                forms.and_then(|f| f.iter().find(|(form, _)| rest.starts_with(form)))
            else {
                continue;
            };
            if begun < at {
                out.push(Piece::Text(&text[begun..at]));
            }
            out.push(Piece::Token(*id));
            skip = at + form.len();
            begun = skip;
        }
        if begun < text.len() {
            out.push(Piece::Text(&text[begun..]));
        }
        out
    }
}

/// The byte that a character of a byte-level vocabulary stands for.
///
/// GPT-2's table: printable Latin-1 stands for itself, the other bytes for the characters from U+0100 on.
#[must_use]
pub fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    let itself = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if code < 0x100 {
        return itself(code).then_some(code as u8);
    }
    (0u32..0x100)
        .filter(|b| !itself(*b))
        .nth((code - 0x100) as usize)
        .map(|b| b as u8)
}

/// Exact bytes of a token of a byte-level vocabulary. A form outside the table stands for itself.
#[must_use]
pub fn byte_level_bytes(form: &str) -> Vec<u8> {
    form.chars()
        .map(byte_of)
        .collect::<Option<Vec<u8>>>()
        .unwrap_or_else(|| form.as_bytes().to_vec())
}

/// The byte that a form like `<0x0A>` stands for.
#[must_use]
pub fn byte_fallback(form: &str) -> Option<u8> {
    let hex = form.strip_prefix("<0x")?.strip_suffix('>')?;
    (hex.len() == 2).then(|| u8::from_str_radix(hex, 16).ok())?
}

/// Written forms that end a turn in the supported families, whatever else the files say.
pub const TURN_ENDS: [&str; 7] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "</s>",
    "<|end|>",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_table_covers_every_byte_once() {
        let mut seen: Vec<u8> = (0..0x200)
            .filter_map(char::from_u32)
            .filter_map(byte_of)
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..=255).collect::<Vec<u8>>());
        assert_eq!(byte_of('Ġ'), Some(b' '));
        assert_eq!(byte_of('Ċ'), Some(b'\n'));
    }

    #[test]
    fn byte_fallback_forms_are_read_and_nothing_else() {
        assert_eq!(byte_fallback("<0x0A>"), Some(10));
        assert_eq!(byte_fallback("<0x0>"), None);
        assert_eq!(byte_fallback("0x0A"), None);
    }

    #[test]
    fn the_longest_form_wins_and_guarded_forms_are_text() {
        let forms = [("<a>", 1), ("<a>b", 2), ("x", 3)].map(|(f, i)| (f.to_owned(), i));
        let matcher = Matcher::new(forms.into());
        assert_eq!(
            matcher.split("y<a>b<a>x", None),
            [
                Piece::Text("y"),
                Piece::Token(2),
                Piece::Token(1),
                Piece::Token(3)
            ]
        );
        assert_eq!(matcher.split("<!a>x!", Some('!')), [Piece::Text("<!a>x!")]);
    }
}
