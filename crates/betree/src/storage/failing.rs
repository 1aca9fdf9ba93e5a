//! A disk on which one call fails, for tests.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{MemoryStorage, Storage};

/// What the call does instead of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It returns this error number.
    Errno(i32),
    /// It panics, as a defect would.
    Panic,
}

/// A disk in memory on which one read, write or flush fails. All calls before and after it succeed.
#[derive(Debug)]
pub struct FailingStorage {
    disk: MemoryStorage,
    calls: AtomicU64,
    at: u64,
    failure: Failure,
}

impl FailingStorage {
    /// A disk with this content, on which call number `at` fails, counted from 0.
    pub fn of(image: Vec<u8>, at: u64, failure: Failure) -> Self {
        Self { disk: MemoryStorage::of(image), calls: AtomicU64::new(0), at, failure }
    }

    /// Whether the call was made.
    pub fn has_failed(&self) -> bool {
        self.calls.load(Relaxed) > self.at
    }

    /// A copy of the content, without what the failed call would have written.
    pub fn image(&self) -> Vec<u8> {
        self.disk.image()
    }

    fn call(&self) -> io::Result<()> {
        if self.calls.fetch_add(1, Relaxed) != self.at {
            return Ok(());
        }
        match self.failure {
            Failure::Errno(errno) => Err(io::Error::from_raw_os_error(errno)),
            Failure::Panic => panic!("call {} of the disk panics as asked", self.at),
        }
    }
}

impl Storage for FailingStorage {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.call()?;
        self.disk.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.call()?;
        self.disk.write_at(buffer, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.call()?;
        self.disk.flush()
    }
}
