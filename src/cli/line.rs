//! `FILE` or `FILE#branch`: one line of history of a session.

use super::Usage;
use crate::org::BranchId;
use crate::record::{LineOf, SessionFile};
use anyhow::Context;
use std::path::PathBuf;
use std::str::FromStr;

/// Which line is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineName {
    /// The session file.
    pub file: PathBuf,
    /// The branch; the last one if `None`.
    pub branch: Option<BranchId>,
}

impl FromStr for LineName {
    type Err = std::convert::Infallible;

    /// A number after the last `#` is a branch, unless a file has that very name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let whole = PathBuf::from(text);
        let parts = text
            .rsplit_once('#')
            .and_then(|(file, branch)| Some((file, branch.parse().ok()?)));
        Ok(match parts {
            Some((file, branch)) if !whole.exists() => Self {
                file: file.into(),
                branch: Some(BranchId(branch)),
            },
            _ => Self {
                file: whole,
                branch: None,
            },
        })
    }
}

impl std::fmt::Display for LineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.branch {
            Some(branch) => write!(f, "#{branch}"),
            None => Ok(()),
        }
    }
}

impl LineName {
    /// Reads it.
    ///
    /// # Errors
    /// The file does not open; it has no such branch.
    pub fn read(&self) -> anyhow::Result<LineOf> {
        let file = SessionFile::open(&self.file)?;
        match LineOf::read(&file, self.branch) {
            Ok(line) => Ok(line),
            Err(e @ crate::record::LineOfError::NoBranch { .. }) => {
                Err(Usage(format!("{}: {e}", self.file.display())).into())
            }
            Err(e) => Err(e).with_context(|| format!("{}: cannot be read", self.file.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_after_the_hash_is_a_branch_and_nothing_else_is() {
        let parse = |text: &str| text.parse::<LineName>().unwrap();
        assert_eq!(parse("a.jsonl").branch, None);
        assert_eq!(parse("a.jsonl#3").branch, Some(BranchId(3)));
        assert_eq!(parse("a.jsonl#3").to_string(), "a.jsonl#3");
        assert_eq!(parse("a#b.jsonl").file, PathBuf::from("a#b.jsonl"));
        assert_eq!(parse("a#b#2").file, PathBuf::from("a#b"));
    }

    #[test]
    fn a_file_of_that_very_name_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd#7");
        std::fs::write(&path, "").unwrap();
        let name: LineName = path.to_str().unwrap().parse().unwrap();
        assert_eq!((name.file, name.branch), (path, None));
    }
}
