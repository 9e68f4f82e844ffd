//! The words of the tiny model: its vocabulary, and the folder files that make any reader split text alike.
//!
//! One token per integer 0..=132 (up to the largest product of two numbers of the small preset), per operator,
//! label and tag, and one per byte, so that whatever a person types can be encoded. Words carry the space in
//! front of them, so that tokens put side by side give the exact text; the few words that may stand right
//! behind a tag also exist without it (a single letter without its space is its byte). Ids never change:
//! checkpoints depend on them.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Fills up batches.
pub const PAD: u32 = 0;
/// Ends a thread.
pub const END: u32 = 1;
/// Begins an organizer's prompt; the number of its workers follows.
pub const ORGANIZER: u32 = 2;
/// Begins a worker's prompt.
pub const WORKER: u32 = 3;
/// Begins the prompt of a thread that thinks alone.
pub const SEQUENTIAL: u32 = 4;
/// Stands between an organizer's number of workers and its query.
pub const QUERY: u32 = 5;
/// Ends every prompt.
pub const THINK: u32 = 6;

/// Number of tokens, a multiple of 16 for the sake of matrix products.
pub const SIZE: usize = 512;
/// Highest sub-query index with tags of its own; higher ones are spelled in bytes.
pub const MAX_TAG: u16 = 8;
/// Largest integer that is one token.
pub const MAX_NUMBER: u32 = 132;

const BYTES: u32 = CONTROL_FORMS.len() as u32;
const TAGS: u32 = BYTES + 256;
const NUMBERED_TAGS: u32 = TAGS + PLAIN_TAGS.len() as u32;
const NUMBERS: u32 = NUMBERED_TAGS + 4 * MAX_TAG as u32;
const SIGNS: u32 = NUMBERS + MAX_NUMBER + 1;
const LETTERS: u32 = SIGNS + SIGN_FORMS.len() as u32;
const LABELS: u32 = LETTERS + 6;
const BARE_LABELS: u32 = LABELS + 24;
const BARE: u32 = BARE_LABELS + 24;

const CONTROL_FORMS: [&str; 7] = [
    "<|pad|>",
    "<|end|>",
    "<|organizer|>",
    "<|worker|>",
    "<|sequential|>",
    "<|query|>",
    "<|think|>",
];
const PLAIN_TAGS: [&str; 4] = ["<ANSWER>", "</ANSWER>", "<RETURN>", "</RETURN>"];
const SIGN_FORMS: [&str; 16] = [
    "+", "-", "*", "/", "r-", "r/", "(", ")", "=", "->", ":", "keep", "rest", "have", "none",
    "find",
];
const BARE_FORMS: [&str; 2] = ["none", "countdown"];
const LETTER_FORMS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// `<ANSWER>`
pub const ANSWER_OPEN: u32 = TAGS;
/// `</ANSWER>`
pub const ANSWER_CLOSE: u32 = TAGS + 1;
/// `<RETURN>`
pub const RETURN_OPEN: u32 = TAGS + 2;
/// `</RETURN>`
pub const RETURN_CLOSE: u32 = TAGS + 3;
/// ` +`
pub const PLUS: u32 = SIGNS;
/// ` -`
pub const MINUS: u32 = SIGNS + 1;
/// ` *`
pub const TIMES: u32 = SIGNS + 2;
/// ` /`
pub const OVER: u32 = SIGNS + 3;
/// ` r-`: the other number minus this one.
pub const FROM: u32 = SIGNS + 4;
/// ` r/`: the other number divided by this one.
pub const INTO: u32 = SIGNS + 5;
/// ` (`
pub const OPEN: u32 = SIGNS + 6;
/// ` )`
pub const CLOSE: u32 = SIGNS + 7;
/// ` =`: an opening and its value follow.
pub const EQUALS: u32 = SIGNS + 8;
/// ` ->`: the target follows.
pub const ARROW: u32 = SIGNS + 9;
/// ` :`
pub const COLON: u32 = SIGNS + 10;
/// ` keep`: the number kept for last, and what the rest must make, follow.
pub const KEEP: u32 = SIGNS + 11;
/// ` rest`: the opening's value, and what the other two must make, follow.
pub const REST: u32 = SIGNS + 12;
/// ` have`: how many solutions are known follows.
pub const HAVE: u32 = SIGNS + 13;
/// ` none`
pub const NONE: u32 = SIGNS + 14;
/// ` find`: how many solutions are wanted follows.
pub const FIND: u32 = SIGNS + 15;
/// `none` right behind a tag.
pub const BARE_NONE: u32 = BARE;
/// `countdown`, the first word of a query.
pub const COUNTDOWN: u32 = BARE + 1;

