//! The operations that every workload produces and every engine replays (DESIGN §1).
//!
//! Files and directories are identified by number, together with the number of their parent directory, never
//! by path: a trace of a billion operations needs no name table, and the replay works relative to open
//! directories. The names on disk are derived from the numbers ([`file_name`], [`dir_name`]), unless the
//! trace has [`Labels`](crate::Labels).

use std::fmt;
use std::io::Write as _;

/// The number of a directory. [`ROOT`] is the directory that the trace is replayed into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DirId(pub u32);

/// The number of a file (strictly, of a directory entry: each hard link has its own number).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u64);

/// The directory a trace starts in; it exists before the first operation.
pub const ROOT: DirId = DirId(0);

/// How a created file gets its contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Content {
    /// The engine chooses the fastest method that gives the layout of a written file.
    Auto = 0,
    /// Blocks are preallocated with `fallocate`, and written in place later if the file survives.
    Preallocated = 1,
    /// Bytes are written with `write`.
    Written = 2,
    /// Only the size is set: the file is one hole.
    Hole = 3,
    /// A symbolic link; the size is the length of its target.
    Symlink = 4,
}

impl Content {
    /// Every method, in the order of its number.
    pub const ALL: [Content; 5] =
        [Content::Auto, Content::Preallocated, Content::Written, Content::Hole, Content::Symlink];

    /// The name in trace files.
    pub fn name(self) -> &'static str {
        match self {
            Content::Auto => "auto",
            Content::Preallocated => "preallocated",
            Content::Written => "written",
            Content::Hole => "hole",
            Content::Symlink => "symlink",
        }
    }
}

/// One operation on a file system. Sizes, offsets and lengths are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are explained by the variant")]
pub enum Op {
    /// Create directory `dir` in `parent`.
    Mkdir { dir: DirId, parent: DirId },
    /// Remove the empty directory `dir` from `parent`.
    Rmdir { dir: DirId, parent: DirId },
    /// Create `file` in `parent` with `size` bytes.
    Create { file: FileId, parent: DirId, size: u64, content: Content },
    /// Write `len` bytes at `offset`, extending the file if necessary.
    Write { file: FileId, parent: DirId, offset: u64, len: u64 },
    /// Write `len` bytes at the end of the file.
    Append { file: FileId, parent: DirId, len: u64 },
    /// Truncate or extend the file to `size` bytes.
    Truncate { file: FileId, parent: DirId, size: u64 },
    /// Free the blocks of `len` bytes at `offset`, keeping the size.
    Punch { file: FileId, parent: DirId, offset: u64, len: u64 },
    /// Rename `file` to `to_file` in `to_parent`, replacing an existing file.
    Rename { file: FileId, parent: DirId, to_file: FileId, to_parent: DirId },
    /// Create the hard link `to_file` in `to_parent` to `file`.
    Link { file: FileId, parent: DirId, to_file: FileId, to_parent: DirId },
    /// Create `to_file` in `to_parent` as a copy of `file` that shares its blocks (a reflink), until one of the two is
    /// written.
    Clone { file: FileId, parent: DirId, to_file: FileId, to_parent: DirId },
    /// Take the read-only snapshot `number` of the whole file system, which shares all blocks with it.
    Snapshot { number: u64 },
    /// Delete the snapshot `number`, and wait until its blocks are free.
    DeleteSnapshot { number: u64 },
    /// Unlink `file`.
    Delete { file: FileId, parent: DirId },
    /// Sync the file to stable storage.
    Fsync { file: FileId, parent: DirId },
    /// A point at which the replay pauses for measurements; all earlier operations are applied and on disk.
    Checkpoint { number: u64 },
}

impl Op {
    /// The names of all kinds of operations, in the order of [`Op::kind`].
    pub const KINDS: [&'static str; 15] = [
        "mkdir",
        "rmdir",
        "create",
        "write",
        "append",
        "truncate",
        "punch",
        "rename",
        "link",
        "delete",
        "fsync",
        "checkpoint",
        "clone",
        "snapshot",
        "delete_snapshot",
    ];

    /// The index of this operation's kind in [`Op::KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Op::Mkdir { .. } => 0,
            Op::Rmdir { .. } => 1,
            Op::Create { .. } => 2,
            Op::Write { .. } => 3,
            Op::Append { .. } => 4,
            Op::Truncate { .. } => 5,
            Op::Punch { .. } => 6,
            Op::Rename { .. } => 7,
            Op::Link { .. } => 8,
            Op::Delete { .. } => 9,
            Op::Fsync { .. } => 10,
            Op::Checkpoint { .. } => 11,
            Op::Clone { .. } => 12,
            Op::Snapshot { .. } => 13,
            Op::DeleteSnapshot { .. } => 14,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = Op::KINDS[self.kind()];
        match *self {
            Op::Mkdir { dir, parent } | Op::Rmdir { dir, parent } => write!(f, "{kind} {dir} in {parent}"),
            Op::Create { file, parent, size, content } => {
                write!(f, "{kind} {file} in {parent} size {size} {content:?}")
            }
            Op::Write { file, parent, offset, len } | Op::Punch { file, parent, offset, len } => {
                write!(f, "{kind} {file} in {parent} at {offset} length {len}")
            }
            Op::Append { file, parent, len } => write!(f, "{kind} {file} in {parent} length {len}"),
            Op::Truncate { file, parent, size } => write!(f, "{kind} {file} in {parent} size {size}"),
            Op::Rename { file, parent, to_file, to_parent }
            | Op::Link { file, parent, to_file, to_parent }
            | Op::Clone { file, parent, to_file, to_parent } => {
                write!(f, "{kind} {file} in {parent} to {to_file} in {to_parent}")
            }
            Op::Delete { file, parent } | Op::Fsync { file, parent } => {
                write!(f, "{kind} {file} in {parent}")
            }
            Op::Snapshot { number } | Op::DeleteSnapshot { number } | Op::Checkpoint { number } => {
                write!(f, "{kind} {number}")
            }
        }
    }
}

impl fmt::Display for DirId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "d{:x}", self.0)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{:x}", self.0)
    }
}

/// Writes the name of a file on disk, `f` and its number in hexadecimal, into `buffer`, which it clears.
pub fn file_name(file: FileId, buffer: &mut Vec<u8>) {
    buffer.clear();
    write!(buffer, "{file}").expect("writing to memory does not fail");
}

/// Writes the name of a directory on disk, `d` and its number in hexadecimal, into `buffer`, which it clears.
pub fn dir_name(dir: DirId, buffer: &mut Vec<u8>) {
    buffer.clear();
    write!(buffer, "{dir}").expect("writing to memory does not fail");
}
