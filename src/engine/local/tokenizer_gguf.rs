//! A vocabulary from GGUF metadata alone, so that one file is enough.
//!
//! Kinds `gpt2` (byte-level BPE; how text is pre-split depends on `tokenizer.ggml.pre`) and `llama`
//! (SentencePiece).

use super::gguf::Header;
use super::metadata::Meta;
use super::sentencepiece::{SPACE, SentencePiece};
use super::tokenizer::{Encoder, Parts, TURN_ENDS, Vocabulary, byte_fallback, byte_level_bytes};
use crate::engine::contract::TokenId;
use std::collections::{HashMap, HashSet};
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::{
    PreTokenizerWrapper,
    byte_level::ByteLevel,
    digits::Digits,
    sequence::Sequence,
    split::{Split, SplitPattern},
};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// Token types of the format.
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// How Llama 3 splits text before merging.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// How Qwen 2 and 3 do: the same but for digits, which stand alone.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Build from a header.
///
/// # Errors
/// A sentence that says what is missing or unsupported.
pub fn from_gguf(header: &Header) -> Result<Vocabulary, String> {
    let tokens = header.texts("tokenizer.ggml.tokens")?;
    if tokens.is_empty() || tokens.len() > 1 << 22 {
        return Err(format!("a vocabulary of {} tokens", tokens.len()));
    }
    let types = types(header, tokens.len())?;
    let is_control = |id: usize| matches!(types[id], CONTROL | UNKNOWN | UNUSED);
    let pick = |wanted: &dyn Fn(usize) -> bool| -> HashMap<String, TokenId> {
        let ids = (0..tokens.len()).filter(|id| wanted(*id));
        ids.map(|id| (tokens[id].clone(), id as TokenId)).collect()
    };
    let control = pick(&|id| is_control(id) && !tokens[id].is_empty());
    let literal = pick(&|id| types[id] == USER_DEFINED && !tokens[id].is_empty());
    let kind = header.text("tokenizer.ggml.model")?;
    let (encoder, leading_space) = match kind {
        "gpt2" => (byte_level(header, tokens, &control)?, false),
        "llama" => (
            sentencepiece(header, tokens, &is_control)?,
            header.flag("tokenizer.ggml.add_space_prefix", true),
        ),
        other => {
            return Err(format!(
                "tokenizer kind `{other}` is not supported; supported are gpt2 and llama"
            ));
        }
    };
    let bytes = tokens
        .iter()
        .enumerate()
        .map(|(id, form)| match (types[id], kind) {
            (USER_DEFINED, _) => form
                .replace(if kind == "llama" { SPACE } else { '\0' }, " ")
                .into_bytes(),
            (_, "gpt2") => byte_level_bytes(form),
            _ => match byte_fallback(form) {
                Some(byte) => vec![byte],
                None => form.replace(SPACE, " ").into_bytes(),
            },
        });
    let bos = header
        .count("tokenizer.ggml.bos_token_id")
        .ok()
        .map(|id| id as TokenId);
    let wants_bos = header.flag("tokenizer.ggml.add_bos_token", kind == "llama");
    Ok(Vocabulary::new(Parts {
        encoder,
        bytes: bytes.collect(),
        eos: ends(header, &control),
        control,
        literal,
        bos: bos.filter(|id| wants_bos && (*id as usize) < tokens.len()),
        leading_space,
    }))
}

fn types(header: &Header, count: usize) -> Result<Vec<i64>, String> {
    let Some(_) = header.get("tokenizer.ggml.token_type") else {
        return Ok(vec![1; count]);
    };
    let types = header.numbers("tokenizer.ggml.token_type")?;
    if types.len() != count {
        return Err(format!("{} token types for {count} tokens", types.len()));
    }
    Ok(types.iter().map(|t| *t as i64).collect())
}

fn ends(header: &Header, control: &HashMap<String, TokenId>) -> HashSet<TokenId> {
    let keys =
        ["eos", "eot", "eom"].map(|name| header.count(&format!("tokenizer.ggml.{name}_token_id")));
    let named = TURN_ENDS
        .iter()
        .filter_map(|form| control.get(*form))
        .copied();
    keys.into_iter()
        .flatten()
        .filter_map(|id| TokenId::try_from(id).ok())
        .chain(named)
        .collect()
}

