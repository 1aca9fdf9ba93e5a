//! A lock on a file that says "a living process uses this".

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// A locked file. The lock ends when it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    /// The file.
    pub file: File,
}

impl FileLock {
    /// Locks `file`, or gives it back if another open file holds the lock.
    pub fn try_take(file: File) -> io::Result<Result<FileLock, File>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Ok(FileLock { file })),
            Err(Errno::WOULDBLOCK) => Ok(Err(file)),
            Err(e) => Err(e.into()),
        }
    }

    /// Locks `file` as soon as nobody else does.
    pub fn take(file: File) -> io::Result<FileLock> {
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(FileLock { file })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting has a copy until it executes.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
