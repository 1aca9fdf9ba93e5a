//! Operations that make, move and take away names, and what becomes of the names when they fail.

use std::ffi::CStr;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use trace::{Content, DirId, FileId, ROOT, dir_name, file_name};

use super::Posix;
use crate::Trouble;

type Done<T = ()> = Result<T, Trouble>;
type Place = (DirId, FileId);

/// Scratch space for a name, so that none is allocated an operation.
#[derive(Default)]
pub(super) struct Name(Vec<u8>);

impl Name {
    fn file(&mut self, file: FileId) -> &CStr {
        file_name(file, &mut self.0);
        self.terminated()
    }

    fn dir(&mut self, dir: DirId) -> &CStr {
        dir_name(dir, &mut self.0);
        self.terminated()
    }

    fn terminated(&mut self) -> &CStr {
        self.0.push(0);
        CStr::from_bytes_with_nul(&self.0).expect("names are hexadecimal digits")
    }
}

impl Posix {
    pub(super) fn mkdir(&mut self, dir: DirId, parent: DirId) -> Done {
        let made = self.try_mkdir(dir, parent);
        match made {
            Ok(()) => self.shared.tree.insert(dir, Some(parent)),
            Err(Trouble::Os(Errno::EXIST)) if self.redoes() => {
                // If it is known to be elsewhere, that is where a later operation has made it again.
                if self.shared.tree.known(dir).is_none() {
                    self.shared.tree.insert(dir, Some(parent));
                }
                return Ok(());
            }
            Err(Trouble::Os(Errno::EXIST)) => {}
            Err(Trouble::Os(Errno::NOENT)) if self.redoes() => {}
            Err(_) => self.shared.tree.insert(dir, None),
        }
        made
    }

    fn try_mkdir(&mut self, dir: DirId, parent: DirId) -> Done {
        // One number for two directories, one perhaps inside the other, would have paths run in circles.
        if dir == ROOT || matches!(self.shared.tree.known(dir), Some(Some(known)) if known != parent) {
            return Err(Errno::EXIST.into());
        }
        let above = self.dirs.open(parent)?;
        Ok(mkdirat(above, self.name.dir(dir), Mode::from_raw_mode(0o755))?)
    }

    pub(super) fn rmdir(&mut self, dir: DirId, parent: DirId) -> Done {
        if self.shared.tree.known(dir) == Some(None) {
            self.shared.tree.remove(dir);
            return Err(Trouble::NeverMade);
        }
        self.dirs.forget(dir);
        let redo = self.redoes();
        match unlinkat(self.dirs.open(parent)?, self.name.dir(dir), AtFlags::REMOVEDIR) {
            // It was made again and put to use since.
            Err(Errno::NOTEMPTY | Errno::NOENT) if redo => {}
            removed => removed?,
        }
        self.shared.tree.remove(dir);
        Ok(())
    }

    pub(super) fn create(&mut self, file: FileId, parent: DirId, size: u64, content: Content) -> Done {
        let redo = self.redoes();
        let dir = self.dirs.open(parent)?;
        let name = self.name.file(file);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let way = self.writer.way(size, content);
        let flags = flags | way.open_flags();
        let make = || retry_on_intr(|| openat(dir, name, flags, Mode::from_raw_mode(0o644)));
        let made = match make() {
            Err(Errno::EXIST) if redo => unlinkat(dir, name, AtFlags::empty()).and_then(|()| make()),
            made => made,
        };
        let filled = match made {
            Ok(fd) => self.writer.create(fd.as_fd(), file, size, way),
            // Somebody else's file is neither taken away nor taken for one that is missing.
            Err(Errno::EXIST) => return Err(Errno::EXIST.into()),
            Err(Errno::NOENT) if redo => return Ok(()),
            Err(errno) => {
                self.shared.lost.insert(parent, file);
                return Err(errno.into());
            }
        };
        if filled.is_err() {
            self.lose((parent, file));
        }
        Ok(filled?)
    }

    /// Opens a file to change it.
    pub(super) fn open(&mut self, file: FileId, parent: DirId) -> Done<OwnedFd> {
        if self.shared.lost.contains(parent, file) {
            return Err(Trouble::NeverMade);
        }
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = self.dirs.open(parent)?;
        let name = self.name.file(file);
        Ok(retry_on_intr(|| openat(dir, name, flags, Mode::empty()))?)
    }

    pub(super) fn delete(&mut self, file: FileId, parent: DirId) -> Done {
        if self.shared.lost.remove(parent, file) {
            return Err(Trouble::NeverMade);
        }
        Ok(unlinkat(self.dirs.open(parent)?, self.name.file(file), AtFlags::empty())?)
    }

    pub(super) fn rename(&mut self, from: Place, to: Place) -> Done {
        if self.shared.lost.remove(from.0, from.1) {
            // The trace goes on with a file that is missing in place of the one it thinks replaced.
            self.lose(to);
            return Err(Trouble::NeverMade);
        }
        let renamed = self.at_both(from, to, |from_dir, from_name, to_dir, to_name| {
            renameat(from_dir, from_name, to_dir, to_name)
        });
        match renamed {
            Ok(()) => {
                self.shared.lost.remove(to.0, to.1);
            }
            // No room for the new name, or no directory: the trace has nothing under the old name any more.
            Err(trouble) if trouble.is_full() || trouble == Trouble::NeverMade => {
                self.unlink(from);
                self.lose(to);
            }
            Err(_) => {}
        }
        renamed
    }

    pub(super) fn link(&mut self, from: Place, to: Place) -> Done {
        if self.shared.lost.contains(from.0, from.1) {
            self.shared.lost.insert(to.0, to.1);
            return Err(Trouble::NeverMade);
        }
        let redo = self.redoes();
        let linked = self.at_both(from, to, |from_dir, from_name, to_dir, to_name| {
            let link = || linkat(from_dir, from_name, to_dir, to_name, AtFlags::empty());
            match link() {
                Err(Errno::EXIST) if redo => {
                    unlinkat(to_dir, to_name, AtFlags::empty()).and_then(|()| link())
                }
                linked => linked,
            }
        });
        match linked {
            Err(Trouble::Os(Errno::EXIST | Errno::NOENT)) | Ok(()) => {}
            Err(_) => self.shared.lost.insert(to.0, to.1),
        }
        linked
    }

    /// Calls `act` with two names and their directories.
    fn at_both(
        &mut self,
        from: Place,
        to: Place,
        act: impl Fn(BorrowedFd<'_>, &CStr, BorrowedFd<'_>, &CStr) -> rustix::io::Result<()>,
    ) -> Done {
        let (from_name, to_name) = (self.name.file(from.1), self.to_name.file(to.1));
        let from_dir = self.dirs.open(from.0)?;
        if from.0 == to.0 {
            return Ok(act(from_dir, from_name, from_dir, to_name)?);
        }
        // Opening the second directory may close the first.
        let from_dir = rustix::io::fcntl_dupfd_cloexec(from_dir, 0)?;
        let to_dir = self.dirs.open(to.0)?;
        Ok(act(from_dir.as_fd(), from_name, to_dir, to_name)?)
    }

    /// Sees to it that a file is missing, and remembers that it is.
    fn lose(&mut self, (parent, file): Place) {
        self.unlink((parent, file));
        self.shared.lost.insert(parent, file);
    }

    /// Takes a name away, if it is there: of one that stays, the trace's next operation on it will tell.
    fn unlink(&mut self, (parent, file): Place) {
        if let Ok(dir) = self.dirs.open(parent) {
            let _ = unlinkat(dir, self.name.file(file), AtFlags::empty());
        }
    }
}
