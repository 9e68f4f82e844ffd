//! The small model: its shape, and the folder it becomes.

use super::dataset::Threads;
use super::words;
use super::words_folder::folder_files;
use crate::engine::local::config::Config;
use serde_json::{Value, json};
use std::path::Path;

/// Tokens of its context.
const CONTEXT: usize = 2048;

/// Its `config.json`.
#[must_use]
pub fn config_json() -> Value {
    json!({
        "model_type": "qwen3",
        "hidden_size": 128,
        "intermediate_size": 352,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": words::SIZE,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": true,
    })
}

/// Its shape.
///
/// # Errors
/// When the engine does not take it; a test sees to it that it does.
pub fn config() -> Result<Config, String> {
    Config::from_hf(&config_json())
}

/// Its `tokenizer.json`.
///
/// # Errors
/// When the words do not make one; a test sees to it that they do.
pub fn tokenizer() -> Result<Value, String> {
    let files = folder_files(Threads::Organization);
    let text = files
        .iter()
        .find(|(name, _)| *name == "tokenizer.json")
        .map_or("", |(_, text)| text);
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// Writes what a checkpoint folder needs beside config and weights.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_words(folder: &Path, threads: Threads) -> std::io::Result<()> {
    for (name, text) in folder_files(threads) {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_shape_and_words_are_sound() {
        let config = config().unwrap();
        assert_eq!(config.vocab, words::SIZE);
        assert!(tokenizer().unwrap().is_object());
    }
}
