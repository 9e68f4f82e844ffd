//! A checkpoint's way with text: its vocabulary and its chat template, without its weights.

use super::chat_template::{ChatTemplate, PromptError};
use super::tokenizer::Vocabulary;
use crate::engine::contract::{ChatMessage, EngineError, TokenId};

/// Text to tokens and back.
pub struct Text {
    vocabulary: Vocabulary,
    template: ChatTemplate,
    /// Token ids below this exist in the model.
    vocab: usize,
}

impl Text {
    /// Put the parts together, for a model that knows `vocab` tokens.
    #[must_use]
    pub fn new(vocabulary: Vocabulary, template: ChatTemplate, vocab: usize) -> Self {
        Self {
            vocabulary,
            template,
            vocab,
        }
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// See [`crate::engine::Engine::encode`].
    ///
    /// # Errors
    /// As there.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        let tokens = self.vocabulary.encode(text).map_err(EngineError::Encode)?;
        self.checked(tokens)
    }

    /// See [`crate::engine::Engine::prompt`].
    ///
    /// # Errors
    /// As there.
    pub fn prompt(
        &self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        let tokens = self
            .template
            .prompt(messages, thinking, &self.vocabulary)
            .map_err(|e| match e {
                PromptError::Template(why) => EngineError::Template(why),
                PromptError::Encode(why) => EngineError::Encode(why),
            })?;
        self.checked(tokens)
    }

    fn checked(&self, tokens: Vec<TokenId>) -> Result<Vec<TokenId>, EngineError> {
        match tokens.iter().find(|t| **t as usize >= self.vocab) {
            None => Ok(tokens),
            Some(token) => Err(EngineError::Encode(format!(
                "the tokenizer makes token {token}, but the model knows only {}",
                self.vocab
            ))),
        }
    }
}
