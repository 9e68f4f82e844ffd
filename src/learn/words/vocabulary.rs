//! Text to tokens and back, and the files that make any reader split text alike.

use super::{
    BARE_FORMS, CONTROL_FORMS, LETTER_FORMS, MAX_NUMBER, MAX_TAG, NUMBERS, PLAIN_TAGS, SIGN_FORMS,
    SIZE, TAGS, byte,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;

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
