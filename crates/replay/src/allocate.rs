//! Allocates blocks without writing data.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl, ftruncate};
use rustix::io::{self, Errno, retry_on_intr};

use fiemap::{ExtentFlags, each_extent};

/// Preallocates blocks for `len` bytes at `offset`.
pub(crate) fn preallocate(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    retry_on_intr(|| fallocate(fd, FallocateFlags::empty(), offset, len))
}

/// Allocates blocks of `block` bytes for the first `size` bytes of the new file `fd`, which is open for direct I/O. Returns false if this
/// is unsupported here; the file is then empty and open for buffered I/O.
///
/// A file system may allocate differently for preallocation and for writes: ext4 takes the blocks of small written files from
/// groups that are preallocated for many files, but preallocation takes them from anywhere (`fallocate` passes
/// `EXT4_GET_BLOCKS_NO_NORMALIZE`). A direct write allocates like any write, before it accesses the memory with the
/// data. The address passed here is unmapped, so the write fails after its blocks were allocated: they remain as unwritten blocks.
///
/// Only unwritten extents count. Where the kernel turns a direct write into a buffered one (ext4 with block maps or with
/// journalled data), the failed write leaves zeros in the page cache, which are written back: their blocks
/// count as written, [`crate::fill()`] skips them, and they do not match the contents that [`crate::verify()`] expects.
pub(crate) fn allocate_as_written(fd: BorrowedFd<'_>, size: u64, block: u64) -> io::Result<bool> {
    // Sets the size first: the failing write would free blocks beyond the end of the file.
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
        // The blocks allocated so far are contiguous; more may be needed behind them.
        let before = at;
        each_extent(fd, |extent| {
            if extent.flags.any(ExtentFlags::UNWRITTEN) && extent.logical <= at {
                at = at.max(extent.logical_end());
            }
        })?;
        if at == before {
            // Drops the zeros, and the blocks of a partial allocation.
            retry_on_intr(|| ftruncate(fd, 0))?;
            fcntl_setfl(fd, fcntl_getfl(fd)? - OFlags::DIRECT)?;
            return Ok(false);
        }
    }
    Ok(true)
}
