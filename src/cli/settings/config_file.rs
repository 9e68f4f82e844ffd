//! The config file: where it is, what it may hold, and the ranges that flags check by themselves.

use super::{RunOptions, ScreenOptions};
use crate::engine::remote::ServerOptions;
use crate::live::ToolSet;
use crate::org::MAX_DEPTH;
use crate::small_file::{self, Pipes};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
        let text = match small_file::read(&path, Pipes::Refused, small_file::LONGEST) {
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
