//! Counts the files of a tree, their sizes and their allocated space; hard links count once, as in `du`.

use crate::Result;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use tree::walk;

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
}

/// Counts the tree below `root`. It reads every inode and thereby warms the caches: call it before caches are
/// dropped for a measurement, never in between.
pub fn census(root: &Path) -> Result<Census> {
    let mut counts = Census::default();
    let mut seen = Links::default();
    walk(root, |entry| -> Result<()> {
        match entry.file_type {
            FileType::Directory => counts.directories += 1,
            FileType::RegularFile => {
                let stat = entry.stat()?;
                if seen.first_name(&stat) {
                    counts.files += 1;
                    counts.bytes += stat.st_size as u64;
                    counts.allocated_bytes += stat.st_blocks as u64 * 512;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(counts)
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

    #[test]
    fn hard_links_count_once_and_holes_take_no_space() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("a"), vec![1; 8192]).unwrap();
        std::fs::hard_link(at("a"), at("sub/a")).unwrap();
        std::fs::File::create(at("sparse")).unwrap().set_len(1 << 20).unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let expected = Census { files: 2, directories: 1, bytes: 8192 + (1 << 20), allocated_bytes: 8192 };
        assert_eq!(census(dir.path()).unwrap(), expected);
    }
}
