//! Engines, which apply the operations of a replay; one per thread.

use rustix::io::Errno;
use trace::{DirId, Op};

/// Applies operations sequentially. An engine belongs to one thread; the engines of a replay share a tree.
pub trait Engine: Send {
    /// Applies `op`. After [`Op::Checkpoint`] all earlier operations are on disk.
    fn apply(&mut self, op: &Op) -> Result<(), FailureCause>;

    /// Drops cached state of `dir`, which another engine has removed.
    fn forget(&mut self, dir: DirId);
}

/// Why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureCause {
    /// A system call failed.
    Os(Errno),
    /// The file or its directory was never created, because of an earlier failure.
    NotCreated,
}

impl FailureCause {
    /// Whether the file system was full.
    pub fn is_full(self) -> bool {
        matches!(self, FailureCause::Os(Errno::NOSPC | Errno::DQUOT))
    }
}

impl From<Errno> for FailureCause {
    fn from(errno: Errno) -> Self {
        FailureCause::Os(errno)
    }
}

/// An engine that does nothing, to measure the time of a replay without the file system.
pub struct NullEngine;

impl Engine for NullEngine {
    fn apply(&mut self, _: &Op) -> Result<(), FailureCause> {
        Ok(())
    }

    fn forget(&mut self, _: DirId) {}
}
