//! The registry of resources that runs have created and must remove again.
//!
//! Each run keeps a journal, `<pid>.json` in the run directory, with a lock that the kernel releases when the process ends, even if it is
//! killed. An entry is written and synced before the resource is created, so after `kill -9` [`cleanup`] finds every resource of a run, and
//! nothing else.

mod cleanup;
mod journal;
mod pools;

pub use cleanup::{CleanupReport, cleanup, cleanup_in};
pub use pools::POOL_PREFIX;

use crate::error::{Error, IoContext};
use journal::{Contents, Journal};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// A resource that must be removed when the run ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// The loop device backed by this file.
    Loop {
        /// The image, as an absolute path.
        backing: PathBuf,
    },
    /// The mounts on this directory.
    Mount {
        /// The mount point; it is removed too if it is in the run directory.
        dir: PathBuf,
    },
    /// A temporary directory with its contents.
    Directory {
        /// A directory that contains the marker file, or whose parent does.
        path: PathBuf,
    },
    /// A temporary file.
    File {
        /// A file below a directory that contains the marker file.
        path: PathBuf,
    },
    /// A control group.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// Temporary writes to a disk that must be undone.
    #[serde(rename = "Dirty")]
    RestoreNote {
        /// The note that describes how to undo them.
        note: PathBuf,
    },
}

impl Entry {
    fn path(&self) -> &Path {
        match self {
            Entry::Loop { backing: path } | Entry::Mount { dir: path } => path,
            Entry::Directory { path } | Entry::File { path } | Entry::Cgroup { path } => path,
            Entry::RestoreNote { note } => note,
        }
    }
}

/// The directory of journals and mount points: `$SENESCE_RUN_DIR`, otherwise `/run/senesce` for root, otherwise a directory of the user.
pub fn run_dir() -> PathBuf {
    let user = geteuid();
    let dir = if let Some(dir) = std::env::var_os("SENESCE_RUN_DIR") {
        PathBuf::from(dir)
    } else if user.is_root() {
        PathBuf::from("/run/senesce")
    } else if let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR") {
        Path::new(&dir).join("senesce")
    } else {
        std::env::temp_dir().join(format!("senesce-{}", user.as_raw()))
    };
    // Mount tables contain no symbolic links.
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// A run, as seen by the registry. It ends when the session and all its [`EntryGuard`]s are dropped.
#[derive(Debug)]
pub struct Session {
    dir: PathBuf,
    state: Mutex<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    journal: Journal,
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

impl Session {
    /// Opens a journal for this process in the [`run_dir`].
    pub fn begin() -> Result<Arc<Session>, Error> {
        Session::begin_in(&run_dir())
    }

    /// Opens a journal for this process in the given run directory.
    pub fn begin_in(dir: &Path) -> Result<Arc<Session>, Error> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).context("creating", dir)?;
        // Mount tables contain no symbolic links.
        let dir = std::fs::canonicalize(dir).context("finding", dir)?;
        let owner = std::fs::metadata(&dir).context("checking", &dir)?.uid();
        if owner != geteuid().as_raw() {
            let why = format!("it belongs to user {owner}; set SENESCE_RUN_DIR to a directory that you own");
            return Err(Error::Journal { path: dir, why });
        }
        let journal = Journal::create(&dir)?;
        let state = SessionState { journal, entries: BTreeMap::new(), next: 0 };
        Ok(Arc::new(Session { dir, state: Mutex::new(state) }))
    }

    /// The run directory, with the journal and the mount points.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds `entry` to the journal. Call it before the resource is created.
    pub fn record(self: &Arc<Self>, entry: Entry) -> Result<EntryGuard, Error> {
        if entry.path().to_str().is_none() || !entry.path().is_absolute() {
            let path = entry.path().to_owned();
            let why = "recorded paths must be absolute and UTF-8; use another path".into();
            return Err(Error::Journal { path, why });
        }
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.entries.insert(id, entry);
        if let Err(e) = state.save() {
            state.entries.remove(&id);
            return Err(e);
        }
        Ok(EntryGuard { session: self.clone(), id, gone: true })
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().expect("no thread panics with the lock")
    }
}

impl SessionState {
    fn save(&mut self) -> Result<(), Error> {
        let contents =
            Contents { pid: std::process::id(), entries: self.entries.values().cloned().collect() };
        self.journal.save(&contents)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let state = self.state();
        // Resources that could not be removed stay in the journal for `cleanup`.
        if state.entries.is_empty() {
            state.journal.remove();
        }
    }
}

/// A journal entry. Dropping it removes the entry, so it must be dropped after the resource: in a struct, declare it last.
#[derive(Debug)]
pub struct EntryGuard {
    session: Arc<Session>,
    id: u64,
    gone: bool,
}

impl EntryGuard {
    /// Removes the entry from the journal: the resource is removed, or is to stay permanently.
    pub fn remove(self) {}

    /// Leaves the entry in the journal for [`cleanup`], because the resource could not be removed.
    pub fn keep(mut self) {
        self.gone = false;
    }
}

impl Drop for EntryGuard {
    fn drop(&mut self) {
        if self.gone {
            let mut state = self.session.state();
            state.entries.remove(&self.id);
            // A stale entry does no harm: cleanup finds nothing to remove.
            let _ = state.save();
        }
    }
}
