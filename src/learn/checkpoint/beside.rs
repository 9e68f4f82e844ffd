//! What stands in a model folder beside config and weights: the tokenizer and its companions.

use super::{Error, write_atomically};
use serde_json::Value;
use std::path::Path;

/// Files of a model folder beside config, weights and tokenizer; not every checkpoint has all of them.
const COMPANIONS: [&str; 3] = [
    "tokenizer_config.json",
    "generation_config.json",
    "chat_template.jinja",
];

/// `tokenizer.json` of a model folder.
///
/// # Errors
/// When it is missing or no JSON.
pub fn read_tokenizer(folder: &Path) -> Result<Value, Error> {
    let path = folder.join("tokenizer.json");
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
    serde_json::from_slice(&bytes).map_err(|e| Error::content(&path, e))
}

/// Copies the companions that `from` has.
///
/// # Errors
/// When the file system refuses.
pub fn copy_companions(from: &Path, to: &Path) -> Result<(), Error> {
    for name in COMPANIONS {
        let from = from.join(name);
        match std::fs::read(&from) {
            Ok(bytes) => write_atomically(&to.join(name), &bytes)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(&from, e)),
        }
    }
    Ok(())
}