/// All numbers and signs: what expressions, searches and queries are made of.
pub const NUMBERS_AND_SIGNS: std::ops::Range<u32> = NUMBERS..LETTERS;

/// ` n`; `None` beyond [`MAX_NUMBER`].
#[must_use]
pub fn number(n: u32) -> Option<u32> {
    (n <= MAX_NUMBER).then_some(NUMBERS + n)
}

/// The number that ` n` stands for.
#[must_use]
pub fn as_number(token: u32) -> Option<u32> {
    (NUMBERS..=NUMBERS + MAX_NUMBER)
        .contains(&token)
        .then(|| token - NUMBERS)
}

/// `<FORK-i>`; `None` beyond [`MAX_TAG`]. So for the others.
#[must_use]
pub fn fork_open(index: u16) -> Option<u32> {
    numbered(index, 0)
}

/// `</FORK-i>`
#[must_use]
pub fn fork_close(index: u16) -> Option<u32> {
    numbered(index, 1)
}

/// `<JOIN-i>`
#[must_use]
pub fn join(index: u16) -> Option<u32> {
    numbered(index, 2)
}

/// `</JOIN-i>`
#[must_use]
pub fn join_close(index: u16) -> Option<u32> {
    numbered(index, 3)
}

fn numbered(index: u16, kind: u32) -> Option<u32> {
    (1..=MAX_TAG)
        .contains(&index)
        .then(|| NUMBERED_TAGS + 4 * u32::from(index - 1) + kind)
}

/// The letter of region `0..6`, right behind a tag or at the start of a text.
#[must_use]
pub fn bare_letter(region: usize) -> u32 {
    BYTES + u32::from(b'A') + region.min(5) as u32
}

/// The letter of region `0..6` with its space.
#[must_use]
pub fn letter(region: usize) -> u32 {
    LETTERS + region.min(5) as u32
}

/// The label of result `n` (1..=4) of region `0..6`; `bare` right behind a tag.
#[must_use]
pub fn label(region: usize, n: usize, bare: bool) -> u32 {
    let base = if bare { BARE_LABELS } else { LABELS };
    base + 4 * region.min(5) as u32 + n.clamp(1, 4) as u32 - 1
}

/// The token of one byte.
#[must_use]
pub fn byte(byte: u8) -> u32 {
    BYTES + u32::from(byte)
}

/// Forms, ids and bytes of all tokens.
#[derive(Debug)]
pub struct Vocabulary {
    /// Exact bytes; none for control tokens.
    bytes: Vec<Vec<u8>>,
    by_bytes: HashMap<Vec<u8>, u32>,
    tags: Vec<(Vec<u8>, u32)>,
}

