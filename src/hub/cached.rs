//! Finding what was pulled, without network.

use super::error::HubError;
use super::name::{Wanted, is_id};
use crate::engine::local::checkpoint::{Checkpoint, entries};
use crate::engine::local::hub_folder;
use std::path::{Path, PathBuf};

/// Where `wanted` lies in the cache `folder`: its revision's snapshot, or else the newest that has it.
#[must_use]
pub fn find(wanted: &Wanted, folder: &Path) -> Option<PathBuf> {
    let repo = wanted.folder(folder);
    let commit = std::fs::read_to_string(repo.join("refs").join(&wanted.revision)).ok();
    let commit = commit
        .map(|text| text.trim().to_owned())
        .filter(|c| is_id(c));
    let snapshots = repo.join("snapshots");
    let named = commit.map(|commit| snapshots.join(commit));
    let mut others = entries(&snapshots);
    others.sort_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    let mut candidates = named.into_iter().chain(others.into_iter().rev());
    match &wanted.file {
        Some(file) => candidates.map(|s| s.join(file)).find(|p| p.is_file()),
        None => candidates.find(|p| p.is_dir()),
    }
}

/// The checkpoint that `--model` names where it names a repository; `None` where it can only be a path.
///
/// # Errors
/// [`HubError::NotPulled`], [`HubError::Unfinished`]: with the command that gets it.
pub fn pulled(model: &Path) -> Result<Option<PathBuf>, HubError> {
    let Some(wanted) = Wanted::from_path(model) else {
        return Ok(None);
    };
    let (name, command) = (wanted.to_string(), wanted.command());
    let Some(path) = hub_folder().and_then(|folder| find(&wanted, &folder)) else {
        return Err(HubError::NotPulled { name, command });
    };
    match Checkpoint::locate(&path) {
        Ok(checkpoint) if checkpoint.weights().iter().all(|p| p.is_file()) => Ok(Some(path)),
        Ok(_) => Err(HubError::Unfinished {
            name,
            why: "weights are missing".into(),
            command,
        }),
        Err(e) => Err(HubError::Unfinished {
            name,
            why: e.to_string(),
            command,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_revision_is_taken_and_else_the_one_that_has_it() {
        let cache = tempfile::tempdir().unwrap();
        let repo = cache.path().join("models--a--b");
        let (old, new) = ("1".repeat(40), "2".repeat(40));
        for (commit, file) in [(&old, "x.gguf"), (&new, "y.gguf")] {
            let snapshot = repo.join("snapshots").join(commit);
            std::fs::create_dir_all(&snapshot).unwrap();
            std::fs::write(snapshot.join(file), "").unwrap();
        }
        std::fs::create_dir_all(repo.join("refs")).unwrap();
        std::fs::write(repo.join("refs/main"), &old).unwrap();
        let find = |name: &str| find(&name.parse().unwrap(), cache.path());
        assert_eq!(find("a/b"), Some(repo.join("snapshots").join(&old)));
        assert_eq!(
            find("a/b:y.gguf"),
            Some(repo.join("snapshots").join(&new).join("y.gguf"))
        );
        assert_eq!(find("a/b:z.gguf"), None);
        assert_eq!(find("a/c"), None);
        std::fs::write(repo.join("refs/main"), "../../../../etc").unwrap();
        assert!(find("a/b").is_some_and(|p| p.starts_with(&repo)));
    }
}
