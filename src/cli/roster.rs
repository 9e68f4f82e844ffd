//! Roster files: workers that differ, by name.

use super::engine::{caps, open_model};
use super::server;
use super::settings::{ConfigFile, RunOptions};
use crate::engine::remote::ServerOptions;
use crate::hub;
use crate::live::{OpenBeside, ServerSet, Tool, ToolSet};
use crate::org::{RosterSeat, Seat, roster::in_a_name};
use crate::small_file::{self, Pipes};
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who can be addressed, and everything that they need beside the config file.
#[derive(Default)]
pub struct Roster {
    /// In the order of their names.
    pub seats: Vec<RosterSeat>,
    /// Who serves what is addressed to nobody.
    pub workers: Seat,
    /// Programs.
    pub tools: ToolSet,
    /// Engines beside the session's own.
    pub servers: ServerSet,
}

/// Reads the roster at `path`, if one is given, on top of the config file's servers and tools.
///
/// # Errors
/// Unreadable, not TOML, a seat that nobody can take; with the file and the seat.
pub fn read(
    path: Option<&Path>,
    config: &ConfigFile,
    options: &RunOptions,
) -> anyhow::Result<Roster> {
    let mut roster = Roster {
        tools: config.tools.clone(),
        servers: server::beside(config, options),
        ..Roster::default()
    };
    if let Some(path) = path {
        let text = small_file::read(path, Pipes::Refused, small_file::LONGEST)
            .with_context(|| format!("{}: cannot read the roster", path.display()))?;
        roster
            .fill(&text, path, options)
            .with_context(|| path.display().to_string())?;
    }
    Ok(roster)
}

impl Roster {
    fn fill(&mut self, text: &str, path: &Path, options: &RunOptions) -> anyhow::Result<()> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|e| anyhow::anyhow!("not TOML: {}", e.message()))?;
        let default = match table.remove("default") {
            None => None,
            Some(toml::Value::String(name)) => Some(name),
            Some(_) => bail!("default: expected the name of a seat"),
        };
        let seats = match table.remove("seats") {
            Some(toml::Value::Table(seats)) if !seats.is_empty() => seats,
            _ => bail!("it has no seats; expected entries like [seats.calc] with about = \"...\""),
        };
        if let Some(other) = table.keys().next() {
            bail!("unknown entry `{other}`; expected default and [seats.NAME]");
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        for (name, entry) in seats {
            let toml::Value::Table(entry) = entry else {
                bail!("seats.{name}: expected a table");
            };
            self.add(&name, entry, folder, options)
                .with_context(|| format!("seats.{name}"))?;
        }
        if let Some(name) = default {
            let seat = self.seats.iter().find(|s| s.name == name);
            let seat = seat.with_context(|| format!("default: there is no seat `{name}`"))?;
            self.workers = seat.seat.clone();
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &str,
        mut entry: toml::Table,
        folder: &Path,
        options: &RunOptions,
    ) -> anyhow::Result<()> {
        ensure!(
            !name.is_empty() && name.len() <= 64 && name.chars().all(in_a_name),
            "a name is made of letters, digits, `-`, `_` and `.`"
        );
        let about = match entry.remove("about") {
            Some(toml::Value::String(about)) if !about.contains('\n') => about,
            _ => bail!("about: expected one line that says what it is good at"),
        };
        let seat = if entry.contains_key("seat") {
            self.existing(&entry)?
        } else if entry.contains_key("checkpoint") {
            let open = checkpoint(&entry, folder, options)?;
            self.servers.insert(name.to_owned(), open);
            Seat::Server(name.to_owned())
        } else if entry.contains_key("url") {
            let server: ServerOptions = toml::Value::Table(entry)
                .try_into()
                .map_err(|e: toml::de::Error| anyhow::anyhow!("{}", e.message()))?;
            server.check().map_err(anyhow::Error::msg)?;
            self.servers
                .insert(name.to_owned(), server::opener(&server, caps(options)));
            Seat::Server(name.to_owned())
        } else if entry.contains_key("command") || entry.contains_key("shell") {
            let tool: Tool = toml::Value::Table(entry)
                .try_into()
                .map_err(|e: toml::de::Error| anyhow::anyhow!("{}", e.message()))?;
            self.tools.insert(name.to_owned(), tool);
            Seat::Tool(name.to_owned())
        } else {
            bail!(
                "who sits there? expected seat = \"human\" (or model, server:NAME, tool:NAME), url = \"...\", \
                 checkpoint = \"PATH\", command = [...] or shell = \"...\""
            );
        };
        self.seats.push(RosterSeat {
            name: name.to_owned(),
            seat,
            about,
        });
        Ok(())
    }

    fn existing(&self, entry: &toml::Table) -> anyhow::Result<Seat> {
        if let Some(other) = entry.keys().find(|key| *key != "seat") {
            bail!("unknown entry `{other}` beside seat and about");
        }
        let text = entry["seat"].as_str().context("seat: expected a text")?;
        let seat: Seat = text.parse()?;
        match &seat {
            Seat::Tool(name) if !self.tools.contains_key(name) => {
                bail!("there is no tool `{name}`: name it in the config file as [tools.{name}]")
            }
            Seat::Server(name) if !self.servers.contains_key(name) => {
                bail!("there is no server `{name}`: name it in the config file as [servers.{name}]")
            }
            _ => Ok(seat),
        }
    }
}

