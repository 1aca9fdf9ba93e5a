//! Exclusive use of the store of a modelled disk, and its detection after a crash of the system.

use super::map::sync_dir_of;
use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Name of the file that marks the store as in use.
const ATTACHED: &str = "attached";

/// A server that is shutting down releases its store within this time.
const SHUTDOWN_TIME: Duration = Duration::from_secs(1);

/// Takes the lock of a store.
pub fn take_lock(dir: &Path) -> Result<FileLock, Error> {
    let path = dir.join("lock");
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    let begun = Instant::now();
    loop {
        let file = options.open(&path).context("opening", &path)?;
        match FileLock::try_take(file).context("locking", &path)? {
            Ok(lock) => return Ok(lock),
            Err(_) if begun.elapsed() < SHUTDOWN_TIME => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => {
                let why =
                    "another process serves it; unmount it there first, or choose another store".to_owned();
                return Err(Error::Store { dir: dir.to_owned(), why });
            }
        }
    }
}

/// Marks the store as in use, for detection after a system crash.
pub fn mark(dir: &Path) -> Result<(), Error> {
    let path = dir.join(ATTACHED);
    std::fs::write(&path, boot_id())
        .and_then(|()| File::open(&path)?.sync_all())
        .and_then(|()| sync_dir_of(&path))
        .context("writing", &path)
}

/// Whether the store is marked as in use.
pub fn is_marked(dir: &Path) -> bool {
    dir.join(ATTACHED).exists()
}

/// Removes the mark of a store whose files are synced.
pub fn unmark(dir: &Path) -> Result<(), Error> {
    let path = dir.join(ATTACHED);
    sync_dir_of(&path)
        .and_then(|()| std::fs::remove_file(&path))
        .and_then(|()| sync_dir_of(&path))
        .context("removing", &path)
}

/// Whether the system crashed while the store was in use. An empty file was not written in this boot.
pub fn was_left(dir: &Path) -> Result<bool, Error> {
    let path = dir.join(ATTACHED);
    match input::read(&path) {
        Ok(attached) => Ok(attached != boot_id().as_bytes()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e).context("reading", &path),
    }
}

/// Identifies a boot of the system.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_else(|_| "unknown".to_owned())
}
