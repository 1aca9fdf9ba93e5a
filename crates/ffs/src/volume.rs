//! A simulated file system: names, sizes and directories above an allocator. It applies the operations of a trace.

mod names;
mod window;

use crate::Error;
use crate::allocator::{Allocator, NoSpace};
use crate::files::{Files, LARGEST_SIZE, Record};
use crate::layout::Layout;
use names::Links;
use serde::Serialize;
use trace::{Content, DirId, FileId, Op, ROOT};
use window::Window;

/// Bytes of a directory entry with its name; a directory grows by [`DIRECTORY_CHUNK`] and never
/// shrinks.
const ENTRY_BYTES: u64 = 16;
const DIRECTORY_CHUNK: u64 = 512;
/// Symbolic links up to this length are stored in their inode (4.4BSD).
const SHORT_SYMLINK: u64 = 60;

/// Counts of the operations on a simulated file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct OperationCounts {
    /// Operations, including failed ones.
    pub operations: u64,
    /// Operations that failed for lack of space or inodes.
    pub no_space: u64,
    /// Operations on files or directories that for this reason do not exist.
    pub skipped: u64,
    /// Checkpoints among the operations. Each ends a day.
    pub checkpoints: u64,
    /// Bytes written by creations, writes and appends.
    pub bytes_written: u64,
}

/// A file and its layout.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'a> {
    /// The file number.
    pub file: u64,
    /// The number of its directory.
    pub directory: u32,
    /// Number of checkpoints before its last change.
    pub day: u16,
    /// Its layout.
    pub layout: &'a Layout,
}

/// A simulated file system.
#[derive(Clone)]
pub struct Volume<A> {
    allocator: A,
    files: Files,
    directories: Files,
    links: Links,
    window: Window,
    counts: OperationCounts,
    scratch: Layout,
}

impl<A: Allocator> Volume<A> {
    /// An empty file system that allocates blocks at once.
    pub fn new(allocator: A) -> Volume<A> {
        Volume::with_window(allocator, 0)
    }

    /// An empty file system with delayed allocation: collects up to `window_bytes` of data at the ends of files in total before it
    /// allocates blocks.
    pub fn with_window(mut allocator: A, window_bytes: u64) -> Volume<A> {
        let unit_bytes = allocator.unit_bytes();
        let inode = allocator.allocate_inode(None, true).expect("an empty file system has inodes");
        let mut volume = Volume {
            allocator,
            files: Files::new(unit_bytes),
            directories: Files::new(unit_bytes),
            links: Links::default(),
            window: Window::new(window_bytes),
            counts: OperationCounts::default(),
            scratch: Layout::default(),
        };
        volume.directories.add(u64::from(ROOT.0), 0, inode, 0).expect("the file system is empty");
        volume
    }

    /// The counts of operations so far.
    pub fn counts(&self) -> OperationCounts {
        self.counts
    }

    /// The allocator.
    pub fn allocator(&self) -> &A {
        &self.allocator
    }

    /// Number of files, each counted once regardless of its links.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Number of directories, including the root.
    pub fn directories(&self) -> usize {
        self.directories.len()
    }

    /// Applies an operation. Lack of space is counted; an operation that is impossible for another reason is an error.
    pub fn apply(&mut self, op: &Op) -> Result<(), Error> {
        let index = self.counts.operations;
        self.counts.operations += 1;
        match self.try_apply(op) {
            Ok(Ok(())) => {}
            Ok(Err(NoSpace)) => self.counts.no_space += 1,
            Err(_) if self.counts.no_space > 0 => self.counts.skipped += 1,
            Err(why) => return Err(Error::Impossible { index, op: op.to_string(), why }),
        }
        Ok(())
    }