/// A checkpoint on this machine, beside the session's own.
fn checkpoint(
    entry: &toml::Table,
    folder: &Path,
    options: &RunOptions,
) -> anyhow::Result<OpenBeside> {
    if let Some(other) = entry.keys().find(|key| *key != "checkpoint") {
        bail!("unknown entry `{other}` beside checkpoint and about");
    }
    let text = entry["checkpoint"]
        .as_str()
        .context("checkpoint: expected a path")?;
    let path: PathBuf = match folder.join(text) {
        path if path.exists() => path,
        path => {
            let pulled = hub::pulled(Path::new(text))?;
            pulled.with_context(|| format!("{}: no such file or folder", path.display()))?
        }
    };
    let options = options.clone();
    Ok(Arc::new(move || open_model(&path, &options)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Roster> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roster.toml");
        std::fs::write(&path, text).unwrap();
        read(Some(&path), &ConfigFile::default(), &RunOptions::default())
    }

    #[test]
    fn seats_are_people_programs_and_engines() {
        let roster = parse(
            "default = \"big\"\n\
             [seats.big]\nabout = \"careful\"\nurl = \"http://gpu:8000\"\nmodel = \"m\"\n\
             [seats.calc]\nabout = \"exact\"\nshell = \"bc\"\n\
             [seats.me]\nabout = \"knows\"\nseat = \"human\"\n",
        )
        .unwrap();
        let seats: Vec<String> = roster.seats.iter().map(|s| s.seat.to_string()).collect();
        assert_eq!(seats, ["server:big", "tool:calc", "human"]);
        assert_eq!(roster.workers, Seat::Server("big".into()));
        assert!(roster.servers.contains_key("big") && roster.tools.contains_key("calc"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_seat() {
        for (text, expected) in [
            ("x = ", "not TOML"),
            ("", "it has no seats"),
            (
                "other = 1\n[seats.a]\nabout = \"\"\nseat = \"human\"",
                "unknown entry `other`",
            ),
            ("[seats.a]\nseat = \"human\"", "seats.a: about"),
            ("[seats.a]\nabout = \"x\"", "who sits there?"),
            (
                "[seats.a]\nabout = \"x\"\nseat = \"robot\"",
                "is not a seat",
            ),
            ("[seats.a]\nabout = \"x\"\nseat = \"tool:x\"", "[tools.x]"),
            (
                "[seats.a]\nabout = \"x\"\ncheckpoint = \"/no/such\"",
                "no such file",
            ),
            (
                "[seats.a]\nabout = \"x\"\nurl = \"ftp://x\"",
                "only http and https",
            ),
            (
                "[seats.a]\nabout = \"x\"\nurl = \"http://x\"\nkey = \"sk\"",
                "unknown field `key`",
            ),
            (
                "[seats.\"a b\"]\nabout = \"x\"\nseat = \"human\"",
                "a name is made of",
            ),
            (
                "default = \"b\"\n[seats.a]\nabout = \"x\"\nseat = \"human\"",
                "there is no seat `b`",
            ),
        ] {
            let error = format!("{:#}", parse(text).err().expect(text));
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.contains("roster.toml"), "{error}");
        }
    }
}
