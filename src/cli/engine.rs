//! From flags to an engine that is built where it will run.

use super::Usage;
use super::settings::RunOptions;
use crate::engine::local::{self, AttentionPath, DeviceChoice};
use crate::engine::remote::{self, Caps, ServerOptions};
use crate::engine::{Engine, EngineError, EngineThread, Script, Scripted, embedded};
use crate::hub;
use crate::live::OpenEngine;
use crate::org::ThreadId;
use crate::record::Limits;
use crate::small_file::{self, Pipes};
use anyhow::Context;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Prompt tokens of a step where many sessions decode at once.
const MANY_PREFILL_ROWS: usize = 512;

/// What decodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A checkpoint on disk.
    Model(PathBuf),
    /// A script.
    Script(PathBuf),
    /// A server.
    Server(Box<ServerOptions>),
    /// The small model inside the binary.
    Embedded,
}

/// Whether the model in the binary has learned what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedded {
    /// It has.
    Serves,
    /// It has not.
    DoesNotServe,
}

impl Embedded {
    /// It knows countdown, and nothing else.
    #[must_use]
    pub fn for_query(query: &str) -> Self {
        if query.starts_with("countdown ") {
            Self::Serves
        } else {
            Self::DoesNotServe
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(path) | Self::Script(path) => f.write_str(&file_name(path)),
            Self::Embedded => f.write_str(embedded::NAME),
            Self::Server(server) => f.write_str(server.model.as_deref().unwrap_or(&server.url)),
        }
    }
}

impl Source {
    /// The server if one is given, else what [`Source::choose`] says.
    ///
    /// # Errors
    /// [`Usage`] if there is none, or two.
    pub fn choose_with(
        server: Option<ServerOptions>,
        model: Option<PathBuf>,
        script: Option<PathBuf>,
        serves: Embedded,
    ) -> Result<Self, Usage> {
        match (server, script) {
            (Some(_), Some(_)) => Err(Usage(
                "--script plays instead of a server: it cannot be used with --server".into(),
            )),
            (Some(server), None) => Ok(Self::Server(Box::new(server))),
            (None, script) => Self::choose(model, script, serves),
        }
    }

    /// The script if one is given, else the model, else the one in the binary if it can serve.
    ///
    /// # Errors
    /// [`Usage`] if there is none.
    pub fn choose(
        model: Option<PathBuf>,
        script: Option<PathBuf>,
        serves: Embedded,
    ) -> Result<Self, Usage> {
        match (script, model) {
            (Some(script), _) => Ok(Self::Script(script)),
            (None, Some(model)) => Ok(Self::Model(model)),
            (None, None) if serves == Embedded::Serves => Ok(Self::Embedded),
            (None, None) => Err(Usage(
                "no model for this: the one inside orgtop only knows countdown (\"countdown 10 6 5 3 = 30\"). \
                 Give --model PATH (a folder of safetensors or a .gguf file), set it in the \
                 config file, or play a script with --script FILE; `orgtop models` lists what is on \
                 this machine, `orgtop models recommended` what can be pulled"
                    .into(),
            )),
        }
    }

    /// How to open it, on whichever thread. Scripts are read now, so that their errors show at once.
    ///
    /// # Errors
    /// An unreadable or malformed script; a model path that does not exist.
    pub fn open(&self, options: &RunOptions) -> anyhow::Result<OpenEngine> {
        self.open_with(local_options(options)?, caps(options))
    }

    /// The same for many sessions at once, of which some are always at their prompt.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_for_many(&self, options: &RunOptions) -> anyhow::Result<OpenEngine> {
        let local = local::Options {
            prefill_rows: Some(MANY_PREFILL_ROWS),
            ..local_options(options)?
        };
        self.open_with(local, caps(options))
    }

    fn open_with(&self, options: local::Options, caps: Caps) -> anyhow::Result<OpenEngine> {
        match self {
            Self::Script(path) => {
                let script = read_script(path)?;
                let name = file_name(path);
                Ok(Box::new(move || {
                    Ok(Box::new(Scripted::new(script, &name)) as Box<dyn Engine>)
                }))
            }
            Self::Server(server) => {
                let server = server.clone();
                Ok(Box::new(move || {
                    Ok(Box::new(remote::connect(&server, caps)?) as Box<dyn Engine>)
                }))
            }
            Self::Embedded => Ok(Box::new(move || {
                let engine = EngineThread::spawn("engine", move || embedded::open(&options))?;
                Ok(Box::new(engine) as Box<dyn Engine>)
            })),
            Self::Model(path) => {
                let path = located(path)?;
                Ok(Box::new(move || open_local(path, options)))
            }
        }
    }
}

