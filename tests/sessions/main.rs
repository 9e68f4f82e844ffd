//! Session files from outside: what is written, what survives, what can be found again.

mod big;
mod damage;
mod folder;
mod playing;
mod recording;
mod synthetic;
mod verifying;

use std::path::PathBuf;

/// A folder of its own with a file name in it.
fn scratch(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// Byte offsets at which the lines of `bytes` begin.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(
        bytes
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'\n')
            .map(|(i, _)| i + 1),
    );
    starts.pop();
    starts
}
