//! Giving files blocks without writing bytes.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl, ftruncate};
use rustix::io::{self, Errno, retry_on_intr};

use fiemap::{ExtentFlags, each_extent};

/// Has the file system set blocks aside for `len` bytes at `offset`.
pub(crate) fn preallocate(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    retry_on_intr(|| fallocate(fd, FallocateFlags::empty(), offset, len))
}

/// Gives the new file `fd`, open for direct I/O, blocks of `block` bytes for its first `size` bytes, and says whether
/// that can be had here; if not, the file is empty, and open for ordinary I/O.
///
/// A file system may ask its allocator for other blocks to preallocate than to write: ext4 serves small files that
/// are written from stretches set aside for many of them, and preallocation from anywhere (`fallocate` passes
/// `EXT4_GET_BLOCKS_NO_NORMALIZE`). A direct write allocates as writing does, and before it looks at the memory that
/// it is to take the bytes from. There is none at the address given here, so the write fails after its blocks were
/// allocated: they stay, unwritten.
///
/// Only unwritten extents count. Where the kernel turns a direct write into a buffered one (ext4 with block maps or with
/// journalled data), the write that fails leaves zeros in memory, which are written back like any others: blocks that
/// count as written, that [`crate::fill()`] passes by, and that do not hold what [`crate::verify()`] expects.
pub(crate) fn allocate_as_written(fd: BorrowedFd<'_>, size: u64, block: u64) -> io::Result<bool> {
    // Blocks beyond the end would be taken back when the write fails.
    retry_on_intr(|| ftruncate(fd, size))?;
    let end = size.next_multiple_of(block);
    let mut at = 0;
    while at < end {
        // SAFETY: the kernel checks the address before it reads there, and no memory is ever mapped at it.
        let written =
            unsafe { libc::pwrite(fd.as_raw_fd(), std::ptr::null(), (end - at) as usize, at as i64) };
        let failure = Errno::from_io_error(&std::io::Error::last_os_error());
        match failure.filter(|_| written < 0) {
            Some(Errno::INTR) => continue,
            Some(Errno::FAULT) => {}
            other => return Err(other.unwrap_or(Errno::IO)),
        }
        // What was allocated lies together; there may be more to allocate behind it.
        let before = at;
        each_extent(fd, |extent| {
            if extent.flags.any(ExtentFlags::UNWRITTEN) && extent.logical <= at {
                at = at.max(extent.logical_end());
            }
        })?;
        if at == before {
            // Takes back the zeros, and the blocks of a beginning.
            retry_on_intr(|| ftruncate(fd, 0))?;
            fcntl_setfl(fd, fcntl_getfl(fd)? - OFlags::DIRECT)?;
            return Ok(false);
        }
    }
    Ok(true)
}
