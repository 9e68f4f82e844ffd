//! What each kind of server answers, message by message.

use super::probe::Kind;
use serde::Deserialize;
use serde_json::{Value, json};

/// A piece of text that a server wrote: one token, as far as it says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chunk {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Natural log of its probability, where the server gives it.
    pub logprob: Option<f32>,
    /// The most likely pieces at this place, best first, where the server gives them.
    pub alternatives: Vec<(Vec<u8>, f32)>,
}

/// Why a server stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its turn.
    Eos,
    /// As many tokens as were allowed, or as the context has room for.
    Length,
}

/// What one message of an answer says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    Chunk(Chunk),
    Finish(Finish),
    /// The server failed on the request.
    Failed(String),
}

/// Reads one message of an answer.
///
/// # Errors
/// What it is instead.
pub(super) fn read(kind: Kind, message: &str) -> Result<Vec<News>, String> {
    let parsed = if kind == Kind::Ollama {
        serde_json::from_str(message).map(read_ollama)
    } else {
        serde_json::from_str(message).map(read_completion)
    };
    parsed.map_err(|e| format!("a message of its answer is no JSON of the expected shape: {e}"))?
}

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    text: Option<String>,
    logprobs: Option<Logprobs>,
    finish_reason: Option<String>,
}

/// Two shapes: a list of objects, or lists side by side.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Logprobs {
    content: Option<Vec<Scored>>,
    tokens: Option<Vec<String>>,
    token_logprobs: Option<Vec<Option<f32>>>,
    top_logprobs: Option<Vec<Option<serde_json::Map<String, Value>>>>,
}

#[derive(Deserialize)]
struct Scored {
    token: String,
    bytes: Option<Vec<u8>>,
    logprob: Option<f32>,
    #[serde(default)]
    top_logprobs: Vec<Scored>,
}

impl Scored {
    fn text(&self) -> Vec<u8> {
        self.bytes
            .clone()
            .unwrap_or_else(|| self.token.clone().into_bytes())
    }

    fn chunk(&self) -> Chunk {
        Chunk {
            bytes: self.text(),
            logprob: self.logprob,
            alternatives: self
                .top_logprobs
                .iter()
                .filter_map(|top| Some((top.text(), top.logprob?)))
                .collect(),
        }
    }
}

#[derive(Deserialize)]
struct Generated {
    #[serde(default)]
    response: String,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    logprobs: Option<Vec<Scored>>,
    error: Option<Value>,
}

fn read_completion(message: Completion) -> Result<Vec<News>, String> {
    if let Some(error) = message.error {
        return Ok(vec![News::Failed(super::client::explanation(
            &json!({ "error": error }).to_string(),
        ))]);
    }
    let mut news = Vec::new();
    // One continuation was asked for.
    let Some(choice) = message.choices.into_iter().next() else {
        return Ok(news);
    };
    let end = choice.finish_reason.as_deref().map(finish).transpose()?;
    let scores = choice.logprobs.unwrap_or_default();
    let listed = if scores.content.is_some() {
        Listed::Text
    } else {
        Listed::Drawn
    };
    let text = choice.text.unwrap_or_default();
    news.extend(chunks(&text, scores.chunks(), listed, end));
    news.extend(end.map(News::Finish));
    Ok(news)
}

fn read_ollama(message: Generated) -> Result<Vec<News>, String> {
    if let Some(error) = message.error {
        return Ok(vec![News::Failed(super::client::explanation(
            &json!({ "error": error }).to_string(),
        ))]);
    }
    let scores = message
        .logprobs
        .unwrap_or_default()
        .iter()
        .map(Scored::chunk)
        .collect();
    let end = if message.done {
        Some(finish(message.done_reason.as_deref().unwrap_or("stop"))?)
    } else {
        None
    };
    let mut news = chunks(&message.response, scores, Listed::Text, end);
    news.extend(end.map(News::Finish));
    Ok(news)
}

fn finish(reason: &str) -> Result<Finish, String> {
    match reason {
        "stop" | "eos" | "eos_token" => Ok(Finish::Eos),
        "length" | "limit" => Ok(Finish::Length),
        other => Err(format!(
            "it ended its answer with `{}`",
            super::error::quote(other)
        )),
    }
}

impl Logprobs {
    fn chunks(self) -> Vec<Chunk> {
        if let Some(content) = self.content {
            return content.iter().map(Scored::chunk).collect();
        }
        let scores = self.token_logprobs.unwrap_or_default();
        let tops = self.top_logprobs.unwrap_or_default();
        self.tokens
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(i, token)| {
                let top = tops.get(i).and_then(Option::as_ref);
                let mut alternatives: Vec<(Vec<u8>, f32)> = top
                    .into_iter()
                    .flatten()
                    // Pieces of characters all look alike there.
                    .filter(|(text, _)| !text.is_empty())
                    .filter_map(|(text, score)| {
                        Some((text.clone().into_bytes(), score.as_f64()? as f32))
                    })
                    .collect();
                alternatives.sort_by(|a, b| b.1.total_cmp(&a.1));
                Chunk {
                    bytes: token.into_bytes(),
                    logprob: scores.get(i).copied().flatten(),
                    alternatives,
                }
            })
            .collect()
    }
}

/// What the scores of a message list beside text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// Tokens that have text, and nothing else.
    Text,
    /// Whatever was drawn: also pieces of a character that has not come yet, and markers. Neither shows in the
    /// text, but each is a token.
    Drawn,
}

