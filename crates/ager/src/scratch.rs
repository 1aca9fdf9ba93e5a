//! Directories for what an aging needs beside the file system.

use disk::{Entry, IoContext as _, Recorded};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory in the run directory. It goes with this value, or, after `kill -9`, with `cleanup`.
pub struct Scratch {
    path: PathBuf,
    recorded: Option<Recorded>,
}

impl Scratch {
    /// Makes one whose name begins with `purpose`.
    pub fn make(session: &Arc<disk::Session>, purpose: &str) -> Result<Scratch, disk::Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = disk::run_dir().join(format!("{purpose}-{}-{number}", std::process::id()));
            let recorded = session.record(Entry::Directory { path: path.clone() })?;
            match std::fs::create_dir(&path) {
                // An ended process of the same number left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => recorded.keep(),
                made => {
                    made.context("creating", &path)?;
                    return Ok(Scratch { path, recorded: Some(recorded) });
                }
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.path);
        if let (Err(_), Some(recorded)) = (removed, self.recorded.take()) {
            recorded.keep();
        }
    }
}
