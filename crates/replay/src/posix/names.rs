//! Operations that create, move and remove names, and the handling of names after failures.

use std::ffi::CStr;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use trace::{Content, DirId, FileId, FileLabel, ROOT};

use super::PosixEngine;
use crate::FailureCause;
use crate::data::Strategy;
use crate::names::Names;

/// The maximum length of a symbolic link target in Linux, in bytes.
const LONGEST_TARGET: u64 = 4095;

pub(super) type OpResult<T = ()> = Result<T, FailureCause>;
/// A name: its directory, and the number of the file.
pub(super) type Place = (DirId, FileId);

/// A reusable buffer for a name, to avoid an allocation per operation.
#[derive(Default)]
pub(super) struct Name(Vec<u8>);

impl Name {
    fn file(&mut self, file: FileId, names: &Names) -> rustix::io::Result<&CStr> {
        names.file(file, &mut self.0)?;
        Ok(self.terminated())
    }

    fn dir(&mut self, dir: DirId, names: &Names) -> rustix::io::Result<&CStr> {
        names.dir(dir, &mut self.0)?;
        Ok(self.terminated())
    }

    fn terminated(&mut self) -> &CStr {
        self.0.push(0);
        CStr::from_bytes_with_nul(&self.0).expect("names contain no NUL")
    }
}

impl PosixEngine {
    pub(super) fn mkdir(&mut self, dir: DirId, parent: DirId) -> OpResult {
        if !self.shared.shard.makes_directories() {
            self.shared.tree.insert(dir, Some(parent));
            return Ok(());
        }
        let made = self.try_mkdir(dir, parent);
        match made {
            Ok(()) => self.shared.tree.insert(dir, Some(parent)),
            Err(FailureCause::Os(Errno::EXIST)) if self.redoes() => {
                // If it is known with another parent, a later operation has created it there again.
                if self.shared.tree.known(dir).is_none() {
                    self.shared.tree.insert(dir, Some(parent));
                }
                return Ok(());
            }
            Err(FailureCause::Os(Errno::EXIST)) => {}
            Err(FailureCause::Os(Errno::NOENT)) if self.redoes() => {}
            Err(_) => self.shared.tree.insert(dir, None),
        }
        made
    }

    fn try_mkdir(&mut self, dir: DirId, parent: DirId) -> OpResult {
        // One number for two directories, possibly nested, would create cyclic paths.
        if dir == ROOT || matches!(self.shared.tree.known(dir), Some(Some(known)) if known != parent) {
            return Err(Errno::EXIST.into());
        }
        let above = self.dirs.open(parent)?;
        let name = self.name.dir(dir, self.shared.tree.names())?;
        Ok(self.writer.space().retry(|| mkdirat(above, name, Mode::from_raw_mode(0o755)))?)
    }

    pub(super) fn rmdir(&mut self, dir: DirId, parent: DirId) -> OpResult {
        if self.shared.tree.known(dir) == Some(None) {
            self.shared.tree.remove(dir);
            return Err(FailureCause::NotCreated);
        }
        self.dirs.forget(dir);
        let redo = self.redoes();
        match unlinkat(
            self.dirs.open(parent)?,
            self.name.dir(dir, self.shared.tree.names())?,
            AtFlags::REMOVEDIR,
        ) {
            // A later operation created it again and used it.
            Err(Errno::NOTEMPTY | Errno::NOENT) if redo => {}
            removed => removed?,
        }
        self.shared.tree.remove(dir);
        Ok(())
    }

    pub(super) fn create(&mut self, file: FileId, parent: DirId, size: u64, content: Content) -> OpResult {
        let created = self.try_create(file, parent, size, content);
        self.created((parent, file), created)
    }

    /// The result of an operation that creates a file; a file that it could not create is lost.
    pub(super) fn created(&mut self, place: Place, created: OpResult) -> OpResult {
        match created {
            // A foreign file is neither removed nor recorded as missing.
            Err(cause @ (FailureCause::Os(Errno::EXIST) | FailureCause::NotCreated)) => Err(cause),
            Err(FailureCause::Os(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR)) if self.redoes() => Ok(()),
            Err(cause) => {
                self.lose(place);
                Err(cause)
            }
            Ok(()) => Ok(()),
        }
    }

    fn try_create(&mut self, file: FileId, parent: DirId, size: u64, content: Content) -> OpResult {
        let names = self.shared.tree.names();
        let label = names.label(file);
        let given = names.contents(label.as_ref(), size)?;
        if content == Content::Symlink {
            if size > LONGEST_TARGET {
                return Err(Errno::NAMETOOLONG.into());
            }
            let target = given.unwrap_or_else(|| vec![b'x'; size as usize]);
            return self.make((parent, file), |dir, name| symlinkat(&target[..], dir, name));
        }
        let strategy = if given.is_some() { Strategy::Written } else { self.writer.strategy(size, content) };
        let fd = self.make_file((parent, file), strategy.open_flags(), label.as_ref())?;
        Ok(self.writer.create(fd.as_fd(), file, size, strategy, given.as_deref())?)
    }

