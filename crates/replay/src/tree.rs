//! The parent of each directory.

use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use trace::DirId;

use crate::FailureCause;
use crate::names::Names;
use crate::walk::{Directory, Walk};

/// The directories known to a replay, for a later replay: with labels, names do not identify directories.
#[derive(Default)]
pub struct Directories(HashMap<DirId, Option<DirId>>);

/// The parents of all live directories, shared by all engines of a replay. They are needed only when a directory
/// is opened, so a lock is fast enough.
pub(crate) struct Tree {
    root: OwnedFd,
    names: Names,
    /// `None` for a directory that could not be created.
    parents: RwLock<HashMap<DirId, Option<DirId>>>,
    searched: AtomicBool,
}

impl Tree {
    pub fn new(root: OwnedFd, names: Names, made: Directories) -> Self {
        Self { root, names, parents: RwLock::new(made.0), searched: AtomicBool::new(false) }
    }

    /// The known directories.
    pub fn directories(&self) -> Directories {
        Directories(self.parents.read().expect("no thread panics with the lock").clone())
    }

    pub fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// The names of files and directories.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The parent of `dir`. An unknown directory was created by an earlier replay: then the tree is
    /// searched, once.
    pub fn parent(&self, dir: DirId) -> Result<DirId, FailureCause> {
        if let Some(parent) = self.known(dir) {
            return parent.ok_or(FailureCause::NotCreated);
        }
        if !self.searched.swap(true, Relaxed) {
            self.search()?;
        }
        self.known(dir).ok_or(FailureCause::Os(Errno::NOENT))?.ok_or(FailureCause::NotCreated)
    }

    /// Records a directory, or with `parent` `None` that it could not be created.
    pub fn insert(&self, dir: DirId, parent: Option<DirId>) {
        self.parents.write().expect("no thread panics with the lock").insert(dir, parent);
    }

    /// Removes a directory.
    pub fn remove(&self, dir: DirId) {
        self.parents.write().expect("no thread panics with the lock").remove(&dir);
    }

    /// The parent of `dir`, if known without a search.
    pub fn known(&self, dir: DirId) -> Option<Option<DirId>> {
        self.parents.read().expect("no thread panics with the lock").get(&dir).copied()
    }

    fn search(&self) -> io::Result<()> {
        let mut parents = self.parents.write().expect("no thread panics with the lock");
        for found in Walk::new(&self.root)?.skip(1) {
            let Directory { number, parent, .. } = found?;
            parents.entry(number).or_insert(Some(parent));
        }
        Ok(())
    }
}
