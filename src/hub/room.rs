//! Free room on a disk.

use std::path::Path;

/// Bytes that may still be written below `folder`, which need not exist yet; `None` where nobody says.
#[cfg(unix)]
pub fn free(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|p| p.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes that may still be written below `folder`; nobody says here.
#[cfg(not(unix))]
pub fn free(_folder: &Path) -> Option<u64> {
    None
}
