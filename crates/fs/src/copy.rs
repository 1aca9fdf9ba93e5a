//! Creates the unaged copy: the same tree, written in scan order to a fresh file system.
//!
//! Copies data by read and write, never by sharing blocks, because the copy must get a new layout.

use crate::Error;
use crate::walk::walk;
use rustix::fs::{Advice, AtFlags, FileType, Mode, OFlags, SeekFrom, Stat, openat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tree::{Entry, TreeFds};

/// Bytes per read.
const BUFFER_BYTES: usize = 1 << 20;

/// Files are created before their data is written, in batches of so many bytes: so do file systems that delay allocation until the kernel
/// writes back what a copy has left in memory.
const BATCH_BYTES: u64 = 256 << 20;

/// The most files of a batch.
const BATCH_FILES: usize = 100_000;

/// The totals of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CopyTotals {
    /// Names of files and symbolic links.
    pub files: u64,
    /// Directories, without the root.
    pub directories: u64,
    /// Bytes of data, without holes.
    pub bytes: u64,
}

/// Copies the tree below `from` into the directory `to`: data, holes, hard and symbolic links, permissions. Syncs before it returns.
pub fn copy_tree(from: &Path, to: &Path) -> Result<CopyTotals, Error> {
    let opening = |e| Error::io("opening", to)(e);
    let mut copy = Copy {
        from: File::open(from).map_err(Error::io("opening", from))?,
        root: File::open(to).map_err(opening)?,
        to: TreeFds::new(to).map_err(opening)?,
        linked: HashMap::new(),
        copied: CopyTotals::default(),
        buffer: vec![0; BUFFER_BYTES],
        empty: Vec::new(),
        empty_bytes: 0,
    };
    let walked = walk(from, |entry| copy.entry(entry));
    match walked.and_then(|()| copy.fill().map_err(Error::io("copying to", to))) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::StorageFull => {
            return Err(Error::Full { to: to.to_owned(), copied_bytes: copy.copied.bytes });
        }
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::Interrupted => {
            return Err(Error::Interrupted(to.to_owned()));
        }
        result => result?,
    }
    // Delayed allocation may report a lack of space only now.
    match rustix::fs::syncfs(&copy.root) {
        Err(Errno::NOSPC) => Err(Error::Full { to: to.to_owned(), copied_bytes: copy.copied.bytes }),
        result => result.map(|()| copy.copied).map_err(Error::io("writing back", to)),
    }
}

struct Copy {
    from: File,
    root: File,
    to: TreeFds,
    /// The first copy of each inode with several links.
    linked: HashMap<u64, PathBuf>,
    copied: CopyTotals,
    buffer: Vec<u8>,
    /// Files whose data is not copied yet.
    empty: Vec<Empty>,
    empty_bytes: u64,
}

/// A created file without its data.
struct Empty {
    path: PathBuf,
    size: u64,
    mode: Mode,
}

