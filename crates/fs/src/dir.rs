//! A plain directory as a target: works without root on any file system, but provides less information.

use crate::target::{CheckReport, Target};
use crate::volume::sync;
use crate::walk::walk;
use crate::{AddressMap, Error, find, ioctl};
use disk::{CacheResidency, Extent, MARKER, drop_inode_cache, drop_pages, mount_holding};
use rustix::fs::FileType;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory created by this program, which ages the tree in it and marks it with a file next to the tree; or any other
/// directory, to be measured only.
#[derive(Debug)]
pub struct DirTarget {
    path: PathBuf,
    tree: PathBuf,
    kind: String,
    block_bytes: u64,
}

impl DirTarget {
    /// Creates a new directory in `parent`, named `senesce-` and a number.
    pub fn make(parent: &Path) -> Result<DirTarget, Error> {
        let mut number = 1;
        let path = loop {
            let path = parent.join(format!("senesce-{number:04}"));
            match std::fs::create_dir(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
                result => break result.map(|()| path.clone()).map_err(Error::io("creating", &path))?,
            }
        };
        let marker = path.join(MARKER);
        File::create_new(&marker)
            .and_then(|_| std::fs::create_dir(path.join("tree")))
            .map_err(Error::io("creating", &marker))?;
        Self::open(&path)
    }

    /// Opens a directory that [`DirTarget::make`] created.
    pub fn open(path: &Path) -> Result<DirTarget, Error> {
        let path = std::fs::canonicalize(path).map_err(Error::io("opening", path))?;
        let tree = path.join("tree");
        if !path.join(MARKER).is_file() || !tree.is_dir() {
            return Err(Error::NotOurs(path));
        }
        Self::of(path, tree)
    }

    /// Opens any directory, to be measured but not aged.
    pub fn open_any(path: &Path) -> Result<DirTarget, Error> {
        let path = std::fs::canonicalize(path).map_err(Error::io("opening", path))?;
        Self::of(path.clone(), path)
    }

    fn of(path: PathBuf, tree: PathBuf) -> Result<DirTarget, Error> {
        let numbers = rustix::fs::statvfs(&tree).map_err(Error::io("reading the block size of", &tree))?;
        let kind = mount_holding(&path)?.map_or_else(|| "dir".to_owned(), |mount| mount.kind);
        Ok(DirTarget { path, tree, kind, block_bytes: numbers.f_bsize })
    }

    /// The directory with the tree and, if this program created it, the marker.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Target for DirTarget {
    fn root(&self) -> &Path {
        &self.tree
    }

    /// The device of the file system; its counters include the requests of other programs.
    fn device(&self) -> Option<(PathBuf, (u32, u32))> {
        let dev = std::fs::metadata(&self.tree).ok()?.dev();
        let number = (rustix::fs::major(dev), rustix::fs::minor(dev));
        let name = std::fs::read_link(format!("/sys/dev/block/{}:{}", number.0, number.1)).ok()?;
        Some((Path::new("/dev").join(name.file_name()?), number))
    }

    fn sync(&self) -> Result<(), Error> {
        sync(&self.tree)
    }

    fn drop_caches(&mut self) -> Result<Vec<String>, Error> {
        self.sync()?;
        let (mut files, mut stayed, mut unknown) = (0_u64, 0, false);
        walk(&self.tree, |entry| {
            if entry.file_type == FileType::RegularFile {
                match drop_pages(&File::from(entry.open()?))? {
                    CacheResidency::Bytes(n) => stayed += n,
                    CacheResidency::Unknown => unknown = true,
                }
                files += 1;
            }
            Ok(())
        })?;
        let mut messages = vec![match (stayed, unknown) {
            (_, true) => format!("dropped the cached pages of {files} files, unverified: needs Linux 6.5"),
            (0, _) => format!("dropped the cached pages of {files} files, none left"),
            (n, _) => format!("could not drop {n} cached bytes of {files} files"),
        }];
        messages.push(match drop_inode_cache() {
            Ok(()) => "dropped cached directory entries and inodes".to_owned(),
            Err(e) => format!("could not drop cached directory entries and inodes: {e}"),
        });
        messages.push("could not drop cached metadata blocks: a directory cannot be unmounted".to_owned());
        if self.kind.starts_with("fuse.") {
            messages.push(format!("could not drop the cache of the process that serves it: {}", self.kind));
        }
        Ok(messages)
    }

    /// `None`: the file system is mounted and in use by others.
    fn check(&mut self) -> Result<Option<CheckReport>, Error> {
        Ok(None)
    }

    /// The free extents of the whole file system.
    fn free_extents(&self) -> Result<Option<Vec<Extent>>, Error> {
        Ok(ioctl::fsmap::free_extents(&self.tree).ok())
    }

    fn address_map(&self) -> Result<Option<AddressMap>, Error> {
        find(&self.kind).map_or(Ok(None), |kind| kind.address_map(&self.tree))
    }

    fn kind_name(&self) -> &str {
        &self.kind
    }

    fn version(&self) -> String {
        format!("Linux {}", rustix::system::uname().release().to_string_lossy())
    }

    fn mkfs_command(&self) -> Option<String> {
        None
    }

    fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// No limit if the file system is unknown.
    fn max_extent_bytes(&self) -> u64 {
        find(&self.kind).map_or(u64::MAX, |kind| kind.max_extent_bytes(self.block_bytes))
    }

    /// Keeps the directory: its content is the result.
    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_directories_are_refused() {
        let parent = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(parent.path().join("thesis"), "").unwrap();
        let message = DirTarget::open(parent.path()).unwrap_err().to_string();
        assert!(message.contains("was not created by senesce"), "{message}");
        let first = DirTarget::make(parent.path()).unwrap();
        let second = DirTarget::make(parent.path()).unwrap();
        assert_ne!(first.path(), second.path());
        assert_eq!(std::fs::read_dir(first.root()).unwrap().count(), 0);
        assert_eq!(DirTarget::open(first.path()).unwrap().root(), first.root());
    }

    #[test]
    fn drop_caches_reports_its_steps() {
        let parent = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut target = DirTarget::make(parent.path()).unwrap();
        std::fs::write(target.root().join("file"), vec![1; 1 << 20]).unwrap();
        let messages = target.drop_caches().unwrap();
        assert!(messages[0].starts_with("dropped the cached pages of 1 files"), "{messages:?}");
        assert!(messages.last().unwrap().contains("cannot be unmounted"), "{messages:?}");
    }
}
