//! A checkpoint's chat template, rendered so that only the template can place control tokens.
//!
//! Before rendering, a guard character that occurs nowhere else is put into every control token that a
//! message spells out, wholly or at its end, and in front of the message. After rendering, control tokens
//! are recognised only where no guard interrupts them; then the guards are taken out. Templates may trim,
//! split or repeat messages as they like.

use super::tokenizer::{Piece, Vocabulary};
use crate::engine::contract::{ChatMessage, ChatRole, TokenId};
use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind, Value, context};

/// A template that runs longer than this many instructions is broken or hostile.
const FUEL: u64 = 2_000_000;

/// How a checkpoint wants its prompts written.
#[derive(Debug)]
pub struct ChatTemplate {
    /// Absent: messages are written as labelled text.
    environment: Option<Environment<'static>>,
    bos: String,
    eos: String,
    /// The template makes something else of the system message than its text, and says so.
    reads_system: bool,
}

const NAME: &str = "chat";

/// The comment by which a template says that it reads the system message though it does not write it out.
pub const READS_SYSTEM: &str = "{# reads the system message #}";

impl ChatTemplate {
    /// Compile a template (or take the plain one); `bos` and `eos` are the written forms it may use.
    ///
    /// # Errors
    /// When the template does not parse.
    pub fn new(source: Option<String>, bos: String, eos: String) -> Result<Self, String> {
        let reads_system = source.as_deref().is_some_and(|s| s.contains(READS_SYSTEM));
        let environment = source.map(compile).transpose().map_err(|e| describe(&e))?;
        Ok(Self {
            environment,
            bos,
            eos,
            reads_system,
        })
    }

    /// Tokens of a prompt up to where the model's turn begins.
    ///
    /// # Errors
    /// [`PromptError::Template`] when rendering fails even with the system text moved into the first user
    /// message, [`PromptError::Encode`] when text cannot be expressed.
    pub fn prompt(
        &self,
        messages: &[ChatMessage],
        thinking: bool,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<TokenId>, PromptError> {
        let guard = guard(messages);
        let guarded: Vec<ChatMessage> = messages
            .iter()
            .map(|m| ChatMessage {
                role: m.role,
                content: shield(&m.content, guard, vocabulary),
            })
            .collect();
        let Some(environment) = &self.environment else {
            let tokens = vocabulary
                .encode(&plain(messages))
                .map_err(PromptError::Encode)?;
            return Ok(vocabulary.bos.into_iter().chain(tokens).collect());
        };
        let rendered = self
            .render(environment, &guarded, thinking)
            .map_err(PromptError::Template)?;
        let mut out = Vec::new();
        for piece in vocabulary.split_control(&rendered, guard) {
            match piece {
                Piece::Token(id) => out.push(id),
                Piece::Text(text) => {
                    let mut text = text.replace(guard, "");
                    let first = out.iter().all(|id| Some(*id) == vocabulary.bos);
                    if vocabulary.leading_space && first {
                        text.insert(0, ' ');
                    }
                    out.extend(vocabulary.encode(&text).map_err(PromptError::Encode)?);
                }
            }
        }
        if let Some(bos) = vocabulary.bos
            && out.first() != Some(&bos)
        {
            out.insert(0, bos);
        }
        Ok(out)
    }

    /// Render; where the template refuses or drops the system message, move it into the user's.
    fn render(
        &self,
        environment: &Environment<'_>,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<String, String> {
        let first = self.render_as_is(environment, messages, thinking);
        let system: Vec<&str> = messages
            .iter()
            .filter(|m| m.role == ChatRole::System)
            .map(|m| m.content.trim())
            .collect();
        if system.is_empty() || self.reads_system {
            return first.map_err(|e| describe(&e));
        }
        match first {
            Ok(text) if system.iter().all(|s| text.contains(s)) => Ok(text),
            _ => self
                .render_as_is(environment, &merged(messages), thinking)
                .map_err(|e| describe(&e)),
        }
    }

    fn render_as_is(
        &self,
        environment: &Environment<'_>,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<String, minijinja::Error> {
        environment.get_template(NAME)?.render(context! {
            messages => messages,
            add_generation_prompt => true,
            enable_thinking => thinking,
            bos_token => self.bos,
            eos_token => self.eos,
        })
    }
}

/// Why a prompt could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptError {
    /// The template failed.
    Template(String),
    /// Text that the vocabulary cannot express.
    Encode(String),
}

fn compile(source: String) -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    // what Hugging Face's renderer sets
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(FUEL));
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function(
        "raise_exception",
        |message: String| -> Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        },
    );
    environment.add_function(
        "strftime_now",
        |format: String| -> Result<String, minijinja::Error> {
            jiff::fmt::strtime::format(&format, &jiff::Zoned::now())
                .map_err(|e| minijinja::Error::new(ErrorKind::InvalidOperation, e.to_string()))
        },
    );
    // arguments like `ensure_ascii` and `indent` change nothing that a model cares about
    environment.add_filter(
        "tojson",
        |value: Value, _: Kwargs| -> Result<String, minijinja::Error> {
            serde_json::to_string(&value)
                .map_err(|e| minijinja::Error::new(ErrorKind::InvalidOperation, e.to_string()))
        },
    );
    environment.add_template_owned(NAME, source)?;
    Ok(environment)
}

fn describe(error: &minijinja::Error) -> String {
    let line = error
        .line()
        .map_or_else(String::new, |line| format!(" (line {line})"));
    match error.detail() {
        Some(detail) => format!("{detail}{line}"),
        None => format!("{error}{line}"),
    }
}

/// A character that no message contains: one of Unicode's noncharacters, or else a private one.
fn guard(messages: &[ChatMessage]) -> char {
    ('\u{fdd0}'..='\u{fdef}')
        .chain('\u{f0000}'..='\u{ffffd}')
        .find(|c| messages.iter().all(|m| !m.content.contains(*c)))
        .unwrap_or('\u{fdd0}')
}

fn shield(content: &str, guard: char, vocabulary: &Vocabulary) -> String {
    let body = content.trim_start();
    let mut out = content[..content.len() - body.len()].to_owned();
    if !body.is_empty() {
        out.push(guard);
    }
    for (at, c) in body.char_indices() {
        out.push(c);
        if vocabulary.control_could_begin(&body[at..]) {
            out.push(guard);
        }
    }
    out
}

/// The system texts in front of the first user message.
fn merged(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let (system, mut rest): (Vec<_>, Vec<_>) = messages
        .iter()
        .cloned()
        .partition(|m| m.role == ChatRole::System);
    let system: Vec<String> = system.into_iter().map(|m| m.content).collect();
    match rest.first_mut() {
        Some(first) => first.content = format!("{}\n\n{}", system.join("\n\n"), first.content),
        None => rest.push(ChatMessage {
            role: ChatRole::User,
            content: system.join("\n\n"),
        }),
    }
    rest
}

/// Labelled text, for checkpoints without a template.
fn plain(messages: &[ChatMessage]) -> String {
    let mut out = String::new();
    for message in messages {
        let label = match message.role {
            ChatRole::System => "System",
            ChatRole::User => "User",
        };
        out += &format!("{label}: {}\n\n", message.content.trim());
    }
    out + "Assistant:"
}
