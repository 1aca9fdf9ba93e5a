//! A lock that allows one run at a time in a work directory.

use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The exclusive use of a work directory. Released on drop or when the process ends, even if it is killed.
#[derive(Debug)]
pub struct WorkLock {
    _lock: FileLock,
}

impl WorkLock {
    /// Name of the lock file. The file is never deleted: otherwise two runs could lock two different files of the same name.
    pub const FILE: &str = ".senesce.lock";

    /// Whether a process holds `dir`, according to the kernel's lock table. Trying the lock instead would briefly block a run that is
    /// starting. The table identifies files by inode number only, so a file with the same number on another file system is mistaken for
    /// this one.
    pub fn is_held(dir: &Path) -> bool {
        let Ok(data) = std::fs::metadata(dir.join(Self::FILE)) else { return false };
        let table = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        table.lines().any(|line| flock_inode(line) == Some(data.ino()))
    }

    /// Locks `dir`, or returns an error that names the process holding it.
    pub fn take(dir: &Path) -> Result<WorkLock, Error> {
        let path = dir.join(Self::FILE);
        let mut options = File::options();
        options.create(true).read(true).write(true).truncate(false);
        let file = options.open(&path).context("opening the lock", &path)?;
        match FileLock::try_take(file).context("locking", &path)? {
            Ok(mut lock) => {
                lock.file
                    .set_len(0)
                    .and_then(|()| writeln!(lock.file, "{}", std::process::id()))
                    .context("writing the lock", &path)?;
                Ok(WorkLock { _lock: lock })
            }
            Err(mut file) => {
                let mut pid = String::new();
                let known = file.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
                let pid = if known { pid.trim().to_owned() } else { "unknown".to_owned() };
                Err(Error::WorkInUse { dir: dir.to_owned(), pid })
            }
        }
    }
}

/// Parses the inode number in a line of `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 713 00:1a:4711 0 EOF`.
fn flock_inode(line: &str) -> Option<u64> {
    let mut fields = line.split_whitespace().skip(1);
    fields.next().filter(|kind| *kind == "FLOCK")?;
    fields.nth(3)?.rsplit(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_run_is_refused_and_holder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let first = WorkLock::take(dir.path()).unwrap();
        let message = WorkLock::take(dir.path()).unwrap_err().to_string();
        let expected = format!(
            "another run (process {}) is using {}; wait for it or choose another --work",
            std::process::id(),
            dir.path().display()
        );
        assert_eq!(message, expected);
        assert!(WorkLock::is_held(dir.path()));
        drop(first);
        assert!(!WorkLock::is_held(dir.path()));
        WorkLock::take(dir.path()).unwrap();
    }
}
