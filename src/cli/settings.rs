//! Options that can come from a flag, the environment or the config file, in this order of precedence.
//!
//! One struct serves all three: clap reads flags and `ORGTOP_*` variables into it, serde the file, and
//! [`RunOptions::or`] / [`ScreenOptions::or`] lay one over the other.

mod config_file;

pub use config_file::{ConfigFile, SessionOptions, config_folder};

use crate::engine::Sampling;
use crate::engine::remote::Template;
use crate::live::RunConfig;
use crate::org::MAX_DEPTH;
use crate::record::{Limits, Merge, Policy, PoolPolicy};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use std::path::PathBuf;

macro_rules! layered {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)* }) => {
        #[derive(Debug, Clone, PartialEq, Default, Args, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: Option<$type>,)*
        }

        impl $name {
            /// These options, and `below` where they say nothing.
            #[must_use]
            pub fn or(self, below: Self) -> Self {
                Self { $($field: self.$field.or(below.$field),)* }
            }
        }
    };
}

layered! {
    /// How to run an organization.
    pub struct RunOptions {
        /// Model to run: a folder of safetensors, a .safetensors or a .gguf file, or a pulled OWNER/NAME or OWNER/NAME:FILE
        #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
        pub model: PathBuf,
        /// Server to decode with instead (vLLM, SGLang, llama.cpp's, Ollama): its URL, or its name in the config
        /// file; --model is then the name of a model there
        #[arg(long, value_name = "URL", env = "ORGTOP_SERVER")]
        pub server: String,
        /// How a server's prompts are written [default: found out]
        #[arg(long, env = "ORGTOP_TEMPLATE", value_parser = words::<Template>(&Template::WORDS))]
        pub template: Template,
        /// How the organization is driven [default: asyncthink]
        #[arg(long, env = "ORGTOP_POLICY", value_parser = words::<Policy>(&["asyncthink", "sequential", "parallel"]))]
        pub policy: Policy,
        /// Copies of the query under --policy parallel [default: 3]
        #[arg(long, env = "ORGTOP_K", value_parser = clap::value_parser!(u32).range(1..=1023))]
        pub k: u32,
        /// Who writes the answer under --policy parallel: the model, or a rule that knows nothing of right and wrong
        /// (needs --task) [default: model]
        #[arg(long, env = "ORGTOP_MERGE", value_parser = words::<Merge>(&["model", "rule"]))]
        pub merge: Merge,
        /// The organizer and up to CAPACITY-1 workers at once [default: 4; k+1 for parallel]
        #[arg(long, short = 'c', env = "ORGTOP_CAPACITY", value_parser = clap::value_parser!(u32).range(1..=1024))]
        pub capacity: u32,
        /// How deep workers nest: with 2, workers may fork and join sub-workers of their own [default: 1]
        #[arg(long, value_name = "N", env = "ORGTOP_DEPTH", value_parser = clap::value_parser!(u8).range(1..=MAX_DEPTH as i64))]
        pub depth: u8,
        /// What a fork does when no slot is free [default: wait]
        #[arg(long, env = "ORGTOP_POOL", value_parser = words::<PoolPolicy>(&["wait", "error"]))]
        pub pool: PoolPolicy,
        /// End the run at the first format error
        #[arg(long, env = "ORGTOP_STRICT", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub strict: bool,
        /// Forbid illegal actions of the organizer before they happen
        #[arg(long, env = "ORGTOP_GUARD", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub guard: bool,
        /// Turn on the checkpoint's thinking mode, where it has one
        #[arg(long, env = "ORGTOP_THINKING", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub thinking: bool,
        /// Seed of every draw [default: drawn anew and recorded]
        #[arg(long, env = "ORGTOP_SEED")]
        pub seed: u64,
        /// Sampling temperature; 0 is greedy [default: 0.7]
        #[arg(long, env = "ORGTOP_TEMPERATURE", value_parser = at_least_zero)]
        pub temperature: f32,
        /// Sample among the N most likely tokens only
        #[arg(long, value_name = "N", env = "ORGTOP_TOP_K", value_parser = clap::value_parser!(u32).range(1..))]
        pub top_k: u32,
        /// Sample among the most likely tokens that together reach P [default: 0.95]
        #[arg(long, value_name = "P", env = "ORGTOP_TOP_P", value_parser = share)]
        pub top_p: f32,
        /// Drop tokens less likely than P times the most likely one
        #[arg(long, value_name = "P", env = "ORGTOP_MIN_P", value_parser = share)]
        pub min_p: f32,
        /// Penalty on tokens already decoded; 1 is none [default: 1]
        #[arg(long, value_name = "X", env = "ORGTOP_REPETITION_PENALTY", value_parser = at_least_zero)]
        pub repetition_penalty: f32,
        /// Alternatives recorded with each token, for the inspector [default: 0]
        #[arg(long, value_name = "N", env = "ORGTOP_ALTERNATIVES", value_parser = clap::value_parser!(u8).range(0..=20))]
        pub alternatives: u8,
        /// Tokens the organizer may decode [default: 2048]
        #[arg(long, value_name = "N", env = "ORGTOP_MAX_ORGANIZER", value_parser = clap::value_parser!(u64).range(1..))]
        pub max_organizer: u64,
        /// Tokens each worker may decode [default: 512]
        #[arg(long, value_name = "N", env = "ORGTOP_MAX_WORKER", value_parser = clap::value_parser!(u64).range(1..))]
        pub max_worker: u64,
        /// Limit decoding to N tokens a second and thread; 0 is no limit [default: 0]
        #[arg(long, value_name = "N", env = "ORGTOP_SPEED")]
        pub speed: u32,
        /// Where to compute [default: auto]
        #[arg(long, env = "ORGTOP_DEVICE", value_parser = PossibleValuesParser::new(["auto", "cpu", "cuda", "metal"]))]
        pub device: String,
        /// Compute threads [default: one per core]
        #[arg(long, value_name = "N", env = "ORGTOP_THREADS", value_parser = clap::value_parser!(u16).range(1..=1024))]
        pub threads: u16,
        /// Memory for cached keys and values, in MiB [default: a quarter of the machine's, 1024 at most]
        #[arg(long, value_name = "MIB", env = "ORGTOP_CACHE_MIB", value_parser = clap::value_parser!(u32).range(1..))]
        pub cache_mib: u32,
        /// Load a model even if it does not seem to fit into memory
        #[arg(long, env = "ORGTOP_OVERCOMMIT", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub overcommit: bool,
        /// Longest context in tokens [default: the model's]
        #[arg(long, value_name = "N", env = "ORGTOP_CONTEXT", value_parser = clap::value_parser!(u32).range(64..))]
        pub context: u32,
    }
}

