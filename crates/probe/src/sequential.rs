//! The sequential benchmark of Smith & Seltzer 1997 ("File System Aging — Increasing the Relevance of File System
//! Benchmarks", §4; first in "A Comparison of FFS Disk Allocation Policies", USENIX 1996, by the same authors): creates many files of one
//! size and reads them in creation order. This module defines and accesses the files; the caller drops the caches before each phase.

use crate::incompressible::Incompressible;
use crate::transfer::{self, Transfer};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The parameters of the benchmark.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SequentialPlan {
    /// File sizes, measured one after another.
    pub sizes_bytes: Vec<u64>,
    /// Total bytes of the files of one size, rounded down to whole files.
    pub total_bytes: u64,
    /// Maximum files per directory.
    pub files_per_directory: u64,
    /// Maximum bytes per call.
    pub unit_bytes: u64,
}

impl SequentialPlan {
    /// The published parameters: 32 MB of files of each size from 16 KB to 16 MB, 25 per directory, moved 4 MB at a time. In between
    /// the sizes are powers of two, plus 96 KB and 104 KB, the last size before and the first size with the indirect block
    /// of the published file system; K and M are powers of two.
    pub fn published() -> SequentialPlan {
        let kib = [16, 32, 64, 96, 104, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
        SequentialPlan {
            sizes_bytes: kib.map(|size| size << 10).to_vec(),
            total_bytes: 32 << 20,
            files_per_directory: 25,
            unit_bytes: 4 << 20,
        }
    }

    /// The files of one size; an error if not even one fits.
    pub fn files_of(&self, size_bytes: u64) -> Result<FileSet> {
        if size_bytes == 0 || size_bytes > self.total_bytes {
            let why = format!("a file must have 1 to {} bytes", self.total_bytes);
            return Err(Error::cannot(format!("sequential benchmark with files of {size_bytes} bytes"), why));
        }
        Ok(FileSet {
            size_bytes,
            files: self.total_bytes / size_bytes,
            files_per_directory: self.files_per_directory,
            unit_bytes: self.unit_bytes,
        })
    }
}

/// Files of one size, with a maximum number per directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileSet {
    /// Size of each file in bytes.
    pub size_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Maximum files per directory.
    pub files_per_directory: u64,
    /// Maximum bytes per call.
    pub unit_bytes: u64,
}

impl FileSet {
    /// Number of directories.
    pub fn directories(&self) -> u64 {
        self.files.div_ceil(self.files_per_directory)
    }

    /// Total bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files * self.size_bytes
    }

    /// Creates the files below `root`, where none of them may exist. The measured time includes the sync.
    pub fn create(&self, root: &Path) -> Result<Transfer> {
        let mut data = Incompressible::new(self.unit())?;
        Transfer::timed(|| {
            for number in 0..self.files {
                transfer::check_interrupted(root)?;
                let directory = self.directory(root, number);
                if number.is_multiple_of(self.files_per_directory) {
                    std::fs::create_dir(&directory)
                        .map_err(Error::io("creating the directory", &directory))?;
                }
                let path = file(&directory, number);
                let mut file = File::create_new(&path).map_err(Error::io("creating", &path))?;
                transfer::write(&mut file, self.size_bytes, self.unit_bytes, &mut data, &path)?;
            }
            transfer::make_durable(root)?;
            Ok(self.bytes())
        })
    }

    /// Reads the files in creation order.
    pub fn read(&self, root: &Path) -> Result<Transfer> {
        let mut unit = vec![0; self.unit()];
        Transfer::timed(|| {
            for number in 0..self.files {
                transfer::check_interrupted(root)?;
                let path = file(&self.directory(root, number), number);
                let mut file = File::open(&path).map_err(Error::io("opening", &path))?;
                let bytes = transfer::read(&mut file, self.size_bytes, &mut unit, &path)?;
                if bytes < self.size_bytes {
                    let why = format!(
                        "it has {bytes} bytes instead of {}; another process truncated it",
                        self.size_bytes
                    );
                    return Err(Error::cannot(format!("reading {}", path.display()), why));
                }
            }
            Ok(self.bytes())
        })
    }

    /// Deletes the files and syncs.
    pub fn delete(&self, root: &Path) -> Result<()> {
        for number in (0..self.files).step_by(self.files_per_directory as usize) {
            let directory = self.directory(root, number);
            std::fs::remove_dir_all(&directory).map_err(Error::io("deleting", &directory))?;
        }
        transfer::make_durable(root)
    }

    /// The directory of the file with this number.
    fn directory(&self, root: &Path, number: u64) -> PathBuf {
        root.join(format!("d{:04}", number / self.files_per_directory))
    }

    /// Maximum bytes per call.
    fn unit(&self) -> usize {
        self.unit_bytes.min(self.size_bytes) as usize
    }
}

fn file(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("f{number:06}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_plan_has_32_mb_per_size_in_directories_of_25() {
        let plan = SequentialPlan::published();
        let counts = |kib: u64| {
            let set = plan.files_of(kib << 10).unwrap();
            (set.files, set.directories(), set.bytes())
        };
        assert_eq!(counts(16), (2048, 82, 32 << 20));
        assert_eq!(counts(104), (315, 13, 315 * (104 << 10)));
        assert_eq!(counts(1024), (32, 2, 32 << 20));
        assert_eq!(counts(16384), (2, 1, 32 << 20));
        assert!(plan.sizes_bytes.is_sorted());
        let refused = plan.files_of(64 << 20).unwrap_err().to_string();
        assert!(refused.contains("1 to 33554432 bytes"), "{refused}");
        assert!(plan.files_of(0).is_err());
    }

    #[test]
    fn files_are_created_read_and_deleted() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let plan = SequentialPlan {
            sizes_bytes: vec![5000],
            total_bytes: 290_000,
            files_per_directory: 25,
            unit_bytes: 4096,
        };
        let set = plan.files_of(5000).unwrap();
        assert_eq!(set.create(dir.path()).unwrap().bytes, 290_000);
        let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        let files: Vec<usize> = names.iter().map(|dir| std::fs::read_dir(dir).unwrap().count()).collect();
        assert_eq!(files, [25, 25, 8]);
        let first = std::fs::read(names[0].join("f000000")).unwrap();
        assert_eq!(first.len(), 5000);
        assert_ne!(first, std::fs::read(names[0].join("f000001")).unwrap());
        assert_eq!(set.read(dir.path()).unwrap().bytes, 290_000);
        // A truncated file is an error.
        File::options().write(true).open(names[2].join("f000050")).unwrap().set_len(9).unwrap();
        assert!(set.read(dir.path()).unwrap_err().to_string().contains("f000050"));
        set.delete(dir.path()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    proptest! {
        #[test]
        fn total_is_rounded_down_to_whole_files(size in 1u64..200_000, total in 1u64..10_000_000) {
            let plan = SequentialPlan { total_bytes: total, ..SequentialPlan::published() };
            match plan.files_of(size) {
                Ok(set) => {
                    prop_assert!(set.bytes() <= total && total - set.bytes() < size);
                    prop_assert!(set.directories() * 25 >= set.files && set.files > (set.directories() - 1) * 25);
                }
                Err(_) => prop_assert!(size > total),
            }
        }
    }
}
