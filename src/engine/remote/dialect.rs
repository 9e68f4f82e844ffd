//! Requests, as each kind of server wants them.

use super::probe::{Kind, Probe};
use crate::engine::contract::Sampling;
use serde_json::{Value, json};

/// Text to be continued.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The whole text so far, with the template's markers.
    pub text: String,
    /// How tokens are drawn. Its seed is not used.
    pub sampling: Sampling,
    /// Seed of this request.
    pub seed: u64,
    /// Most tokens to write.
    pub max_tokens: u32,
}

/// Path and body of a request.
pub(super) fn request(probe: &Probe, ask: &Ask) -> (&'static str, Value) {
    if probe.kind == Kind::Ollama {
        ("api/generate", ollama(probe, ask))
    } else {
        ("v1/completions", completion(probe, ask))
    }
}

fn completion(probe: &Probe, ask: &Ask) -> Value {
    let s = &ask.sampling;
    let mut body = json!({
        "model": probe.model,
        "prompt": ask.text,
        "max_tokens": ask.max_tokens,
        "stream": true,
        "temperature": s.temperature,
        "top_p": s.top_p.unwrap_or(1.0),
        "seed": ask.seed,
    });
    if probe.logprobs {
        body["logprobs"] = s.alternatives.max(1).into();
    }
    // Every server has defaults of its own for these; what is recorded must be what is drawn by.
    match probe.kind {
        Kind::LlamaCpp => {
            body["top_k"] = s.top_k.unwrap_or(0).into();
            body["min_p"] = s.min_p.unwrap_or(0.0).into();
            body["repeat_penalty"] = s.repetition_penalty.into();
        }
        Kind::Vllm | Kind::Sglang => {
            body["top_k"] = s.top_k.map_or(-1, i64::from).into();
            body["min_p"] = s.min_p.unwrap_or(0.0).into();
            body["repetition_penalty"] = s.repetition_penalty.into();
        }
        Kind::Ollama | Kind::Other => {}
    }
    body
}

fn ollama(probe: &Probe, ask: &Ask) -> Value {
    let s = &ask.sampling;
    let mut options = json!({
        "num_predict": ask.max_tokens,
        "temperature": s.temperature,
        "top_k": s.top_k.unwrap_or(0),
        "top_p": s.top_p.unwrap_or(1.0),
        "min_p": s.min_p.unwrap_or(0.0),
        "repeat_penalty": s.repetition_penalty,
        "seed": ask.seed,
    });
    if probe.context > 0 {
        options["num_ctx"] = probe.context.into();
    }
    let mut body = json!({
        "model": probe.model,
        "prompt": ask.text,
        "raw": true,
        "stream": true,
        "options": options,
    });
    if probe.logprobs {
        body["logprobs"] = true.into();
        body["top_logprobs"] = s.alternatives.into();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stop_strings_are_sent_and_the_length_is_always_capped() {
        let ask = Ask {
            text: "a".into(),
            sampling: Sampling::default(),
            seed: 1,
            max_tokens: 7,
        };
        for kind in [
            Kind::Vllm,
            Kind::Sglang,
            Kind::LlamaCpp,
            Kind::Ollama,
            Kind::Other,
        ] {
            let probe = Probe {
                kind,
                ..Probe::default()
            };
            let (_, body) = request(&probe, &ask);
            assert!(!body.to_string().contains("\"stop\""), "{body}");
            assert!(body.to_string().contains(":7"), "{body}");
        }
    }
}
