//! What a thread was really given at its beginning.
//!
//! Most models are given instructions and a query. A model that was trained on a format of its own is given no
//! instructions, whatever the header of the session says; which of the two it was is told from what is recorded.

use crate::engine::embedded;
use crate::learn::words::Vocabulary;
use crate::record::Header;

/// What a thread was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Instructions and a query.
    Instructions(String),
    /// A prompt in the format its model was trained on: its text, where that can be had.
    OwnFormat(Option<String>),
}

/// What was given with `instructions` in the header and `prompt` recorded.
#[must_use]
pub fn given(header: &Header, instructions: &str, prompt: &[u32]) -> Given {
    if let Some(text) = text(header, prompt) {
        return Given::OwnFormat(Some(text));
    }
    // No tokenizer makes one token of two words.
    let words = instructions.split_whitespace().count();
    if !prompt.is_empty() && prompt.len() < words {
        Given::OwnFormat(None)
    } else {
        Given::Instructions(instructions.to_owned())
    }
}

/// The text of a prompt in the words of the embedded model. Tokens of a server are none of them.
fn text(header: &Header, prompt: &[u32]) -> Option<String> {
    if prompt.is_empty() || header.engine.model.tokenizer_sha256 != embedded::tokenizer_sha256() {
        return None;
    }
    let vocabulary = Vocabulary::get();
    let words = prompt.iter().map(|id| vocabulary.show(&[*id]));
    words
        .map(|word| Some(word).filter(|word| !word.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineCard;
    use crate::live::RunConfig;

    fn header(tokenizer: &str) -> Header {
        let mut card = EngineCard::default();
        card.model.tokenizer_sha256 = tokenizer.to_owned();
        RunConfig::default().header("calm-otter".into(), String::new(), &card)
    }

    fn of(header: &Header, prompt: &[u32]) -> Given {
        given(header, &header.prompts.organizer, prompt)
    }

    #[test]
    fn the_embedded_model_is_given_what_its_recorded_tokens_say() {
        let header = header(embedded::tokenizer_sha256());
        let text = "<|organizer|> 3<|query|>countdown 12 6 5 4 = 14<|think|>";
        assert_eq!(
            of(&header, &[2, 302, 5, 503, 311, 305, 304, 303, 440, 313, 6]),
            Given::OwnFormat(Some(text.to_owned()))
        );
    }

    #[test]
    fn a_server_beside_the_embedded_model_is_given_instructions() {
        let header = header(embedded::tokenizer_sha256());
        let prompt: Vec<u32> = (1 << 24..(1 << 24) + 900).collect();
        assert!(matches!(of(&header, &prompt), Given::Instructions(text) if !text.is_empty()));
    }

    #[test]
    fn a_prompt_too_short_for_the_instructions_did_not_hold_them() {
        assert_eq!(of(&header("another"), &[4, 503, 6]), Given::OwnFormat(None));
    }

    #[test]
    fn a_prompt_that_is_not_recorded_says_nothing_against_instructions() {
        assert!(matches!(
            of(&header("another"), &[]),
            Given::Instructions(_)
        ));
    }
}
