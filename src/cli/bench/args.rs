//! Arguments of `bench`.

use clap::Args;
use std::path::PathBuf;

/// Most sequences at once.
const WIDEST: u32 = 256;

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Model on disk instead of the one inside orgtop: a folder or a .gguf file
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Numbers of sequences that decode at once
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 4, 8, 16], value_parser = clap::value_parser!(u32).range(1..=i64::from(WIDEST)))]
    pub widths: Vec<u32>,
    /// Tokens that each sequence decodes
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub tokens: u32,
    /// Tokens of each prompt
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub prompt: u32,
    /// How often everything is measured, in turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Computing threads [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Where to compute: cpu, cuda, metal [default: a GPU if there is one]
    #[arg(long, value_parser = ["cpu", "cuda", "metal"])]
    pub device: Option<String>,
    /// Run the same load on a server, in turns with this machine
    #[arg(long, value_name = "URL")]
    pub vs: Option<String>,
    /// The server's model, if it has several
    #[arg(long, value_name = "NAME", requires = "vs")]
    pub vs_model: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