    /// Creates an empty file, open for writing.
    pub(super) fn make_file(
        &mut self,
        place: Place,
        flags: OFlags,
        label: Option<&FileLabel>,
    ) -> OpResult<OwnedFd> {
        let executable = label.is_some_and(|label| label.executable);
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        let flags =
            flags | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.make(place, |dir, name| retry_on_intr(|| openat(dir, name, flags, mode)))
    }

    /// Calls `make` for a new name; in redo mode it replaces an existing entry.
    fn make<T>(
        &mut self,
        (parent, file): Place,
        make: impl Fn(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> OpResult<T> {
        let redo = self.redoes();
        let dir = self.dirs.open(parent)?;
        let name = self.name.file(file, self.shared.tree.names())?;
        Ok(self.writer.space().retry(|| match make(dir, name) {
            Err(Errno::EXIST) if redo => unlinkat(dir, name, AtFlags::empty()).and_then(|()| make(dir, name)),
            made => made,
        })?)
    }

    /// Opens a file for writing.
    pub(super) fn open(&mut self, file: FileId, parent: DirId) -> OpResult<OwnedFd> {
        self.open_with((parent, file), OFlags::WRONLY)
    }

    /// Opens a file.
    pub(super) fn open_with(&mut self, (parent, file): Place, access: OFlags) -> OpResult<OwnedFd> {
        if self.shared.lost.contains(parent, file) {
            return Err(FailureCause::NotCreated);
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = self.dirs.open(parent)?;
        let name = self.name.file(file, self.shared.tree.names())?;
        Ok(retry_on_intr(|| openat(dir, name, flags, Mode::empty()))?)
    }

    pub(super) fn delete(&mut self, file: FileId, parent: DirId) -> OpResult {
        if self.shared.lost.remove(parent, file) {
            return Err(FailureCause::NotCreated);
        }
        Ok(unlinkat(
            self.dirs.open(parent)?,
            self.name.file(file, self.shared.tree.names())?,
            AtFlags::empty(),
        )?)
    }

    pub(super) fn rename(&mut self, from: Place, to: Place) -> OpResult {
        if self.shared.lost.remove(from.0, from.1) {
            // The trace continues with a missing file in place of the replaced one.
            self.lose(to);
            return Err(FailureCause::NotCreated);
        }
        let renamed = self.with_both_dirs(from, to, |from_dir, from_name, to_dir, to_name| {
            renameat(from_dir, from_name, to_dir, to_name)
        });
        match renamed {
            Ok(()) => {
                self.shared.lost.remove(to.0, to.1);
            }
            // No space for the new name, or no directory: in the trace the old name no longer exists.
            Err(cause) if cause.is_full() || cause == FailureCause::NotCreated => {
                self.unlink(from);
                self.lose(to);
            }
            Err(_) => {}
        }
        renamed
    }

    pub(super) fn link(&mut self, from: Place, to: Place) -> OpResult {
        if self.shared.lost.contains(from.0, from.1) {
            self.shared.lost.insert(to.0, to.1);
            return Err(FailureCause::NotCreated);
        }
        let redo = self.redoes();
        let linked = self.with_both_dirs(from, to, |from_dir, from_name, to_dir, to_name| {
            let link = || linkat(from_dir, from_name, to_dir, to_name, AtFlags::empty());
            match link() {
                Err(Errno::EXIST) if redo => {
                    unlinkat(to_dir, to_name, AtFlags::empty()).and_then(|()| link())
                }
                linked => linked,
            }
        });
        match linked {
            Err(FailureCause::Os(Errno::EXIST | Errno::NOENT)) | Ok(()) => {}
            Err(_) => self.shared.lost.insert(to.0, to.1),
        }
        linked
    }

    /// Calls `act` with two names and their directories, and retries it if there was no space.
    fn with_both_dirs(
        &mut self,
        from: Place,
        to: Place,
        act: impl Fn(BorrowedFd<'_>, &CStr, BorrowedFd<'_>, &CStr) -> rustix::io::Result<()>,
    ) -> OpResult {
        let names = self.shared.tree.names();
        let (from_name, to_name) = (self.name.file(from.1, names)?, self.to_name.file(to.1, names)?);
        let from_dir = self.dirs.open(from.0)?;
        if from.0 == to.0 {
            return Ok(self.writer.space().retry(|| act(from_dir, from_name, from_dir, to_name))?);
        }
        // Opening the second directory may close the first.
        let from_dir = rustix::io::fcntl_dupfd_cloexec(from_dir, 0)?;
        let to_dir = self.dirs.open(to.0)?;
        Ok(self.writer.space().retry(|| act(from_dir.as_fd(), from_name, to_dir, to_name))?)
    }

    /// Removes a file and records it as lost.
    fn lose(&mut self, (parent, file): Place) {
        self.unlink((parent, file));
        self.shared.lost.insert(parent, file);
    }

    /// Removes a name if it exists; a failure shows in the next operation on it.
    fn unlink(&mut self, (parent, file): Place) {
        let Ok(dir) = self.dirs.open(parent) else { return };
        if let Ok(name) = self.name.file(file, self.shared.tree.names()) {
            let _ = unlinkat(dir, name, AtFlags::empty());
        }
    }
}