impl Copy {
    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        if disk::interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        while self.to.depth() > entry.depth as usize {
            self.to.leave()?;
        }
        let stat = entry.stat()?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        match entry.file_type {
            FileType::Directory => {
                rustix::fs::mkdirat(self.to.here(), entry.name, Mode::RWXU)?;
                self.to.enter(entry.name)?;
                // The copy needs write access even if the mode denies it.
                rustix::fs::fchmod(self.to.here(), mode | Mode::RWXU)?;
                self.copied.directories += 1;
            }
            FileType::RegularFile => {
                self.file(entry, &stat)?;
                self.copied.files += 1;
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(entry.dir, entry.name, Vec::new())?;
                rustix::fs::symlinkat(target, self.to.here(), entry.name)?;
                self.copied.files += 1;
            }
            _ => return Err(io::Error::other("only files, directories and symbolic links can be copied")),
        }
        Ok(())
    }

    fn file(&mut self, entry: &Entry, stat: &Stat) -> io::Result<()> {
        if stat.st_nlink > 1 {
            if let Some(first) = self.linked.get(&stat.st_ino) {
                rustix::fs::linkat(&self.root, first, self.to.here(), entry.name, AtFlags::empty())?;
                return Ok(());
            }
            self.linked.insert(stat.st_ino, entry.path.to_owned());
        }
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(self.to.here(), entry.name, create, Mode::RUSR | Mode::WUSR)?;
        let (size, mode) = (stat.st_size as u64, Mode::from_raw_mode(stat.st_mode));
        self.empty.push(Empty { path: entry.path.to_owned(), size, mode });
        self.empty_bytes += size;
        if self.empty_bytes >= BATCH_BYTES || self.empty.len() >= BATCH_FILES { self.fill() } else { Ok(()) }
    }

    /// Copies the data of the files that are still empty, in the order of their creation.
    fn fill(&mut self) -> io::Result<()> {
        self.empty_bytes = 0;
        for Empty { path, size, mode } in std::mem::take(&mut self.empty) {
            let open = |root: &File, flags| {
                openat(root, &path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            };
            let from = File::from(open(&self.from, OFlags::RDONLY)?);
            let to = File::from(open(&self.root, OFlags::WRONLY)?);
            self.data(&from, &to, size)?;
            // Closing it first gives back the blocks that some file systems reserve behind the end of a file that grows.
            drop(to);
            let to = File::from(open(&self.root, OFlags::RDONLY)?);
            // Starts writing it back: blocks are allocated in this order and by this thread. If the kernel chose the time and the thread, each copy
            // would get another layout.
            rustix::fs::fadvise(&to, 0, None, Advice::DontNeed)?;
            rustix::fs::fchmod(&to, mode)?;
        }
        Ok(())
    }

    fn data(&mut self, from: &File, to: &File, size: u64) -> io::Result<()> {
        let mut at = 0;
        while let Some((start, end)) = data_from(from, at)? {
            at = self.range(from, to, start, end)?;
            if at < end {
                // The file was truncated in the meantime.
                break;
            }
        }
        if at < size {
            to.set_len(size)?;
        }
        Ok(())
    }

    /// Copies the range from `at` to `end` and returns the offset reached.
    fn range(&mut self, from: &File, to: &File, mut at: u64, end: u64) -> io::Result<u64> {
        while at < end {
            if disk::interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let len = (end - at).min(self.buffer.len() as u64) as usize;
            let read = from.read_at(&mut self.buffer[..len], at)?;
            if read == 0 {
                break;
            }
            to.write_all_at(&self.buffer[..read], at)?;
            at += read as u64;
            self.copied.bytes += read as u64;
        }
        Ok(at)
    }
}

/// The first run of data at or behind `at`.
fn data_from(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => Ok(None),
        start => {
            let start = start?;
            Ok(Some((start, rustix::fs::seek(file, SeekFrom::Hole(start))?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn copy_has_same_tree() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let a = |name: &str| from.path().join(name);
        let b = |name: &str| to.path().join(name);
        std::fs::create_dir_all(a("d/e")).unwrap();
        std::fs::write(a("d/f"), vec![3; 3 << 20]).unwrap();
        std::fs::write(a("empty"), "").unwrap();
        std::fs::hard_link(a("d/f"), a("z")).unwrap();
        symlink("d/f", a("link")).unwrap();
        std::fs::set_permissions(a("empty"), PermissionsExt::from_mode(0o4711)).unwrap();
        std::fs::set_permissions(a("d/e"), PermissionsExt::from_mode(0o555)).unwrap();
        let holes = File::create(a("holes")).unwrap();
        holes.write_all_at(b"data", 1 << 20).unwrap();
        holes.set_len(8 << 20).unwrap();

        let copied = copy_tree(from.path(), to.path()).unwrap();
        assert_eq!((copied.files, copied.directories), (5, 2));
        assert_eq!(std::fs::read(b("d/f")).unwrap(), std::fs::read(a("d/f")).unwrap());
        assert_eq!(std::fs::read(b("holes")).unwrap(), std::fs::read(a("holes")).unwrap());
        let data = |path| std::fs::metadata(path).unwrap();
        assert_eq!(data(b("holes")).blocks(), data(a("holes")).blocks());
        assert_eq!(data(b("z")).ino(), data(b("d/f")).ino());
        assert_eq!(data(b("empty")).mode(), data(a("empty")).mode());
        assert_eq!(std::fs::read_link(b("link")).unwrap(), Path::new("d/f"));
    }
}
