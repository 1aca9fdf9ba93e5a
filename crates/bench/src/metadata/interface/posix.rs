//! Files in directories, by the calls of any program: a directory for each data set, named `RANK_NUMBER`, a file for each
//! object, named `file-ITEM`, each reached by its whole path, as published.

use super::{Failure, Interface};
use crate::metadata::object::{Object, Set};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Objects are files below a directory.
pub struct Posix {
    root: PathBuf,
    /// Whether the directory is ours to remove.
    made: bool,
    /// The path of the present operation, with its end.
    path: Vec<u8>,
}

impl Posix {
    /// Works below `root`, which may exist if it is empty.
    pub fn new(root: &Path) -> Posix {
        Posix { root: root.to_owned(), made: false, path: Vec::new() }
    }

    fn set(&mut self, set: Set) -> &CStr {
        self.begin(set);
        self.end()
    }

    /// The path of the file that an object is.
    pub fn path(&mut self, object: Object) -> &CStr {
        self.begin(object.set);
        write!(self.path, "/file-{}", object.item).expect("memory takes it");
        self.end()
    }

    fn begin(&mut self, set: Set) {
        use std::os::unix::ffi::OsStrExt as _;
        self.path.clear();
        self.path.extend_from_slice(self.root.as_os_str().as_bytes());
        write!(self.path, "/{}_{}", set.rank, set.number).expect("memory takes it");
    }

    fn end(&mut self) -> &CStr {
        self.path.push(0);
        CStr::from_bytes_with_nul(&self.path).expect("the path of the root holds no zero byte")
    }
}

impl Interface for Posix {
    fn prepare(&mut self) -> Result<(), Failure> {
        let why =
            |what: &str, error: std::io::Error| Failure(format!("{what} {}: {error}", self.root.display()));
        match std::fs::create_dir(&self.root) {
            Ok(()) => self.made = true,
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                let mut entries = std::fs::read_dir(&self.root).map_err(|e| why("reading", e))?;
                if entries.next().is_some() {
                    return Err(Failure(format!(
                        "{} is not empty; name a directory that is new or empty, or delete what an earlier run left with `--phases cleanup`",
                        self.root.display()
                    )));
                }
            }
            Err(e) => return Err(why("making", e)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if self.made {
            std::fs::remove_dir(&self.root)?;
        }
        Ok(())
    }

    fn make_set(&mut self, set: Set) -> Result<(), Failure> {
        Ok(rustix::fs::mkdirat(CWD, self.set(set), Mode::from_raw_mode(0o755))?)
    }

    fn remove_set(&mut self, set: Set) -> Result<(), Failure> {
        match rustix::fs::rmdir(self.set(set)) {
            // Objects whose deletion failed before, or that an unfinished run has left.
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

    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), Failure> {
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::open(self.path(object), flags, Mode::from_raw_mode(0o644))?;
        let mut left = contents;
        while !left.is_empty() {
            match rustix::io::write(&file, left) {
                Ok(0) => return Err(Failure("nothing more could be written".to_owned())),
                Ok(written) => left = &left[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(e) => return Err(e.into()),
            }
        }
        close(file)
    }

    fn stat(&mut self, object: Object) -> Result<u64, Failure> {
        Ok(rustix::fs::stat(self.path(object))?.st_size as u64)
    }

    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), Failure> {
        let file = rustix::fs::open(self.path(object), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
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

    fn delete(&mut self, object: Object) -> Result<(), Failure> {
        Ok(rustix::fs::unlink(self.path(object))?)
    }
}

/// Closes a file, and says what that says: some file systems tell only then that a write has failed.
fn close(file: std::os::fd::OwnedFd) -> Result<(), Failure> {
    use std::os::fd::IntoRawFd as _;
    // SAFETY: the descriptor is owned and given up here.
    let closed = unsafe { rustix::io::try_close(file.into_raw_fd()) };
    Ok(closed?)
}