fn byte_level(
    header: &Header,
    tokens: &[String],
    control: &HashMap<String, TokenId>,
) -> Result<Encoder, String> {
    let pre = header.text("tokenizer.ggml.pre").unwrap_or("default");
    let (splitter, whole_words) = pre_tokenizer(pre)?;
    let merges = header
        .texts("tokenizer.ggml.merges")?
        .iter()
        .map(|merge| {
            let pair = merge
                .split_once(' ')
                .ok_or_else(|| format!("merge {merge:?} is no pair"))?;
            Ok((pair.0.to_owned(), pair.1.to_owned()))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let vocab: tokenizers::models::bpe::Vocab = tokens
        .iter()
        .enumerate()
        .filter(|(_, form)| !control.contains_key(*form))
        .map(|(id, form)| (form.clone(), id as TokenId))
        .collect();
    let model = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .ignore_merges(whole_words)
        .build()
        .map_err(|e| format!("vocabulary and merges do not fit: {e}"))?;
    let mut pipeline = tokenizers::Tokenizer::new(model);
    pipeline.with_pre_tokenizer(Some(splitter));
    Ok(Encoder::Pipeline(Box::new(pipeline)))
}

/// How text is cut before merging, and whether a cut that is a token as a whole needs no merges.
fn pre_tokenizer(name: &str) -> Result<(PreTokenizerWrapper, bool), String> {
    let gpt2 = || ByteLevel::new(false, false, true).into();
    let regex = |pattern: &str| -> Result<PreTokenizerWrapper, String> {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
            .map_err(|e| e.to_string())?;
        Ok(Sequence::new(vec![
            split.into(),
            ByteLevel::new(false, false, false).into(),
        ])
        .into())
    };
    Ok(match name {
        "llama-bpe" | "llama3" | "llama-v3" => (regex(LLAMA3)?, true),
        "smaug-bpe" => (regex(LLAMA3)?, false),
        "qwen2" | "deepseek-r1-qwen" => (regex(QWEN2)?, false),
        "smollm" => (
            Sequence::new(vec![Digits::new(true).into(), gpt2()]).into(),
            false,
        ),
        "default" | "gpt-2" | "gpt2" => (gpt2(), false),
        other => {
            return Err(format!(
                "pre-tokenizer `{other}` is not supported; supported are llama-bpe, smaug-bpe, qwen2, smollm, gpt-2, default"
            ));
        }
    })
}

fn sentencepiece(
    header: &Header,
    tokens: &[String],
    is_control: &dyn Fn(usize) -> bool,
) -> Result<Encoder, String> {
    let scores = header.numbers("tokenizer.ggml.scores")?;
    if scores.len() != tokens.len() {
        return Err(format!(
            "{} scores for {} tokens",
            scores.len(),
            tokens.len()
        ));
    }
    let mut bytes = vec![None; 256];
    let mut pieces = HashMap::new();
    for (id, form) in tokens.iter().enumerate() {
        if let Some(byte) = byte_fallback(form) {
            bytes[usize::from(byte)] = Some(id as TokenId);
        } else if !is_control(id) {
            pieces.insert(form.clone(), (id as TokenId, scores[id]));
        }
    }
    Ok(Encoder::SentencePiece(SentencePiece::new(pieces, bytes)))
}

/// The chat template in the metadata.
#[must_use]
pub fn chat_template(header: &Header) -> Option<&str> {
    match header.get("tokenizer.chat_template") {
        Some(Meta::Text(text)) => Some(text),
        _ => None,
    }
}

/// Written forms of the begin and end tokens, for the chat template.
#[must_use]
pub fn boundary_forms(header: &Header) -> (String, String) {
    let form = |name: &str| {
        let id = header
            .count(&format!("tokenizer.ggml.{name}_token_id"))
            .ok()?;
        header.texts("tokenizer.ggml.tokens").ok()?.get(id).cloned()
    };
    (
        form("bos").unwrap_or_default(),
        form("eos").unwrap_or_default(),
    )
}
