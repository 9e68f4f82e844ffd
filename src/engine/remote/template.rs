//! Messages to a prompt, up to where the model's turn begins.
//!
//! Text that a message holds never becomes a marker: it is set apart first. Begin-of-text markers are left
//! to the servers, which put them in front of every text they continue.

use super::client::Client;
use super::error::RemoteError;
use super::vocabulary::apart;
use crate::engine::contract::{ChatMessage, ChatRole};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How prompts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Template {
    /// By the server itself (llama.cpp only).
    Server,
    /// `<|im_start|>`: Qwen, SmolLM2, Yi, Hermes.
    Chatml,
    /// `<|start_header_id|>`: Llama 3.
    Llama3,
    /// `<start_of_turn>`: Gemma.
    Gemma,
    /// `[INST]`: Mistral.
    Mistral,
    /// Labelled text.
    #[default]
    Plain,
}

impl Template {
    /// Their words, in the order of the help.
    pub const WORDS: [&'static str; 6] =
        ["server", "chatml", "llama3", "gemma", "mistral", "plain"];

    /// What models of this name were trained on; plain where nobody knows.
    #[must_use]
    pub fn for_model(name: &str) -> Self {
        let name = name.to_lowercase();
        let any = |words: &[&str]| words.iter().any(|w| name.contains(w));
        if any(&["qwen", "qwq", "smollm", "chatml", "hermes", "yi-"]) {
            Self::Chatml
        } else if any(&["llama-3", "llama3", "llama_3"]) {
            Self::Llama3
        } else if any(&["gemma"]) {
            Self::Gemma
        } else if any(&["mistral", "mixtral", "ministral"]) {
            Self::Mistral
        } else {
            Self::Plain
        }
    }

    /// The one whose markers stand in the text of another template.
    #[must_use]
    pub fn in_text(text: &str) -> Option<Self> {
        [
            ("<|im_start|>", Self::Chatml),
            ("<|start_header_id|>", Self::Llama3),
            ("<start_of_turn>", Self::Gemma),
            ("[INST]", Self::Mistral),
        ]
        .into_iter()
        .find_map(|(marker, template)| text.contains(marker).then_some(template))
    }

    /// The prompt of `messages`; the server's own template is asked for elsewhere.
    #[must_use]
    pub fn write(self, messages: &[ChatMessage], thinking: bool, model: &str) -> String {
        let message = |m: &ChatMessage| (role(m.role), apart(m.content.trim()));
        let parts: Vec<(&str, String)> = messages.iter().map(message).collect();
        match self {
            Self::Chatml => {
                let body: String = parts
                    .iter()
                    .map(|(role, text)| format!("<|im_start|>{role}\n{text}<|im_end|>\n"))
                    .collect();
                let thought = if !thinking && thinks(model) {
                    "<think>\n\n</think>\n\n"
                } else {
                    ""
                };
                format!("{body}<|im_start|>assistant\n{thought}")
            }
            Self::Llama3 => {
                let head = |role: &str| format!("<|start_header_id|>{role}<|end_header_id|>\n\n");
                let body: String = parts
                    .iter()
                    .map(|(role, text)| format!("{}{text}<|eot_id|>", head(role)))
                    .collect();
                format!("{body}{}", head("assistant"))
            }
            Self::Gemma => format!(
                "<start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n",
                joined(&parts)
            ),
            Self::Mistral => format!("[INST] {} [/INST]", joined(&parts)),
            Self::Server | Self::Plain => {
                let body: String = parts
                    .iter()
                    .map(|(role, text)| format!("### {}\n{text}\n\n", title(role)))
                    .collect();
                format!("{body}### Answer\n")
            }
        }
    }
}

/// How a server's own template writes messages in these roles, once asked and then filled in here: a
/// worker's prompt must not need the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    text: String,
    /// The template has no place for instructions: they go in front of the question.
    merged: bool,
}

/// What stands in a pattern for the text of message `i`.
fn stand_in(i: usize) -> String {
    format!("[[orgtop message {i}]]")
}

impl Pattern {
    /// Asks the server how it writes messages in `roles`.
    ///
    /// # Errors
    /// The server does not write them.
    pub async fn of(
        client: &Client,
        roles: &[ChatRole],
        thinking: bool,
    ) -> Result<Self, RemoteError> {
        let whole = written_by_server(client, roles, thinking).await;
        let complete = |text: &String| (0..roles.len()).all(|i| text.contains(&stand_in(i)));
        match whole {
            Ok(text) if complete(&text) => Ok(Self {
                text,
                merged: false,
            }),
            Err(error @ (RemoteError::Unreachable { .. } | RemoteError::Key { .. })) => Err(error),
            _ => Ok(Self {
                text: written_by_server(client, &[ChatRole::User], thinking).await?,
                merged: true,
            }),
        }
    }

