//! Sources of operations: a workload, a trace file, or a list in memory, behind one trait.

use crate::{Error, Op};

/// Number of operations per batch. A batch is small enough to stay in the caches and large enough that
/// per-batch work (a channel send, a barrier) has negligible cost per operation.
pub const BATCH: usize = 4096;

/// A stream of operations.
pub trait Source {
    /// Clears `batch` and fills it with the next operations, at most [`BATCH`] of them.
    /// An empty batch is the end of the stream.
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error>;

    /// The number of remaining operations, if known: for progress and estimated time.
    fn remaining(&self) -> Option<u64> {
        None
    }
}

/// A borrowed source.
impl<S: Source + ?Sized> Source for &mut S {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        (**self).next_batch(batch)
    }

    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
}

/// A source whose type is chosen at run time.
impl<S: Source + ?Sized> Source for Box<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        (**self).next_batch(batch)
    }

    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
}

/// Operations in memory.
impl Source for std::vec::IntoIter<Op> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        batch.extend(self.take(BATCH));
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}
