//! One name of a file system.

/// What a name stands for.
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

/// What a name stood for when the snapshot was taken. A file with several names has several entries with one inode.
/// Times are nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The place of its directory in the snapshot; the root has its own.
    pub parent: u32,
    /// What it is.
    pub kind: Kind,
    /// Its inode number.
    pub inode: u64,
    /// What tells it from earlier files of that inode number, where the file system keeps such a number.
    pub generation: Option<u32>,
    /// How many names it has.
    pub links: u32,
    /// Its size in bytes.
    pub size: u64,
    /// What it takes on disk, in bytes.
    pub allocated: u64,
    /// When its inode was last changed.
    pub changed_ns: i64,
    /// When its contents were last modified.
    pub modified_ns: i64,
    /// When it was made, where the file system keeps that.
    pub born_ns: Option<i64>,
}

/// A fact of an entry that what a snapshot is made of may not carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fact {
    /// The inode number; the one it has is made of the path, so that what has the same path is the same file.
    Inode,
    /// The generation, which is `None`.
    Generation,
    /// The number of names; it is 1.
    Links,
    /// The size, which is 0 where it is not known.
    Size,
    /// What it takes on disk, which is taken to be the size.
    Allocated,
    /// The time of change, which is taken to be that of modification.
    Changed,
    /// The time of modification, which is taken to be that of change.
    Modified,
    /// The time of birth, which is `None`.
    Born,
    /// The extents, of which there are none.
    Extents,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::File, Kind::Dir, Kind::Symlink, Kind::Special];

    /// Its name, in files too.
    pub fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Dir => "dir",
            Kind::Symlink => "symlink",
            Kind::Special => "special",
        }
    }
}

impl Fact {
    /// Every fact.
    pub const ALL: [Fact; 9] = [
        Fact::Inode,
        Fact::Generation,
        Fact::Links,
        Fact::Size,
        Fact::Allocated,
        Fact::Changed,
        Fact::Modified,
        Fact::Born,
        Fact::Extents,
    ];

    /// Its name, in files too.
    pub fn name(self) -> &'static str {
        match self {
            Fact::Inode => "inode",
            Fact::Generation => "generation",
            Fact::Links => "links",
            Fact::Size => "size",
            Fact::Allocated => "allocated",
            Fact::Changed => "changed",
            Fact::Modified => "modified",
            Fact::Born => "born",
            Fact::Extents => "extents",
        }
    }
}

/// Neighbouring blocks of a file that are neighbours on disk too. Places and lengths are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Its place in the file.
    pub logical: u64,
    /// Its place on disk.
    pub physical: u64,
    /// Its length.
    pub len: u64,
}

impl Extent {
    /// The byte of the file behind it.
    pub fn logical_end(&self) -> u64 {
        self.logical.saturating_add(self.len)
    }

    /// The byte on disk behind it.
    pub fn physical_end(&self) -> u64 {
        self.physical.saturating_add(self.len)
    }
}
