//! Counts the files of a tree, their sizes and their allocated space; hard links count once, as in `du`.

use crate::Result;
use rustix::fs::{FileType, SeekFrom, seek};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use tree::{Entry, walk};

/// The totals of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Census {
    /// Regular files; a file with several names counts once.
    pub files: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Sum of the sizes of the regular files in bytes.
    pub bytes: u64,
    /// Sum of the allocated space of the regular files in bytes.
    pub allocated_bytes: u64,
    /// What `du` shows for the tree on ext4 with blocks of 4 KiB: the blocks of the files that hold data, and one for each directory. It is
    /// the same on all file systems, whatever they allocate.
    pub ext4_bytes: u64,
}

/// The block size of ext4.
const EXT4_BLOCK_BYTES: u64 = 4 << 10;

/// Counts the tree below `root`. It reads every inode and thereby warms the caches: call it before caches are
/// dropped for a measurement, never in between.
pub fn census(root: &Path) -> Result<Census> {
    let mut counts = Census { ext4_bytes: EXT4_BLOCK_BYTES, ..Census::default() };
    let mut seen = Links::default();
    walk(root, |entry| -> Result<()> {
        match entry.file_type {
            FileType::Directory => {
                counts.directories += 1;
                counts.ext4_bytes += EXT4_BLOCK_BYTES;
            }
            FileType::RegularFile => {
                let stat = entry.stat()?;
                if seen.first_name(&stat) {
                    counts.files += 1;
                    counts.bytes += stat.st_size as u64;
                    let allocated_bytes = stat.st_blocks as u64 * 512;
                    counts.allocated_bytes += allocated_bytes;
                    counts.ext4_bytes += match (stat.st_size as u64).next_multiple_of(EXT4_BLOCK_BYTES) {
                        blocks if blocks <= allocated_bytes => blocks,
                        // It has holes, or is compressed.
                        _ => data_blocks(entry)?,
                    };
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The bytes of the blocks of a file that hold data.
fn data_blocks(entry: &Entry) -> Result<u64> {
    let failed = |errno: Errno| entry.error("finding the data of", errno.into());
    let file = entry.open().map_err(failed)?;
    let (mut blocks, mut at) = (0, 0);
    loop {
        let data = match seek(&file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => return Ok(blocks),
            data => data.map_err(failed)?,
        };
        at = seek(&file, SeekFrom::Hole(data)).map_err(failed)?;
        blocks += at.next_multiple_of(EXT4_BLOCK_BYTES) - data / EXT4_BLOCK_BYTES * EXT4_BLOCK_BYTES;
    }
}

/// Remembers files with several names, so that each counts once.
#[derive(Default)]
pub(crate) struct Links(HashSet<(u64, u64)>);

impl Links {
    /// Whether this is the first name seen of the file.
    pub(crate) fn first_name(&mut self, stat: &rustix::fs::Stat) -> bool {
        stat.st_nlink < 2 || self.0.insert((stat.st_dev, stat.st_ino))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn hard_links_count_once_and_holes_take_no_space() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("a"), vec![1; 8192]).unwrap();
        std::fs::hard_link(at("a"), at("sub/a")).unwrap();
        std::fs::File::create(at("sparse")).unwrap().set_len(1 << 20).unwrap();
        std::fs::File::create(at("tail")).unwrap().write_all_at(b"x", 5 << 20).unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let expected = Census {
            files: 3,
            directories: 1,
            bytes: 8192 + (6 << 20) + 1,
            allocated_bytes: 8192 + 4096,
            ext4_bytes: 2 * 4096 + 8192 + 4096,
        };
        assert_eq!(census(dir.path()).unwrap(), expected);
    }
}
