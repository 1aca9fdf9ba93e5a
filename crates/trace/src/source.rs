//! Where operations come from: an ager, a trace file, or a list in memory, all behind one trait.

use crate::{Error, Op};

/// How many operations travel together. One batch is small enough to stay in the caches and large enough
/// that what is done once a batch (a channel send, a barrier) costs nothing an operation.
pub const BATCH: usize = 4096;

/// A stream of operations.
pub trait Source {
    /// Clears `batch` and fills it with the next operations, at most [`BATCH`] of them.
    /// An empty batch is the end of the stream.
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error>;

    /// How many operations are still to come, where that is known: for progress and time to completion.
    fn remaining(&self) -> Option<u64> {
        None
    }
}

/// A source that someone else still needs afterwards.
impl<S: Source + ?Sized> Source for &mut S {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        (**self).next_batch(batch)
    }

    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
}

/// A source of a kind that is chosen at run time.
impl<S: Source + ?Sized> Source for Box<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        (**self).next_batch(batch)
    }

    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
}

/// A source over operations in memory.
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
