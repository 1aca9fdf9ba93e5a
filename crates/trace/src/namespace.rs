//! The namespace during a trace, and the rules for valid operations.

use std::collections::{HashMap, HashSet};

use crate::{DirId, FileId, Op, ROOT};

/// All live files and directories. Memory use depends only on their number, not on the length of the trace.
pub(crate) struct Namespace {
    files: HashMap<FileId, Entry>,
    dirs: HashMap<DirId, Dir>,
    inodes: u64,
    snapshots: HashSet<u64>,
}

/// A name of a file.
#[derive(Clone, Copy)]
struct Entry {
    parent: DirId,
    /// The inode, shared by hard links.
    inode: u64,
}

struct Dir {
    parent: DirId,
    depth: u32,
    entries: u64,
}

impl Namespace {
    /// An empty root directory.
    pub fn new() -> Self {
        let root = Dir { parent: ROOT, depth: 0, entries: 0 };
        Self {
            dirs: HashMap::from([(ROOT, root)]),
            files: HashMap::new(),
            inodes: 0,
            snapshots: HashSet::new(),
        }
    }

    /// The number of files, counting each hard link.
    pub fn files(&self) -> u64 {
        self.files.len() as u64
    }

    /// The number of directories, without the root.
    pub fn dirs(&self) -> u64 {
        self.dirs.len() as u64 - 1
    }

    /// The depth of `dir`; the root has depth 0.
    pub fn depth(&self, dir: DirId) -> Option<u32> {
        self.dirs.get(&dir).map(|dir| dir.depth)
    }

    /// Applies `op`; if it is invalid, changes nothing and returns the reason.
    pub fn apply(&mut self, op: &Op) -> Result<(), String> {
        match *op {
            Op::Mkdir { dir, parent } => self.mkdir(dir, parent),
            Op::Rmdir { dir, parent } => self.rmdir(dir, parent),
            Op::Create { file, parent, .. } => self.create(file, parent),
            Op::Write { file, parent, .. }
            | Op::Append { file, parent, .. }
            | Op::Truncate { file, parent, .. }
            | Op::Punch { file, parent, .. }
            | Op::Fsync { file, parent } => self.lookup(file, parent).map(|_| ()),
            Op::Rename { file, parent, to_file, to_parent } => self.rename(file, parent, to_file, to_parent),
            Op::Link { file, parent, to_file, to_parent } => {
                let inode = self.lookup(file, parent)?.inode;
                self.link(to_file, Entry { parent: to_parent, inode })
            }
            Op::Clone { file, parent, to_file, to_parent } => {
                self.lookup(file, parent)?;
                self.create(to_file, to_parent)
            }
            Op::Delete { file, parent } => {
                self.lookup(file, parent)?;
                self.unlink(file);
                Ok(())
            }
            Op::Snapshot { number } => match self.snapshots.insert(number) {
                true => Ok(()),
                false => Err(format!("snapshot {number} already exists")),
            },
            Op::DeleteSnapshot { number } => match self.snapshots.remove(&number) {
                true => Ok(()),
                false => Err(format!("snapshot {number} does not exist")),
            },
            Op::Checkpoint { .. } => Ok(()),
        }
    }

    fn mkdir(&mut self, dir: DirId, parent: DirId) -> Result<(), String> {
        if self.dirs.contains_key(&dir) {
            return Err(format!("directory {dir} already exists"));
        }
        let above = self.dir(parent)?;
        above.entries += 1;
        let depth = above.depth + 1;
        self.dirs.insert(dir, Dir { parent, depth, entries: 0 });
        Ok(())
    }

    fn rmdir(&mut self, dir: DirId, parent: DirId) -> Result<(), String> {
        let found = self.dir(dir)?;
        if dir == ROOT {
            return Err(format!("{dir} is the root and cannot be changed"));
        }
        if found.parent != parent {
            return Err(format!("{dir} is in {}", found.parent));
        }
        if found.entries > 0 {
            return Err(format!("{dir} is not empty, it has {} entries", found.entries));
        }
        self.dirs.remove(&dir);
        self.dir(parent)?.entries -= 1;
        Ok(())
    }

    fn create(&mut self, file: FileId, parent: DirId) -> Result<(), String> {
        self.inodes += 1;
        self.link(file, Entry { parent, inode: self.inodes })
    }

    fn rename(&mut self, file: FileId, parent: DirId, to: FileId, to_parent: DirId) -> Result<(), String> {
        let entry = self.lookup(file, parent)?;
        self.dir(to_parent)?;
        if to != file && self.files.contains_key(&to) {
            let replaced = self.lookup(to, to_parent)?;
            // POSIX then keeps both names, so the trace and the file system would diverge.
            if replaced.inode == entry.inode {
                return Err(format!("{file} and {to} are hard links to one file, so a rename has no effect"));
            }
            self.unlink(to);
        }
        self.unlink(file);
        self.link(to, Entry { parent: to_parent, ..entry })
    }

    fn link(&mut self, file: FileId, entry: Entry) -> Result<(), String> {
        if let Some(there) = self.files.get(&file) {
            return Err(format!("file {file} already exists, in {}", there.parent));
        }
        self.dir(entry.parent)?.entries += 1;
        self.files.insert(file, entry);
        Ok(())
    }

    fn unlink(&mut self, file: FileId) {
        let dir = self.files.remove(&file).and_then(|entry| self.dirs.get_mut(&entry.parent));
        dir.expect("the directory of a live file exists").entries -= 1;
    }

    fn lookup(&self, file: FileId, parent: DirId) -> Result<Entry, String> {
        match self.files.get(&file) {
            Some(entry) if entry.parent == parent => Ok(*entry),
            Some(entry) => Err(format!("{file} is in {}", entry.parent)),
            None => Err(format!("file {file} does not exist")),
        }
    }

    fn dir(&mut self, dir: DirId) -> Result<&mut Dir, String> {
        self.dirs.get_mut(&dir).ok_or_else(|| format!("directory {dir} does not exist"))
    }
}