layered! {
    /// How the screen looks and behaves.
    #[command(next_help_heading = "Screen")]
    pub struct ScreenOptions {
        /// Theme: terminal, mono, high-contrast, one of the others built in, or a file of yours
        #[arg(long, global = true, value_name = "NAME", env = "ORGTOP_THEME")]
        pub theme: String,
        /// Draw with ASCII characters only
        #[arg(long, global = true, env = "ORGTOP_ASCII", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub ascii: bool,
        /// Nothing moves but text
        #[arg(long, global = true, env = "ORGTOP_NO_ANIMATION", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub no_animation: bool,
        /// Take mouse clicks and the wheel [default: true]
        #[arg(long, global = true, env = "ORGTOP_MOUSE", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub mouse: bool,
        /// A log of lines instead of a screen (also when there is no terminal)
        #[arg(long, global = true, env = "ORGTOP_PLAIN", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
        pub plain: bool,
    }
}

/// A parser for an enum that serde knows by these words.
pub(super) fn words<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words)
        .try_map(|word| serde_json::from_value::<T>(serde_json::Value::String(word)))
}

/// Reads a number of 0 or more.
pub(super) fn at_least_zero(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => Err("expected a number of 0 or more".into()),
    }
}

/// Reads a number above 0 and up to 1.
pub(super) fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if x > 0.0 && x <= 1.0 => Ok(x),
        _ => Err("expected a number above 0 and up to 1".into()),
    }
}

impl RunOptions {
    /// What these options ask of a run on `query`. `fresh_seed` is used where none is given.
    #[must_use]
    pub fn config(&self, query: String, fresh_seed: u64) -> RunConfig {
        let base = RunConfig::default();
        let sampling = Sampling {
            temperature: self.temperature.unwrap_or(base.sampling.temperature),
            top_k: self.top_k,
            top_p: self.top_p.or(base.sampling.top_p),
            min_p: self.min_p,
            repetition_penalty: self
                .repetition_penalty
                .unwrap_or(base.sampling.repetition_penalty),
            seed: self.seed.unwrap_or(fresh_seed),
            alternatives: self.alternatives.unwrap_or(base.sampling.alternatives),
        };
        RunConfig {
            query,
            task: None,
            policy: self.policy.unwrap_or(base.policy),
            k: self.k.unwrap_or(base.k),
            merge: self.merge.unwrap_or(base.merge),
            capacity: self.capacity,
            pool: self.pool.unwrap_or(base.pool),
            strict: self.strict.unwrap_or(base.strict),
            guard: self.guard.unwrap_or(base.guard),
            thinking: self.thinking.unwrap_or(base.thinking),
            sampling,
            limits: Limits {
                organizer: self.max_organizer.unwrap_or(base.limits.organizer),
                worker: self.max_worker.unwrap_or(base.limits.worker),
                depth: self.depth.unwrap_or(base.limits.depth),
            },
            tokens_per_s: self.speed.unwrap_or(base.tokens_per_s),
            ..base
        }
    }
}
