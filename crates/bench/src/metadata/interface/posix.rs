//! Files in directories, through ordinary system calls: a directory `RANK_NUMBER` per data set, and a file `file-ITEM` per object. Paths are
//! relative to the root, as for a program that works there, so the depth of the root is not measured.

use super::{Interface, InterfaceError, InterfaceKind, LocationKind};
use crate::metadata::{DataSet, Object};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

inventory::submit!(InterfaceKind {
    name: NAME,
    aliases: &[],
    help: "Files in directories",
    location: LocationKind::Directory,
    check: |_, _| Ok(()),
    open: Ok(|location| Ok(Box::new(Posix::new(location.root()?)))),
});

/// The name of the interface.
pub const NAME: &str = "posix";

/// Objects are files below a directory.
pub struct Posix {
    root: PathBuf,
    /// Whether this run created the directory and may remove it.
    made: bool,
    /// The root, opened by the first operation.
    dir: Option<OwnedFd>,
    /// The path of the current operation, with its zero byte.
    path: Vec<u8>,
}

impl Posix {
    /// Works below `root`, which is created if missing and must be empty.
    pub fn new(root: &Path) -> Posix {
        Posix { root: root.to_owned(), made: false, dir: None, path: Vec::new() }
    }

    /// The full path of the file of an object.
    pub fn path(&mut self, object: Object) -> &CStr {
        self.path.clear();
        self.path.extend_from_slice(self.root.as_os_str().as_bytes());
        self.path.push(b'/');
        self.add_object(object);
        self.end()
    }

    /// The root, and the path of a data set relative to it.
    fn set(&mut self, set: DataSet) -> Result<(BorrowedFd<'_>, &CStr), InterfaceError> {
        self.path.clear();
        self.add_set(set);
        self.below_root()
    }

    /// The root, and the path of an object relative to it.
    fn object(&mut self, object: Object) -> Result<(BorrowedFd<'_>, &CStr), InterfaceError> {
        self.path.clear();
        self.add_object(object);
        self.below_root()
    }

    fn add_set(&mut self, set: DataSet) {
        write!(self.path, "{}_{}", set.rank, set.number).expect("writing to memory succeeds");
    }

    fn add_object(&mut self, object: Object) {
        self.add_set(object.set);
        write!(self.path, "/file-{}", object.item).expect("writing to memory succeeds");
    }

    fn below_root(&mut self) -> Result<(BorrowedFd<'_>, &CStr), InterfaceError> {
        if self.dir.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(&self.root, flags, Mode::empty());
            let why = |e: Errno| {
                InterfaceError(format!("opening {}: {}", self.root.display(), std::io::Error::from(e)))
            };
            self.dir = Some(opened.map_err(why)?);
        }
        self.path.push(0);
        let path = CStr::from_bytes_with_nul(&self.path).expect("numbers contain no zero byte");
        Ok((self.dir.as_ref().expect("the root was just opened").as_fd(), path))
    }

    fn end(&mut self) -> &CStr {
        self.path.push(0);
        CStr::from_bytes_with_nul(&self.path).expect("the path of the root contains no zero byte")
    }
}

impl Interface for Posix {
    fn prepare(&mut self) -> Result<(), InterfaceError> {
        let why = |what: &str, error: std::io::Error| {
            InterfaceError(format!("{what} {}: {error}", self.root.display()))
        };
        match std::fs::create_dir(&self.root) {
            Ok(()) => self.made = true,
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                let mut entries = std::fs::read_dir(&self.root).map_err(|e| why("reading", e))?;
                if entries.next().is_some() {
                    return Err(InterfaceError(format!(
                        "{} is not empty; name a new or empty directory, or delete the objects of an earlier \
                         run with `--phases cleanup`",
                        self.root.display()
                    )));
                }
            }
            Err(e) => return Err(why("making", e)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), InterfaceError> {
        if self.made {
            std::fs::remove_dir(&self.root)?;
        }
        Ok(())
    }

    fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        let (dir, path) = self.set(set)?;
        Ok(rustix::fs::mkdirat(dir, path, Mode::from_raw_mode(0o755))?)
    }

    fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        let (dir, path) = self.set(set)?;
        match rustix::fs::unlinkat(dir, path, AtFlags::REMOVEDIR) {
            // Objects that an earlier deletion failed to remove, or that an unfinished run left.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let dir = self.root.join(format!("{}_{}", set.rank, set.number));
                for entry in std::fs::read_dir(&dir)? {
                    let entry = entry?;
                    if entry.file_name().to_str().is_some_and(|name| name.starts_with("file-")) {
                        std::fs::remove_file(entry.path())?;
                    }
                }
                Ok(std::fs::remove_dir(&dir)?)
            }
            removed => Ok(removed?),
        }
    }

    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC;
        let (dir, path) = self.object(object)?;
        let file = rustix::fs::openat(dir, path, flags, Mode::from_raw_mode(0o644))?;
        let mut left = contents;
        while !left.is_empty() {
            match rustix::io::write(&file, left) {
                Ok(0) => return Err(InterfaceError("cannot write more".to_owned())),
                Ok(written) => left = &left[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(e) => return Err(e.into()),
            }
        }
        close(file)
    }

    fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
        let (dir, path) = self.object(object)?;
        Ok(rustix::fs::statat(dir, path, AtFlags::empty())?.st_size as u64)
    }

    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
        let (dir, path) = self.object(object)?;
        let file = rustix::fs::openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        into.reserve(bytes as usize);
        while (into.len() as u64) < bytes {
            match rustix::io::read(&file, rustix::buffer::spare_capacity(into)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(e) => return Err(e.into()),
            }
        }
        close(file)
    }

    fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
        let (dir, path) = self.object(object)?;
        Ok(rustix::fs::unlinkat(dir, path, AtFlags::empty())?)
    }
}

/// Closes a file and returns errors: some file systems report a failed write only then.
fn close(file: OwnedFd) -> Result<(), InterfaceError> {
    use std::os::fd::IntoRawFd as _;
    // SAFETY: the descriptor is owned and not used afterwards.
    let closed = unsafe { rustix::io::try_close(file.into_raw_fd()) };
    Ok(closed?)
}
