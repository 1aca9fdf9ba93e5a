//! Where the images of a cell lie while it is measured.

use crate::Error;
use disk::{Entry, MARKER, Recorded, Session};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory for the images of a cell, which goes with it.
pub(super) struct Images {
    path: PathBuf,
    recorded: Option<Recorded>,
}

impl Images {
    /// In memory if there is room for both sides, else in the work directory.
    pub fn make(session: &Arc<Session>, work: &Path, size_bytes: u64) -> Result<Images, Error> {
        let memory = Path::new("/dev/shm");
        let room = |dir: &Path| disk::free_bytes(dir).is_ok_and(|free| free > 3 * size_bytes);
        let absolute = std::path::absolute(work).map_err(Error::io("finding", work))?;
        let parent = if memory.is_dir() && room(memory) { memory } else { &absolute };
        Images::below(session, parent)
    }

    fn below(session: &Arc<Session>, parent: &Path) -> Result<Images, Error> {
        let path = parent.join(format!(".senesce-cell-{}", std::process::id()));
        let recorded = Some(session.record(Entry::Directory { path: path.clone() })?);
        std::fs::create_dir(&path).map_err(Error::io("making", &path))?;
        let images = Images { path, recorded };
        let marker = images.path.join(MARKER);
        std::fs::write(&marker, "").map_err(Error::io("writing", &marker))?;
        Ok(images)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.path);
        // What cannot be removed now stays in the journal, and `cleanup` removes it.
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

    /// The journals of this process that name `path`.
    fn journals(path: &Path) -> Vec<PathBuf> {
        let own = std::process::id().to_string();
        let journal = |path: &Path| path.file_stem().is_some_and(|n| n.to_string_lossy().starts_with(&own));
        let entries = std::fs::read_dir(disk::run_dir()).unwrap().flatten().map(|entry| entry.path());
        let names = |journal: &PathBuf| {
            std::fs::read_to_string(journal).is_ok_and(|text| text.contains(path.to_str().unwrap()))
        };
        entries.filter(|path| journal(path)).filter(names).collect()
    }

    #[test]
    fn what_cannot_be_removed_stays_in_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let session = Session::begin().unwrap();
        let images = Images::below(&session, dir.path()).unwrap();
        let path = images.path().to_owned();
        assert_eq!(journals(&path).len(), 1);
        drop(images);
        assert!(!path.exists() && journals(&path).is_empty());

        let images = Images::below(&session, dir.path()).unwrap();
        // A file in place of a directory is not ours to remove.
        std::fs::remove_dir_all(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        drop(images);
        let left = journals(&path);
        assert_eq!(left.len(), 1);
        drop(session);
        std::fs::remove_file(&left[0]).unwrap();
    }
}
