//! Arguments of `models`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    /// Instead of listing
    #[command(subcommand)]
    pub verb: Option<ModelsVerb>,
    /// Folders and files to look at besides the Hugging Face cache [default: `models`, where there is such a folder]
    pub paths: Vec<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Verbs of `models`.
#[derive(Debug, Subcommand)]
pub enum ModelsVerb {
    /// Pull a checkpoint from the Hugging Face hub into its cache; an interrupted pull goes on where it stopped
    #[command(long_about = PULL_HELP)]
    Pull(PullArgs),
    /// What suits an organization, with estimates of size and memory
    Recommended {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `models pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// OWNER/NAME for safetensors with everything beside them, OWNER/NAME:FILE.gguf for one gguf file
    #[arg(value_name = "REPO[:FILE]")]
    pub name: String,
    /// Branch, tag or commit [default: main]
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const PULL_HELP: &str = "Pull a checkpoint from the Hugging Face hub into its cache. Its path goes to standard \
output; --model takes that path, or the same name.

What is pulled: config.json, tokenizer.json, the other small files that loading reads, and the safetensors; or one \
gguf file. Pickled weights are never taken. An interrupted pull goes on where it stopped. Sizes, and SHA-256 of large \
files, are checked.

HF_HOME and HF_HUB_CACHE say where the cache is, HF_TOKEN who asks (needed for gated models), HF_ENDPOINT which hub.";
