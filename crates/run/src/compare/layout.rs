//! The unaged copy of a tree that was never filled with data: the same files, preallocated in directory order.

use crate::Error;
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Copies names, sizes and allocation, but no data.
pub fn copy_layout(from: &Path, to: &Path) -> Result<(), Error> {
    let fail = |e: rustix::io::Errno| Error::io("copying the layout to", to)(e.into());
    let dir_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Open directories of the copy on the path to the current entry.
    let mut open: Vec<OwnedFd> = vec![rustix::fs::open(to, dir_flags, Mode::empty()).map_err(fail)?];
    fs::walk(from, |entry| {
        open.truncate(entry.depth as usize + 1);
        let dir = &open[open.len() - 1];
        match entry.file_type {
            FileType::Directory => {
                rustix::fs::mkdirat(dir, entry.name, Mode::from_raw_mode(0o755))?;
                let made = rustix::fs::openat(dir, entry.name, dir_flags, Mode::empty())?;
                open.push(made);
            }
            FileType::RegularFile => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(dir, entry.name, flags, Mode::from_raw_mode(0o644))?;
                let stat = entry.stat()?;
                match stat.st_size as u64 {
                    0 => {}
                    size if stat.st_blocks == 0 => rustix::fs::ftruncate(&file, size)?,
                    size => rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size)?,
                }
            }
            _ => {
                let target = rustix::fs::readlinkat(entry.dir, entry.name, Vec::new())?;
                rustix::fs::symlinkat(target, dir, entry.name)?;
            }
        }
        Ok(())
    })?;
    rustix::fs::syncfs(&open[0]).map_err(fail)
}
