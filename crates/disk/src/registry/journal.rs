//! The journal file: replaced atomically, and locked while its process is alive.

use super::Entry;
use crate::error::{Error, IoContext};
use crate::file_lock::FileLock;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The contents of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contents {
    /// The process that owns the journal.
    pub pid: u32,
    /// The resources that it created, oldest first.
    pub entries: Vec<Entry>,
}

/// A journal locked by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lock: FileLock,
}

impl Journal {
    /// Creates the journal of this process in `dir`. A process may have several journals, and an earlier process with the same PID may have
    /// left one.
    pub fn create(dir: &Path) -> Result<Journal, Error> {
        let pid = std::process::id();
        let mut copy = 0;
        loop {
            let name = if copy == 0 { format!("{pid}.json") } else { format!("{pid}-{copy}.json") };
            let path = dir.join(name);
            match File::create_new(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => copy += 1,
                Err(e) => return Err(e).context("creating the journal", &path),
                Ok(file) => {
                    let lock = FileLock::take(file).context("locking", &path)?;
                    // A concurrent cleanup may have deleted the empty file.
                    if is_at(&lock.file, &path) {
                        let mut journal = Journal { path, lock };
                        journal.save(&Contents { pid, entries: Vec::new() })?;
                        return Ok(journal);
                    }
                }
            }
        }
    }

    /// Takes over the journal of a process that has ended; `None` if the process is alive or has just removed the journal.
    pub fn take_over(path: &Path) -> Result<Option<Journal>, Error> {
        let file = match input::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.context("opening the journal", path)?,
        };
        // The lock may be on a file that a living process has just replaced.
        let lock = FileLock::try_take(file).context("locking", path)?.ok();
        let lock = lock.filter(|lock| is_at(&lock.file, path));
        Ok(lock.map(|lock| Journal { path: path.to_owned(), lock }))
    }

    /// Replaces the contents atomically; the file is locked at every moment.
    pub fn save(&mut self, contents: &Contents) -> Result<(), Error> {
        let next = self.next_path();
        let file = File::create(&next).context("writing the journal", &next)?;
        let mut lock = FileLock::take(file).context("locking", &next)?;
        let text = serde_json::to_vec(contents)
            .map_err(|e| Error::Journal { path: self.path.clone(), why: e.to_string() })?;
        lock.file
            .write_all(&text)
            .and_then(|()| lock.file.sync_all())
            .and_then(|()| std::fs::rename(&next, &self.path))
            .context("writing the journal", &next)?;
        self.lock = lock;
        Ok(())
    }

    /// Reads the contents; `None` if the process was killed between creating and writing the journal.
    pub fn read(&mut self) -> Result<Option<Contents>, Error> {
        let mut text = Vec::new();
        self.lock.file.read_to_end(&mut text).context("reading the journal", &self.path)?;
        if text.is_empty() {
            return Ok(None);
        }
        let contents = serde_json::from_slice(&text);
        contents.map(Some).map_err(|e| Error::Journal { path: self.path.clone(), why: e.to_string() })
    }

    /// Deletes the journal and the temporary file of an interrupted [`Journal::save`].
    pub fn remove(&self) {
        let _ = std::fs::remove_file(self.next_path());
        let _ = std::fs::remove_file(&self.path);
    }

    fn next_path(&self) -> PathBuf {
        self.path.with_extension("next")
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let number = |data: std::fs::Metadata| (data.dev(), data.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(there)) => number(open) == number(there),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = Entry> {
        ("/\\PC{0,20}", 0..6).prop_map(|(path, kind)| {
            let path = PathBuf::from(path);
            match kind {
                0 => Entry::Loop { backing: path },
                1 => Entry::Mount { dir: path },
                2 => Entry::Directory { path },
                3 => Entry::File { path },
                4 => Entry::Cgroup { path },
                _ => Entry::RestoreNote { note: path },
            }
        })
    }

    proptest! {
        #[test]
        fn contents_round_trip(pid: u32, entries in prop::collection::vec(entry(), 0..5)) {
            let dir = tempfile::tempdir().unwrap();
            let mut journal = Journal::create(dir.path()).unwrap();
            let contents = Contents { pid, entries };
            journal.save(&contents).unwrap();
            prop_assert!(Journal::take_over(&journal.path).unwrap().is_none());
            let path = journal.path.clone();
            drop(journal);
            prop_assert_eq!(Journal::take_over(&path).unwrap().unwrap().read().unwrap(), Some(contents));
        }

        #[test]
        fn arbitrary_file_is_an_error(text in prop::collection::vec(any::<u8>(), 1..100)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("1.json");
            std::fs::write(&path, &text).unwrap();
            let read = Journal::take_over(&path).unwrap().unwrap().read();
            prop_assert!(read.unwrap_err().to_string().contains("is not a record of a run"));
        }
    }
}