impl Vocabulary {
    /// The one vocabulary.
    #[must_use]
    pub fn get() -> &'static Self {
        static ONE: OnceLock<Vocabulary> = OnceLock::new();
        ONE.get_or_init(Self::build)
    }

    fn build() -> Self {
        let mut bytes: Vec<Vec<u8>> = vec![Vec::new(); CONTROL_FORMS.len()];
        bytes.extend((0..=255u8).map(|b| vec![b]));
        bytes.extend(PLAIN_TAGS.map(|tag| tag.as_bytes().to_vec()));
        for i in 1..=MAX_TAG {
            for tag in [
                format!("<FORK-{i}>"),
                format!("</FORK-{i}>"),
                format!("<JOIN-{i}>"),
                format!("</JOIN-{i}>"),
            ] {
                bytes.push(tag.into_bytes());
            }
        }
        let spaced = |form: &str| format!(" {form}").into_bytes();
        let labels = || {
            LETTER_FORMS
                .iter()
                .flat_map(|letter| (1..=4).map(move |n| format!("{letter}{n}")))
        };
        bytes.extend((0..=MAX_NUMBER).map(|n| spaced(&n.to_string())));
        bytes.extend(SIGN_FORMS.map(spaced));
        bytes.extend(LETTER_FORMS.map(spaced));
        bytes.extend(labels().map(|label| spaced(&label)));
        bytes.extend(labels().map(String::into_bytes));
        bytes.extend(BARE_FORMS.map(|form| form.as_bytes().to_vec()));
        let mut by_bytes = HashMap::new();
        let mut tags = Vec::new();
        for (id, form) in bytes
            .iter()
            .enumerate()
            .filter(|(_, form)| !form.is_empty())
        {
            let id = id as u32;
            if (TAGS..NUMBERS).contains(&id) {
                tags.push((form.clone(), id));
            } else {
                by_bytes.insert(form.clone(), id);
            }
        }
        bytes.resize(SIZE, Vec::new());
        Self {
            bytes,
            by_bytes,
            tags,
        }
    }

    /// Exact bytes of a token; none for control tokens and unknown ids.
    #[must_use]
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Text to tokens. Control tokens written in it are text; nothing is ever unknown.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = text.as_bytes();
        let (mut out, mut at, mut begun) = (Vec::new(), 0, 0);
        while at < text.len() {
            let tag = (text[at] == b'<')
                .then(|| {
                    self.tags
                        .iter()
                        .find(|(form, _)| text[at..].starts_with(form))
                })
                .flatten();
            match tag {
                Some((form, id)) => {
                    self.encode_plain(&text[begun..at], &mut out);
                    out.push(*id);
                    at += form.len();
                    begun = at;
                }
                None => at += 1,
            }
        }
        self.encode_plain(&text[begun..], &mut out);
        out
    }

    /// Words with at most one space in front; what is no word, byte by byte.
    fn encode_plain(&self, text: &[u8], out: &mut Vec<u32>) {
        let blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\n' | b'\t'));
        let mut at = 0;
        while at < text.len() {
            let led = text[at] == b' ' && at + 1 < text.len() && !blank(text.get(at + 1));
            let mut end = at + 1;
            if led || !blank(text.get(at)) {
                while end < text.len() && !blank(text.get(end)) {
                    end += 1;
                }
            }
            match self.by_bytes.get(&text[at..end]) {
                Some(id) => out.push(*id),
                None => out.extend(text[at..end].iter().map(|b| byte(*b))),
            }
            at = end;
        }
    }

    /// Tokens to text; control tokens leave nothing, damaged UTF-8 is replaced.
    #[must_use]
    pub fn decode(&self, tokens: &[u32]) -> String {
        let bytes: Vec<u8> = tokens
            .iter()
            .flat_map(|t| self.bytes(*t))
            .copied()
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tokens to text with control tokens in their written form, for people who read datasets.
    #[must_use]
    pub fn show(&self, tokens: &[u32]) -> String {
        tokens
            .iter()
            .map(|t| {
                CONTROL_FORMS
                    .get(*t as usize)
                    .map_or_else(|| self.decode(&[*t]), |f| (*f).to_owned())
            })
            .collect()
    }

    /// `tokenizer.json` of a Hugging Face folder with this vocabulary.
    #[must_use]
    pub fn tokenizer_json(&self) -> Value {
        let reserved = self.by_bytes.len() + self.tags.len() + CONTROL_FORMS.len();
        let controls = CONTROL_FORMS.iter().map(|f| (*f).to_owned());
        let reserved = (reserved..SIZE).map(|id| (id, format!("<|reserved-{id}|>")));
        let mut added: Vec<Value> = controls
            .enumerate()
            .chain(reserved)
            .map(|(id, form)| added_token(id, &form, true))
            .collect();
        for (form, id) in &self.tags {
            added.push(added_token(
                *id as usize,
                &String::from_utf8_lossy(form),
                false,
            ));
        }
        added.sort_by_key(|token| token["id"].as_u64());
        let vocab: serde_json::Map<String, Value> = self
            .by_bytes
            .iter()
            .map(|(bytes, id)| (bytes.iter().map(|b| printable(*b)).collect(), json!(id)))
            .collect();
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": " ?[^ \\n\\t]+|[ \\n\\t]"}, "behavior": "Isolated", "invert": false},
                byte_level,
            ]},
            "post_processor": null,
            "decoder": byte_level,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
                "vocab": vocab, "merges": []},
        })
    }
}

