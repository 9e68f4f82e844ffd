//! Names of repositories, files and revisions, as people write them and as servers claim them.
//!
//! Every one of them becomes part of a path and of an address, so only plain names pass.

use super::error::HubError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The branch that is meant where none is named.
pub const MAIN: &str = "main";

/// A repository of the hub at a revision, and perhaps one file of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// `owner/name`, or a name alone.
    pub repo: String,
    /// One `.gguf` file; the safetensors of the repository otherwise.
    pub file: Option<String>,
    /// Branch, tag or commit.
    pub revision: String,
}

impl FromStr for Wanted {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let (repo, file) = match text.split_once(':') {
            Some((repo, file)) => (repo, Some(file)),
            None => (text, None),
        };
        check_repo(repo).map_err(|why| HubError::name(text, why))?;
        if let Some(file) = file {
            check_file(file).map_err(|why| HubError::name(text, why))?;
        }
        Ok(Self {
            repo: repo.to_owned(),
            file: file.map(str::to_owned),
            revision: MAIN.to_owned(),
        })
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repo)?;
        match &self.file {
            Some(file) => write!(f, ":{file}"),
            None => Ok(()),
        }
    }
}

impl Wanted {
    /// The same at another revision.
    ///
    /// # Errors
    /// [`HubError::Name`] when that is no name of a branch, tag or commit.
    pub fn at(self, revision: &str) -> Result<Self, HubError> {
        check_file(revision).map_err(|why| HubError::name(revision, why))?;
        Ok(Self {
            revision: revision.to_owned(),
            ..self
        })
    }

    /// What `--model` means where it names a repository and no path: `owner/name`, with `:FILE` or without.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let wanted: Self = path.to_str()?.parse().ok()?;
        let file_like = |name: &str| [".gguf", ".safetensors"].iter().any(|e| name.ends_with(e));
        let is_name = wanted.file.is_some() || !file_like(&wanted.repo);
        (wanted.repo.contains('/') && is_name).then_some(wanted)
    }

    /// What pulls it.
    #[must_use]
    pub fn command(&self) -> String {
        let revision = match self.revision.as_str() {
            MAIN => String::new(),
            other => format!(" --revision {other}"),
        };
        format!("orgtop models pull {self}{revision}")
    }

    /// Its folder inside the cache.
    #[must_use]
    pub fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("models--{}", self.repo.replace('/', "--")))
    }
}

/// Characters that neither paths nor addresses give a meaning.
fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-+=@,()[]".contains(c)
}

fn check_part(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("a part of it is empty".into());
    }
    if part.starts_with('.') {
        return Err(format!("`{part}` begins with a dot"));
    }
    if part.len() > 200 {
        return Err("a part of it is longer than 200 characters".into());
    }
    match part.chars().find(|c| !plain(*c)) {
        Some(c) => Err(format!("it has the character {c:?}")),
        None => Ok(()),
    }
}

fn check_repo(repo: &str) -> Result<(), String> {
    let parts: Vec<&str> = repo.split('/').collect();
    if parts.len() > 2 {
        return Err("it has more than two parts".into());
    }
    for part in parts {
        check_part(part)?;
        // the cache writes `/` as `--`
        if part.contains("--") || part.contains("..") || part.starts_with('-') {
            return Err("no repository is called so".into());
        }
    }
    Ok(())
}

/// Whether a name can be a file inside a repository: a relative path of plain parts.
///
/// # Errors
/// What about it is not plain.
pub fn check_file(name: &str) -> Result<(), String> {
    if name.len() > 500 {
        return Err("it is longer than 500 characters".into());
    }
    name.split('/').try_for_each(check_part)
}

/// Whether text from a server can name a blob or a commit.
pub fn is_id(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn repositories_and_files_are_told_apart() {
        let wanted: Wanted = "Qwen/Qwen3-4B-GGUF:sub/Qwen3-4B-Q8_0.gguf".parse().unwrap();
        assert_eq!(wanted.repo, "Qwen/Qwen3-4B-GGUF");
        assert_eq!(wanted.file.as_deref(), Some("sub/Qwen3-4B-Q8_0.gguf"));
        assert_eq!(wanted.revision, "main");
        let wanted = wanted.at("refs/pr/1").unwrap();
        assert!(wanted.command().ends_with(" --revision refs/pr/1"));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "",
            "/",
            "a/b/c",
            "../b",
            "a/..",
            "a--b/c",
            "a/b:",
            "a/b:../x.gguf",
            "a/b:/etc/x.gguf",
            "a/b:c//x.gguf",
            "a/b:c\\x.gguf",
            "a/b:x.gguf?y",
            "a/b:x%2f.gguf",
            "a/b:C:x.gguf",
            "a b/c",
            "a/b\n",
            "-a/b",
        ] {
            assert!(name.parse::<Wanted>().is_err(), "{name:?} passed");
        }
        let wanted: Wanted = "a/b".parse().unwrap();
        assert!(wanted.at("../../x").is_err());
    }

    #[test]
    fn a_path_is_no_repository() {
        let of = |text: &str| Wanted::from_path(Path::new(text)).is_some();
        assert!(of("Qwen/Qwen3-4B") && of("a/b:c.gguf"));
        assert!(!of("models/x.gguf") && !of("x") && !of("/a/b") && !of("./a/b") && !of("a/b/c"));
    }

    proptest! {
        #[test]
        fn what_passes_stays_below_its_folder(name in "[./\\\\a-z%:~ -]{1,24}") {
            if check_file(&name).is_ok() {
                let normal = |c: Component<'_>| matches!(c, Component::Normal(_));
                prop_assert!(Path::new(&name).components().all(normal), "{name:?}");
            }
        }
    }
}
