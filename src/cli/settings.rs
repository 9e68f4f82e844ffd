//! Options that can come from a flag, the environment or the config file, in this order of precedence.
//!
//! One struct serves all three: clap reads flags and `ORGTOP_*` variables into it, serde the file, and
//! [`RunOptions::or`] / [`ScreenOptions::or`] lay one over the other.

use crate::engine::Sampling;
use crate::engine::remote::{ServerOptions, Template};
use crate::live::{RunConfig, ToolSet};
use crate::org::MAX_DEPTH;
use crate::record::{Limits, Merge, Policy, PoolPolicy};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// The config file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// `[run]`: the flags of `run`, with `_` for `-`.
    pub run: RunOptions,
    /// `[screen]`: theme, ascii, no_animation, mouse, plain.
    pub screen: ScreenOptions,
    /// `[sessions]`: where sessions go.
    pub sessions: SessionOptions,
    /// `[tools.NAME]`: programs that can take a worker's seat.
    pub tools: ToolSet,
    /// `[servers.NAME]`: servers that can decode.
    pub servers: BTreeMap<String, ServerOptions>,
}

/// Where sessions go.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionOptions {
    /// Folder of recorded sessions.
    pub folder: Option<PathBuf>,
    /// Whether to record live runs.
    pub record: Option<bool>,
}

/// The config folder: `$XDG_CONFIG_HOME/orgtop` or what the platform uses.
#[must_use]
pub fn config_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy()
        .ok()
        .map(|base| base.config_dir().join("orgtop"))
}

impl ConfigFile {
    /// Reads the config file: `path` if given (then it must exist), else the one in the config folder.
    ///
    /// # Errors
    /// Unreadable, not TOML, unknown entries or values out of range; with file and line.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let (path, required) = match path {
            Some(path) => (path.to_owned(), true),
            None => match config_folder() {
                Some(folder) => (folder.join("config.toml"), false),
                None => return Ok(Self::default()),
            },
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if !required && e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(e) => anyhow::bail!("{}: cannot read the config file: {e}", path.display()),
        };
        let config: Self = toml::from_str(&text).map_err(|e| {
            let line = e.span().map_or(1, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            });
            anyhow::anyhow!("{}, line {line}: {}", path.display(), e.message())
        })?;
        config
            .check()
            .map_err(|message| anyhow::anyhow!("{}: {message}", path.display()))?;
        Ok(config)
    }

    /// The ranges that flags check by themselves.
    fn check(&self) -> Result<(), String> {
        for (name, server) in &self.servers {
            server
                .check()
                .map_err(|why| format!("servers.{name}: {why}"))?;
        }
        let run = &self.run;
        let range = |name: &str, value: Option<u64>, low: u64, high: u64| match value {
            Some(v) if v < low && high == u64::MAX => {
                Err(format!("run.{name} is {v}; expected {low} or more"))
            }
            Some(v) if v < low || v > high => {
                Err(format!("run.{name} is {v}; expected {low} to {high}"))
            }
            _ => Ok(()),
        };
        range("capacity", run.capacity.map(u64::from), 1, 1024)?;
        range("depth", run.depth.map(u64::from), 1, MAX_DEPTH as u64)?;
        range("k", run.k.map(u64::from), 1, 1023)?;
        range("top_k", run.top_k.map(u64::from), 1, u64::MAX)?;
        range("max_organizer", run.max_organizer, 1, u64::MAX)?;
        range("max_worker", run.max_worker, 1, u64::MAX)?;
        range("alternatives", run.alternatives.map(u64::from), 0, 20)?;
        range("cache_mib", run.cache_mib.map(u64::from), 1, u64::MAX)?;
        range("context", run.context.map(u64::from), 64, u64::MAX)?;
        range("threads", run.threads.map(u64::from), 1, 1024)?;
        for (name, value) in [
            ("temperature", run.temperature),
            ("repetition_penalty", run.repetition_penalty),
        ] {
            if value.is_some_and(|x| !x.is_finite() || x < 0.0) {
                return Err(format!("run.{name} must be 0 or more"));
            }
        }
        for (name, value) in [("top_p", run.top_p), ("min_p", run.min_p)] {
            if value.is_some_and(|x| !(x > 0.0 && x <= 1.0)) {
                return Err(format!("run.{name} must be above 0 and up to 1"));
            }
        }
        if let Some(device) = &run.device
            && !["auto", "cpu", "cuda", "metal"].contains(&device.as_str())
        {
            return Err(format!(
                "run.device is `{device}`; expected auto, cpu, cuda or metal"
            ));
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> anyhow::Result<ConfigFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        ConfigFile::load(Some(&path))
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let file = load("[run]\ncapacity = 8\ntemperature = 0.5").unwrap().run;
        let flags = RunOptions {
            capacity: Some(2),
            ..RunOptions::default()
        };
        let options = flags.or(file);
        assert_eq!(
            (options.capacity, options.temperature),
            (Some(2), Some(0.5))
        );
    }

    #[test]
    fn bad_entries_are_named_with_their_line() {
        for (text, expected) in [
            ("[run]\n\ncapcity = 3", "line 3"),
            ("[run]\npolicy = \"chaos\"", "line 2"),
            ("[run]\ncapacity = 0", "expected 1 to 1024"),
            ("[run]\ndepth = 9", "expected 1 to 4"),
            ("[run]\ncapacity = \"x\"", "line 2"),
            ("[run]\ntop_k = 0", "expected 1 or more"),
            ("[run]\ntop_p = 2.0", "up to 1"),
            ("nonsense", "line 1"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.contains("config.toml"), "{error}");
        }
    }

    #[test]
    fn tools_are_named_with_what_they_run_and_their_limits() {
        let tools = load("[tools.wc]\ncommand = [\"wc\", \"-w\"]\ntimeout_s = 2")
            .unwrap()
            .tools;
        let tool = &tools["wc"];
        assert_eq!(tool.timeout, std::time::Duration::from_secs(2));
        assert_eq!(tool.output, 64 * 1024);
        for (text, expected) in [
            ("[tools.x]", "a tool has either"),
            ("[tools.x]\ncommand = []", "a tool has either"),
            (
                "[tools.x]\ncommand = [\"a\"]\nshell = \"b\"",
                "a tool has either",
            ),
            ("[tools.x]\ncommand = [\"a\"]\ntimeout_s = 0", "1 or more"),
            ("[tools.x]\ncommand = [\"a\"]\ntimeout = 3", "timeout"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_was_asked_for_must_exist() {
        let error = ConfigFile::load(Some(Path::new("/no/such/config.toml"))).unwrap_err();
        assert!(error.to_string().contains("/no/such/config.toml"));
    }
}
