//! Temporary directories.

use crate::error::{Error, IoContext};
use crate::{Entry, EntryGuard, MARKER, Session};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory for the duration of a run. Removed on drop or, after `kill -9`, by `cleanup`.
pub struct Scratch {
    path: PathBuf,
    recorded: Option<EntryGuard>,
}

impl Scratch {
    /// Creates the directory in `parent`, an absolute path; its name starts with `name` and the PID.
    pub fn make(session: &Arc<Session>, parent: &Path, name: &str) -> Result<Scratch, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{name}-{}-{number}", std::process::id()));
            let recorded = session.record(Entry::Directory { path: path.clone() })?;
            match std::fs::create_dir(&path) {
                // Left over by an earlier process with the same PID.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => recorded.keep(),
                made => {
                    made.context("creating", &path)?;
                    let scratch = Scratch { path, recorded: Some(recorded) };
                    let marker = scratch.path.join(MARKER);
                    std::fs::write(&marker, "").context("writing", &marker)?;
                    return Ok(scratch);
                }
            }
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.path);
        // A directory that cannot be removed stays in the journal for `cleanup`.
        if removed.is_err_and(|error| error.kind() != ErrorKind::NotFound)
            && let Some(recorded) = self.recorded.take()
        {
            recorded.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The journals of this process that contain `path`.
    fn journals(run: &Path, path: &Path) -> Vec<PathBuf> {
        let own = std::process::id().to_string();
        let journal = |path: &Path| path.file_stem().is_some_and(|n| n.to_string_lossy().starts_with(&own));
        let entries = std::fs::read_dir(run).unwrap().flatten().map(|entry| entry.path());
        let names = |journal: &PathBuf| {
            std::fs::read_to_string(journal).is_ok_and(|text| text.contains(path.to_str().unwrap()))
        };
        entries.filter(|path| journal(path)).filter(names).collect()
    }

    #[test]
    fn failed_removal_stays_in_journal() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let session = Session::begin_in(&run).unwrap();
        let journals = |path: &Path| journals(&run, path);
        let scratch = Scratch::make(&session, dir.path(), "it").unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(journals(&path).len(), 1);
        drop(scratch);
        assert!(!path.exists() && journals(&path).is_empty());

        let scratch = Scratch::make(&session, dir.path(), "it").unwrap();
        let path = scratch.path().to_owned();
        // `Scratch` removes only directories, not a file in their place.
        std::fs::remove_dir_all(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        drop(scratch);
        let left = journals(&path);
        assert_eq!(left.len(), 1);
        drop(session);
        std::fs::remove_file(&left[0]).unwrap();
    }
}
