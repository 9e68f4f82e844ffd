//! From `--server` and the config file to a server.

use super::Usage;
use super::settings::{ConfigFile, RunOptions};
use crate::engine::remote::{self, Caps, ServerOptions};
use crate::live::{OpenBeside, ServerSet};
use crate::record::Header;
use std::path::Path;
use std::sync::Arc;

/// The server that options mean, if they mean one: one that the config file names, or a URL. `--model` is
/// then the name of a model there.
///
/// # Errors
/// [`Usage`] where it is neither.
pub fn wanted(options: &RunOptions, config: &ConfigFile) -> Result<Option<ServerOptions>, Usage> {
    let Some(text) = options.server.as_deref() else {
        return Ok(None);
    };
    let mut server = match config.servers.get(text) {
        Some(named) => named.clone(),
        None if text.contains([':', '/', '.']) || text == "localhost" => ServerOptions::at(text),
        None => {
            return Err(Usage(format!(
                "--server {text}: neither a URL like http://localhost:8080 nor a server of the config file; {}",
                known(config)
            )));
        }
    };
    if let Some(model) = &options.model {
        server.model = Some(model.display().to_string());
    }
    server.template = options.template.or(server.template);
    server.context = options.context.or(server.context);
    server
        .check()
        .map_err(|why| Usage(format!("--server {}: {why}", shown(text))))?;
    Ok(Some(server))
}

/// Which servers the config file names, in words.
pub fn known(config: &ConfigFile) -> String {
    let names: Vec<&str> = config.servers.keys().map(String::as_str).collect();
    if names.is_empty() {
        "the config file names no servers".to_owned()
    } else {
        format!("the config file names {}", names.join(", "))
    }
}

/// The servers of the config file, to be opened when a seat needs one.
pub fn beside(config: &ConfigFile, options: &RunOptions) -> ServerSet {
    let caps = super::engine::caps(options);
    config
        .servers
        .iter()
        .map(|(name, server)| (name.clone(), opener(server, caps)))
        .collect()
}

/// How to open a server beside a session's own engine.
pub fn opener(server: &ServerOptions, caps: Caps) -> OpenBeside {
    let server = server.clone();
    Arc::new(move || {
        let mut engine = remote::connect(&server, caps)?;
        engine.never_wait();
        Ok(Box::new(engine))
    })
}

/// What may be repeated of a URL: not what stands before an `@`.
fn shown(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, rest)| rest)
}

/// The server to go on with: the one asked for, else the one that was recorded unless a model is given.
///
/// # Errors
/// As [`wanted`].
pub fn to_go_on(
    header: &Header,
    server: Option<String>,
    model: Option<&Path>,
    config: &ConfigFile,
) -> Result<Option<ServerOptions>, Usage> {
    let recorded = &header.engine;
    let options = RunOptions {
        model: model.map(Path::to_owned),
        ..RunOptions::default()
    };
    if server.is_some() {
        return wanted(&RunOptions { server, ..options }, config);
    }
    let Some(card) = recorded.server.as_ref().filter(|_| model.is_none()) else {
        return Ok(None);
    };
    // The config file may know a key for it.
    let named = config
        .servers
        .values()
        .find(|named| named.url.trim_end_matches('/').trim_end_matches("/v1") == recorded.device);
    Ok(Some(ServerOptions {
        model: Some(recorded.model.name.clone()),
        template: Some(card.template),
        ..named
            .cloned()
            .unwrap_or_else(|| ServerOptions::at(&recorded.device))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ConfigFile {
        let mut config = ConfigFile::default();
        let big = ServerOptions {
            key_env: Some("BIG_KEY".into()),
            ..ServerOptions::at("http://big:1")
        };
        config.servers.insert("big".into(), big);
        config
    }

    fn options(server: &str) -> RunOptions {
        RunOptions {
            server: Some(server.into()),
            ..RunOptions::default()
        }
    }

    #[test]
    fn a_name_means_the_config_file_and_anything_like_a_url_is_one() {
        let server = wanted(&options("big"), &config()).unwrap().unwrap();
        assert_eq!(server.key_env.as_deref(), Some("BIG_KEY"));
        let server = wanted(&options("other:80"), &config()).unwrap().unwrap();
        assert_eq!(server.url, "other:80");
        let error = wanted(&options("bgi"), &config()).unwrap_err();
        assert!(error.0.contains("names big"), "{}", error.0);
    }

    #[test]
    fn a_password_in_a_url_is_not_repeated() {
        let error = wanted(&options("http://me:hunter2@x"), &config()).unwrap_err();
        assert!(!error.0.contains("hunter2"), "{}", error.0);
    }

    #[test]
    fn a_recorded_server_is_found_again_with_its_key() {
        let mut header: Header = serde_json::from_str(
            r#"{"format":"orgtop-session","version":{"major":1,"minor":1},"id":"a","created":"","app":"0","capacity":4}"#,
        )
        .unwrap();
        assert_eq!(to_go_on(&header, None, None, &config()).unwrap(), None);
        header.engine.device = "http://big:1".into();
        header.engine.model.name = "m".into();
        header.engine.server = Some(crate::engine::ServerCard::default());
        let server = to_go_on(&header, None, None, &config()).unwrap().unwrap();
        assert_eq!(server.key_env.as_deref(), Some("BIG_KEY"));
        assert_eq!(server.model.as_deref(), Some("m"));
        let own = Path::new("m.gguf");
        assert_eq!(to_go_on(&header, None, Some(own), &config()).unwrap(), None);
    }
}
