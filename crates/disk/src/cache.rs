//! Drops the kernel's caches of files, devices and directories, and reports how much stays cached.

use crate::error::{Error, IoContext};
use rustix::fs::{Advice, fadvise};
use rustix::ioctl::{NoArg, ioctl};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `BLKFLSBUF` of `<linux/fs.h>`.
const BLKFLSBUF: u32 = 0x1261;

/// The part of a file that is still cached after a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheResidency {
    /// Number of cached bytes; 0 means cold.
    Bytes(u64),
    /// The kernel does not report it (cachestat needs Linux 6.5).
    Unknown,
}

/// Writes back and drops the cached pages of the file at `path`. Returns how much is still cached.
pub fn drop_file_cache(path: &Path) -> Result<CacheResidency, Error> {
    let file = File::open(path).context("opening", path)?;
    file.sync_data().context("writing back", path)?;
    drop_pages(&file).context("dropping the cached pages of", path)
}

/// Drops the clean cached pages of a file. Returns how much is still cached.
pub fn drop_pages(file: &File) -> io::Result<CacheResidency> {
    fadvise(file, 0, None, Advice::DontNeed)?;
    cached_bytes(file)
}

/// Writes back and drops the cached blocks of a block device.
pub fn drop_device_cache(device: &Path) -> Result<(), Error> {
    let file = File::open(device).context("opening", device)?;
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(&file, NoArg::<BLKFLSBUF>::new()) }.context("dropping the cached blocks of", device)
}

/// Drops the unused directory entries and inodes of all file systems from the kernel's caches.
pub fn drop_inode_cache() -> Result<(), Error> {
    let switch = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(switch, "2").context("dropping cached inodes through", switch)
}

/// `struct cachestat_range` of `<linux/mman.h>`; length 0 means to the end.
#[repr(C)]
struct Range {
    offset: u64,
    len: u64,
}

/// `struct cachestat`.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn cached_bytes(file: &File) -> io::Result<CacheResidency> {
    /// The system call number of cachestat on every architecture.
    const CACHESTAT: libc::c_long = 451;
    let range = Range { offset: 0, len: 0 };
    let mut stat = CacheStat::default();
    // SAFETY: both structures outlive the call and have the kernel's layout.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0 as libc::c_uint)
    };
    match (result, io::Error::last_os_error()) {
        (0, _) => Ok(CacheResidency::Bytes(stat.cached * rustix::param::page_size() as u64)),
        (_, e) if e.raw_os_error() == Some(libc::ENOSYS) => Ok(CacheResidency::Unknown),
        (_, e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_file_is_cold() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        assert!(matches!(
            cached_bytes(&File::open(&path).unwrap()),
            Ok(CacheResidency::Bytes(1_048_576) | CacheResidency::Unknown)
        ));
        assert!(matches!(drop_file_cache(&path), Ok(CacheResidency::Bytes(0) | CacheResidency::Unknown)));
    }
}
