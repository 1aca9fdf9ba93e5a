//! Clones of files.

use rustix::fd::AsFd;
use rustix::fs::{OFlags, fstat, ioctl_ficlone};
use rustix::io::Errno;

use super::PosixEngine;
use super::names::{OpResult, Place};
use crate::FailureCause;
use crate::unwritten::unwritten_ranges;

impl PosixEngine {
    /// Creates `to` with the blocks of `from`. Fails with `EOPNOTSUPP` where files cannot share blocks. In redo mode, `to` gets the blocks
    /// that `from` has by then.
    pub(super) fn clone_file(&mut self, from: Place, to: Place) -> OpResult {
        match self.try_clone_file(from, to) {
            Err(FailureCause::NotCreated) => {
                self.shared.lost.insert(to.0, to.1);
                Err(FailureCause::NotCreated)
            }
            cloned => self.created(to, cloned),
        }
    }

    fn try_clone_file(&mut self, from: Place, to: Place) -> OpResult {
        let source = self.open_with(from, OFlags::RDWR)?;
        // XFS leaves holes in a clone where its source is preallocated, and filling a shared range would move it.
        let unwritten = match unwritten_ranges(&source, fstat(&source)?.st_size as u64) {
            // No extent maps (ZFS, NFS): every range counts as written.
            Err(Errno::OPNOTSUPP | Errno::NOTTY) => Vec::new(),
            ranges => ranges?,
        };
        for (start, end) in unwritten {
            self.writer.write(source.as_fd(), from.1, start, end - start)?;
        }
        let label = self.shared.tree.names().label(to.1);
        let clone = self.make_file(to, OFlags::empty(), label.as_ref())?;
        Ok(self.writer.space().retry(|| ioctl_ficlone(&clone, &source))?)
    }
}
