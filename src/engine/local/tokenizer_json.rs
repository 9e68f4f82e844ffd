//! A vocabulary from a Hugging Face folder: `tokenizer.json` and the files beside it.
//!
//! Added tokens are taken out of the pipeline and matched by this program, so that control tokens in text
//! stay text, and conventions that assume the beginning of a context (a leading space) are turned off.

use super::tokenizer::{Encoder, Parts, TURN_ENDS, Vocabulary, byte_fallback, byte_level_bytes};
use crate::engine::contract::TokenId;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// No real vocabulary is larger; bounds the byte table.
const MAX_ID: u64 = 1 << 22;

/// Build from the parsed `tokenizer.json` and the other JSON files that may name end tokens
/// (`generation_config.json`, `config.json`, `tokenizer_config.json`; null where absent).
///
/// # Errors
/// A sentence that says what is wrong or unsupported.
pub fn from_json(mut json: Value, others: &[Value]) -> Result<Vocabulary, String> {
    let kind = json
        .pointer("/model/type")
        .and_then(Value::as_str)
        .unwrap_or("BPE");
    if kind != "BPE" {
        return Err(format!(
            "tokenizer.json: model `{kind}` is not supported, expected BPE"
        ));
    }
    let byte_level =
        mentions(&json["pre_tokenizer"], "ByteLevel") || mentions(&json["decoder"], "ByteLevel");
    let (mut control, mut literal) = (HashMap::new(), HashMap::new());
    for token in json["added_tokens"].as_array().into_iter().flatten() {
        let (Some(form), Some(id)) = (token["content"].as_str(), token["id"].as_u64()) else {
            return Err("tokenizer.json: an added token lacks `content` or `id`".into());
        };
        let id = checked(id)?;
        if token["special"].as_bool().unwrap_or(false) {
            control.insert(form.to_owned(), id);
        } else {
            literal.insert(form.to_owned(), id);
        }
    }
    let bos = template_bos(&json["post_processor"]);
    let vocab = json
        .pointer_mut("/model/vocab")
        .and_then(Value::as_object_mut)
        .ok_or("tokenizer.json: no vocabulary")?;
    // text must not become a control token even where merges are skipped
    vocab.retain(|form, _| !control.contains_key(form));
    let mut bytes: Vec<Vec<u8>> = Vec::new();
    let mut place = |id: TokenId, value: Vec<u8>| {
        let id = id as usize;
        if bytes.len() <= id {
            bytes.resize(id + 1, Vec::new());
        }
        bytes[id] = value;
    };
    for (form, id) in vocab.iter() {
        let id = checked(
            id.as_u64()
                .ok_or_else(|| format!("tokenizer.json: token {form:?} has no id"))?,
        )?;
        place(
            id,
            match (byte_level, byte_fallback(form)) {
                (true, _) => byte_level_bytes(form),
                (false, Some(byte)) => vec![byte],
                (false, None) => form.replace(super::sentencepiece::SPACE, " ").into_bytes(),
            },
        );
    }
    for (form, id) in &literal {
        place(*id, form.as_bytes().to_vec());
    }
    json["added_tokens"] = Value::Array(Vec::new());
    json["post_processor"] = Value::Null;
    json["truncation"] = Value::Null;
    json["padding"] = Value::Null;
    let mut leading_space = without_leading_space(&mut json["normalizer"]);
    leading_space |= without_leading_space(&mut json["pre_tokenizer"]);
    let text = json.to_string();
    let pipeline = tokenizers::Tokenizer::from_bytes(text.as_bytes())
        .map_err(|e| format!("tokenizer.json: {e}"))?;
    Ok(Vocabulary::new(Parts {
        encoder: Encoder::Pipeline(Box::new(pipeline)),
        bytes,
        eos: end_tokens(&control, &literal, others),
        control,
        literal,
        bos,
        leading_space,
    }))
}

fn checked(id: u64) -> Result<TokenId, String> {
    if id < MAX_ID {
        Ok(id as TokenId)
    } else {
        Err(format!("tokenizer.json: token id {id} is beyond {MAX_ID}"))
    }
}

/// Whether a component of this type is anywhere inside.
fn mentions(value: &Value, kind: &str) -> bool {
    match value {
        Value::Object(map) => {
            map.get("type").and_then(Value::as_str) == Some(kind)
                || map.values().any(|v| mentions(v, kind))
        }
        Value::Array(items) => items.iter().any(|v| mentions(v, kind)),
        _ => false,
    }
}

