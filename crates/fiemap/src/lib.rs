//! The extent map of a file: where its blocks lie on the disk, as the kernel reports it (`FS_IOC_FIEMAP`).

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::fmt;
use std::mem::MaybeUninit;
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

/// Extents that one call returns.
const CHUNK: usize = 256;

/// Write delayed data back first: without it, the map lacks data that has no place yet. Set in every call, as it costs nothing where there is no
/// such data.
const FLAG_SYNC: u32 = 1;

/// The kernel's `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy)]
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
    extents: [MaybeUninit<RawExtent>; CHUNK],
}

const FS_IOC_FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

/// The extents of an open file in order of their place in it, without holes. Delayed data of the file is written back first, so that
/// all of it has a place.
///
/// # Errors
/// If the file system has no extent maps (`OPNOTSUPP` or `NOTTY`), or cannot read its own.
pub fn file_extents(file: impl AsFd) -> rustix::io::Result<Vec<FileExtent>> {
    let mut extents = Vec::new();
    each_extent(file, |extent| extents.push(extent))?;
    Ok(extents)
}

/// Calls `visit` with the extents that [`file_extents`] returns, and allocates nothing.
///
/// # Errors
/// As [`file_extents`].
pub fn each_extent(file: impl AsFd, mut visit: impl FnMut(FileExtent)) -> rustix::io::Result<()> {
    let mut start = 0;
    loop {
        let count = CHUNK as u32;
        let header = Header { start, len: u64::MAX - start, flags: FLAG_SYNC, mapped: 0, count, reserved: 0 };
        let mut buffer = Buffer { header, extents: [MaybeUninit::uninit(); CHUNK] };
        // SAFETY: the opcode takes a struct fiemap with `count` extents behind it, which `Buffer` is.
        unsafe { ioctl(&file, Updater::<FS_IOC_FIEMAP, Buffer>::new(&mut buffer)) }?;
        let mut last = None;
        for raw in buffer.extents.iter().take(buffer.header.mapped as usize) {
            // SAFETY: the kernel has written the first `mapped` extents.
            let raw = unsafe { raw.assume_init() };
            let RawExtent { logical, physical, len, flags, .. } = raw;
            let extent = FileExtent { logical, physical, len, flags: ExtentFlags(flags) };
            visit(extent);
            last = Some(extent);
        }
        match last {
            // The first condition ends the loop on a file that changes meanwhile.
            Some(last) if last.logical_end() > start && !last.flags.any(ExtentFlags::LAST) => {
                start = last.logical_end();
            }
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    /// The directory of the sources is on a disk.
    #[test]
    fn every_extent_of_a_sparse_file_is_mapped_though_it_takes_several_calls() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let step = 1 << 20;
        let written = CHUNK as u64 + 3;
        (0..written).for_each(|at| file.write_all_at(b"data", at * step).unwrap());
        let extents = match file_extents(&file) {
            Ok(extents) => extents,
            Err(error @ rustix::io::Errno::OPNOTSUPP) => return testing::skip("extent maps", error),
            Err(error) => panic!("{error}"),
        };
        let at: Vec<u64> = extents.iter().map(|extent| extent.logical / step).collect();
        assert_eq!(at, Vec::from_iter(0..written));
        let last = extents.last().unwrap();
        assert!(last.flags.any(ExtentFlags::LAST) && last.flags.has_blocks() && last.len < step, "{last:?}");
    }
}
