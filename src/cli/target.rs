//! The one file that a verb writes beside what it prints: never over a file that is there unless that is asked
//! for, never over what the verb reads, and whole or not at all.
//!
//! Sessions are recorded by [`crate::record`], folders of checkpoints are written where they are trained.

use super::Usage;
use anyhow::Context;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Kept,
    /// It is replaced.
    Replaced,
}

impl Existing {
    /// What `--force` says.
    #[must_use]
    pub fn by_force(force: bool) -> Self {
        if force { Self::Replaced } else { Self::Kept }
    }
}

/// A place that a file can be written to, found before the work.
#[derive(Debug)]
pub struct Target {
    /// As it was named.
    named: PathBuf,
    /// Where that leads.
    path: PathBuf,
    existing: Existing,
    /// What takes its place once it is whole.
    draft: NamedTempFile,
}

impl Target {
    /// The place `path`, for a verb that reads `inputs`.
    ///
    /// # Errors
    /// One of the inputs; a file that is to be kept; what is no file; a folder that cannot be written to.
    pub fn new(path: &Path, existing: Existing, inputs: &[&Path]) -> anyhow::Result<Self> {
        let shown = path.display();
        let cannot = || format!("{shown}: cannot write there");
        let mut leads_to = path.to_owned();
        if let Ok(place) = std::fs::symlink_metadata(path) {
            let is_input = |input: &&Path| {
                let real = |path: &Path| std::fs::canonicalize(path).ok();
                real(input).is_some_and(|input| Some(input) == real(path))
            };
            anyhow::ensure!(
                !inputs.iter().any(is_input),
                "{shown}: it is read here, so it is never written over; name another"
            );
            anyhow::ensure!(
                existing == Existing::Replaced,
                "{shown}: there is such a file already; name another, or replace it with --force"
            );
            if place.is_symlink() {
                leads_to = std::fs::canonicalize(path).with_context(cannot)?;
            }
            let kind = std::fs::metadata(path).with_context(cannot)?.file_type();
            anyhow::ensure!(
                kind.is_file(),
                "{shown}: it is {}, and only a file is replaced; name another",
                if kind.is_dir() {
                    "a folder"
                } else {
                    "a pipe or device"
                }
            );
        }
        let folder = leads_to.parent().filter(|f| !f.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Usage(format!("{shown}: there is no folder {folder}")).into());
        }
        Ok(Self {
            draft: draft(folder).with_context(cannot)?,
            named: path.to_owned(),
            path: leads_to,
            existing,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Whatever `write` or the file system says; a file that came to be there meanwhile and is to be kept.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut to = std::io::BufWriter::new(&mut self.draft);
        let written = write(&mut to).and_then(|()| Ok(to.flush()?));
        drop(to);
        let put = written.and_then(|()| {
            match self.existing {
                Existing::Kept => self.draft.persist_noclobber(&self.path)?,
                Existing::Replaced => self.draft.persist(&self.path)?,
            };
            Ok(())
        });
        put.with_context(|| format!("{}: cannot write it", self.named.display()))
    }
}

/// With the permissions of any file that a person makes.
fn draft(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path, existing: Existing, inputs: &[&Path]) -> String {
        Target::new(path, existing, inputs).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_replaced_only_where_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        let write =
            |existing| Target::new(&path, existing, &[])?.write(|to| Ok(to.write_all(b"new")?));
        write(Existing::Kept).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let why = write(Existing::Kept).unwrap_err().to_string();
        assert!(why.contains("there is such a file already"), "{why}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        write(Existing::Replaced).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_came_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        let target = Target::new(&path, Existing::Kept, &[]).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert!(target.write(|to| Ok(to.write_all(b"new")?)).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn what_is_read_is_never_written_over_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, "mine").unwrap();
        let other = folder.path().join(".").join("s.jsonl");
        for existing in [Existing::Kept, Existing::Replaced] {
            let why = refusal(&other, existing, &[&path]);
            assert!(why.contains("it is read here"), "{why}");
        }
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let why = refusal(folder.path(), Existing::Replaced, &[]);
        assert!(why.contains("a folder"), "{why}");
        #[cfg(unix)]
        {
            let why = refusal(Path::new("/dev/null"), Existing::Replaced, &[]);
            assert!(why.contains("a pipe or device"), "{why}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_still_leads_to_what_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("f"), folder.path().join("l"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let target = Target::new(&link, Existing::Replaced, &[]).unwrap();
        target.write(|to| Ok(to.write_all(b"new")?)).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }
}
