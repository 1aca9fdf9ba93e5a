//! An entry of a snapshot: one name of a file system.

/// The file type of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A regular file.
    File = 0,
    /// A directory.
    Dir = 1,
    /// A symbolic link.
    Symlink = 2,
    /// A device, a pipe or a socket.
    Special = 3,
}

/// The metadata of a name when the snapshot was taken. A file with several names has several entries with one
/// inode. Times are nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The place of the parent directory in the snapshot; the root has its own place.
    pub parent: u32,
    /// The file type.
    pub kind: Kind,
    /// The inode number.
    pub inode: u64,
    /// The generation, which distinguishes files that reuse an inode number; `None` if the file system has
    /// none.
    pub generation: Option<u32>,
    /// The number of names.
    pub links: u32,
    /// The size in bytes.
    pub size: u64,
    /// Allocated space in bytes.
    pub allocated: u64,
    /// The time of the last change of the inode.
    pub changed_ns: i64,
    /// The time of the last modification of the contents.
    pub modified_ns: i64,
    /// The birth time; `None` if the file system has none.
    pub born_ns: Option<i64>,
}

/// An attribute of an entry that the source of a snapshot may lack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Attribute {
    /// The inode number; if lacking, it is derived from the path, so that equal paths mean equal files.
    Inode,
    /// The generation; if lacking, `None`.
    Generation,
    /// The number of names; if lacking, 1.
    Links,
    /// The size; if lacking, 0.
    Size,
    /// The allocated space; if lacking, the size.
    Allocated,
    /// The change time; if lacking, the modification time.
    Changed,
    /// The modification time; if lacking, the change time.
    Modified,
    /// The birth time; if lacking, `None`.
    Born,
    /// The extents; if lacking, empty.
    Extents,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::File, Kind::Dir, Kind::Symlink, Kind::Special];

    /// The name, also used in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Dir => "dir",
            Kind::Symlink => "symlink",
            Kind::Special => "special",
        }
    }
}

impl Attribute {
    /// Every attribute.
    pub const ALL: [Attribute; 9] = [
        Attribute::Inode,
        Attribute::Generation,
        Attribute::Links,
        Attribute::Size,
        Attribute::Allocated,
        Attribute::Changed,
        Attribute::Modified,
        Attribute::Born,
        Attribute::Extents,
    ];

    /// The name, also used in files.
    pub fn name(self) -> &'static str {
        match self {
            Attribute::Inode => "inode",
            Attribute::Generation => "generation",
            Attribute::Links => "links",
            Attribute::Size => "size",
            Attribute::Allocated => "allocated",
            Attribute::Changed => "changed",
            Attribute::Modified => "modified",
            Attribute::Born => "born",
            Attribute::Extents => "extents",
        }
    }
}

/// A run of blocks that is contiguous in the file and on disk. Offsets and lengths are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on disk.
    pub physical: u64,
    /// Length.
    pub len: u64,
}

impl Extent {
    /// The end in the file, exclusive.
    pub fn logical_end(&self) -> u64 {
        self.logical.saturating_add(self.len)
    }

    /// The end on disk, exclusive.
    pub fn physical_end(&self) -> u64 {
        self.physical.saturating_add(self.len)
    }
}