/// Turn off whatever puts a space in front of a text; whether there was such a thing.
fn without_leading_space(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => {
            let before = items.len();
            items.retain(|item| item["type"] != "Prepend");
            let mut found = items.len() < before;
            for item in items {
                found |= without_leading_space(item);
            }
            found
        }
        Value::Object(map) => {
            let mut found = false;
            match map.get("type").and_then(Value::as_str) {
                Some("Prepend") => {
                    *value = Value::Null;
                    return true;
                }
                Some("Metaspace") => {
                    let old = map.insert("prepend_scheme".into(), "never".into());
                    map.remove("add_prefix_space");
                    found = old.is_none_or(|scheme| scheme != "never");
                }
                Some("ByteLevel") => {
                    let old = map.insert("add_prefix_space".into(), false.into());
                    found = old == Some(Value::Bool(true));
                }
                _ => {}
            }
            for item in map.values_mut() {
                found |= without_leading_space(item);
            }
            found
        }
        _ => false,
    }
}

/// The token that the post-processor puts in front of every text.
fn template_bos(post_processor: &Value) -> Option<TokenId> {
    if let Some(parts) = post_processor["processors"].as_array() {
        return parts.iter().find_map(template_bos);
    }
    let name = post_processor["single"][0]["SpecialToken"]["id"].as_str()?;
    let id = post_processor["special_tokens"][name]["ids"][0].as_u64()?;
    TokenId::try_from(id).ok()
}

fn end_tokens(
    control: &HashMap<String, TokenId>,
    literal: &HashMap<String, TokenId>,
    others: &[Value],
) -> HashSet<TokenId> {
    let mut ends: HashSet<TokenId> = TURN_ENDS
        .iter()
        .filter_map(|form| control.get(*form))
        .copied()
        .collect();
    let mut add = |id: &Value| ends.extend(id.as_u64().and_then(|id| TokenId::try_from(id).ok()));
    for other in others {
        match &other["eos_token_id"] {
            Value::Array(ids) => ids.iter().for_each(&mut add),
            id => add(id),
        }
    }
    for other in others {
        let form = other["eos_token"]
            .as_str()
            .or_else(|| other["eos_token"]["content"].as_str());
        ends.extend(form.and_then(|form| control.get(form).or_else(|| literal.get(form))));
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn byte_level() -> Value {
        json!({
            "added_tokens": [
                {"id": 5, "content": "<|im_end|>", "special": true},
                {"id": 6, "content": "<think>", "special": false},
            ],
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "post_processor": null,
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "<|im_end|>": 5, "t": 7}, "merges": ["a b"],
                      "ignore_merges": true},
        })
    }

    #[test]
    fn no_space_is_put_before_a_continuation_and_the_convention_is_noted() {
        let vocabulary = from_json(byte_level(), &[]).expect("it builds");
        assert_eq!(vocabulary.encode("ab a"), Ok(vec![3, 2, 0]));
        assert!(vocabulary.leading_space);
    }

    #[test]
    fn control_tokens_have_no_bytes_and_literal_ones_are_matched_in_text() {
        let vocabulary = from_json(byte_level(), &[]).expect("it builds");
        assert_eq!(vocabulary.bytes(5), b"");
        assert_eq!(vocabulary.bytes(6), b"<think>");
        assert_eq!(vocabulary.encode("a<think>b"), Ok(vec![0, 6, 1]));
        assert!(vocabulary.is_eos(5));
    }

    #[test]
    fn text_that_has_no_tokens_is_an_error_not_silence() {
        let vocabulary = from_json(byte_level(), &[]).expect("it builds");
        assert!(vocabulary.encode("a<|im_end|>").is_err());
        assert!(vocabulary.encode("axb").is_err());
    }

    #[test]
    fn end_tokens_come_from_every_file_that_names_some() {
        let others = [
            json!({"eos_token_id": [1, 2]}),
            json!({"eos_token_id": 0}),
            json!({"eos_token": {"content": "<think>"}}),
        ];
        let vocabulary = from_json(byte_level(), &others).expect("it builds");
        assert!([0, 1, 2, 5, 6].iter().all(|id| vocabulary.is_eos(*id)));
        assert!(!vocabulary.is_eos(3));
    }

    #[test]
    fn metaspace_with_byte_fallback_gives_exact_bytes() {
        let json = json!({
            "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ]},
            "pre_tokenizer": null,
            "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
            "decoder": null,
            "model": {"type": "BPE", "vocab": {"▁": 1, "a": 2, "▁a": 3, "<0xC3>": 4, "<0xA9>": 5}, "merges": ["▁ a"],
                      "byte_fallback": true},
        });
        let vocabulary = from_json(json, &[]).expect("it builds");
        assert_eq!(vocabulary.encode("a aé"), Ok(vec![2, 3, 4, 5]));
        assert_eq!(
            [vocabulary.bytes(3), vocabulary.bytes(4)],
            [b" a".as_slice(), &[0xc3]]
        );
        assert!(vocabulary.leading_space);
        assert_eq!(vocabulary.bos, Some(0));
    }

    #[test]
    fn nonsense_is_refused() {
        for json in [
            json!({}),
            json!(3),
            json!({"model": {"type": "WordPiece"}}),
            json!({"model": {"vocab": {"a": u64::MAX}}}),
            json!({"added_tokens": [{}], "model": {"vocab": {}}}),
        ] {
            assert!(from_json(json, &[]).is_err());
        }
    }
}
