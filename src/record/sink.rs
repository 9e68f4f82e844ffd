//! Where records go: a file under its name, or a test's stand-in for a failing disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Takes bytes in order.
pub(super) trait Sink: Send {
    /// Writes some of `bytes`, in one call to the system, and says how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes sure that what was written survives a crash of the machine.
    fn sync(&mut self) -> io::Result<()>;

    /// Makes sure that what was written can be found again, restoring it where that is possible.
    fn check(&mut self) -> io::Result<()>;
}

/// An append-only file that notices when its name goes away.
pub(super) struct FileSink {
    file: File,
    path: PathBuf,
}

impl FileSink {
    /// Creates `path`, for its owner only, with the folders above it. Never overwrites.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = create_new(path)?;
        lock(&file)?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    /// Goes on at the end of a file that is open for reading and appending, and locked.
    pub(super) fn append(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
        }
    }

    /// Puts the bytes back under their name: they live as long as the file is open.
    fn restore(&mut self) -> io::Result<()> {
        if let Some(folder) = self.path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let mut copy = create_new(&self.path)?;
        let copied = lock(&copy).and_then(|()| {
            self.file.rewind()?;
            io::copy(&mut self.file, &mut copy)?;
            copy.sync_data()
        });
        if let Err(e) = copied {
            // A partial copy must not stand in the way of the next try.
            let _ = std::fs::remove_file(&self.path);
            return Err(e);
        }
        self.file = copy;
        Ok(())
    }
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn check(&mut self) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.restore(),
            Err(e) => Err(e),
            Ok(found) if same_file(&found, &self.file.metadata()?) => Ok(()),
            Ok(_) => Err(io::Error::other("another file has taken its place")),
        }
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Takes the writer's lock; [`io::ErrorKind::WouldBlock`] when another program has it. File systems
/// without locks are taken as they are.
pub(super) fn lock(file: &File) -> io::Result<()> {
    let mut tries = 5;
    loop {
        match file.try_lock() {
            // Somebody may just be looking whether it is locked.
            Err(TryLockError::WouldBlock) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(e)) if e.kind() != io::ErrorKind::Unsupported => {
                return Err(e);
            }
            _ => return Ok(()),
        }
    }
}

#[cfg(unix)]
fn same_file(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_file(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    // An open file cannot be removed or replaced there.
    true
}
