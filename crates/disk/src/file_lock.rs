//! A file lock that shows that a living process uses the file.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// A locked file. The lock is released on drop or when the process ends, even if it is killed.
#[derive(Debug)]
pub struct FileLock {
    /// The file.
    pub file: File,
}

impl FileLock {
    /// Locks `file`, or returns it if another open file description holds the lock.
    pub fn try_take(file: File) -> io::Result<Result<FileLock, File>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Ok(FileLock { file })),
            Err(Errno::WOULDBLOCK) => Ok(Err(file)),
            Err(e) => Err(e.into()),
        }
    }

    /// Locks `file`, waiting for the current holder if there is one.
    pub fn take(file: File) -> io::Result<FileLock> {
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(FileLock { file })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread is spawning holds a copy of the descriptor until it calls exec.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