    /// The prompt of `messages`.
    #[must_use]
    pub fn fill(&self, messages: &[ChatMessage]) -> String {
        let texts = messages.iter().map(|m| apart(m.content.trim()));
        if self.merged {
            let all: Vec<String> = texts.collect();
            return self.text.replace(&stand_in(0), &all.join("\n\n"));
        }
        // Cut at every stand-in first: a message may spell one out.
        let mut pieces = vec![(self.text.clone(), None)];
        for (i, text) in texts.enumerate() {
            let name = stand_in(i);
            let mut cut = Vec::new();
            for (piece, filled) in pieces {
                if filled.is_some() {
                    cut.push((piece, filled));
                    continue;
                }
                for (n, part) in piece.split(&name).enumerate() {
                    if n > 0 {
                        cut.push((text.clone(), Some(())));
                    }
                    cut.push((part.to_owned(), None));
                }
            }
            pieces = cut;
        }
        pieces.into_iter().map(|(text, _)| text).collect()
    }
}

async fn written_by_server(
    client: &Client,
    roles: &[ChatRole],
    thinking: bool,
) -> Result<String, RemoteError> {
    let messages: Vec<_> = roles
        .iter()
        .enumerate()
        .map(|(i, r)| json!({"role": role(*r), "content": stand_in(i)}))
        .collect();
    let body = json!({
        "messages": messages,
        "chat_template_kwargs": {"enable_thinking": thinking},
    });
    let answer = client.post("apply-template", &body).await?;
    answer["prompt"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| RemoteError::Garbled {
            url: client.url(),
            what: "no prompt from /apply-template; choose a template with --template".into(),
        })
}

fn role(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
    }
}

fn title(role: &str) -> &'static str {
    if role == "system" {
        "Instructions"
    } else {
        "Question"
    }
}

fn joined(parts: &[(&str, String)]) -> String {
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    texts.join("\n\n")
}

/// Whether models of this name think aloud first unless an empty thought is put in front.
fn thinks(model: &str) -> bool {
    let name = model.to_lowercase();
    name.contains("qwen3") && !name.contains("2507")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(user: &str) -> Vec<ChatMessage> {
        let message = |role, content: &str| ChatMessage {
            role,
            content: content.to_owned(),
        };
        vec![
            message(ChatRole::System, "S"),
            message(ChatRole::User, user),
        ]
    }

    #[test]
    fn each_template_ends_where_the_model_begins() {
        let write = |t: Template| t.write(&messages("U"), false, "m");
        assert_eq!(
            write(Template::Chatml),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
        );
        assert!(
            write(Template::Llama3).ends_with("<|start_header_id|>assistant<|end_header_id|>\n\n")
        );
        assert_eq!(
            write(Template::Gemma),
            "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n"
        );
        assert_eq!(write(Template::Mistral), "[INST] S\n\nU [/INST]");
        assert!(write(Template::Plain).ends_with("### Question\nU\n\n### Answer\n"));
    }

    #[test]
    fn a_model_that_thinks_is_kept_from_it_unless_asked() {
        let write = |thinking| Template::Chatml.write(&messages("U"), thinking, "Qwen/Qwen3-4B");
        assert!(write(false).ends_with("</think>\n\n"));
        assert!(write(true).ends_with("assistant\n"));
    }

    #[test]
    fn a_message_cannot_end_its_own_turn() {
        let text = Template::Chatml.write(&messages("<|im_end|>"), false, "m");
        assert_eq!(text.matches("<|im_end|>").count(), 2, "{text}");
    }

    #[test]
    fn a_servers_pattern_is_filled_in_here_and_a_message_cannot_stand_for_another() {
        let pattern = Pattern {
            text: format!("<|im_start|>{}|{}<|im_end|>", stand_in(0), stand_in(1)),
            merged: false,
        };
        assert_eq!(pattern.fill(&messages("U")), "<|im_start|>S|U<|im_end|>");
        let sly = pattern.fill(&messages(&stand_in(0)));
        assert_eq!(sly, format!("<|im_start|>S|{}<|im_end|>", stand_in(0)));
        let alone = Pattern {
            text: format!("<{}>", stand_in(0)),
            merged: true,
        };
        assert_eq!(alone.fill(&messages("U")), "<S\n\nU>");
    }

    #[test]
    fn names_tell_the_template() {
        for (name, template) in [
            ("Qwen/Qwen3-8B", Template::Chatml),
            ("SmolLM2-135M-Instruct.Q8_0.gguf", Template::Chatml),
            ("meta-llama/Llama-3.1-8B", Template::Llama3),
            ("gemma3:4b", Template::Gemma),
            ("who-knows", Template::Plain),
        ] {
            assert_eq!(Template::for_model(name), template, "{name}");
        }
        for word in Template::WORDS {
            let value = serde_json::Value::String(word.into());
            assert!(serde_json::from_value::<Template>(value).is_ok(), "{word}");
        }
    }
}
