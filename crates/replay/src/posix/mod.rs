//! The engine for a mounted file system, with system calls relative to open directories.

mod clone;
mod names;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fd::AsFd;
use rustix::fs::{FallocateFlags, fallocate, fstat, fsync, ftruncate, syncfs};
use rustix::io::{Errno, retry_on_intr};
use trace::{DirId, Op};

use self::names::Name;
use crate::data::{SharedWriter, Writer};
use crate::dirs::Dirs;
use crate::lost::LostFiles;
use crate::names::Names;
use crate::tree::{Directories, Tree};
use crate::{Engine, Error, FailureCause, Options, Shard, limits, walk};

/// Applies operations below one directory of a mounted file system.
pub struct PosixEngine {
    shared: Arc<Shared>,
    dirs: Dirs,
    writer: Writer,
    name: Name,
    to_name: Name,
}

/// State shared by the engines of a replay.
struct Shared {
    tree: Arc<Tree>,
    lost: LostFiles,
    redo: Arc<AtomicBool>,
    shard: Shard,
}

impl PosixEngine {
    /// Creates `size` engines that work together below `root`. While `redo` is set, operations that were already applied
    /// are not errors. The directories in `made` already exist under their numbers.
    pub(crate) fn engines(
        root: &Path,
        options: &Options,
        size: usize,
        redo: &Arc<AtomicBool>,
        names: Names,
        made: Directories,
    ) -> crate::Result<(Vec<PosixEngine>, Arc<Tree>)> {
        let purpose = "replay a trace";
        let opened = walk::open_root(root, purpose)?;
        let again =
            opened.try_clone().map_err(|source| Error::Root { path: root.into(), purpose, source })?;
        let shared_writer = Arc::new(SharedWriter::new(again, options));
        let tree = Arc::new(Tree::new(opened, names, made));
        let (lost, redo, shard) = (LostFiles::default(), redo.clone(), options.shard);
        let shared = Arc::new(Shared { tree: tree.clone(), lost, redo, shard });
        let capacity = limits::open_directories() / size;
        let engine = |_| PosixEngine {
            shared: shared.clone(),
            dirs: Dirs::new(tree.clone(), capacity),
            writer: Writer::new(shared_writer.clone()),
            name: Name::default(),
            to_name: Name::default(),
        };
        Ok(((0..size).map(engine).collect(), tree))
    }

    fn attempt(&mut self, op: &Op) -> Result<(), FailureCause> {
        match *op {
            Op::Mkdir { dir, parent } => self.mkdir(dir, parent)?,
            Op::Rmdir { dir, parent } => self.rmdir(dir, parent)?,
            Op::Create { file, parent, size, content } => self.create(file, parent, size, content)?,
            Op::Write { file, parent, offset, len } => {
                let fd = self.open(file, parent)?;
                self.writer.update(fd.as_fd(), file, offset, len)?;
            }
            Op::Append { file, parent, len } => {
                let fd = self.open(file, parent)?;
                let end = fstat(&fd)?.st_size as u64;
                self.writer.update(fd.as_fd(), file, end, len)?;
            }
            Op::Truncate { file, parent, size } => {
                let fd = self.open(file, parent)?;
                retry_on_intr(|| ftruncate(&fd, size))?;
            }
            Op::Punch { file, parent, offset, len } => {
                let fd = self.open(file, parent)?;
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                if len > 0 {
                    retry_on_intr(|| fallocate(&fd, flags, offset, len))?;
                }
            }
            Op::Rename { file, parent, to_file, to_parent } => {
                self.rename((parent, file), (to_parent, to_file))?
            }
            Op::Link { file, parent, to_file, to_parent } => {
                self.link((parent, file), (to_parent, to_file))?
            }
            Op::Clone { file, parent, to_file, to_parent } => {
                self.clone_file((parent, file), (to_parent, to_file))?
            }
            Op::Delete { file, parent } => self.delete(file, parent)?,
            Op::Fsync { file, parent } => {
                let fd = self.open(file, parent)?;
                retry_on_intr(|| fsync(&fd))?;
            }
            // Each file system has its own interface for them, which the caller knows.
            Op::Snapshot { .. } | Op::DeleteSnapshot { .. } => return Err(Errno::OPNOTSUPP.into()),
            Op::Checkpoint { .. } => syncfs(self.shared.tree.root())?,
        }
        Ok(())
    }

    /// Whether the current operation may already have been applied.
    fn redoes(&self) -> bool {
        self.shared.redo.load(Relaxed)
    }
}

impl Engine for PosixEngine {
    fn apply(&mut self, op: &Op) -> Result<(), FailureCause> {
        match self.attempt(op) {
            // It was applied before, or a later operation was applied that removed what this one needs.
            // With labels, a later operation may also have replaced a file by a directory or vice versa.
            Err(FailureCause::Os(Errno::NOENT | Errno::ISDIR | Errno::NOTDIR)) if self.redoes() => Ok(()),
            done => done,
        }
    }

    fn forget(&mut self, dir: DirId) {
        self.dirs.forget(dir);
    }
}
