//! Which directory lies in which.

use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use trace::DirId;

use crate::Trouble;
use crate::names::Names;
use crate::walk::{Directory, Walk};

/// The directories that a replay knows, for one that goes on after it: with labels their names do not tell which is which.
#[derive(Default)]
pub struct Directories(HashMap<DirId, Option<DirId>>);

/// The parents of all live directories, known to all engines of a replay. They are asked for only when a directory
/// has to be opened, so that a lock does no harm.
pub(crate) struct Tree {
    root: OwnedFd,
    names: Names,
    /// `None` for a directory that could not be made.
    parents: RwLock<HashMap<DirId, Option<DirId>>>,
    searched: AtomicBool,
}

impl Tree {
    pub fn new(root: OwnedFd, names: Names, made: Directories) -> Self {
        Self { root, names, parents: RwLock::new(made.0), searched: AtomicBool::new(false) }
    }

    /// What is known of directories.
    pub fn directories(&self) -> Directories {
        Directories(self.parents.read().expect("no thread panics while it holds the parents").clone())
    }

    pub fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// What files and directories are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The directory that holds `dir`. One that is not known was made by an earlier replay: then the tree is
    /// searched, once.
    pub fn parent(&self, dir: DirId) -> Result<DirId, Trouble> {
        if let Some(parent) = self.known(dir) {
            return parent.ok_or(Trouble::NeverMade);
        }
        if !self.searched.swap(true, Relaxed) {
            self.search()?;
        }
        self.known(dir).ok_or(Trouble::Os(Errno::NOENT))?.ok_or(Trouble::NeverMade)
    }

    /// Takes note of a directory, or that it could not be made if `parent` is `None`.
    pub fn insert(&self, dir: DirId, parent: Option<DirId>) {
        self.parents.write().expect("no thread panics while it holds the parents").insert(dir, parent);
    }

    /// Forgets a directory.
    pub fn remove(&self, dir: DirId) {
        self.parents.write().expect("no thread panics while it holds the parents").remove(&dir);
    }

    /// Whether there is a directory `dir`, as far as is known without a search.
    pub fn known(&self, dir: DirId) -> Option<Option<DirId>> {
        self.parents.read().expect("no thread panics while it holds the parents").get(&dir).copied()
    }

    fn search(&self) -> io::Result<()> {
        let mut parents = self.parents.write().expect("no thread panics while it holds the parents");
        for found in Walk::new(&self.root)?.skip(1) {
            let Directory { number, parent, .. } = found?;
            parents.entry(number).or_insert(Some(parent));
        }
        Ok(())
    }
}
