//! The small model inside the binary.
//!
//! It is an ordinary checkpoint folder. It is written to a temporary folder for the moment of loading, so that it
//! takes the same way as any other, and hostile or not makes no difference to the loader.

use super::contract::{Engine, EngineError};
use super::local::{self, Options};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::OnceLock;

/// What it is called.
pub const NAME: &str = "organizer-0.8M";

/// Its parameters.
pub const PARAMETERS: u64 = 804_224;

/// Tokens of its context.
pub const CONTEXT: usize = 2048;

const FILES: [(&str, &[u8]); 6] = [
    (
        "config.json",
        include_bytes!("../../assets/model/config.json"),
    ),
    (
        "model.safetensors",
        include_bytes!("../../assets/model/model.safetensors"),
    ),
    (
        "tokenizer.json",
        include_bytes!("../../assets/model/tokenizer.json"),
    ),
    (
        "tokenizer_config.json",
        include_bytes!("../../assets/model/tokenizer_config.json"),
    ),
    (
        "generation_config.json",
        include_bytes!("../../assets/model/generation_config.json"),
    ),
    (
        "chat_template.jinja",
        include_bytes!("../../assets/model/chat_template.jinja"),
    ),
];

/// Opens it.
///
/// # Errors
/// [`EngineError::Model`] when the temporary folder cannot be written; whatever [`local::open`] gives.
pub fn open(options: &Options) -> Result<Box<dyn Engine>, EngineError> {
    let scratch = tempfile::tempdir().map_err(|e| failed(&std::env::temp_dir(), &e))?;
    let folder = scratch.path().join(NAME);
    write_to(&folder)?;
    local::open(&folder, options)
}

/// Writes it as an ordinary checkpoint folder.
///
/// # Errors
/// [`EngineError::Model`] when the folder cannot be written.
pub fn write_to(folder: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
    for (name, bytes) in FILES {
        let file = folder.join(name);
        std::fs::write(&file, bytes).map_err(|e| failed(&file, &e))?;
    }
    Ok(())
}

/// SHA-256 of its tokenizer, hex, as the header of a session has it.
#[must_use]
pub fn tokenizer_sha256() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let bytes = FILES.iter().find(|(name, _)| *name == "tokenizer.json");
        format!("{:x}", Sha256::digest(bytes.map_or(&[][..], |f| f.1)))
    })
}

fn failed(path: &Path, e: &std::io::Error) -> EngineError {
    EngineError::Model {
        path: path.display().to_string(),
        message: format!("cannot write the embedded model there: {e}"),
    }
}

/// Its size in the binary.
#[must_use]
pub fn bytes() -> u64 {
    FILES.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_it_is_said_to_be() {
        let engine = open(&Options::default()).unwrap();
        let model = &engine.card().model;
        assert_eq!(model.name, NAME);
        assert_eq!((model.parameters, model.context), (PARAMETERS, CONTEXT));
        assert_eq!(model.tokenizer_sha256, tokenizer_sha256());
    }
}
