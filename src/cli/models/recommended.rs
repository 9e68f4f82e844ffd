//! `orgtop models recommended`

use super::size;
use crate::cli::{Exit, output};
use crate::hub::{MEMORY_THREADS, MEMORY_TOKENS, recommended};

/// Lists what suits an organization.
///
/// # Errors
/// When stdout takes nothing.
pub fn run(json: bool) -> anyhow::Result<Exit> {
    let list = recommended();
    if json {
        output::json(&list)?;
        return Ok(Exit::Done);
    }
    output::line(&format!(
        "{:>9}  {:>10}  orgtop models pull …",
        "file", "memory"
    ))?;
    for entry in &list {
        let gated = if entry.gated {
            "  (gated: needs HF_TOKEN)"
        } else {
            ""
        };
        output::line(&format!(
            "{:>9}  {:>10}  {}{gated}",
            size(entry.file_bytes),
            size(entry.memory_bytes),
            entry.pull
        ))?;
    }
    output::line(&format!(
        "\nEstimates from the shapes of the networks. Memory: the weights, and keys and values of \
         {MEMORY_THREADS} threads\nof {MEMORY_TOKENS} tokens each. Without a file: safetensors in bf16."
    ))?;
    Ok(Exit::Done)
}
