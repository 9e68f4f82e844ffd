//! Files that are there whole or not at all.

use super::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Write `bytes` beside `path`, bring them to the disk and rename them into place, so that whoever reads
/// `path` finds what was there before or all of what is there now, even after a crash.
///
/// # Errors
/// When the file system refuses; `path` is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let attempt = || -> std::io::Result<()> {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        // the rename itself lives in the folder; where folders cannot be opened, there is nothing to do
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty())
            && let Ok(folder) = File::open(folder)
        {
            folder.sync_all()?;
        }
        Ok(())
    };
    attempt().map_err(|e| Error::io(path, e))
}