/// Cuts text into tokens where the scores tell how; else it is one token, scored if there is one score.
fn chunks(text: &str, scores: Vec<Chunk>, listed: Listed, end: Option<Finish>) -> Vec<News> {
    let mut at = 0;
    let mut pieces: Vec<Chunk> = Vec::with_capacity(scores.len());
    for score in &scores {
        let shows = !score.bytes.is_empty() && text.as_bytes()[at..].starts_with(&score.bytes);
        let bytes = if shows {
            at += score.bytes.len();
            score.bytes.clone()
        } else {
            Vec::new()
        };
        if shows || listed == Listed::Drawn {
            pieces.push(Chunk {
                bytes,
                ..score.clone()
            });
        }
    }
    // The end of a turn is told by itself.
    if end == Some(Finish::Eos) && pieces.last().is_some_and(|last| last.bytes.is_empty()) {
        pieces.pop();
    }
    if at < text.len() {
        let alone = <[Chunk; 1]>::try_from(scores).map_or_else(|_| Chunk::default(), |[only]| only);
        pieces = vec![Chunk {
            bytes: text.into(),
            ..alone
        }];
    }
    pieces.into_iter().map(News::Chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(news: &[News]) -> Vec<String> {
        news.iter()
            .map(|n| match n {
                News::Chunk(c) => String::from_utf8_lossy(&c.bytes).into_owned(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_completion_is_cut_into_tokens_where_scores_tell_how() {
        let lists = r#"{"choices":[{"text":" ab","logprobs":{"tokens":[" a","b"],
            "token_logprobs":[-0.5,-1.0],"top_logprobs":[{" a":-0.5," x":-0.1},null]},"finish_reason":null}]}"#;
        let news = read(Kind::Vllm, lists).unwrap();
        assert_eq!(texts(&news), [" a", "b"]);
        let News::Chunk(first) = &news[0] else {
            panic!("{news:?}")
        };
        assert_eq!(first.logprob, Some(-0.5));
        assert_eq!(first.alternatives[0].0, b" x");
        let objects = r#"{"choices":[{"text":"🧠","logprobs":{"content":[{"token":"🧠","bytes":[240,159,167,160],
            "logprob":-0.02,"top_logprobs":[{"token":"x","bytes":[160],"logprob":-0.02}]}]},"finish_reason":"length"}]}"#;
        let news = read(Kind::LlamaCpp, objects).unwrap();
        assert_eq!(texts(&news), ["🧠", "Finish(Length)"]);
    }

    #[test]
    fn text_that_scores_do_not_explain_is_one_token() {
        let odd = r#"{"choices":[{"text":"é!","logprobs":{"tokens":["Ã","©!"],"token_logprobs":[-1,-2]}}]}"#;
        let news = read(Kind::Vllm, odd).unwrap();
        assert_eq!(texts(&news), ["é!"]);
        assert!(matches!(&news[0], News::Chunk(c) if c.logprob.is_none()));
    }

    #[test]
    fn pieces_of_a_character_and_markers_are_tokens_without_text() {
        let message = |text: &str, tokens: &[&str], finish: Option<&str>| {
            let scores = vec![-0.5; tokens.len()];
            let m = json!({"choices": [{"text": text, "finish_reason": finish,
                "logprobs": {"tokens": tokens, "token_logprobs": scores}}]});
            texts(&read(Kind::Vllm, &m.to_string()).unwrap())
        };
        assert_eq!(
            message("\n🧠", &["\n", "", "", "🧠", ""], None),
            ["\n", "", "", "🧠", ""]
        );
        assert_eq!(message("", &[""], None), [""], "more of it is to come");
        assert_eq!(message("", &[""], Some("length")), ["", "Finish(Length)"]);
        assert_eq!(
            message("ab", &["a", "<|im_start|>", "b"], None),
            ["a", "", "b"]
        );
        let end = message(" today?", &[" today", "?", "<|im_end|>"], Some("stop"));
        assert_eq!(end, [" today", "?", "Finish(Eos)"]);
        assert_eq!(message("", &["<|im_end|>"], Some("stop")), ["Finish(Eos)"]);
        assert_eq!(message("?", &["?"], Some("stop")), ["?", "Finish(Eos)"]);
    }

    #[test]
    fn ollama_speaks_its_own_language() {
        let news = read(
            Kind::Ollama,
            r#"{"model":"m","response":"hi","done":false}"#,
        )
        .unwrap();
        assert_eq!(texts(&news), ["hi"]);
        let end = r#"{"response":"","done":true,"done_reason":"length"}"#;
        assert_eq!(
            read(Kind::Ollama, end).unwrap(),
            [News::Finish(Finish::Length)]
        );
        let news = read(Kind::Ollama, r#"{"error":"model not found"}"#).unwrap();
        assert_eq!(news, [News::Failed("model not found".into())]);
    }

    #[test]
    fn failures_inside_a_stream_and_odd_messages_are_told() {
        let news = read(
            Kind::Vllm,
            r#"{"error":{"message":"out of memory","code":500}}"#,
        )
        .unwrap();
        assert_eq!(news, [News::Failed("out of memory".into())]);
        for odd in ["<html>", "3", r#"{"choices":[{"finish_reason":"abort"}]}"#] {
            assert!(read(Kind::Vllm, odd).is_err(), "{odd}");
        }
        assert!(
            read(Kind::Vllm, r#"{"choices":[],"usage":{}}"#)
                .unwrap()
                .is_empty()
        );
    }
}
