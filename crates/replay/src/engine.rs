//! What a replay drives: one engine per thread.

use rustix::io::Errno;
use trace::{DirId, Op};

/// Applies operations, one after the other. An engine belongs to one thread; those of one replay work on one tree.
pub trait Engine: Send {
    /// Does what `op` says. After [`Op::Checkpoint`] all that was done before is on disk.
    fn apply(&mut self, op: &Op) -> Result<(), Trouble>;

    /// Another engine has removed `dir`: what this one holds of it is stale.
    fn forget(&mut self, dir: DirId);
}

/// Why an operation was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The system refused.
    Os(Errno),
    /// The file or its directory could not be made earlier, so there is nothing to work on.
    NeverMade,
}

impl Trouble {
    /// Whether there was no room.
    pub fn is_full(self) -> bool {
        matches!(self, Trouble::Os(Errno::NOSPC | Errno::DQUOT))
    }
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        Trouble::Os(errno)
    }
}

/// The engine that does nothing: with it a replay takes the time of everything but the file system.
pub struct Null;

impl Engine for Null {
    fn apply(&mut self, _: &Op) -> Result<(), Trouble> {
        Ok(())
    }

    fn forget(&mut self, _: DirId) {}
}
