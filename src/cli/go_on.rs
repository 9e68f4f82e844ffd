//! What decodes where a recorded session is gone on with: `resume`, a take-over from `replay`, `rerun`.
//!
//! It should be what was recorded; another model is refused unless it is asked for.

use super::engine::{Embedded, Source};
use super::server;
use super::settings::ConfigFile;
use crate::engine::EngineError;
use crate::live::OpenEngine;
use crate::record::Header;
use clap::Args;
use std::path::PathBuf;

/// What is to decode from the recorded tokens on.
#[derive(Debug, Clone, Args)]
pub struct GoOnArgs {
    /// Model to decode with; the recorded weights must match
    #[arg(long, value_name = "PATH", env = "ORGTOP_MODEL")]
    pub model: Option<PathBuf>,
    /// Server to decode with [default: the recorded one]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Script to play
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Go on even if the model is not the recorded one
    #[arg(long)]
    pub other_model: bool,
}

impl GoOnArgs {
    /// What decodes on from the session of `header`.
    ///
    /// # Errors
    /// Nothing is given that can, or two things are.
    pub fn source(&self, header: &Header, config: &ConfigFile) -> anyhow::Result<Source> {
        let server = server::to_go_on(header, self.server.clone(), self.model.as_deref(), config)?;
        Ok(Source::choose_with(
            server,
            self.model.clone().or_else(|| config.run.model.clone()),
            self.script.clone(),
            Embedded::for_query(&header.query),
        )?)
    }

    /// How to open `source`: only if its tokens mean what they meant in the session of `header`, unless another
    /// model is asked for.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open(
        &self,
        source: &Source,
        header: &Header,
        config: &ConfigFile,
    ) -> anyhow::Result<OpenEngine> {
        let open = source.open(&config.run)?;
        Ok(if self.other_model {
            open
        } else {
            only_if_same(open, header.clone())
        })
    }
}

/// Opens the engine, but refuses one whose tokens would mean something else.
fn only_if_same(open: OpenEngine, header: Header) -> OpenEngine {
    Box::new(move || {
        let engine = open()?;
        let (now, then) = (&engine.card().model, &header.engine.model);
        if now.arch == then.arch
            && now.weights_sha256 == then.weights_sha256
            && now.tokenizer_sha256 == then.tokenizer_sha256
            && (engine.card().server.is_none() || now.name == then.name)
        {
            return Ok(engine);
        }
        Err(EngineError::Model {
            path: now.name.clone(),
            message: format!(
                "not the model that was recorded ({} {}); give that one, or --other-model to go on anyway",
                then.name, then.arch
            ),
        })
    })
}
