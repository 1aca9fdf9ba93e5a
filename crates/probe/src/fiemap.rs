//! Where the blocks of a file lie on its disk, as the kernel tells it (`FS_IOC_FIEMAP`).

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use snapshot::Extent;
use std::fmt;
use std::os::fd::AsFd;

/// One extent of a file.
///
/// On Btrfs the disk address is one in its logical address space: it equals the device's order within each
/// chunk (1 GiB or less), not between chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileExtent {
    /// Its place in the file, in bytes.
    pub logical: u64,
    /// Its place on disk, in bytes; without meaning unless it has blocks.
    pub physical: u64,
    /// Its length, in bytes.
    pub len: u64,
    /// What it is.
    pub flags: ExtentFlags,
}

impl FileExtent {
    /// The byte of the file behind it.
    pub fn logical_end(&self) -> u64 {
        self.logical.saturating_add(self.len)
    }

    /// The byte on disk behind it.
    pub fn physical_end(&self) -> u64 {
        self.physical.saturating_add(self.len)
    }
}

/// What the kernel says about an extent.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    /// The last extent of its file.
    pub const LAST: ExtentFlags = ExtentFlags(0x1);
    /// Its place on disk is not known.
    pub const UNKNOWN: ExtentFlags = ExtentFlags(0x2);
    /// Not allocated yet.
    pub const DELALLOC: ExtentFlags = ExtentFlags(0x4);
    /// Compressed or encrypted: its length on disk is another.
    pub const ENCODED: ExtentFlags = ExtentFlags(0x8);
    /// Held within the inode or other metadata.
    pub const INLINE: ExtentFlags = ExtentFlags(0x200);
    /// Allocated, never written.
    pub const UNWRITTEN: ExtentFlags = ExtentFlags(0x800);
    /// Shared with another file.
    pub const SHARED: ExtentFlags = ExtentFlags(0x2000);

    /// Whether it is any of `flags`.
    pub fn any(self, flags: ExtentFlags) -> bool {
        self.0 & flags.0 != 0
    }

    /// Whether the extent has blocks of its own, at a place that is known.
    pub fn has_blocks(self) -> bool {
        !self.any(ExtentFlags(Self::UNKNOWN.0 | Self::DELALLOC.0 | Self::INLINE.0))
    }
}

impl fmt::Debug for ExtentFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Extents asked for at a time.
const CHUNK: usize = 256;

/// Write delayed data back first. Without it the map lacks what was written since the file system was last written back: it
/// is set in every call, and costs nothing where there is no such data.
const FLAG_SYNC: u32 = 1;

/// The kernel's `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    len: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// The kernel's `struct fiemap`, without the extents that follow it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    start: u64,
    len: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

#[repr(C)]
struct Buffer {
    header: Header,
    extents: [RawExtent; CHUNK],
}

const FS_IOC_FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

/// The extents of an open file in order of their place in it. Delayed data of the file is written back first, so that
/// all of it has a place.
pub fn file_extents(file: impl AsFd) -> rustix::io::Result<Vec<FileExtent>> {
    let mut extents = Vec::new();
    Fiemap::new().extents(file, &mut extents)?;
    Ok(extents)
}

/// Asks for the extents of one file after another, with the same room for the answers.
pub(crate) struct Fiemap(Box<Buffer>);

impl Fiemap {
    pub(crate) fn new() -> Fiemap {
        let header = Header { start: 0, len: 0, flags: 0, mapped: 0, count: 0, reserved: 0 };
        Fiemap(Box::new(Buffer { header, extents: [RawExtent::default(); CHUNK] }))
    }

    /// Puts those of an open file into the empty `extents`, as [`file_extents`] does.
    pub(crate) fn extents(
        &mut self,
        file: impl AsFd,
        extents: &mut Vec<FileExtent>,
    ) -> rustix::io::Result<()> {
        let buffer = &mut *self.0;
        let mut start = 0;
        loop {
            buffer.header = Header {
                start,
                len: u64::MAX - start,
                flags: FLAG_SYNC,
                mapped: 0,
                count: CHUNK as u32,
                reserved: 0,
            };
            // SAFETY: the opcode takes a struct fiemap with `count` extents behind it, which `Buffer` is.
            unsafe { ioctl(&file, Updater::<FS_IOC_FIEMAP, Buffer>::new(buffer)) }?;
            let mapped = (buffer.header.mapped as usize).min(CHUNK);
            extents.extend(buffer.extents[..mapped].iter().map(|raw| FileExtent {
                logical: raw.logical,
                physical: raw.physical,
                len: raw.len,
                flags: ExtentFlags(raw.flags),
            }));
            match extents.last() {
                // The second condition ends the loop on a file that changes meanwhile.
                Some(last)
                    if mapped > 0 && last.logical_end() > start && !last.flags.any(ExtentFlags::LAST) =>
                {
                    start = last.logical_end();
                }
                _ => return Ok(()),
            }
        }
    }
}

/// Merges extents that follow each other both in the file and on disk, and leaves out those without blocks.
pub(crate) fn pieces(extents: &[FileExtent]) -> Vec<Extent> {
    let mut pieces = Vec::new();
    append_pieces(&mut pieces, extents);
    pieces
}

/// The same for one file of several whose pieces are in one list.
pub(crate) fn append_pieces(pieces: &mut Vec<Extent>, extents: &[FileExtent]) {
    let first = pieces.len();
    for extent in extents.iter().filter(|extent| extent.flags.has_blocks() && extent.len > 0) {
        match pieces[first..].last_mut() {
            Some(last) if last.logical_end() == extent.logical && last.physical_end() == extent.physical => {
                last.len += extent.len;
            }
            _ => pieces.push(Extent { logical: extent.logical, physical: extent.physical, len: extent.len }),
        }
    }
}