fn read_script(path: &Path) -> anyhow::Result<Script> {
    let text = small_file::read(path, Pipes::Read, small_file::LONGEST_MADE)
        .with_context(|| format!("{}: cannot read the script", path.display()))?;
    let script = Script::parse(&text, &path.display().to_string())?;
    for thread in script.threads() {
        anyhow::ensure!(
            thread.parse::<ThreadId>().is_ok(),
            "{}: `{thread}` is no thread; expected `organizer`, `1`, `2`, … or `2.1`",
            path.display()
        );
    }
    Ok(script)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    )
}

/// What every request to a server is capped by.
#[must_use]
pub fn caps(options: &RunOptions) -> Caps {
    let usual = Limits::default();
    Caps {
        organizer: options.max_organizer.unwrap_or(usual.organizer),
        worker: options.max_worker.unwrap_or(usual.worker),
    }
}

/// Where to compute, as a flag or an entry names it.
#[must_use]
pub fn device_choice(device: Option<&str>) -> DeviceChoice {
    match device {
        Some("cpu") => DeviceChoice::Cpu,
        Some("cuda") => DeviceChoice::Cuda(0),
        Some("metal") => DeviceChoice::Metal(0),
        _ => DeviceChoice::Auto,
    }
}

/// How attention is computed, as `ORGTOP_ATTENTION` asks.
fn attention_path(asked: Option<&OsStr>) -> Result<AttentionPath, Usage> {
    match asked {
        None => Ok(AttentionPath::ByDevice),
        Some(asked) if asked.is_empty() => Ok(AttentionPath::ByDevice),
        Some(asked) if asked == "portable" => Ok(AttentionPath::Gathered),
        Some(asked) => Err(Usage(format!(
            "ORGTOP_ATTENTION is `{}`; expected portable, or nothing",
            asked.display()
        ))),
    }
}

fn local_options(options: &RunOptions) -> Result<local::Options, Usage> {
    Ok(local::Options {
        device: device_choice(options.device.as_deref()),
        attention: attention_path(std::env::var_os("ORGTOP_ATTENTION").as_deref())?,
        cache_bytes: options
            .cache_mib
            .map(|mib| (mib as usize).saturating_mul(1 << 20)),
        max_context: options.context.map(|n| n as usize),
        overcommit: options.overcommit.unwrap_or(false),
        ..local::Options::default()
    })
}

/// Opens a checkpoint on a thread of its own.
///
/// # Errors
/// Whatever is wrong with it.
pub fn open_model(path: &Path, options: &RunOptions) -> Result<Box<dyn Engine>, EngineError> {
    let path = located(path).map_err(|e| EngineError::Model {
        path: path.display().to_string(),
        message: e.to_string(),
    })?;
    let options = local_options(options).map_err(|e| EngineError::Device(e.to_string()))?;
    open_local(path, options)
}

/// The checkpoint that `--model` names: a path, or a repository that was pulled.
///
/// # Errors
/// When neither is there; with what gets it.
pub fn located(model: &Path) -> anyhow::Result<PathBuf> {
    if model.exists() {
        return Ok(model.to_owned());
    }
    hub::pulled(model)?.with_context(|| {
        format!(
            "{}: no such file or folder; --model takes a folder with config.json and safetensors, a .gguf file, or \
             OWNER/NAME[:FILE] as pulled by `orgtop models pull`",
            model.display()
        )
    })
}

fn open_local(path: PathBuf, options: local::Options) -> Result<Box<dyn Engine>, EngineError> {
    let engine = EngineThread::spawn("engine", move || local::open(&path, &options))?;
    Ok(Box::new(engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_is_asked_for_by_a_word_or_not_at_all() {
        let path = |asked: Option<&str>| attention_path(asked.map(OsStr::new)).ok();
        assert_eq!(path(None), Some(AttentionPath::ByDevice));
        assert_eq!(path(Some("")), Some(AttentionPath::ByDevice));
        assert_eq!(path(Some("portable")), Some(AttentionPath::Gathered));
        assert_eq!(path(Some("fast")), None);
    }
}