fn added_token(id: usize, form: &str, special: bool) -> Value {
    json!({"id": id, "content": form, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": special})
}

/// The character that stands for a byte in byte-level vocabularies (GPT-2's table).
fn printable(byte: u8) -> char {
    let itself = |b: u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if itself(byte) {
        return char::from(byte);
    }
    let earlier = (0..byte).filter(|b| !itself(*b)).count() as u32;
    char::from_u32(0x100 + earlier).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_mean_what_their_names_say() {
        let shown = |token: u32| Vocabulary::get().show(&[token]);
        for (token, form) in [
            (THINK, "<|think|>"),
            (QUERY, "<|query|>"),
            (ANSWER_OPEN, "<ANSWER>"),
            (RETURN_CLOSE, "</RETURN>"),
            (PLUS, " +"),
            (INTO, " r/"),
            (KEEP, " keep"),
            (FIND, " find"),
            (NONE, " none"),
            (BARE_NONE, "none"),
            (COUNTDOWN, "countdown"),
            (bare_letter(2), "C"),
            (letter(5), " F"),
            (label(0, 1, true), "A1"),
            (label(5, 4, false), " F4"),
            (byte(b'~'), "~"),
        ] {
            assert_eq!(shown(token), form);
        }
        assert_eq!(
            [fork_open(1), join_close(MAX_TAG)].map(|t| t.map(shown)),
            [Some("<FORK-1>".into()), Some("</JOIN-8>".into())]
        );
        assert_eq!(
            [fork_open(0), join(MAX_TAG + 1), number(MAX_NUMBER + 1)],
            [None; 3]
        );
        for n in 0..=MAX_NUMBER {
            let token = number(n).expect("a word");
            assert_eq!((shown(token), as_number(token)), (format!(" {n}"), Some(n)));
        }
        assert_eq!(as_number(PLUS), None);
    }

    #[test]
    fn words_are_one_token_and_everything_else_is_bytes() {
        let count = |text: &str| Vocabulary::get().encode(text).len();
        assert_eq!(count("A 12 9 : 6 4 -> 18"), 8);
        assert_eq!(count("<FORK-1>A 12 9</FORK-1>"), 5);
        assert_eq!(count("<FORK-9>"), 8);
        assert_eq!(count("none"), 1);
        assert_eq!(count(" 133"), 4);
        assert_eq!(count("é"), 2);
        assert_eq!(count("a  b"), 1 + 1 + 2);
        assert_eq!(count("<|think|>"), 9);
        assert_eq!(count(""), 0);
    }

    #[test]
    fn no_two_tokens_have_the_same_bytes() {
        let vocabulary = Vocabulary::get();
        let forms: Vec<&[u8]> = (0..SIZE as u32)
            .map(|t| vocabulary.bytes(t))
            .filter(|b| !b.is_empty())
            .collect();
        let distinct: std::collections::HashSet<&&[u8]> = forms.iter().collect();
        assert_eq!(forms.len(), distinct.len());
        assert_eq!(forms.len() + CONTROL_FORMS.len(), (BARE + 2) as usize);
        assert!((BARE + 2) as usize <= SIZE);
    }
}
