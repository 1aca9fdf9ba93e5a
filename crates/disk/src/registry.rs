//! The registry of what runs have made and must take down again.
//!
//! Each run keeps a journal, `<pid>.json` in the run directory, and a lock on it that the kernel gives up when the
//! process ends, however it ends. An entry is in the journal, safely, before the thing it names is made; so after
//! `kill -9` [`cleanup`] finds everything, and nothing that is not ours.

mod cleanup;
mod journal;

pub use cleanup::{Cleaned, cleanup, cleanup_in};

use crate::error::{Error, IoContext};
use journal::{Contents, Journal};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Something that must be taken down when the run ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// The loop device that makes this file a disk.
    Loop {
        /// The image, as an absolute path.
        backing: PathBuf,
    },
    /// What is mounted on this directory.
    Mount {
        /// The directory; it goes too if it lies in the run directory.
        dir: PathBuf,
    },
    /// A temporary directory with all that is in it.
    Directory {
        /// A directory that holds our marker, or whose parent does.
        path: PathBuf,
    },
    /// A temporary file.
    File {
        /// A file below a directory that holds our marker.
        path: PathBuf,
    },
    /// A control group.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// What was written to a disk that is to be what it was.
    Dirty {
        /// The note that says how.
        note: PathBuf,
    },
}

impl Entry {
    fn path(&self) -> &Path {
        match self {
            Entry::Loop { backing: path } | Entry::Mount { dir: path } => path,
            Entry::Directory { path } | Entry::File { path } | Entry::Cgroup { path } => path,
            Entry::Dirty { note } => note,
        }
    }
}

/// Where journals and mount points are: `$SENESCE_RUN_DIR`, else `/run/senesce` for root, else a directory of the
/// user's own.
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
    // The kernel's mount table has no symbolic links in it.
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// A run, as seen by the registry. It ends when the last [`Recorded`] and the session itself are dropped.
#[derive(Debug)]
pub struct Session {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    journal: Journal,
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

impl Session {
    /// Opens a journal for this process in the [`run_dir`].
    pub fn begin() -> Result<Arc<Session>, Error> {
        Session::begin_in(&run_dir())
    }

    /// Opens a journal for this process in a run directory of its own.
    pub fn begin_in(dir: &Path) -> Result<Arc<Session>, Error> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).context("creating", dir)?;
        // The kernel's mount table has no symbolic links in it.
        let dir = std::fs::canonicalize(dir).context("finding", dir)?;
        let owner = std::fs::metadata(&dir).context("checking", &dir)?.uid();
        if owner != geteuid().as_raw() {
            let why = format!("it belongs to user {owner}; set SENESCE_RUN_DIR to a directory that you own");
            return Err(Error::Journal { path: dir, why });
        }
        let journal = Journal::create(&dir)?;
        let state = State { journal, entries: BTreeMap::new(), next: 0 };
        Ok(Arc::new(Session { dir, state: Mutex::new(state) }))
    }

    /// The run directory, where its journal and its mount points are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes `entry` into the journal; to be called before the thing it names is made.
    pub fn record(self: &Arc<Self>, entry: Entry) -> Result<Recorded, Error> {
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
        Ok(Recorded { session: self.clone(), id, gone: true })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with the lock")
    }
}

impl State {
    fn save(&mut self) -> Result<(), Error> {
        let contents =
            Contents { pid: std::process::id(), entries: self.entries.values().cloned().collect() };
        self.journal.save(&contents)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let state = self.state();
        // What could not be taken down waits in the journal for `cleanup`.
        if state.entries.is_empty() {
            state.journal.remove();
        }
    }
}

/// The proof that something is in the journal. Dropping it says that the thing is gone, so it is to be dropped
/// after it: in a struct, declare it last.
#[derive(Debug)]
pub struct Recorded {
    session: Arc<Session>,
    id: u64,
    gone: bool,
}

impl Recorded {
    /// Strikes the thing from the journal: it is gone, or is to stay for good.
    pub fn forget(self) {}

    /// Leaves the thing in the journal for [`cleanup`], because it could not be taken down now.
    pub fn keep(mut self) {
        self.gone = false;
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.gone {
            let mut state = self.session.state();
            state.entries.remove(&self.id);
            // An entry too many does no harm: cleanup finds that there is nothing to take down.
            let _ = state.save();
        }
    }
}