    fn try_apply(&mut self, op: &Op) -> Result<Result<(), NoSpace>, &'static str> {
        match *op {
            Op::Mkdir { dir, parent } => self.mkdir(dir, parent),
            Op::Rmdir { dir, parent } => self.rmdir(dir, parent).map(Ok),
            Op::Create { file, parent, size, content } => self.create(file, parent, size, content),
            Op::Write { file, offset, len, .. } => self.on(file, |this, slot| this.write(slot, offset, len)),
            Op::Append { file, len, .. } => self.on(file, |this, slot| {
                let end = this.files.get(slot).size();
                this.write(slot, end, len)
            }),
            Op::Truncate { file, size, .. } => self.on(file, |this, slot| this.truncate(slot, size)),
            Op::Punch { file, offset, len, .. } => self.on(file, |this, slot| {
                this.flush(slot)?;
                this.change(slot, |allocator, layout| {
                    allocator.punch(layout, offset, len);
                    Ok(())
                })
            }),
            Op::Rename { file, parent, to_file, to_parent } => self.rename(file, parent, to_file, to_parent),
            Op::Link { file, to_file, to_parent, .. } => self.link(file, to_file, to_parent),
            Op::Clone { .. } => Err("file systems of the laboratory do not share blocks between files"),
            Op::Snapshot { .. } | Op::DeleteSnapshot { .. } => {
                Err("file systems of the laboratory have no snapshots")
            }
            Op::Delete { file, parent } => self.delete(file, parent).map(Ok),
            Op::Fsync { file, .. } => self.on(file, Self::flush),
            Op::Checkpoint { .. } => {
                self.counts.checkpoints += 1;
                Ok(self.flush_all())
            }
        }
    }

    fn on(
        &mut self,
        file: FileId,
        act: impl FnOnce(&mut Self, u32) -> Result<(), NoSpace>,
    ) -> Result<Result<(), NoSpace>, &'static str> {
        let slot = self.slot(file)?;
        Ok(act(self, slot))
    }

    fn today(&self) -> u16 {
        self.counts.checkpoints.min(u64::from(u16::MAX)) as u16
    }

    /// A unit close to the likely place of a file with this inode.
    fn near(&self, inode: u32) -> u32 {
        (self.allocator.inode_byte(inode) / self.allocator.unit_bytes()) as u32
    }

    fn create(
        &mut self,
        file: FileId,
        parent: DirId,
        size: u64,
        content: Content,
    ) -> Result<Result<(), NoSpace>, &'static str> {
        let directory = self.directory(parent)?;
        let added =
            if self.links.has(file.0) { None } else { self.files.add(file.0, parent.0, 0, self.today()) };
        let slot = added.ok_or("the file already exists")?;
        let near = self.directories.get(directory).inode;
        let Some(inode) = self.allocator.allocate_inode(Some(near), false) else {
            self.files.remove(slot);
            return Ok(Err(NoSpace));
        };
        if let Err(full) = self.enter(directory) {
            self.allocator.free_inode(inode, false);
            self.files.remove(slot);
            return Ok(Err(full));
        }
        self.files.get_mut(slot).inode = inode;
        Ok(match content {
            Content::Hole => self.set_size(slot, size),
            Content::Symlink if size < SHORT_SYMLINK => Ok(()),
            _ => self.write(slot, 0, size),
        })
    }

    /// Sets the size of a new file that is one hole.
    fn set_size(&mut self, slot: u32, size: u64) -> Result<(), NoSpace> {
        if size > LARGEST_SIZE {
            return Err(NoSpace);
        }
        self.change(slot, |_, layout| {
            layout.size = size;
            Ok(())
        })
    }

    fn write(&mut self, slot: u32, offset: u64, len: u64) -> Result<(), NoSpace> {
        if offset.saturating_add(len) > LARGEST_SIZE {
            return Err(NoSpace);
        }
        self.files.get_mut(slot).day = self.today();
        let size = self.files.get(slot).size();
        if self.window.is_open() && offset == size {
            return self.gather(slot, len);
        }
        self.flush(slot)?;
        self.counts.bytes_written += len;
        self.change(slot, |allocator, layout| allocator.write(layout, offset, len))
    }

    fn truncate(&mut self, slot: u32, size: u64) -> Result<(), NoSpace> {
        if size > LARGEST_SIZE {
            return Err(NoSpace);
        }
        self.files.get_mut(slot).day = self.today();
        self.flush(slot)?;
        self.change(slot, |allocator, layout| allocator.truncate(layout, size))
    }

    /// Changes the layout of a file.
    fn change(
        &mut self,
        slot: u32,
        act: impl FnOnce(&mut A, &mut Layout) -> Result<(), NoSpace>,
    ) -> Result<(), NoSpace> {
        let near = self.near(self.files.get(slot).inode);
        self.files.read(slot, near, &mut self.scratch);
        let acted = act(&mut self.allocator, &mut self.scratch);
        self.files.keep(slot, near, &self.scratch);
        acted
    }

    /// The layout of a file, if it exists.
    pub fn layout_of(&self, file: FileId) -> Option<Layout> {
        let slot = self.find(file)?;
        let mut layout = Layout::default();
        self.files.read(slot, self.near(self.files.get(slot).inode), &mut layout);
        Some(layout)
    }

    /// The layout of a directory, if it exists.
    pub fn layout_of_directory(&self, dir: DirId) -> Option<Layout> {
        let slot = self.directory(dir).ok()?;
        let mut layout = Layout::default();
        self.directories.read(slot, self.near(self.directories.get(slot).inode), &mut layout);
        Some(layout)
    }

    /// Visits each file, in no particular order. Data in the window has no blocks yet.
    pub fn each_file(&self, mut visit: impl FnMut(FileView<'_>)) {
        let mut layout = Layout::default();
        for slot in self.files.slots() {
            let record: &Record = self.files.get(slot);
            self.files.read(slot, self.near(record.inode), &mut layout);
            visit(FileView { file: record.id(), directory: record.owner, day: record.day, layout: &layout });
        }
    }

    /// Visits each directory.
    pub fn each_directory(&self, mut visit: impl FnMut(&Layout)) {
        let mut layout = Layout::default();
        for slot in self.directories.slots() {
            self.directories.read(slot, self.near(self.directories.get(slot).inode), &mut layout);
            visit(&layout);
        }
    }

    /// Bytes on the heap: (maps of free space, all data of files and directories).
    pub fn heap_bytes(&self) -> (usize, usize) {
        let (maps, inodes) = self.allocator.heap_bytes();
        let tables = self.files.heap_bytes() + self.directories.heap_bytes();
        (maps, inodes + tables + self.links.heap_bytes() + self.window.heap_bytes())
    }
}
